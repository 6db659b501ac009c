"""The figures of an explanation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from betanll.evaluation import ColumnImportance, PartialDependence
from betanll.reports.style import (
    BLUE,
    ORANGE,
    format_number,
    padded,
    report_style,
    use_log_scale,
)
from betanll.typing import Array

#: Columns with bars.
MAX_BARS = 12
_MAX_NAME, _MAX_LEVEL = 22, 12
#: Share of the x axis left of the median, below which its logarithm is drawn.
_SQUEEZED = 0.1


@report_style()
def importance_figure(ranked: Sequence[ColumnImportance]) -> Figure:
    """Bars of the most important columns, for mean and spread side by side."""
    shown = list(ranked[:MAX_BARS])
    # Labels of the two x axes must not touch.
    layout = ConstrainedLayoutEngine(wspace=0.1)
    figure = Figure(figsize=(5, 1.25 + 0.3 * len(shown)), layout=layout)
    left, right = figure.subplots(1, 2, sharey=True)
    position = np.arange(len(shown))
    _bars(
        left,
        np.array([(one.mean, one.mean_error) for one in shown]),
        np.array([one.is_clear_for_mean for one in shown]),
        BLUE,
    )
    _bars(
        right,
        np.array([(one.spread, one.spread_error) for one in shown]),
        np.array([one.is_clear_for_spread for one in shown]),
        ORANGE,
    )
    left.set_title("for the mean", loc="left", fontsize=11)
    right.set_title("for the spread", loc="left", fontsize=11)
    left.set_xlabel("share of variance")
    right.set_xlabel("nats lost")
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:.3g} %"))
    names = [_shortened(one.column, _MAX_NAME) for one in shown]
    left.set_yticks(position, names, parse_math=False)
    left.set_ylim(len(shown) - 0.4, -0.6)
    for ax in (left, right):
        ax.tick_params(axis="y", length=0)
    return figure


def _bars(ax: Axes, values: Array, is_clear: np.ndarray, color: str) -> None:
    """Draw bars with two standard errors; what may be chance is pale."""
    size, error = np.where(np.isfinite(values), values, 0.0).T
    for which, alpha in ((is_clear, 1.0), (~is_clear, 0.35)):
        place = np.flatnonzero(which)
        ax.barh(place, size[place], height=0.62, color=color, alpha=alpha)
    ax.errorbar(
        size,
        np.arange(len(size)),
        xerr=2 * error,
        fmt="none",
        ecolor="0.5",
        elinewidth=1.4,
    )
    ax.axvline(0, color="black", linewidth=0.8)
    ax.spines["left"].set_visible(False)
    if is_clear.any():
        # Bars that may be chance, with long errors, must not hide the others.
        end = 1.2 * np.max((size + 2 * error)[is_clear])
        low, high = ax.get_xlim()
        ax.set_xlim(max(low, -0.2 * end), min(high, end))
    ax.xaxis.set_major_locator(MaxNLocator(3))


@report_style()
def dependence_figure(
    dependence: PartialDependence, target: str, view: tuple[float, float]
) -> Figure:
    """Mean and interval over the values of one column."""
    figure = Figure(figsize=(4.2, 3.1), layout="constrained")
    ax = figure.subplots()
    x = dependence.values
    lower, upper = (np.clip(end, *view) for end in (dependence.lower, dependence.upper))
    if dependence.kind in ("number", "date"):
        ax.fill_between(
            x, lower, upper, color=BLUE, alpha=0.25, linewidth=0, label="90 % interval"
        )
        ax.plot(x, dependence.mean, "o-", color=BLUE, markersize=3.5, label="mean")
        ax.set_xlim(padded(x, 0.03))
        _use_ticks(ax, dependence)
    else:
        ax.vlines(
            x, lower, upper, color=BLUE, alpha=0.35, linewidth=7, label="90 % interval"
        )
        ax.plot(x, dependence.mean, "o", color=BLUE, markersize=6, label="mean")
        names = [_shortened(label, _MAX_LEVEL) for label in dependence.labels]
        is_long = sum(map(len, names)) > 26
        ax.set_xticks(
            x,
            names,
            rotation=40 if is_long else 0,
            ha="right" if is_long else "center",
            rotation_mode="anchor" if is_long else "default",
            parse_math=False,
        )
        ax.set_xlim(-0.6, len(x) - 0.4)
    ax.set_ylim(view)
    ax.set_xlabel(_shortened(dependence.column, 40), parse_math=False)
    ax.set_ylabel(_shortened(target, 30), parse_math=False)
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: format_number(y)))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def common_view(dependences: Sequence[PartialDependence]) -> tuple[float, float]:
    """Return limits of the y axis that all figures of a target share."""
    ends = np.concatenate(
        [np.concatenate([one.mean, one.lower, one.upper]) for one in dependences]
    )
    ends = ends[np.isfinite(ends)]
    return padded(ends, 0.05) if ends.size else (0.0, 1.0)


def _use_ticks(ax: Axes, dependence: PartialDependence) -> None:
    """Label the x axis with dates, or with numbers, perhaps on a log scale."""
    if dependence.kind == "date":
        locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_formatter(formatter)
        return
    x = dependence.values
    is_skewed = np.median(x) - x[0] < _SQUEEZED * (x[-1] - x[0])
    if x[0] > 0 and is_skewed and x[-1] > 10 * x[0]:
        ax.set_xlim(x[0] / 1.1, x[-1] * 1.1)
        use_log_scale(ax)
        return
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(_plain_number))


def _plain_number(value: float, _: object) -> str:
    # Years have no thousands.
    is_year = value % 1 == 0 and 1000 <= value < 10_000
    return f"{value:.0f}" if is_year else format_number(value)


def _shortened(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
