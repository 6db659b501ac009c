"""Terms of evidence lower bounds: of a Gamma precision and of a latent code."""

from __future__ import annotations

import math

from betanll.losses.arrays import (
    Array,
    arrays_of_equal_shape,
    digamma,
    lgamma,
    namespace_of,
    stop_gradient,
)


def expected_gaussian_log_prob(
    mean: Array, shape: Array, rate: Array, target: Array
) -> Array:
    r"""Gaussian log-density averaged over a Gamma(shape, rate) precision.

    .. math:: \tfrac12 \left[ \psi(a) - \log b - \log 2\pi
        - \tfrac{a}{b} (y - \mu)^2 \right]

    By Jensen's inequality it never exceeds the Student-t log-density.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([1.0])
    >>> expected_gaussian_log_prob(0 * one, one, one, one).round(4)
    array([-1.7075])
    """
    xp, mean, shape, rate, target = arrays_of_equal_shape(
        mean=mean, shape=shape, rate=rate, target=target
    )
    residual = target - mean
    return 0.5 * (
        digamma(shape)
        - xp.log(rate)
        - math.log(2 * math.pi)
        - shape / rate * residual * residual
    )


def gamma_entropy(shape: Array, rate: Array) -> Array:
    r"""Differential entropy :math:`a - \log b + \log\Gamma(a) + (1 - a) \psi(a)`.

    Examples
    --------
    >>> import numpy as np
    >>> gamma_entropy(np.array([1.0]), np.array([1.0])).round(4)
    array([1.])
    """
    xp, shape, rate = arrays_of_equal_shape(shape=shape, rate=rate)
    return shape - xp.log(rate) + lgamma(shape) + (1 - shape) * digamma(shape)


def gamma_kl(shape: Array, rate: Array, prior_shape: Array, prior_rate: Array) -> Array:
    r"""Divergence KL(Gamma(shape, rate) ‖ Gamma(prior_shape, prior_rate)).

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([1.0])
    >>> gamma_kl(one, one, one, 2 * one).round(4)
    array([0.3069])
    """
    xp, shape, rate, prior_shape, prior_rate = arrays_of_equal_shape(
        shape=shape, rate=rate, prior_shape=prior_shape, prior_rate=prior_rate
    )
    return (
        (shape - prior_shape) * digamma(shape)
        - lgamma(shape)
        + lgamma(prior_shape)
        + prior_shape * xp.log(rate / prior_rate)
        + shape * (prior_rate - rate) / rate
    )


def standard_normal_kl(mean: Array, variance: Array) -> Array:
    r"""Divergence KL(N(mean, variance) ‖ N(0, 1)) of a latent variable.

    .. math:: \tfrac12 \left( \mu^2 + v - 1 - \log v \right)

    Examples
    --------
    >>> import numpy as np
    >>> standard_normal_kl(np.array([1.0]), np.array([4.0])).round(4)
    array([1.3069])
    """
    xp, mean, variance = arrays_of_equal_shape(mean=mean, variance=variance)
    return 0.5 * (mean * mean + variance - 1 - xp.log(variance))


def gamma_mixture_log_prob(
    value: Array, log_weights: Array, shape: Array, rate: Array
) -> Array:
    r"""Log-density of a mixture of Gamma distributions.

    .. math:: \log \sum_k \pi_k \, \mathrm{Gamma}(\lambda; A_k, B_k)

    Components lie on the *first* axis of `log_weights`, `shape` and `rate`; all three
    must have as many axes as `value` plus one and broadcast against it, because the
    components are usually shared by many values.

    Parameters
    ----------
    value : array of shape (...)
        Positive values.
    log_weights, shape, rate : array of shape (n_components, ...)
        Normalised log-weights, Gamma shapes and Gamma rates.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> import numpy as np
    >>> weights, ones = np.log([[0.5], [0.5]]), np.ones((2, 1))
    >>> gamma_mixture_log_prob(np.array([3.0]), weights, ones, ones)
    array([-3.])
    """
    xp = namespace_of(value, log_weights, shape, rate)
    for name, array in {
        "log_weights": log_weights,
        "shape": shape,
        "rate": rate,
    }.items():
        if array.ndim != value.ndim + 1:
            raise ValueError(
                f"{name} must have one axis more than value, "
                f"got shapes {tuple(array.shape)} and {tuple(value.shape)}"
            )
    constant = log_weights + shape * xp.log(rate) - lgamma(shape)
    log_terms = constant + (shape - 1) * xp.log(value)[None] - rate * value[None]
    peak = stop_gradient(xp.max(log_terms, axis=0))
    return peak + xp.log(xp.sum(xp.exp(log_terms - peak[None]), axis=0))
