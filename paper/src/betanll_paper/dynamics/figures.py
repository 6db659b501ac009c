"""Figures 6, 9 and S4: residuals, configurations and weights of dynamics models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from betanll.reports.style import BLUE, format_number, use_log_scale
from betanll.typing import Array
from betanll_paper.drawing.marks import (
    LINES,
    Drawing,
    NothingToDraw,
    Rows,
    add_note,
    of_kind,
)
from betanll_paper.drawing.strips import Strip, draw_strips, strip_legend
from betanll_paper.dynamics.protocol import (
    configuration_of,
    configurations,
    run_and_paper,
)
from betanll_paper.dynamics.training import N_TIMES, PROBABILITY_EDGES, RESIDUAL_EDGES
from betanll_paper.presets import counted
from betanll_paper.published.dynamics import (
    CONTROL,
    DATASETS,
    FETCH,
    NAMES,
    OBJECT_SLIDE,
)
from betanll_paper.published.methods import METHODS, Method
from betanll_paper.simulators.object_slide import OBJECT_SLIDE_STEPS

_NLL, _MSE, _HALF = Method("nll"), Method("mse"), Method("beta-nll:0.5")
_COLORS = {method: LINES[method][0] for method in (_NLL, _MSE, _HALF)}
#: Like the paper, figures 6 and S4 show one run of a method.
_SEED = 1
_NAMES = {**NAMES, FETCH: f"{NAMES[FETCH]} (substitute data: scripted controller)"}
_UNITS = {OBJECT_SLIDE: "unit of position", FETCH: "m"}
#: Outputs of Fetch, whose probabilities are counted together.
_N_OUTPUTS = 3


def fig6(rows: Rows, preset: str) -> Drawing:
    """Residuals of several losses on the test set."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots(1, len(_COLORS), sharex=True, sharey=True)
    tables, lines = [], []
    for ax, method in zip(axes, _COLORS, strict=True):
        (residuals,) = _recorded(rows, "residuals", OBJECT_SLIDE, method)
        (final,) = _recorded(rows, "final", OBJECT_SLIDE, method)
        counts, rmse = residuals["counts"], final["rmse"]
        if rmse is None:
            raise NothingToDraw(f"{method.label} with seed {_SEED} has no finite RMSE")
        _draw_filled(ax, counts, RESIDUAL_EDGES, method)
        _draw_mark(ax, rmse, f"RMSE {format_number(float(f'{rmse:.2g}'))}", "--")
        ax.set(title=method.label, xlabel=f"|residual| ({_UNITS[OBJECT_SLIDE]})")
        n_outside = final["n_episodes"] * OBJECT_SLIDE_STEPS - sum(counts)
        if n_outside:
            text = f"{n_outside:,} outside"
            ax.text(0.02, 0.98, text, transform=ax.transAxes, va="top", fontsize=9)
        run = {**method.settings, "seed": _SEED}
        tables.append(_histogram_table(run, RESIDUAL_EDGES, counts))
        lines.append({**run, "rmse": rmse, "n_outside": n_outside})
    table = pd.concat(tables)
    _set_scales(axes[0], table)
    axes[0].set_ylabel("transitions")
    figure.suptitle(f"{_NAMES[OBJECT_SLIDE]}, test set, seed {_SEED}")
    _add_note(figure, preset, rows, [OBJECT_SLIDE], _longest_grid(preset, OBJECT_SLIDE))
    return Drawing(figure, {"": table, "-rmse": pd.DataFrame(lines)})


def fig9(rows: Rows, preset: str) -> Drawing:
    """Validation scores of the configurations of each method."""
    by_dataset = {name: _by_method(rows, name) for name in DATASETS}
    by_dataset = {name: methods for name, methods in by_dataset.items() if methods}
    if not by_dataset:
        raise NothingToDraw("no configuration has a result")
    sizes = [len(methods) for methods in by_dataset.values()]
    height = 0.8 + sum(0.9 + 0.25 * size for size in sizes)
    figure = Figure(figsize=(10, height), layout="constrained")
    axes = figure.subplots(
        *(len(sizes), 2), squeeze=False, sharey="row", height_ratios=sizes
    )
    for (left, right), (dataset, methods) in zip(axes, by_dataset.items(), strict=True):
        draw_strips(left, _strips(methods, "rmse"), is_log=True)
        draw_strips(right, _strips(methods, "nll"), is_log=False)
        left.set_title(_NAMES[dataset], loc="left")
        left.set_xlabel(f"validation RMSE ({_UNITS[dataset]})")
        right.set_xlabel("validation NLL (nats per transition)")
        _label_counts(right, methods)
    marks = strip_legend(axes.ravel())
    figure.legend(handles=marks, loc="outside upper center", ncols=len(marks))
    groups = [group for methods in by_dataset.values() for group in methods.values()]
    _add_note(figure, preset, rows, list(by_dataset), max(groups, key=len))
    lines = [_search_line(row) for group in groups for row in group]
    return Drawing(figure, {"": pd.DataFrame(lines)})


def figS4(rows: Rows, preset: str) -> Drawing:
    """Sampling probabilities of NLL over time, and their reference."""
    times = _recorded(rows, "probability", FETCH, _NLL)
    oracle = _recorded(rows, "probability", FETCH, _MSE)[-1]
    (nll,), (mse,) = (_recorded(rows, "final", FETCH, m) for m in (_NLL, _MSE))
    if mse["status"] == "diverged":
        raise NothingToDraw(f"the run of {_MSE.label} with seed {_SEED} diverged")
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    axes = figure.subplots(2, N_TIMES // 2, sharex=True, sharey=True)
    label = f"MSE oracle after {counted(oracle['update'], 'update')}"
    outline = {"color": _COLORS[_MSE], "linewidth": 1.4, "label": label}
    for ax, row in zip(axes.ravel(), times, strict=False):
        _draw_filled(ax, row["counts"], PROBABILITY_EDGES, _NLL)
        ax.stairs(oracle["counts"], 10**PROBABILITY_EDGES, **outline)
        n_points = sum(row["counts"]) // _N_OUTPUTS
        _draw_mark(ax, 1 / n_points, f"uniform 1/{n_points}", ":")
        ax.set_title(f"after {counted(row['update'], 'update')}")
    for ax in axes.ravel()[len(times) :]:
        ax.set_title(f"no record ({nll['status']})")
    series = [*(("nll", row) for row in times), ("mse-oracle", oracle)]
    tables = [
        _histogram_table(
            *({"series": name, "update": row["update"]}, PROBABILITY_EDGES),
            row["counts"],
        )
        for name, row in series
    ]
    table = pd.concat(tables)
    _set_scales(axes[0, 0], table)
    # The first bin also counts smaller values.
    is_cut = any(row["counts"][0] for _, row in series)
    less = "\n(first bin: also less)" if is_cut else ""
    for ax in axes[-1]:
        ax.set_xlabel(f"sampling probability{less}")
    for ax in axes[:, 0]:
        ax.set_ylabel("points × outputs")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=2,
        title=f"{_NAMES[FETCH]}, training points, seed {_SEED}",
        title_fontsize="large",
    )
    _add_note(figure, preset, rows, [FETCH], _longest_grid(preset, FETCH))
    return Drawing(figure, {"": table})


def _recorded(
    rows: Rows, kind: str, dataset: str, method: Method
) -> list[dict[str, Any]]:
    """Return the records of a run with the best configuration, in order of time."""
    run = {**method.settings, "seed": _SEED}
    found = of_kind(rows, kind, dataset=dataset, **run)
    if not found:
        is_trained = of_kind(rows, "final", dataset=dataset, **run)
        why = "diverged before its first record" if is_trained else "has no result"
        raise NothingToDraw(f"the run of {method.label} with seed {_SEED} {why}")
    return sorted(found, key=lambda row: row.get("update", 0))


def _draw_filled(ax: Axes, counts: Sequence[int], edges: Array, method: Method) -> None:
    style: dict[str, Any] = {"color": _COLORS[method], "label": method.label}
    ax.stairs(counts, 10**edges, fill=True, alpha=0.75, **style)


def _draw_mark(ax: Axes, x: float, text: str, dashes: str) -> None:
    """Draw a line from bottom to top with a text to the left of its end."""
    ax.axvline(x, color="black", linewidth=1.2, linestyle=dashes)
    ax.annotate(
        *(text, (x, 1)),
        xycoords=("data", "axes fraction"),
        xytext=(-4, -2),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=9,
    )


def _set_scales(ax: Axes, table: pd.DataFrame) -> None:
    """Make both axes logarithmic, so that few points far out are seen."""
    filled = table[table["count"] > 0]
    low, high = filled["log10_lower"].min(), filled["log10_upper"].max()
    ax.set_xlim(10 ** (low - 0.1), 10 ** (high + 0.1))
    use_log_scale(ax)
    ax.set(yscale="log", ylim=(0.7, 4 * filled["count"].max()))


def _histogram_table(
    values: dict[str, Any], edges: Array, counts: Sequence[int]
) -> pd.DataFrame:
    bins = {"log10_lower": edges[:-1], "log10_upper": edges[1:], "count": counts}
    return pd.DataFrame({**values, **bins})


def _by_method(rows: Rows, dataset: str) -> dict[Method, list[dict[str, Any]]]:
    """Return the configurations of each method, in the order of the paper."""
    searched = of_kind(rows, "search", dataset=dataset)
    groups = {
        method: sorted(
            of_kind(searched, "search", **method.settings),
            key=configuration_of,
        )
        for method in (*METHODS, CONTROL)
    }
    return {method: group for method, group in groups.items() if group}


def _strips(methods: dict[Method, list[dict[str, Any]]], metric: str) -> list[Strip]:
    return [
        Strip(
            method.label,
            _COLORS.get(method, _COLORS[_HALF] if method.name == _HALF.name else BLUE),
            np.array([_value(row, metric) for row in group]),
            np.array([row["status"] == "diverged" for row in group]),
            "no likelihood" if metric == "nll" and method == _MSE else "",
        )
        for method, group in methods.items()
    ]


def _label_counts(ax: Axes, methods: dict[Method, list[dict[str, Any]]]) -> None:
    """Write the number of configurations to the right of each strip."""
    texts = []
    for group in methods.values():
        n_diverged = sum(row["score"] is None for row in group)
        without = f", {n_diverged} diverged" if n_diverged else ""
        texts.append(f"{len(group)}{without}")
    side = ax.secondary_yaxis("right")
    side.set_yticks(range(len(texts)), texts)
    side.tick_params(length=0, pad=8)
    side.spines["right"].set_visible(False)
    ax.annotate(
        *("configurations", (1, 1)),
        xycoords="axes fraction",
        xytext=(8, 3),
        textcoords="offset points",
        color="0.35",
    )


def _value(row: dict[str, Any], metric: str) -> float:
    """Return a score: NaN if it is missing, infinite if it is not a number."""
    if row["score"] is None:
        return float("nan")
    value = _search_line(row)[f"validation_{metric}"]
    return float("inf") if value is None else float(value)


def _search_line(row: dict[str, Any]) -> dict[str, Any]:
    likelihood = row.get("validation_log_likelihood")
    return {
        **{name: row[name] for name in ("dataset", "method", "beta")},
        **configuration_of(row)._asdict(),
        "validation_rmse": row.get("validation_rmse"),
        "validation_nll": None if likelihood is None else -likelihood,
        "status": row["status"],
    }


def _longest_grid(preset: str, dataset: str) -> Sequence[Any]:
    return max((configurations(preset, dataset, m) for m in _COLORS), key=len)


def _add_note(
    figure: Figure,
    preset: str,
    rows: Rows,
    datasets: Sequence[str],
    tried: Sequence[Any],
) -> None:
    """Note the runs of a figure of one seed, without slow methods, below it."""
    done, paper = run_and_paper(preset, rows, datasets, tried)
    done, paper = (replace(one, repeats=1, options={}) for one in (done, paper))
    add_note(figure, preset, done, paper)
