"""Colours, notes and heat maps of the figures of all experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from betanll.reports.style import BLUE, ORANGE, rendered, report_style
from betanll.typing import Array
from betanll_paper.presets import Preset
from betanll_paper.published.methods import Method

Rows = Sequence[dict[str, Any]]

#: Colour and dashes; lines can be told apart without colour.
LINES: dict[Method, tuple[str, str]] = {
    Method("nll"): (ORANGE, "-"),
    Method("mse"): (BLUE, "-"),
    Method("mm"): (BLUE, "-"),
    Method("beta-nll:0.25"): ("#b58900", "-."),
    Method("beta-nll:0.5"): ("#00795a", "--"),
    Method("beta-nll:1"): ("#8a4f9e", ":"),
}


class NothingToDraw(ValueError):
    """The runs of a figure have no records, such as after divergence."""


class Drawing(NamedTuple):
    """A figure, and the numbers behind it by the end of their file's name."""

    figure: Figure
    tables: dict[str, pd.DataFrame]


def add_note(figure: Figure, preset: str, done: Preset, paper: Preset) -> None:
    """Note the runs of a figure below it."""
    figure.supxlabel(done.note(preset, paper), fontsize=8, color="0.35")


def figure_files(
    name: str, draw: Callable[..., Drawing], *arguments: Any
) -> dict[str, bytes]:
    """Draw a figure; return its files by their names: PNG, SVG and its numbers."""
    with report_style():
        figure, tables = draw(*arguments)
        files = {f"{name}.{end}": rendered(figure, end) for end in ("png", "svg")}
    for end, table in tables.items():
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        files[f"{name}{end}.csv"] = text.encode()
    return files


def of_kind(rows: Rows, kind: str, **values: Any) -> list[dict[str, Any]]:
    """Return the rows of a kind that have these values."""
    return [
        row
        for row in rows
        if row["kind"] == kind and all(row[name] == v for name, v in values.items())
    ]


def numbers(values: Sequence[float | None]) -> Array:
    """Return numbers as an array, NaN where there is none."""
    return np.array([np.nan if v is None else v for v in values], np.float64)


def draw_fit(
    ax: Axes, x: Array, row: dict[str, Any], color: str, n_stds: int = 1
) -> None:
    """Draw a mean, and some standard deviations to both sides."""
    mean, away = numbers(row["mean"]), n_stds * numbers(row["std"])
    style: dict[str, Any] = {"color": color, "alpha": 0.3, "linewidth": 0}
    ax.fill_between(x, mean - away, mean + away, label=f"±{n_stds} std", **style)
    ax.plot(x, mean, color=color, linewidth=1.3, label="mean")


def draw_points(ax: Axes, x: npt.ArrayLike, y: npt.ArrayLike) -> None:
    """Draw data below everything, as pixels also in a vector file."""
    ax.plot(
        *(np.ravel(x), np.ravel(y), "."),
        color="0.6",
        markersize=2,
        zorder=0,
        rasterized=True,
        label="data",
    )


def draw_over_time(
    ax: Axes, x: Array, updates: Sequence[int], values: Array, norm: Normalize
) -> QuadMesh:
    """Draw a map of x (across) and of updates (up, logarithmic)."""
    mesh = ax.pcolormesh(
        edges_around(x),
        np.exp(edges_around(np.log(updates))),
        values,
        norm=norm,
        cmap="cividis",
        rasterized=True,
    )
    ax.set(yscale="log", xlabel="x", xlim=(x[0], x[-1]))
    return mesh


def edges_around(centres: npt.ArrayLike) -> Array:
    """Return the edges of cells around increasing numbers.

    Examples
    --------
    >>> edges_around([1.0, 2.0, 4.0])
    array([0.5, 1.5, 3. , 5. ])
    """
    c = np.asarray(centres, np.float64)
    if len(c) == 1:
        return np.array([c[0] - 0.5, c[0] + 0.5])
    inner = (c[1:] + c[:-1]) / 2
    return np.concatenate([[2 * c[0] - inner[0]], inner, [2 * c[-1] - inner[-1]]])


class Cell(NamedTuple):
    """Mean over the trials that did not diverge, and how many of all did."""

    mean: float
    n_trials: int
    n_diverged: int

    @property
    def is_black(self) -> bool:
        return 0 < self.n_trials == self.n_diverged


def cell_of(values: Sequence[float | None]) -> Cell:
    """Sum up the trials of a cell.

    Examples
    --------
    >>> cell_of([1.0, None, 3.0])
    Cell(mean=2.0, n_trials=3, n_diverged=1)
    """
    good = [value for value in values if value is not None]
    mean = float(np.mean(good)) if good else float("nan")
    return Cell(mean, len(values), len(values) - len(good))


def draw_cells(
    ax: Axes, cells: Sequence[Sequence[Cell]], norm: Normalize, form: str
) -> QuadMesh:
    """Draw rows of cells, the first on top, with their numbers in them.

    Black: all trials diverged. Grey: there is no result.
    """
    colors = cell_colors()
    means = np.array([[cell.mean for cell in row] for row in cells])
    mesh = ax.pcolormesh(
        np.ma.masked_invalid(means), norm=norm, cmap=colors, edgecolor="white"
    )
    ax.set_facecolor("0.8")
    ax.invert_yaxis()
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            text, dark = format(cell.mean, form).replace("-", "−"), False
            if cell.is_black:
                black = {"facecolor": "black", "edgecolor": "white"}
                ax.add_patch(_square(j, i, black))
                text, dark = "div.", True
            elif not cell.n_trials:
                text = "–"
            else:
                rgb = colors(norm(cell.mean))[:3]
                dark = float(np.dot(rgb, [0.299, 0.587, 0.114])) < 0.5
                # Some of its trials are not in the mean.
                text += "*" if cell.n_diverged else ""
            ax.text(
                *(j + 0.5, i + 0.5, text),
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else "black",
            )
    return mesh


def cell_colors() -> Colormap:
    """Return colours from light to dark, none of them near black."""
    return colormaps["YlOrBr"]


def _square(x: float, y: float, style: dict[str, Any]) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), 1, 1, **style)
