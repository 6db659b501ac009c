"""Predictions with their intervals against the truth."""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from betanll.metrics import interval_coverage
from betanll.reports._display import Display, plain_legend, select
from betanll.reports.style import BLUE, ORANGE, padded
from betanll.typing import Array

Kind: TypeAlias = Literal["truth", "sorted"]


class IntervalDisplay(Display):
    """Prediction against truth, with a bar for each interval.

    Points whose truth lies outside their interval have another marker and colour. Bars
    that are infinite, or much longer than the others, leave the view.

    Parameters
    ----------
    y_true : array of shape (n,)
        Truth without missing values.
    y_pred : array of shape (n,)
        Predicted means.
    interval : array of shape (n, 2)
        Lower and upper bounds, which may be infinite.
    level : float, default=0.9
        Coverage that the intervals promise.
    name : str, optional
        For the title of the legend.

    Attributes
    ----------
    coverage : float
        Share of the intervals that hold the truth.
    ax_, figure_ : matplotlib Axes and Figure
    bars_, inside_, outside_ : matplotlib Line2D
        Intervals, and the points inside and outside of them.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> display = IntervalDisplay.from_predictions(
    ...     y, np.zeros(500), y_std=np.ones(500), ax=Figure().subplots()
    ... )
    >>> display.coverage
    0.918
    """

    bars_: Line2D
    inside_: Line2D
    outside_: Line2D

    def __init__(
        self,
        *,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        interval: ArrayLike,
        level: float = 0.9,
        name: str | None = None,
    ) -> None:
        self.y_true = np.asarray(y_true, np.float64)
        self.y_pred = np.asarray(y_pred, np.float64)
        self.interval = np.asarray(interval, np.float64)
        self.level = level
        self.name = name
        low, high = self.interval.T
        self._is_inside = (low <= self.y_true) & (self.y_true <= high)
        self.coverage = interval_coverage(self.interval, self.y_true)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: Any,
        *,
        y_std: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        target: int = 0,
        level: float = 0.9,
        kind: Kind = "truth",
        max_points: int = 300,
        **kwargs: Any,
    ) -> Self:
        """Draw given predictions.

        `y_true` has the shape (n,) or (n, n_targets), with NaN where it is missing.
        `y_pred` is a Distribution, or an array of means of that shape whose standard
        deviations are `y_std`.

        Parameters
        ----------
        target : int, default=0
            Which of several targets.
        level : float, default=0.9
            Coverage of the central intervals.
        kind : {"truth", "sorted"}, default="truth"
            Predictions over the truth, or truth and intervals in the order of the
            prediction.
        max_points : int, default=300
            Of more points, a random choice of this number is drawn, always the same.
        **kwargs
            Passed to ``Axes.plot`` for the points.
        """
        truth, predictive = select(y_true, y_pred, y_std, target)
        display = cls(
            y_true=truth,
            y_pred=predictive.mean,
            interval=predictive.interval(level),
            level=level,
            name=name,
        )
        return display.plot(ax, kind=kind, max_points=max_points, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "truth",
        max_points: int = 300,
        **kwargs: Any,
    ) -> Self:
        """Draw, into `ax` or a new figure; `kwargs` go to ``Axes.plot``."""
        if kind not in ("truth", "sorted"):
            raise ValueError(f"kind must be 'truth' or 'sorted', got {kind!r}")
        ax = self._open(ax)
        rows = _choice(len(self.y_true), max_points)
        rows = rows[np.argsort(self.y_pred[rows], kind="stable")]
        truth, mean = self.y_true[rows], self.y_pred[rows]
        if kind == "truth":
            position, points = truth, mean
            ax.set(xlabel="truth", ylabel="prediction", xlim=padded(truth, 0.05))
            ax.plot(ax.get_xlim(), ax.get_xlim(), "--", color="black", linewidth=1)
        else:
            position, points = np.arange(len(rows), dtype=np.float64), truth
            ax.set(xlabel="rows in the order of the prediction", ylabel="value")
            ax.plot(position, mean, color="black", linewidth=1, label="prediction")
        view = _view(np.concatenate([truth, mean]), self.interval[rows])
        ax.set_ylim(view)
        self.bars_ = _draw_bars(ax, position, self.interval[rows], view)
        inside = self._is_inside[rows]
        style: dict[str, Any] = {"linestyle": "none", "markersize": 5} | kwargs
        # Shares are those of all points, of which perhaps not all are drawn.
        self.inside_, self.outside_ = (
            ax.plot(
                position[which],
                points[which],
                **({"marker": marker, "color": color} | style),
                label=f"{100 * share:.3g}% {label}",
            )[0]
            for which, share, label, marker, color in (
                (inside, self.coverage, "inside", "o", BLUE),
                (~inside, 1 - self.coverage, "outside", "x", ORANGE),
            )
        )
        title = f"{100 * self.level:.4g}% intervals"
        legend = plain_legend(
            ax, title=title if self.name is None else f"{self.name}, {title}"
        )
        legend.get_title().set_parse_math(False)
        return self


def _choice(n: int, max_points: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    if n <= max_points:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, max_points, replace=False))


def _view(values: Array, bars: Array) -> tuple[float, float]:
    """Return limits for all values and, but for the longest, the bars."""
    finite = bars[np.isfinite(bars)]
    ends = np.quantile(finite, [0.02, 0.98]) if finite.size else finite
    return padded(np.concatenate([values, ends]), 0.05)


def _draw_bars(
    ax: Axes, position: Array, interval: Array, view: tuple[float, float]
) -> Line2D:
    # One line with gaps is far smaller in a file than a line for each bar.
    span = view[1] - view[0]
    ends = np.clip(interval, view[0] - span, view[1] + span)
    gaps = np.full((len(ends), 1), np.nan)
    (bars,) = ax.plot(
        np.repeat(position, 3),
        np.hstack([ends, gaps]).ravel(),
        color="0.5",
        alpha=0.5,
        linewidth=1,
    )
    return bars
