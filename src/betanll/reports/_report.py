"""What a report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from betanll.distributions import Distribution
from betanll.metrics import Scores, rmse
from betanll.reports.page import Finding
from betanll.typing import Array

#: Coverage of the intervals of a report.
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture with its story, shown before everything else.

    Parameters
    ----------
    title, text : str
    figure : matplotlib Figure
        Black and white take the colours of the page's text and background.

    Examples
    --------
    >>> panel = Panel("The pitfall", "Most of the sine is noise?", Figure((5, 3)))
    >>> panel.title
    'The pitfall'
    """

    title: str
    text: str
    figure: Figure


@dataclass(frozen=True, eq=False)
class FitReport:
    """Everything that `render_report` shows.

    Parameters
    ----------
    title : str
    target_names : sequence of d str
    target : array of shape (n, d)
        Held-out truth, NaN where it is missing.
    predictive : Distribution of shape (n, d)
        Predictions for the held-out rows.
    interval : array of shape (n, 2, d)
        Their 90 % intervals as the model gives them, perhaps infinite.
    scores : sequence of d mappings of str to Scores
        For each target those of the model first, then of the baselines, by readable
        names. A single mapping will do for a single target.
    findings : sequence of Finding
    history : mapping of str to array
        ``epoch``, ``train_loss``, ``validation_nll`` and ``validation_mse``, each
        perhaps empty or missing.
    sample_fractions : mapping of str to float
        Effective sample fraction of the loss weights, by the label of the objective.
    configuration : mapping of str to str
    command : str
        What made the report.
    introduction : sequence of Panel, optional
        Shown first.

    See Also
    --------
    render_report : has an example.
    """

    title: str
    target_names: Sequence[str]
    target: Array
    predictive: Distribution
    interval: Array
    scores: Sequence[Mapping[str, Scores]]
    findings: Sequence[Finding]
    history: Mapping[str, Any]
    sample_fractions: Mapping[str, float]
    configuration: Mapping[str, str]
    command: str
    introduction: Sequence[Panel] = ()

    def html(self) -> str:
        """Return the report as one HTML page without links to other files."""
        from betanll.reports._render import render_report

        return render_report(self)

    def __post_init__(self) -> None:
        for name in ("target", "interval"):
            array = np.asarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, array)
        if isinstance(self.scores, Mapping):
            object.__setattr__(self, "scores", [self.scores])
        shape = self.target.shape
        if len(shape) != 2 or self.predictive.shape != shape:
            raise ValueError(
                "target and predictive must both have the shape (n, d), "
                f"got {shape} and {self.predictive.shape}"
            )
        if not np.isfinite(self.predictive.mean).all():
            raise ValueError("predictive has means that are not finite")
        if self.interval.shape != (shape[0], 2, shape[1]):
            raise ValueError(
                f"interval must have shape {(shape[0], 2, shape[1])}, "
                f"got {self.interval.shape}"
            )
        if len(self.target_names) != shape[1]:
            raise ValueError(
                f"{len(self.target_names)} names were given for {shape[1]} targets"
            )
        if len(self.scores) != shape[1]:
            raise ValueError(
                f"scores of {len(self.scores)} targets were given for {shape[1]}"
            )


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
    def is_constant(self) -> bool:
        return bool(self.n == 0 or np.ptp(self.truth) == 0)

    @property
    def error_ratio(self) -> float:
        """Error relative to that of always guessing the average."""
        return np.nan if self.is_constant else self.rmse / self.guess_rmse

    @property
    def is_adjusted(self) -> bool:
        """Whether the intervals are not those of the predictive distribution."""
        return not np.allclose(
            self.interval, self.predictive.interval(LEVEL), rtol=1e-3, atol=0
        )
