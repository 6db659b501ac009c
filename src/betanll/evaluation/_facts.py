"""What a model predicts for rows, and what is usual among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from betanll.evaluation._inputs import InputRows
from betanll.evaluation._outside import OutsideCell, outside_cells
from betanll.typing import Array


@dataclass(frozen=True, eq=False)
class RowFacts:
    """Predictions of rows in detail, as arrays of shape (n, d).

    Attributes
    ----------
    mean, std, lower, upper : arrays
    noise, doubt : arrays
        Standard deviations: what the networks call noise, and how much their means
        differ. They add up in squares to `std`.
    target, z, crps : arrays
        NaN where the target is not known.
    outside : list of lists of OutsideCell
        Row by row.
    """

    mean: Array
    std: Array
    lower: Array
    upper: Array
    noise: Array
    doubt: Array
    target: Array
    z: Array
    crps: Array
    outside: list[list[OutsideCell]]

    @classmethod
    def of(cls, rows: InputRows, target: Array | None) -> RowFacts:
        """Predict rows."""
        predictive = rows.predict()
        interval, parts = rows.interval(predictive), rows.parts()
        mean, std = predictive.mean, predictive.std
        truth = np.full(mean.shape, np.nan) if target is None else target
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = (truth - mean) / std
        return cls(
            mean=mean,
            std=std,
            lower=interval[:, 0],
            upper=interval[:, 1],
            noise=np.sqrt(parts.aleatoric),
            doubt=np.sqrt(parts.epistemic),
            target=truth,
            z=z,
            crps=np.full(mean.shape, np.nan)
            if np.isnan(truth).all()
            else predictive.crps(truth),
            outside=outside_cells(rows),
        )


@dataclass(frozen=True, eq=False)
class Usual:
    """What is usual among the rows, for each of d targets.

    Attributes
    ----------
    std, noise, doubt, width : arrays of shape (d,)
        Medians over the rows.
    sorted_noise : array of shape (n, d)
        In ascending order, for ranks.
    """

    std: Array
    noise: Array
    doubt: Array
    width: Array
    sorted_noise: Array

    @classmethod
    def of(cls, facts: RowFacts) -> Usual:
        """Return the medians of some facts."""
        return cls(
            std=np.median(facts.std, axis=0),
            noise=np.median(facts.noise, axis=0),
            doubt=np.median(facts.doubt, axis=0),
            width=np.median(facts.upper - facts.lower, axis=0),
            sorted_noise=np.sort(facts.noise, axis=0),
        )

    def noise_rank(self, noise: float, i: int) -> float:
        """Return the share of the rows with less noise."""
        column = self.sorted_noise[:, i]
        return float(np.searchsorted(column, noise) / len(column))
