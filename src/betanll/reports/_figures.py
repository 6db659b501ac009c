"""The figures of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from scipy import stats

from betanll.diagnostics import pit
from betanll.distributions import Distribution
from betanll.metrics import rmse
from betanll.reports._calibration import CalibrationDisplay
from betanll.reports._intervals import IntervalDisplay
from betanll.reports._residuals import ResidualDisplay
from betanll.reports._target import LEVEL, TargetResult
from betanll.reports.style import (
    BLUE,
    ORANGE,
    format_number,
    linear_edges,
    log_edges,
    padded,
    report_style,
    use_log_scale,
)

#: Most points of a scatter plot, to limit the size of the file.
MAX_POINTS = 300


def new_axes() -> tuple[Figure, Axes]:
    """Return a figure that is about as wide as the screen of a phone."""
    figure = Figure(figsize=(4.2, 3.1), layout="constrained")
    return figure, figure.subplots()


@report_style()
def interval_figure(result: TargetResult) -> Figure:
    """Prediction against truth, with bars."""
    figure, ax = new_axes()
    IntervalDisplay(
        y_true=result.truth,
        y_pred=result.predictive.mean,
        interval=result.interval,
        level=LEVEL,
    ).plot(ax, max_points=MAX_POINTS)
    return figure


@report_style()
def calibration_figure(result: TargetResult) -> Figure:
    """Nominal against observed coverage, with a diamond for adjusted intervals."""
    figure, ax = new_axes()
    CalibrationDisplay.from_predictions(
        result.truth, result.predictive, ax=ax, name="this model"
    )
    ax.set(xlabel="promised share", ylabel="share that held the truth")
    if result.is_adjusted:
        ax.plot(
            LEVEL,
            result.coverage,
            "D",
            color=ORANGE,
            markersize=8,
            zorder=4,
            label="adjusted",
        )
        ax.legend(loc="upper left")
    return figure


@report_style()
def pit_figure(result: TargetResult) -> Figure:
    """Histogram of the PIT: the position of the truth in the prediction."""
    figure, ax = new_axes()
    values = pit(result.predictive, result.truth)
    bins = int(np.clip(len(values) // 5, 2, 10))
    low, high = stats.binom.interval(0.9, len(values), 1 / bins)
    edges = linear_edges(np.array([0.0, 1.0]), bins)
    ax.hist(values, bins=edges, color=BLUE, edgecolor="white")
    ax.axhspan(
        low, high, color="0.5", alpha=0.35, linewidth=0, zorder=2, label="chance"
    )
    ax.axhline(
        len(values) / bins, linestyle="--", color="black", linewidth=1.2, label="ideal"
    )
    ax.set(xlabel="position of the truth (PIT)", ylabel="rows", xlim=(0, 1))
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    _legend_above(ax)
    return figure


@report_style()
def sharpness_figure(result: TargetResult) -> Figure:
    """Widths of the intervals, and the width that needs no model."""
    figure, ax = new_axes()
    widths = finite_widths(result)
    ax.set(xlabel=f"width of the {100 * LEVEL:.0f}% interval", ylabel="rows")
    if not widths.size:
        text = "no interval is finite"
        ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center")
        ax.set(xticks=[], yticks=[])
        return figure
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    without_model = float(np.ptp(np.quantile(result.truth, tails)))
    everything = np.append(widths, without_model) if without_model > 0 else widths
    is_wide = bool(everything.min() > 0 and everything.max() > 20 * everything.min())
    edges = (log_edges if is_wide else linear_edges)(widths, 25)
    ax.hist(widths, bins=edges, color=BLUE)
    median = float(np.median(widths))
    label = f"median {format_number(median)}"
    ax.axvline(median, color="black", linewidth=1.6, label=label)
    if without_model > 0:
        label = f"no model {format_number(without_model)}"
        ax.axvline(without_model, linestyle="--", color="black", label=label)
    ends = [*edges, *everything]
    if is_wide:
        ax.set_xlim(min(ends) / 1.2, max(ends) * 1.2)
        use_log_scale(ax)
    else:
        ax.set_xlim(padded(ends, 0.05))
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    _legend_above(ax)
    return figure


@report_style()
def residual_figure(result: TargetResult) -> Figure:
    """Sizes of the errors on a log axis."""
    figure, ax = new_axes()
    ResidualDisplay.from_predictions(
        result.truth, result.predictive, ax=ax, bins=25, alpha=1
    )
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    if ax.get_legend() is not None:
        _legend_above(ax)
    return figure


@report_style()
def curve_figure(epoch: ArrayLike, values: ArrayLike, *, ylabel: str) -> Figure:
    """One training curve, with its lowest point marked."""
    figure, ax = new_axes()
    epoch, values = np.asarray(epoch, np.float64), np.asarray(values, np.float64)
    style: dict[str, Any] = {"marker": "o", "markersize": 4} if len(epoch) < 30 else {}
    ax.plot(epoch, values, color=BLUE, linewidth=1.4, **style)
    best = int(np.argmin(values))
    label = f"lowest {format_number(float(values[best]))}, epoch {epoch[best]:.0f}"
    ax.plot(epoch[best], values[best], "D", color=ORANGE, markersize=6, label=label)
    ax.set(xlabel="epoch", ylabel=ylabel, xlim=padded(epoch, 0.02))
    # Divergence at the start must not hide the rest.
    usual = np.quantile(values, [0, 0.95])
    if np.ptp(values) > 20 * np.ptp(usual) > 0:
        ax.set_ylim(padded(usual, 0.1))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    _legend_above(ax)
    return figure


def finite_widths(result: TargetResult) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the widths of the intervals that have one."""
    with np.errstate(invalid="ignore"):
        widths = result.interval[:, 1] - result.interval[:, 0]
    return widths[np.isfinite(widths)]


def _legend_above(ax: Axes) -> None:
    # Outside the axes nothing can be drawn over it.
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def sine_figure(
    x: Any, y: Any, predictions: Mapping[str, Distribution], *, width: float = 9
) -> Figure:
    """Draw data, mean and a band of two standard deviations, a panel for each fit.

    A figure of 5 inches `width` stays legible on a phone.

    Examples
    --------
    >>> from betanll import datasets
    >>> from betanll.distributions import Normal
    >>> x, y = datasets.sine()
    >>> figure = sine_figure(x, y, {"exact": Normal(y, 0 * y + 0.01)})
    >>> figure.axes[0].get_title(loc="left")
    'exact: RMSE 0.000'
    """
    figure = Figure(figsize=(width, 2.4 * len(predictions)), layout="constrained")
    axes = figure.subplots(len(predictions), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, predictive) in zip(axes, predictions.items(), strict=True):
        mean, std = predictive.mean[:, 0], predictive.std[:, 0]
        axis.plot(x[:, 0], y[:, 0], ".", color="0.65", markersize=2, label="data")
        axis.fill_between(
            x[:, 0],
            mean - 2 * std,
            mean + 2 * std,
            color="tab:blue",
            alpha=0.25,
            linewidth=0,
            label="±2 std",
        )
        axis.plot(x[:, 0], mean, color="tab:blue", linewidth=1.2, label="mean")
        axis.set_title(f"{label}: RMSE {rmse(predictive.mean, y):.3f}", loc="left")
        axis.set_ylabel("y")
        axis.set_ylim(-1.1, 1.1)
    axes[0].legend(loc="upper right", ncols=3, frameon=False)
    axes[-1].set_xlabel("x")
    return figure
