"""Figures 1, 3, 4, 5 and S1: long runs on the sine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from betanll.datasets import SINE_NOISE, sine
from betanll.reports.style import ORANGE
from betanll.typing import Array
from betanll_paper.drawing.marks import (
    LINES,
    Drawing,
    NothingToDraw,
    Rows,
    add_note,
    draw_fit,
    draw_over_time,
    draw_points,
    numbers,
    of_kind,
)
from betanll_paper.presets import Preset, counted
from betanll_paper.published.methods import Method, spec_of
from betanll_paper.sine.training import (
    CURVES,
    FIT_UPDATES,
    FIT_X,
    JACOBIAN_X,
    PRESETS,
    PROBABILITY_STEP,
    RADII,
    TRAIN_SEED,
    fit_updates_of,
)

#: Values below are rounding errors of single precision.
_SMALLEST_JACOBIAN_VARIANCE = 1e-8


def fig1(rows: Rows, preset: str) -> Drawing:
    """The fit of NLL, and errors of NLL and MSE over time."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    fits = of_kind(rows, "fit", objective="nll")
    shown = [fit for fit in fits if fit["update"] == fit["updates"]][:1]
    for fit in shown:
        draw_sine_fit(left, fit)
        updates = counted(fit["update"], "update")
        left.set_title(f"NLL after {updates} (seed {fit['seed']})")
        left.legend(loc="upper right", ncols=3)

    table = _curve_table(rows)
    for curve in CURVES:
        draw_curve(right, curve, table)
    right.axhline(SINE_NOISE, color="black", linewidth=1, linestyle=(0, (1, 1)))
    right.annotate(
        f"noise {SINE_NOISE:g}",
        (0.01, SINE_NOISE),
        xytext=(0, 3),
        textcoords="offset points",
        xycoords=("axes fraction", "data"),
        fontsize=8,
    )
    right.set(xscale="log", yscale="log", xlabel="updates")
    right.set(ylabel="RMSE (unit of y)", ylim=(0.8 * SINE_NOISE, None))
    right.set_title("mean ± std over seeds")
    right.legend(loc="lower left", bbox_to_anchor=(0, 0.09))
    done = replace(PRESETS[preset], repeats=_n_seeds(rows))
    add_note(figure, preset, done, PRESETS["paper"])
    return Drawing(
        figure, {"": table, "-fit": _fit_table(shown), "-runs": _summary_table(rows)}
    )


def fig3(rows: Rows, preset: str) -> Drawing:
    """The fit of NLL at three times."""
    figure = Figure(figsize=(10, 3), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    fits = of_kind(rows, "fit")
    updates = fit_updates_of(PRESETS[preset].length["NLL"])
    shown = [fit for fit in fits if fit["update"] in updates]
    for ax, fit in zip(axes, shown, strict=False):
        draw_sine_fit(ax, fit)
        ax.set_title(f"after {counted(fit['update'], 'update')}")
        ax.label_outer()
    if shown:
        axes[0].legend(loc="upper right", ncols=3, columnspacing=0.8, handletextpad=0.4)
    add_note(figure, preset, one_run(updates[-1]), one_run(FIT_UPDATES[-1]))
    return Drawing(figure, {"": _fit_table(shown)})


def fig4(rows: Rows, preset: str) -> Drawing:
    """How much the features bend, over x and time."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True, width_ratios=[2, 1, 1])
    maps = recorded(rows, "jacobian")
    values = np.maximum(_matrix(maps), _SMALLEST_JACOBIAN_VARIANCE)
    norm = LogNorm(values.min(), max(values.max(), 10 * values.min()))
    mesh = None
    for ax, radius in zip(axes, RADII, strict=True):
        here = [row for row in maps if row["radius"] == radius]
        mesh = draw_over_time(
            *(ax, JACOBIAN_X, [row["update"] for row in here]),
            np.maximum(_matrix(here), _SMALLEST_JACOBIAN_VARIANCE),
            norm,
        )
        ax.set_title(f"radius {radius:g}")
    axes[0].set_ylabel("updates")
    assert mesh is not None
    figure.colorbar(mesh, ax=axes, label="Jacobian variance (x⁻²)", pad=0.01)
    add_training_note(figure, preset, rows)
    return Drawing(figure, {"": _map_table(maps, JACOBIAN_X, ["radius"])})


def fig5(rows: Rows, preset: str) -> Drawing:
    """Sampling probabilities of NLL, over x and time."""
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    ax = figure.subplots()
    maps = recorded(rows, "probability")
    x = sine(seed=TRAIN_SEED).x[:, 0]
    uniform, shown_x = 1 / len(x), x[::PROBABILITY_STEP]
    values = _matrix(maps)
    # A first network that predicts one variance everywhere has one value.
    norm = LogNorm(min(values.min(), uniform / 2), max(values.max(), 2 * uniform))
    updates = [row["update"] for row in maps]
    mesh = draw_over_time(ax, shown_x, updates, values, norm)
    ax.set(ylabel="updates", title="effective sampling probability of the NLL")
    bar = figure.colorbar(mesh, ax=ax, label="probability of a point", pad=0.01)
    bar.ax.axhline(uniform, color="white", linewidth=3)
    bar.ax.axhline(uniform, color="black", linewidth=1.2)
    bar.ax.annotate(
        "uniform",
        (0, uniform),
        xycoords=("axes fraction", "data"),
        xytext=(-3, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85},
    )
    add_training_note(figure, preset, rows)
    return Drawing(figure, {"": _map_table(maps, shown_x, [])})


def figS1(rows: Rows, preset: str) -> Drawing:
    """The fit of NLL with further seeds."""
    fits = of_kind(rows, "fit")
    shown = [fit for fit in fits if fit["update"] == fit["updates"]]
    figure = Figure(figsize=(10, 3), layout="constrained")
    axes = figure.subplots(1, max(1, len(shown)), sharey=True, squeeze=False)[0]
    for ax, fit in zip(axes, shown, strict=False):
        draw_sine_fit(ax, fit)
        ax.set_title(f"seed {fit['seed']}")
        ax.label_outer()
        axes[0].legend(loc="upper right", ncols=3, columnspacing=0.8, handletextpad=0.4)
    add_training_note(figure, preset, rows, n_paper_seeds=3)
    return Drawing(figure, {"": _fit_table(shown)})


def recorded(rows: Rows, kind: str) -> list[dict[str, Any]]:
    """Return what a detailed training recorded along the way."""
    found = of_kind(rows, kind)
    if not found:
        raise NothingToDraw("the run diverged before its first record")
    return found


def draw_curve(ax: Axes, curve: Method, table: pd.DataFrame) -> None:
    """Draw the error of an objective over time, with its spread over seeds."""
    color, dashes = LINES[curve]
    here = table[table["label"] == curve.short_label]
    if here.empty:
        return
    mean = here["rmse_mean"].to_numpy()
    spread = here["rmse_std"].fillna(0.0).to_numpy()
    # A logarithmic axis has no room below zero.
    low = np.maximum(mean - spread, mean / 10)
    updates = here["update"].to_numpy()
    ax.fill_between(updates, low, mean + spread, color=color, alpha=0.2, linewidth=0)
    ax.plot(updates, mean, dashes, color=color, linewidth=1.6, label=curve.short_label)


def draw_sine_fit(ax: Axes, fit: dict[str, Any]) -> None:
    """Draw the training data and a fit."""
    draw_points(ax, *sine(seed=TRAIN_SEED))
    draw_fit(ax, FIT_X, fit, ORANGE)
    ax.set(xlabel="x", ylabel="y", xlim=(0, 12), ylim=(-1.15, 1.5))


def one_run(updates: int) -> Preset:
    """Return what a figure of a single run shows."""
    return Preset(1, {"": updates}, unit="update")


def add_training_note(
    figure: Figure, preset: str, rows: Rows, n_paper_seeds: int = 1
) -> None:
    """Note the length of the NLL runs below a figure."""
    done, paper = (one_run(PRESETS[name].length["NLL"]) for name in (preset, "paper"))
    done = replace(done, repeats=_n_seeds(rows))
    add_note(figure, preset, done, replace(paper, repeats=n_paper_seeds))


def _n_seeds(rows: Rows) -> int:
    return len({row["seed"] for row in rows})


def _matrix(rows: Rows) -> Array:
    return np.array([numbers(row["values"]) for row in rows])


def _label(row: dict[str, Any]) -> str:
    return Method(spec_of(row["objective"], row["beta"])).short_label


def _curve_table(rows: Rows) -> pd.DataFrame:
    """Return mean and standard deviation over seeds at each update."""
    points = pd.DataFrame(
        [
            (_label(row), update, rmse, likelihood)
            for row in of_kind(rows, "curve")
            for update, rmse, likelihood in zip(
                row["update"],
                row["rmse"],
                row["log_likelihood"] or [None] * len(row["update"]),
                strict=True,
            )
        ],
        columns=["label", "update", "rmse", "log_likelihood"],
    ).astype({"rmse": float, "log_likelihood": float})
    groups = points.dropna(subset="rmse").groupby(["label", "update"])
    return groups.agg(
        n_seeds=("rmse", "size"),
        rmse_mean=("rmse", "mean"),
        rmse_std=("rmse", "std"),
        log_likelihood_mean=("log_likelihood", "mean"),
        log_likelihood_std=("log_likelihood", "std"),
    ).reset_index()


def _summary_table(rows: Rows) -> pd.DataFrame:
    hidden = ("kind", "detailed", "seconds")
    return pd.DataFrame(
        [
            {name: value for name, value in row.items() if name not in hidden}
            for row in of_kind(rows, "summary")
        ]
    )


def _fit_table(fits: Rows) -> pd.DataFrame:
    tables = [
        pd.DataFrame(
            {
                "seed": fit["seed"],
                "update": fit["update"],
                "x": FIT_X,
                "mean": numbers(fit["mean"]),
                "std": numbers(fit["std"]),
            }
        )
        for fit in fits
    ]
    columns = ["seed", "update", "x", "mean", "std"]
    return pd.concat(tables) if tables else pd.DataFrame(columns=columns)


def _map_table(rows: Rows, x: Array, names: list[str]) -> pd.DataFrame:
    """Return a line for each update, with a column for each x."""
    columns = ["update", *names]
    table = pd.DataFrame([[row[name] for name in columns] for row in rows])
    table.columns = pd.Index(columns)
    values = pd.DataFrame(_matrix(rows), columns=[f"x={point:.4g}" for point in x])
    return pd.concat([table, values], axis=1)
