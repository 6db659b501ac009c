"""Results of several seeds as the cells of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from betanll_paper.comparison.cells import Cell, Verdict, mean_and_std
from betanll_paper.comparison.pages import VERDICTS
from betanll_paper.published.methods import Method, Metric, PaperCell

#: Dataset and method of a result.
Key = tuple[str, Method]
Rows = Iterable[dict[str, Any]]

#: How the cell of a table compares with the paper's, which is of several seeds.
VERDICTS_OF_SEEDS: dict[Verdict, str] = {**VERDICTS, "not judged": "– one seed"}

_COLUMNS: dict[Metric, str] = {"rmse": "rmse", "ll": "log_likelihood"}


def key_of(row: dict[str, Any]) -> Key:
    """Return what a result is of."""
    return row["dataset"], Method(row["method"], row["beta"])


def in_order(rows: Rows, known: Sequence[Key]) -> list[dict[str, Any]]:
    """Return results in the order of a table and then of seeds, others last."""
    places = {key: place for place, key in enumerate(known)}

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        key = key_of(row)
        return places.get(key, len(known)), str(key), row["seed"]

    return sorted(rows, key=place)


def cells_of_runs(
    rows: Rows,
    paper: Callable[[Metric], dict[Key, PaperCell]],
    *,
    known: Sequence[Key],
) -> list[Cell]:
    """Return mean and deviation over the seeds, beside the paper's.

    Parameters
    ----------
    rows : iterable of dict
        With dataset, method, beta, seed, rmse and log_likelihood; None where training
        diverged.
    paper : callable
        Returns the paper's cells of a metric.
    known : sequence of (str, Method)
        The order of the table. MSE has no likelihood.
    """
    groups: dict[Key, list[dict[str, Any]]] = {}
    for row in in_order(rows, known):
        groups.setdefault(key_of(row), []).append(row)
    cells = []
    for key, runs in groups.items():
        dataset, method = key
        for metric, column in _COLUMNS.items():
            if metric == "ll" and method.name == "mse":
                continue
            values = [run.get(column) for run in runs]
            mean, std = mean_and_std(
                np.array([math.nan if value is None else value for value in values])
            )
            cells.append(
                Cell(
                    metric=metric,
                    dataset=dataset,
                    method=method,
                    n_splits=len(runs),
                    mean=mean,
                    std=std,
                    mark="",
                    paper=paper(metric).get(key),
                )
            )
    return cells
