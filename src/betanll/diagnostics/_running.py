"""Exponential averages over training batches of weights and errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from betanll._arrays import check_equal_shapes
from betanll.typing import Array

# Fewest rows of a batch whose mean weight is reliable.
_TRUSTED_ROWS = 16

# Weights span many decades, so the logarithms of their averages are kept.
_LOGARITHMS = ("log_weight", "log_squared_weight")
_NAMES = (*_LOGARITHMS, "starved", "squared_z", "squared_error")


class RunningAverages:
    """One average of each kind for each output, corrected for their start.

    As in Adam, averages with ``b = 1 - 1 / memory`` are divided by ``1 - b**t`` after t
    updates. Skipped batches count as copies of the next evaluated batch.
    """

    def __init__(self) -> None:
        self._averages = dict.fromkeys(_NAMES, np.zeros(0))
        # 1 - b**t for each output.
        self._filled = np.zeros(0)

    def state(self) -> dict[str, list[float]]:
        """Return the averages as lists, empty before the first batch."""
        return {
            "filled": self._filled.tolist(),
            **{name: average.tolist() for name, average in self._averages.items()},
        }

    def load(self, state: Mapping[str, Sequence[float]]) -> None:
        """Continue from what `state` returned."""
        filled = np.array(state["filled"], np.float64)
        averages = {name: np.array(state[name], np.float64) for name in _NAMES}
        check_equal_shapes(filled=filled, **averages)
        self._filled, self._averages = filled, averages

    def over_outputs(self, name: str) -> float:
        """Return the mean of an average over outputs, NaN if there is none yet."""
        return self._over_outputs(self._averages[name])

    @property
    def effective_sample_fraction(self) -> float:
        weight, squared = (self._averages[name] for name in _LOGARITHMS)
        return self._over_outputs(np.exp(2 * weight - squared))

    def _over_outputs(self, average: Array) -> float:
        has_data = self._filled > 0
        return float(np.mean(average[has_data])) if has_data.any() else math.nan

    def add(
        self,
        mean: Array,
        variance: Array,
        target: Array,
        *,
        beta: float,
        keep: float,
        below: float,
    ) -> int:
        """Add a batch and return the number of its unusable entries.

        Previous averages keep the fraction `keep` of their weight. A point is starved
        if its weight is less than `below` times the mean. A batch that raises changes
        nothing.
        """
        mean, variance, target = _columns(mean, variance, target)
        n_outputs = mean.shape[1]
        if not self._filled.size:
            self._filled = np.zeros(n_outputs)
            self._averages = dict.fromkeys(_NAMES, np.zeros(n_outputs))
        elif n_outputs != self._filled.size:
            raise ValueError(
                f"the batch has {n_outputs} outputs, earlier ones {self._filled.size}: "
                "use one monitor for each kind of batch"
            )
        # Entries that overflow or are undefined are unusable.
        with np.errstate(all="ignore"):
            return self._add(mean, variance, target, beta, keep, below)

    def _add(
        self,
        mean: Array,
        variance: Array,
        target: Array,
        beta: float,
        keep: float,
        below: float,
    ) -> int:
        squared_error = (target - mean) ** 2
        squared_z = squared_error / variance
        log_weight = (beta - 1) * np.log(variance)
        usable = np.isfinite(squared_z) & np.isfinite(log_weight)
        n_usable = usable.sum(axis=0)
        n_skipped = usable.size - int(n_usable.sum())
        if n_skipped:
            squared_error = np.where(usable, squared_error, 0.0)
            squared_z = np.where(usable, squared_z, 0.0)
            log_weight = np.where(usable, log_weight, -np.inf)
        has_data = n_usable > 0
        divisor = np.maximum(n_usable, 1)

        filled = np.where(has_data, keep * self._filled + 1 - keep, self._filled)
        step = np.where(has_data, (1 - keep) / filled, 0.0)
        self._filled = filled

        largest = np.max(log_weight, axis=0, initial=-np.inf)
        relative = np.exp(log_weight - np.where(has_data, largest, 0.0))
        log_mean = largest + np.log(relative.sum(axis=0) / divisor)
        log_mean_square = 2 * largest + np.log((relative**2).sum(axis=0) / divisor)
        self._move_logarithm("log_weight", log_mean, step)
        self._move_logarithm("log_squared_weight", log_mean_square, step)

        # The running mean lags: if variances have risen together, all points of the
        # batch may be below it, though the loss treats them alike.
        reference = self._averages["log_weight"]
        lower = np.minimum(reference, log_mean)
        reference = np.where(n_usable >= _TRUSTED_ROWS, lower, reference)
        starved = (log_weight < reference + math.log(below)) & usable
        self._move("starved", starved.sum(axis=0) / divisor, step)
        self._move("squared_z", squared_z.sum(axis=0) / divisor, step)
        self._move("squared_error", squared_error.sum(axis=0) / divisor, step)
        return n_skipped

    def _move(self, name: str, value: Array, step: Array) -> None:
        average = self._averages[name]
        self._averages[name] = average + step * (value - average)

    def _move_logarithm(self, name: str, value: Array, step: Array) -> None:
        old = self._averages[name] + np.log1p(-step)
        self._averages[name] = np.logaddexp(old, value + np.log(step))


def _columns(mean: Array, variance: Array, target: Array) -> tuple[Array, ...]:
    """Return a batch as three arrays of shape (points, outputs), or raise.

    Only arrays of two axes have several outputs. The pixels of an image, or the steps
    of a sequence, are points of one output.
    """
    check_equal_shapes(mean=mean, variance=variance, target=target)
    negative = variance < 0
    if negative.any():
        raise ValueError(f"variance must be positive, got {variance[negative][0]}")
    shape = mean.shape if mean.ndim == 2 else (-1, 1)
    return mean.reshape(shape), variance.reshape(shape), target.reshape(shape)
