"""Losses for a network that predicts the mean and the variance of a Gaussian."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from betanll._exponents import check_exponent
from betanll.losses.arrays import Array, arrays_of_equal_shape, erf, stop_gradient

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def gaussian_nll(
    mean: Array, variance: Array, target: Array, *, full: bool = False
) -> Array:
    r"""Gaussian negative log-likelihood.

    .. math:: \tfrac12 \left( \log v + \frac{(y - \mu)^2}{v} \right)

    The gradient of the mean, :math:`(\mu - y) / v`, nearly vanishes at large predicted
    variance, which points that are not fitted yet have: see :func:`beta_nll`.

    Parameters
    ----------
    mean, variance, target : array of shape (..., n_outputs)
        Predicted mean and variance, observed value. The variance must be positive.
    full : bool, default=False
        Add the constant :math:`\tfrac12 \log 2\pi`, so that the value is the negative
        log-density. Gradients do not change.

    Returns
    -------
    array of shape (..., n_outputs)
        Elementwise; sum over outputs and average over samples yourself.

    Examples
    --------
    >>> import numpy as np
    >>> gaussian_nll(np.array([0.0]), np.array([4.0]), np.array([2.0])).round(4)
    array([1.1931])
    """
    xp, mean, variance, target = arrays_of_equal_shape(
        mean=mean, variance=variance, target=target
    )
    residual = target - mean
    constant = _HALF_LOG_2PI if full else 0.0
    return 0.5 * (xp.log(variance) + residual * residual / variance) + constant


def beta_nll(
    mean: Array,
    variance: Array,
    target: Array,
    *,
    beta: float | Array = 0.5,
    beta_mean: float | Array | None = None,
    beta_variance: float | Array | None = None,
    full: bool = False,
) -> Array:
    r"""Gaussian NLL, each point weighted by its own variance to the power beta.

    .. math:: \lfloor v \rfloor^{\beta} \cdot
        \tfrac12 \left( \log v + \frac{(y - \mu)^2}{v} \right)

    with :math:`\lfloor\cdot\rfloor` a stop-gradient. The factor restores the weight of
    badly fitted points, and leaves the optimum unchanged (:math:`\mu = E[y|x]`,
    :math:`v = E[(y - \mu)^2|x]`):

    .. math:: \partial_\mu = \frac{\mu - y}{v^{1 - \beta}}, \qquad
        \partial_v = \frac{v - (y - \mu)^2}{2 v^{2 - \beta}}

    Parameters
    ----------
    mean, variance, target : array of shape (..., n_outputs)
        Predicted mean and variance, observed value. The variance must be positive.
    beta : float or array, default=0.5
        0 is the plain NLL; 1 gives the mean the gradient of the squared error. A number
        must be finite and at least 0. An array must broadcast to the shape of the
        variance; its values are not checked.
    beta_mean, beta_variance : float, optional
        Separate exponents for the gradient of the mean and of the variance; either
        defaults to `beta`. (1, 2) is the natural gradient in output space up to a
        factor 2 on the variance.
    full : bool, default=False
        Put the constant :math:`\tfrac12 \log 2\pi` inside the weighted bracket.
        Gradients do not change.

    Returns
    -------
    array of shape (..., n_outputs)
        Elementwise. Values for different beta or at different times are not
        comparable: watch the NLL and the squared error instead.

    Notes
    -----
    The loss is not invariant to the unit of the target for beta > 0: standardise each
    output, or an output with standard deviation s weighs :math:`s^{2\beta}`.

    References
    ----------
    Seitzer, Tavakoli, Antić, Martius: On the Pitfalls of Heteroscedastic Uncertainty
    Estimation with Probabilistic Neural Networks. ICLR 2022, arXiv:2203.09168.

    Examples
    --------
    >>> import numpy as np
    >>> mean, variance, target = np.array([0.0]), np.array([4.0]), np.array([2.0])
    >>> beta_nll(mean, variance, target, beta=0.5).round(4)
    array([2.3863])
    """
    xp, mean, variance, target = arrays_of_equal_shape(
        mean=mean, variance=variance, target=target
    )
    log_variance = xp.log(variance)
    residual = target - mean
    constant = _HALF_LOG_2PI if full else 0.0

    def weight(exponent: float | Array) -> Array:
        # Arrays pass unchecked: they may be traced, and a check costs time.
        if isinstance(exponent, Real) or not hasattr(exponent, "shape"):
            check_exponent("beta", exponent)
        # v ** exponent; the logarithm is at hand and a power costs twice an exp.
        power = stop_gradient(xp.exp(exponent * log_variance))
        if power.shape != variance.shape:
            raise ValueError(
                "beta must broadcast to the shape of the variance, "
                f"got {tuple(np.shape(exponent))} and {tuple(variance.shape)}"
            )
        return power

    if beta_mean is None and beta_variance is None:
        nll = 0.5 * (log_variance + residual * residual / variance) + constant
        return weight(beta) * nll

    # One term moves the mean, the other the variance. Their sum has the value of the
    # weighted NLL when the exponents agree.
    fixed_variance = stop_gradient(variance)
    fixed_square = stop_gradient(residual * residual)
    mean_term = 0.5 * residual * residual / fixed_variance
    variance_term = constant + 0.5 * (
        log_variance + fixed_square / variance - fixed_square / fixed_variance
    )
    return (
        weight(beta if beta_mean is None else beta_mean) * mean_term
        + weight(beta if beta_variance is None else beta_variance) * variance_term
    )


def faithful_nll(mean: Array, variance: Array, target: Array) -> Array:
    r"""Squared error for the mean, NLL around the frozen mean for the variance.

    .. math:: \tfrac12 (y - \mu)^2 + \tfrac12 \left( \log v +
        \frac{(y - \lfloor\mu\rfloor)^2}{v} \right)

    The mean gets exactly the gradient of the squared error. For the trunk to get it
    too, the variance head must read stop-gradient features, as in
    :class:`betanll.objectives.Faithful`.

    References
    ----------
    Stirn et al.: Faithful Heteroscedastic Regression with Neural Networks. AISTATS
    2023, arXiv:2212.09184.

    Examples
    --------
    >>> import numpy as np
    >>> faithful_nll(np.array([0.0]), np.array([4.0]), np.array([2.0])).round(4)
    array([3.1931])
    """
    _, mean, variance, target = arrays_of_equal_shape(
        mean=mean, variance=variance, target=target
    )
    residual = target - mean
    return 0.5 * residual * residual + gaussian_nll(
        stop_gradient(mean), variance, target
    )


def natural_gaussian_nll(
    eta1: Array, eta2: Array, target: Array, *, full: bool = False
) -> Array:
    r"""Gaussian NLL in natural parameters, jointly convex in them.

    With :math:`\mu = -\eta_1 / 2\eta_2` and :math:`v = -1 / 2\eta_2` the value equals
    :func:`gaussian_nll`; the gradients :math:`\mu - y` and :math:`\mu^2 + v - y^2` do
    not contain :math:`1 / v`.

    Parameters
    ----------
    eta1, eta2, target : array of shape (..., n_outputs)
        Natural parameters, `eta2` negative, and observed value.
    full : bool, default=False
        Add the constant :math:`\tfrac12 \log 2\pi`.

    References
    ----------
    Immer et al.: Effective Bayesian Heteroscedastic Regression with Deep Neural
    Networks. NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> natural_gaussian_nll(
    ...     np.array([0.0]), np.array([-0.125]), np.array([2.0])
    ... ).round(4)
    array([1.1931])
    """
    xp, eta1, eta2, target = arrays_of_equal_shape(eta1=eta1, eta2=eta2, target=target)
    # The completed square: the textbook sum of eta1 y + eta2 y^2 + ... cancels
    # catastrophically in float32 when the precision is large.
    precision = -2.0 * eta2
    residual = target - eta1 / precision
    constant = _HALF_LOG_2PI if full else 0.0
    return 0.5 * (precision * residual * residual - xp.log(precision)) + constant


def crps_gaussian(mean: Array, variance: Array, target: Array) -> Array:
    r"""Continuous ranked probability score of a Gaussian.

    .. math:: \sigma \left[ z (2\Phi(z) - 1) + 2\varphi(z) - \tfrac{1}{\sqrt\pi}
        \right], \qquad z = \frac{y - \mu}{\sigma}, \quad \sigma = \sqrt v

    A strictly proper score in the unit of the target. The mean gradient is bounded by
    one, so that outliers pull less than in the NLL.

    Parameters
    ----------
    mean, variance, target : array of shape (..., n_outputs)
        Predicted mean and *variance* (not standard deviation), observed value.

    References
    ----------
    Gneiting & Raftery: Strictly Proper Scoring Rules, Prediction, and Estimation.
    Journal of the American Statistical Association, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> crps_gaussian(np.array([0.0]), np.array([1.0]), np.array([0.0])).round(4)
    array([0.2337])
    """
    xp, mean, variance, target = arrays_of_equal_shape(
        mean=mean, variance=variance, target=target
    )
    std = xp.sqrt(variance)
    residual = target - mean
    z = residual / std
    density = xp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    two_cdf_minus_one = erf(z / math.sqrt(2))
    # The residual replaces std * z, whose derivative by std subtracts two terms of size
    # z: for large z, float32 would lose the difference.
    return residual * two_cdf_minus_one + std * (2 * density - 1 / math.sqrt(math.pi))
