"""Colours, scales and number formats that reports and experiments share."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import ArrayLike

from betanll.typing import Array

# At least 3.5 to 1 against both the white and the dark background of a report.
BLUE = "#2b7bba"
ORANGE = "#cf5a1a"

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_PIXELS_PER_INCH = 150
_REPORT_STYLE = {
    "font.size": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
}


@contextmanager
def report_style() -> Iterator[None]:
    """Draw with our settings, not those of the user."""
    with matplotlib.style.context(["default", _REPORT_STYLE]):
        yield


def rendered(figure: Figure, form: str) -> bytes:
    """Return a figure as ``png`` or ``svg``; the same figure has the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "betanll"}):
        figure.savefig(buffer, format=form, dpi=_PIXELS_PER_INCH, metadata=metadata)
    return buffer.getvalue()


def format_number(value: float) -> str:
    """Return four significant digits, as a person would write them.

    Examples
    --------
    >>> [format_number(x) for x in (0.123456, 12345.6, -0.0, 1e-30, 2.5e30)]
    ['0.1235', '12,350', '0', '10⁻³⁰', '2.5 × 10³⁰']
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, exponent = f"{abs(value):.3e}".split("e")
    power, sign = int(exponent), "−" if value < 0 else ""
    if value == 0:
        return "0"
    if -4 <= power < 7:
        plain = f"{float(f'{mantissa}e{power}'):,.{max(0, 3 - power)}f}"
        return sign + (plain.rstrip("0").rstrip(".") if "." in plain else plain)
    mantissa = mantissa.rstrip("0").rstrip(".")
    prefix = "" if mantissa == "1" else f"{mantissa} × "
    return f"{sign}{prefix}10{str(power).translate(_SUPERSCRIPTS)}"


def linear_edges(values: Array, bins: int) -> list[float]:
    """Return edges of equal bins around values that may all be equal."""
    low, high = padded(values, 0.0)
    return [float(edge) for edge in np.linspace(low, high, bins + 1)]


def log_edges(values: Array, bins: int) -> list[float]:
    """Return edges of bins that are equal on a log axis and span half a decade."""
    low, high = np.log10(values.min()), np.log10(values.max())
    missing = max(0.0, 0.5 - (high - low)) / 2
    edges = np.logspace(low - missing, high + missing, bins + 1)
    # Rounding must not push the extremes out of the outer bins.
    edges[0], edges[-1] = min(edges[0], values.min()), max(edges[-1], values.max())
    return [float(edge) for edge in edges]


def padded(values: ArrayLike, share: float) -> tuple[float, float]:
    """Return the range of the values and a margin, which is never empty."""
    array = np.asarray(values, np.float64)
    low, high = float(array.min()), float(array.max())
    size = max(abs(low), abs(high))
    margin = share * (high - low)
    if high - low <= 1e-9 * size or size == 0:
        margin = 0.1 * size or 1.0
    return low - margin, high + margin


def use_log_scale(ax: Axes) -> None:
    """Make the x axis logarithmic, with few and readable labels."""
    low, high = ax.get_xlim()
    decades = math.log10(high / low)
    ax.set_xscale("log")
    subs = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0)
    ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=6))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: format_number(x)))
    ax.xaxis.set_minor_locator(NullLocator())
