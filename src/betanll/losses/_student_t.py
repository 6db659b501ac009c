"""Student-t likelihood: a Gaussian whose precision is Gamma distributed."""

from __future__ import annotations

import math

from betanll.losses.arrays import Array, arrays_of_equal_shape, lgamma_half_step


def student_t_nll(mean: Array, shape: Array, rate: Array, target: Array) -> Array:
    r"""Negative log-density of a Gaussian with a Gamma(shape, rate) precision.

    With the precision integrated out the target follows a Student t with
    :math:`2a` degrees of freedom, location :math:`\mu`, scale :math:`\sqrt{b/a}` and
    variance :math:`b / (a - 1)`:

    .. math:: -\log p = \log\Gamma(a) - \log\Gamma(a + \tfrac12)
        + \tfrac12 \log(2 \pi b)
        + (a + \tfrac12) \log\left( 1 + \frac{(y - \mu)^2}{2b} \right)

    Parameters
    ----------
    mean, shape, rate, target : array of shape (..., n_outputs)
        Predicted mean, Gamma shape a and Gamma *rate* b (not scale), observed value.

    Returns
    -------
    array of shape (..., n_outputs)
        Elementwise, constants included.

    References
    ----------
    Detlefsen, Jørgensen, Hauberg: Reliable training and estimation of variance
    networks. NeurIPS 2019, arXiv:1906.03260.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([1.0])
    >>> student_t_nll(0 * one, one, one, one).round(4)
    array([1.648])
    """
    xp, mean, shape, rate, target = arrays_of_equal_shape(
        mean=mean, shape=shape, rate=rate, target=target
    )
    residual = target - mean
    return (
        0.5 * xp.log(2 * math.pi * rate)
        + (shape + 0.5) * xp.log1p(residual * residual / (2 * rate))
        - lgamma_half_step(shape)
    )
