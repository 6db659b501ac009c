"""Methods that tie with the best by their results on the splits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from scipy.stats import ks_2samp

from betanll.typing import Array
from betanll_paper.published.methods import Mark

Key = TypeVar("Key")

#: Above this p-value two methods are tied.
LEVEL = 0.05
#: With fewer splits than this even complete separation has a larger p-value.
MIN_SPLITS = 4


def ks_p_value(first: Array, second: Array) -> float:
    """Return the exact p-value of the two-sided two-sample Kolmogorov–Smirnov test.

    Examples
    --------
    >>> ks_p_value(np.arange(5.0), np.arange(5.0) + 5)
    0.0079
    """
    with warnings.catch_warnings():
        # For the smallest distance of 5, 7, 13, 14 or 15 splits, whose p-value is 1,
        # SciPy 1.17 finds 1 + 2e-16, warns, and takes the asymptotic one, also near 1.
        warnings.filterwarnings("ignore", "ks_2samp: Exact calculation", RuntimeWarning)
        return float(ks_2samp(first, second, method="exact").pvalue)


def ks_marks(values: Mapping[Key, Array], *, higher_is_better: bool) -> dict[Key, Mark]:
    """Mark the method with the best mean and those tied with it.

    Every other method is compared with the best by a Kolmogorov–Smirnov test between
    their values; it is tied unless the exact p-value is at most 0.05. Splits share
    data, so this describes results rather than proving anything.

    Parameters
    ----------
    values : mapping to array of shape (n_splits,)
        Result of each split by method. Of equal means the first is the best.
    higher_is_better : bool

    Returns
    -------
    dict
        ``"best"``, ``"tied"`` or ``""``. A method with a value that is not finite is
        never marked.

    References
    ----------
    Seitzer et al. 2022, Table 1; Stirn and Knowles 2020.

    Examples
    --------
    >>> a = np.linspace(0, 1, 20)
    >>> ks_marks({"a": a, "b": a + 0.1, "c": a + 2}, higher_is_better=False)
    {'a': 'best', 'b': 'tied', 'c': ''}
    """
    marks: dict[Key, Mark] = dict.fromkeys(values, "")
    sign = 1.0 if higher_is_better else -1.0
    means = {
        key: sign * float(np.mean(array))
        for key, array in values.items()
        if np.isfinite(array).all()
    }
    if not means:
        return marks
    best = max(means, key=lambda key: means[key])
    for key in means:
        if key == best:
            marks[key] = "best"
        elif ks_p_value(values[key], values[best]) > LEVEL:
            marks[key] = "tied"
    return marks
