"""Figures 7, S2 and S3: many settings on the sine as tables with colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from betanll.datasets import SINE_NOISE
from betanll.reports.style import format_number
from betanll_paper.drawing.marks import (
    Cell,
    Drawing,
    Rows,
    add_note,
    cell_of,
    draw_cells,
)
from betanll_paper.sine.grid import (
    BETAS,
    PRESETS,
    Settings,
    adaptive_settings,
    sgd_settings,
)

#: Predicting zero has an RMSE of 0.28, the true curve one of 0.01.
_RMSE_RANGE = LogNorm(SINE_NOISE, 0.4)
#: The true curve and noise have an NLL of -3.19; what is worse than 1 is dark.
_NLL_RANGE = Normalize(-3.2, 1.0)
#: RMSE above which a run with finite numbers counts as diverged.
_DIVERGED_RMSE = 10.0


def fig7(rows: Rows, preset: str) -> Drawing:
    """The error for learning rates and networks, a panel for each beta."""
    return _grid(rows, preset, "rmse", _RMSE_RANGE, ".2g", "mean RMSE (unit of y)")


def figS3(rows: Rows, preset: str) -> Drawing:
    """The negative log-likelihood for the same."""
    return _grid(rows, preset, "nll", _NLL_RANGE, ".3g", "mean NLL (nats per point)")


def _grid(
    rows: Rows, preset: str, metric: str, norm: Normalize, form: str, label: str
) -> Drawing:
    grid = PRESETS[preset].grid
    names, rates = grid["network"], grid["learning rate"]
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, len(BETAS), sharey=True)
    mesh, lines = None, []
    for ax, beta in zip(axes, BETAS, strict=True):
        cells = [
            [
                _cell(rows, metric, architecture=name, beta=beta, learning_rate=rate)
                for rate in rates
            ]
            for name in names
        ]
        mesh = draw_cells(ax, cells, norm, form)
        title = f"β = {beta:g}" + (" (NLL)" if beta == 0 else "")
        _label_cells(ax, rates, names)
        ax.set(title=title)
        lines += [
            {"beta": beta, "architecture": name, "learning_rate": rate}
            | _numbers(cell, metric, preset)
            for name, row in zip(names, cells, strict=True)
            for rate, cell in zip(rates, row, strict=True)
        ]
    axes[0].set_ylabel("hidden layers × units")
    _add_bar(figure, mesh, axes, label)
    _add_note(figure, preset, lines, ("network", "learning rate"))
    return Drawing(figure, {"": pd.DataFrame(lines)})


def figS2(rows: Rows, preset: str) -> Drawing:
    """The error of NLL with other optimisers."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    panels: list[tuple[list[Settings], str]] = [
        (sgd_settings(preset), "SGD"),
        (adaptive_settings(preset), "Adam and RMSprop"),
    ]
    mesh, lines = None, []
    for ax, (optimizers, title) in zip(axes, panels, strict=True):
        table: dict[str, list[Cell]] = {}
        for settings in optimizers:
            cell = _cell(rows, "rmse", **settings)
            table.setdefault(_optimizer_label(settings), []).append(cell)
            lines.append({**settings, **_numbers(cell, "rmse", preset)})
        mesh = draw_cells(ax, list(table.values()), _RMSE_RANGE, ".2g")
        rates = dict.fromkeys(settings["learning_rate"] for settings in optimizers)
        _label_cells(ax, rates, list(table))
        ax.set(title=title)
    _add_bar(figure, mesh, axes, "mean RMSE (unit of y)")
    _add_note(figure, preset, lines, ("learning rate", "learning rate of SGD"))
    return Drawing(figure, {"": pd.DataFrame(lines)})


def _optimizer_label(settings: dict[str, Any]) -> str:
    if settings["optimizer"] == "sgd":
        return f"momentum {settings['momentum']:g}"
    if settings["optimizer"] == "adam":
        return f"Adam {settings['b1']:g}, {settings['b2']:g}"
    return f"RMSprop {settings['decay']:g}"


def _cell(rows: Rows, metric: str, **settings: Any) -> Cell:
    trials = [
        row for row in rows if {name: row.get(name) for name in settings} == settings
    ]
    return cell_of([None if is_diverged(row) else row[metric] for row in trials])


def is_diverged(row: dict[str, Any]) -> bool:
    """Return whether the numbers of a run are not finite, or too large."""
    return row["rmse"] is None or row["nll"] is None or row["rmse"] > _DIVERGED_RMSE


def _numbers(cell: Cell, metric: str, preset: str) -> dict[str, Any]:
    return {
        "updates": PRESETS[preset].length[""],
        metric: cell.mean,
        "n_trials": cell.n_trials,
        "n_diverged": cell.n_diverged,
    }


def _add_note(
    figure: Figure, preset: str, lines: Sequence[dict[str, Any]], shown: Sequence[str]
) -> None:
    trials = [line["n_trials"] for line in lines if line["n_trials"]]
    fewest = min(trials, default=0)
    done, paper = (
        replace(one, grid={name: one.grid[name] for name in shown})
        for one in (PRESETS[preset], PRESETS["paper"])
    )
    if trials and max(trials) > fewest:
        done = replace(done, repeat="trial of a cell at least")
    if len(trials) < len(lines):
        done = replace(done, sizes={"cell": len(trials)})
        paper = replace(paper, sizes={"cell": len(lines)})
    add_note(figure, preset, replace(done, repeats=fewest), paper)


def _label_cells(ax: Axes, rates: Iterable[float], down: Sequence[str]) -> None:
    across = [f"{rate:.0e}".replace("e-0", "e-") for rate in rates]
    ax.set_xticks([i + 0.5 for i in range(len(across))], across)
    ax.set_yticks([i + 0.5 for i in range(len(down))], down)
    ax.set_xlabel("learning rate")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _add_bar(figure: Figure, mesh: Any, axes: Any, label: str) -> None:
    bar = figure.colorbar(mesh, ax=axes, label=label, extend="max", pad=0.01)
    if isinstance(mesh.norm, LogNorm):
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: format_number(v)))
        bar.set_ticks([0.01, 0.03, 0.1, 0.3])
        bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.set_title("black: all\ndiverged", fontsize=8)
