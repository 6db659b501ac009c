"""How much each sample counts in the mean's gradient of the beta-NLL."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from betanll.distributions._base import Array, as_array, positive


def effective_sampling_probabilities(variance: ArrayLike, beta: float) -> Array:
    """Return the probabilities with which the squared error would have to be sampled.

    In the mean, training with the beta-NLL is training with the squared error on
    samples drawn with probabilities proportional to ``variance**(beta - 1)``. The NLL
    (beta = 0) neglects samples of high predicted variance; at beta = 1 all count
    alike.

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
