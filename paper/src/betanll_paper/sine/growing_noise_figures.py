"""Figure 8: the sine with growing noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from betanll.datasets import heteroscedastic_sine, heteroscedastic_sine_truth
from betanll.typing import Array
from betanll_paper.drawing.marks import (
    LINES,
    Drawing,
    Rows,
    add_note,
    draw_fit,
    draw_points,
    numbers,
)
from betanll_paper.published.methods import Method, spec_of
from betanll_paper.sine.growing_noise import (
    GRID_X,
    METHODS,
    PRESETS,
    TRAIN_SEED,
    TRAINED_RANGE,
)

_LOW, _HIGH = TRAINED_RANGE
#: Half the width of a band, as in the paper.
_N_STDS = 2
_INSIDE = (GRID_X >= _LOW) & (GRID_X <= _HIGH)


class Trials(NamedTuple):
    """The trials of an objective with one learning rate that did not diverge."""

    learning_rate: float
    rows: list[dict[str, Any]]

    @property
    def nll(self) -> float:
        return float(np.mean([row["validation_nll"] for row in self.rows]))

    @property
    def best(self) -> dict[str, Any]:
        return min(self.rows, key=lambda row: row["validation_nll"])

    @property
    def stds(self) -> dict[int, Array]:
        """Predicted standard deviations over the grid, by seed."""
        return {row["seed"]: numbers(row["std"]) for row in self.rows}


def trials_of(rows: Rows) -> dict[Method, list[Trials]]:
    """Sort trials by objective and learning rate, the best learning rate first."""
    groups: dict[tuple[Method, float], list[dict[str, Any]]] = {}
    for row in rows:
        if row["std"] is not None:
            key = Method(spec_of(row["objective"], row["beta"])), row["learning_rate"]
            groups.setdefault(key, []).append(row)
    return {
        method: sorted(
            (Trials(rate, group) for (m, rate), group in groups.items() if m == method),
            key=lambda trials: trials.nll,
        )
        for method in METHODS
    }


def fig8(rows: Rows, preset: str) -> Drawing:
    """The best fit of each objective, and the standard deviations of all trials."""
    trials = trials_of(rows)
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True)
    *panels, last = axes.ravel()
    for letter, ax, (method, groups) in zip(
        "abcde", panels, trials.items(), strict=True
    ):
        title = f"{letter}) {method.short_label}"
        if groups:
            chosen = groups[0]
            _draw_best(ax, chosen.best, LINES[method][0])
            title += f", learning rate {chosen.learning_rate:g}"
        ax.set_title(title, fontsize=10)
        ax.set(ylim=(-22, 22))
    for ax in axes[:, 0]:
        ax.set_ylabel("y")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=9)
    _draw_stds(last, trials)
    for ax in axes[-1]:
        ax.set_xlabel("x")
    n_trials = max(
        (len(g.rows) for groups in trials.values() for g in groups), default=0
    )
    done = replace(PRESETS[preset], repeats=n_trials)
    add_note(figure, preset, done, PRESETS["paper"])
    return Drawing(figure, {"": _fit_table(trials), "-ratios": ratio_table(trials)})


def _draw_best(ax: Axes, row: dict[str, Any], color: str) -> None:
    draw_points(ax, *heteroscedastic_sine(seed=TRAIN_SEED))
    draw_fit(ax, GRID_X, row, color, _N_STDS)
    truth = heteroscedastic_sine_truth(GRID_X)
    style: dict[str, Any] = {"color": "black", "linewidth": 1}
    ax.plot(GRID_X, truth.mean, linestyle="--", label="true mean", **style)
    for sign, label in ((-1, f"true ±{_N_STDS} std"), (1, None)):
        bound = truth.mean + sign * _N_STDS * truth.std
        ax.plot(GRID_X, bound, linestyle=":", label=label, **style)
    _mark_range(ax)


def _draw_stds(ax: Axes, trials: dict[Method, list[Trials]]) -> None:
    for method, groups in trials.items():
        if not groups:
            continue
        color, dashes = LINES[method]
        stds = np.array(list(groups[0].stds.values()))
        mean, spread = stds.mean(axis=0), stds.std(axis=0, ddof=min(1, len(stds) - 1))
        ax.fill_between(
            GRID_X, mean - spread, mean + spread, color=color, alpha=0.2, linewidth=0
        )
        label = method.short_label
        ax.plot(GRID_X, mean, dashes, color=color, linewidth=1.4, label=label)
    truth = heteroscedastic_sine_truth(GRID_X).std
    ax.plot(GRID_X, truth, "--", color="black", linewidth=1, label="true")
    _mark_range(ax)
    ax.set(ylabel="standard deviation", ylim=(0, 1.6 * truth.max()))
    ax.set_title("f) spread, mean ± std over trials", fontsize=10)
    ax.legend(loc="upper center", ncols=3, fontsize=8)


def _mark_range(ax: Axes) -> None:
    """Shade what lies outside the training data."""
    for low, high in ((GRID_X[0], _LOW), (_HIGH, GRID_X[-1])):
        ax.axvspan(low, high, color="0.93", zorder=-1, linewidth=0)
    ax.set_xlim(GRID_X[0], GRID_X[-1])


def _fit_table(trials: dict[Method, list[Trials]]) -> pd.DataFrame:
    truth = heteroscedastic_sine_truth(GRID_X)
    tables = []
    for method, groups in trials.items():
        for chosen in groups[:1]:
            stds = np.array(list(chosen.stds.values()))
            tables.append(
                pd.DataFrame(
                    {
                        "label": method.short_label,
                        "learning_rate": chosen.learning_rate,
                        "x": GRID_X,
                        "best_trial": chosen.best["seed"],
                        "best_mean": numbers(chosen.best["mean"]),
                        "best_std": numbers(chosen.best["std"]),
                        "std_mean": stds.mean(axis=0),
                        "std_std": stds.std(axis=0, ddof=min(1, len(stds) - 1)),
                        "true_mean": truth.mean,
                        "true_std": truth.std,
                    }
                )
            )
    return pd.concat(tables) if tables else pd.DataFrame()


def ratio_table(trials: dict[Method, list[Trials]]) -> pd.DataFrame:
    """Return how predicted standard deviations relate inside the training range.

    Ratios are averaged over x and then over trials; those to the NLL are of trials with
    the same learning rate and seed. Too much here and too little there cancel in a
    ratio, not in a deviation, the mean of ``abs(ratio - 1)``.
    """
    truth = heteroscedastic_sine_truth(GRID_X).std[_INSIDE]
    of_nll = {group.learning_rate: group.stds for group in trials[METHODS[0]]}
    lines = []
    for method, groups in trials.items():
        for group in groups:
            to_truth = [(std[_INSIDE] / truth).mean() for std in group.stds.values()]
            base = of_nll.get(group.learning_rate, {})
            over_nll = [
                std[_INSIDE] / base[seed][_INSIDE]
                for seed, std in group.stds.items()
                if seed in base
            ]
            to_nll = [ratio.mean() for ratio in over_nll]
            away = [np.abs(ratio - 1).mean() for ratio in over_nll]
            lines.append(
                {
                    "label": method.short_label,
                    "learning_rate": group.learning_rate,
                    "is_shown": group is groups[0],
                    "n_trials": len(group.rows),
                    "validation_nll": group.nll,
                    "ratio_to_truth": np.mean(to_truth),
                    "ratio_to_truth_std": pd.Series(to_truth).std(),
                    "ratio_to_nll": np.mean(to_nll) if to_nll else np.nan,
                    "ratio_to_nll_std": pd.Series(to_nll, dtype=float).std(),
                    "deviation_from_nll": np.mean(away) if away else np.nan,
                }
            )
    return pd.DataFrame(lines)
