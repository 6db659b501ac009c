"""One target of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from betanll.metrics import rmse

if TYPE_CHECKING:
    from betanll.reports._report import FitReport

#: Coverage of the intervals of a report.
LEVEL = 0.9


class TargetResult:
    """The observed rows of one target, and the numbers that describe them."""

    def __init__(self, report: FitReport, index: int) -> None:
        rows = ~np.isnan(report.target[:, index])
        self.name = report.target_names[index]
        self.truth = report.target[rows, index]
        self.predictive = report.predictive[rows, index]
        self.interval = report.interval[rows, :, index]
        self.n = len(self.truth)
        low, high = self.interval.T
        self.n_inside = int(np.sum((low <= self.truth) & (self.truth <= high)))
        self.rmse = rmse(self.predictive.mean, self.truth) if self.n else np.nan
        self.guess_rmse = np.nan
        if self.n:
            average = np.full_like(self.truth, self.truth.mean())
            self.guess_rmse = rmse(average, self.truth)

    @property
    def coverage(self) -> float:
        """Share of the intervals that hold the truth."""
        return self.n_inside / self.n if self.n else np.nan

    @property
    def error_ratio(self) -> float:
        """Error relative to that of always guessing the average."""
        is_constant = self.n == 0 or np.ptp(self.truth) == 0
        return np.nan if is_constant else self.rmse / self.guess_rmse

    @property
    def is_adjusted(self) -> bool:
        """Whether the intervals are not those of the predictive distribution."""
        return not np.allclose(
            self.interval, self.predictive.interval(LEVEL), rtol=1e-3, atol=0
        )
