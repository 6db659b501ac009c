"""Scores of many runs as strips of points, one below the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from betanll.reports.style import padded, use_log_scale
from betanll.typing import Array

POINT = "a configuration"
CUT_SHORT = "diverged after this score"
BEYOND = "beyond the axis"
MEDIAN = "median, diverged as worst"
_MARKS: dict[str, dict[str, Any]] = {
    POINT: {"marker": "o", "markersize": 5, "alpha": 0.7, "markeredgewidth": 0},
    CUT_SHORT: {"marker": "o", "markersize": 5, "markerfacecolor": "white"},
    BEYOND: {"marker": ">", "markersize": 6, "clip_on": False},
    MEDIAN: {"marker": "|", "markersize": 14, "markeredgewidth": 2},
}
#: Multiples of the golden ratio, without their whole parts, fill the unit interval.
_JITTER_STEP = 0.618034
_JITTER_WIDTH = 0.6
#: A logarithmic axis of this length has two round numbers at least.
_MIN_DECADES = 0.7


class Strip(NamedTuple):
    """Scores of a group of runs; less is better.

    Parameters
    ----------
    label, color : str
    values : array of shape (n,)
        NaN where a run diverged before it had a score.
    is_cut_short : array of bool of shape (n,)
        Whether a run diverged after it had a score.
    text : str
        Written in the place of points if there cannot be any.
    """

    label: str
    color: str
    values: Array
    is_cut_short: npt.NDArray[np.bool_]
    text: str = ""


def draw_strips(ax: Axes, strips: Sequence[Strip], *, is_log: bool) -> None:
    """Draw strips, the first on top; where points are many, they are spread out."""
    ax.set_xlim(_limits(np.concatenate([strip.values for strip in strips]), is_log))
    if is_log:
        use_log_scale(ax)
    else:
        ax.locator_params(axis="x", nbins=6)
    for y, strip in enumerate(strips):
        if strip.text:
            ax.annotate(
                *(strip.text, (0.5, y)),
                xycoords=("axes fraction", "data"),
                ha="center",
                va="center",
                fontsize=9,
                color="0.35",
            )
        else:
            _draw_strip(ax, y, strip)
    ax.set_yticks(range(len(strips)), [strip.label for strip in strips])
    ax.set_ylim(len(strips) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for y in range(len(strips) - 1):
        ax.axhline(y + 0.5, color="0.9", linewidth=0.8, zorder=0)


def strip_legend(axes: Iterable[Axes]) -> list[Line2D]:
    """Return an entry for each kind of mark that was drawn."""
    drawn = {label for ax in axes for label in ax.get_legend_handles_labels()[1]}
    return [
        Line2D([], [], color="0.25", linestyle="none", label=kind, **style)
        for kind, style in _MARKS.items()
        if kind in drawn
    ]


def _draw_strip(ax: Axes, y: int, strip: Strip) -> None:
    def draw(kind: str, x: npt.ArrayLike, at: npt.ArrayLike, color: str) -> None:
        if np.size(x):
            style = {"linestyle": "none", "color": color, **_MARKS[kind]}
            ax.plot(x, at, label=kind, **style)

    end = ax.get_xlim()[1]
    values, is_late = strip.values, strip.is_cut_short
    at = y + _jitter(len(values))
    is_shown, is_beyond = values <= end, values > end
    for kind, chosen in ((POINT, ~is_late), (CUT_SHORT, is_late)):
        draw(kind, values[is_shown & chosen], at[is_shown & chosen], strip.color)
    draw(BEYOND, np.full(is_beyond.sum(), end), at[is_beyond], strip.color)
    median = np.median(np.nan_to_num(values, nan=np.inf, posinf=np.inf))
    if len(values) > 1 and median <= end:
        draw(MEDIAN, [median], [y], "black")


def _jitter(n: int) -> Array:
    """Return offsets that are spread evenly, the first in the middle.

    Examples
    --------
    >>> _jitter(4).round(2)
    array([ 0.  , -0.23,  0.14, -0.09])
    """
    return (
        (0.5 + _JITTER_STEP * np.arange(n, dtype=np.float64)) % 1 - 0.5
    ) * _JITTER_WIDTH


def _limits(values: Array, is_log: bool) -> tuple[float, float]:
    """Return the ends of an axis.

    On a linear one, a few values that are far worse than most lie beyond its end.

    Examples
    --------
    >>> _limits(np.array([1.0, 2.0, 3.0, 4.0, 1e6]), is_log=False)
    (0.85, 4.15)
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.1, 1.0
    if is_log:
        low, high = padded(np.log10(finite), 0.05)
        missing = max(0.0, _MIN_DECADES - (high - low)) / 2
        return float(10 ** (low - missing)), float(10 ** (high + missing))
    first, third = np.quantile(finite, [0.25, 0.75])
    return padded(finite[finite <= third + 3 * (third - first)], 0.05)
