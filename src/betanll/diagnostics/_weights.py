"""The weight of each sample in the gradient of the mean under beta-NLL."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from betanll._arrays import as_array, positive
from betanll.typing import Array


def effective_sampling_probabilities(variance: ArrayLike, beta: float) -> Array:
    """Return the sampling probabilities that give the squared error the same gradient.

    For the mean, training with beta-NLL equals training with the squared error on
    samples drawn with probabilities proportional to ``variance**(beta - 1)``. The NLL
    (beta = 0) neglects samples of high predicted variance; beta = 1 weights all
    samples alike.

    Parameters
    ----------
    variance : array of shape (n,) or (n, d)
        Predicted variances, positive and finite.
    beta : float

    Returns
    -------
    array of the same shape
        Each output is normalised by itself: every column sums to one.

    References
    ----------
    Seitzer et al., "On the pitfalls of heteroscedastic uncertainty estimation with
    probabilistic neural networks", ICLR 2022, section 3.

    Examples
    --------
    >>> effective_sampling_probabilities([1.0, 4.0], beta=0.0)
    array([0.8, 0.2])
    >>> effective_sampling_probabilities([1.0, 4.0], beta=1.0)
    array([0.5, 0.5])
    """
    variance = positive("variance", variance)
    if not variance.size or not variance.ndim:
        raise ValueError(
            f"variance has shape {variance.shape}, expected (n,) or (n, d)"
        )
    if not math.isfinite(beta):
        raise ValueError(f"beta must be finite, got {beta}")
    return as_array(softmax((beta - 1) * np.log(variance), axis=0))


def effective_sample_fraction(variance: ArrayLike, beta: float) -> float:
    """Return the fraction of samples that effectively train the mean, in (0, 1].

    With the weights w = ``variance**(beta - 1)`` of n samples it is
    ``sum(w)**2 / (n * sum(w**2))`` for each output, averaged over outputs. If the log
    variances are normal with standard deviation tau, it is
    ``exp(-(1 - beta)**2 * tau**2)``.

    Parameters
    ----------
    variance : array of shape (n,) or (n, d)
        Predicted variances, positive and finite.
    beta : float

    Examples
    --------
    >>> round(effective_sample_fraction([1.0, 4.0], beta=0.0), 3)
    0.735
    >>> effective_sample_fraction([1.0, 4.0], beta=1.0)
    1.0
    """
    probabilities = effective_sampling_probabilities(variance, beta)
    n_effective = 1 / np.sum(probabilities**2, axis=0)
    return float(np.mean(n_effective) / len(probabilities))


def starved_fraction(variance: ArrayLike, beta: float, below: float = 0.05) -> float:
    """Return the share of samples that training with this beta neglects.

    A sample is starved if its effective sampling probability is less than `below`
    times the uniform one, 1 / n. The share is taken for each output and averaged.
    During training, :class:`PitfallMonitor` follows it.

    Parameters
    ----------
    variance : array of shape (n,) or (n, d)
        Predicted variances, positive and finite.
    beta : float
    below : float, default=0.05

    Examples
    --------
    >>> starved_fraction([0.01, 0.01, 0.01, 1.0], beta=0.0)
    0.25
    >>> starved_fraction([0.01, 0.01, 0.01, 1.0], beta=0.5)
    0.0
    """
    if not 0 < below < 1:
        raise ValueError(f"below must be in (0, 1), got {below}")
    probabilities = effective_sampling_probabilities(variance, beta)
    return float(np.mean(probabilities * len(probabilities) < below))


def oracle_sampling_probabilities(residual: ArrayLike, floor: float = 1e-8) -> Array:
    """Return the sampling probabilities if each variance were the squared residual.

    Pass residuals of a model trained with the squared error to get a reference for
    `effective_sampling_probabilities`: the probabilities under NLL with the best mean
    and correct variances.

    Parameters
    ----------
    residual : array of shape (n,) or (n, d)
    floor : float, default=1e-8
        Smallest variance, for residuals around zero.

    Returns
    -------
    array of the same shape
        Every column sums to one.

    Examples
    --------
    >>> oracle_sampling_probabilities([1.0, -2.0])
    array([0.8, 0.2])
    """
    variance = np.maximum(as_array(residual) ** 2, floor)
    return effective_sampling_probabilities(variance, beta=0.0)


def log_variance_spread(variance: ArrayLike) -> float:
    """Return tau, the standard deviation of the log variances.

    Averaged over outputs. `beta_tradeoff` takes this number.

    Parameters
    ----------
    variance : array of shape (n,) or (n, d)
        Predicted variances, positive and finite.

    Examples
    --------
    >>> round(log_variance_spread([1.0, 1.0, 100.0, 100.0]), 3)
    2.303
    """
    logarithm = np.log(positive("variance", variance))
    if not logarithm.size or not logarithm.ndim:
        raise ValueError(
            f"variance has shape {logarithm.shape}, expected (n,) or (n, d)"
        )
    return float(np.mean(logarithm.std(axis=0)))


class BetaTradeoff(NamedTuple):
    """Cost of a beta in two opposite cases.

    Parameters
    ----------
    sample_fraction : float
        Fraction of samples that effectively train the mean: the cost if the predicted
        variance is misfit, when all samples should have equal weight.
    efficiency : float
        Statistical efficiency of the weighted mean relative to the best weighting: the
        cost if the predicted variance is noise, when noisy samples should weigh less.
    """

    sample_fraction: float
    efficiency: float


def beta_tradeoff(tau: float, beta: float) -> BetaTradeoff:
    """Return the cost of a beta if log variances are normal with deviation `tau`.

    The fraction of samples grows with beta, ``exp(-(1 - beta)**2 * tau**2)``, and the
    efficiency falls, ``exp(-beta**2 * tau**2)``. Both are equal at beta = 0.5, the best
    choice while variance may be noise or misfit.

    Parameters
    ----------
    tau : float
        From `log_variance_spread`.
    beta : float

    Examples
    --------
    >>> [round(number, 3) for number in beta_tradeoff(2.0, beta=0.0)]
    [0.018, 1.0]
    >>> [round(number, 3) for number in beta_tradeoff(2.0, beta=0.5)]
    [0.368, 0.368]
    """
    if not (tau >= 0 and math.isfinite(tau)):
        raise ValueError(f"tau must be finite and not negative, got {tau}")
    if not math.isfinite(beta):
        raise ValueError(f"beta must be finite, got {beta}")
    return BetaTradeoff(
        math.exp(-((1 - beta) ** 2) * tau**2), math.exp(-(beta**2) * tau**2)
    )
