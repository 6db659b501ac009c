"""Losses that match moments and involve no likelihood."""

from __future__ import annotations

from betanll.losses.arrays import Array, arrays_of_equal_shape, stop_gradient


def squared_error(mean: Array, target: Array) -> Array:
    r"""Squared error :math:`(y - \mu)^2`, elementwise and without a factor one half.

    Examples
    --------
    >>> import numpy as np
    >>> squared_error(np.array([1.0]), np.array([3.0]))
    array([4.])
    """
    _, mean, target = arrays_of_equal_shape(mean=mean, target=target)
    residual = target - mean
    return residual * residual


def moment_matching(mean: Array, std: Array, target: Array) -> Array:
    r"""Squared error for the mean, and of the absolute residual for the spread.

    .. math:: (y - \mu)^2 + \left( |y - \lfloor\mu\rfloor| - \sigma \right)^2

    Parameters
    ----------
    mean, std, target : array of shape (..., n_outputs)
        Predicted mean and *standard deviation* (the one loss here that does not take a
        variance), observed value.

    Returns
    -------
    array of shape (..., n_outputs)
        Elementwise; average over outputs and samples yourself.

    Notes
    -----
    The minimiser is :math:`E|r|`, for Gaussian noise :math:`\sqrt{2/\pi} = 0.80` of the
    true standard deviation. No gradient flows from the second term to the mean.

    Examples
    --------
    >>> import numpy as np
    >>> moment_matching(np.array([0.0]), np.array([1.5]), np.array([2.0]))
    array([4.25])
    """
    xp, mean, std, target = arrays_of_equal_shape(mean=mean, std=std, target=target)
    residual = target - mean
    # |r| rather than sqrt(r^2): the derivative of the root at zero is infinite.
    spread_error = stop_gradient(xp.abs(residual)) - std
    return residual * residual + spread_error * spread_error
