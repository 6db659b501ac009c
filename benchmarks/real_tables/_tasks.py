"""The tasks: a split of a table with one method each, and its scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from benchmarks.real_tables._catalogue import TABLES
from benchmarks.real_tables._methods import (
    METHODS,
    Array,
    Quantiles,
    RefusalError,
    predict,
    version_of,
)
from benchmarks.real_tables._splits import n_splits, split_rows
from benchmarks.real_tables._tables import load

from betanll import metrics
from betanll.distributions import Distribution
from betanll.sweeps import Task, task

REPORT_SPLITS = tuple(range(5))
LEVEL = 0.9
SCORES = (
    *("crps", "rmse", "nll", "interval_score_90", "coverage_90", "width_90"),
    *("fit_seconds", "predict_seconds"),
)


def real_table_tasks(
    tables: Iterable[str],
    methods: Sequence[str],
    kinds: Sequence[str],
    splits: Sequence[int],
) -> list[Task]:
    """Return the tasks; a table takes part with the kinds of splits that it has.

    All tables have their first split before any has its second, small ones first: a
    run that is stopped has results to compare.
    """
    described = sorted(
        (TABLES[name] for name in tables),
        key=lambda table: min(table.n_rows, table.cap),
    )
    return [
        Task.of(
            run_split,
            table=table.name,
            kind=kind,
            split=split,
            method=method,
            settings=METHODS[method].settings,
        )
        for kind in kinds
        for split in splits
        for table in described
        for method in methods
        if kind in table.split_kinds and split < n_splits(kind)
    ]


@task
def run_split(
    *, table: str, kind: str, split: int, method: str, settings: str
) -> list[dict[str, Any]]:
    """Fit, predict and score; the number of the split is the seed.

    A method that refuses the table has a row with its message and no scores.
    """
    described = TABLES[table]
    frame = load(described)
    train, test = split_rows(described, frame, kind, split)
    target = frame[described.target].to_numpy(np.float64)
    scores, refusal = dict.fromkeys(SCORES, math.nan), ""
    try:
        prediction = predict(
            method,
            frame.iloc[train].reset_index(drop=True),
            described.target,
            frame.iloc[test].reset_index(drop=True),
            split,
            settings=settings,
        )
        scores = {
            **score(prediction.predictive, target[test], float(target.std())),
            "fit_seconds": prediction.fit_seconds,
            "predict_seconds": prediction.predict_seconds,
        }
    except RefusalError as error:
        refusal = str(error)
    return [
        {
            **{"table": table, "kind": kind, "split": split, "method": method},
            **scores,
            **{"n_train": len(train), "n_test": len(test)},
            **{"version": version_of(method), "refusal": refusal},
        }
    ]


def score(
    predictive: Distribution | Quantiles, y: Array, scale: float
) -> dict[str, float]:
    """Return the scores in units of `scale`, the deviation of the table's target.

    NLL is NaN for quantiles, which have no density. Their CRPS is twice the mean
    pinball loss over the levels, the midpoint rule for its integral; of a normal
    distribution, ten levels give 0.7% too much.
    """
    interval: Array
    if isinstance(predictive, Quantiles):
        n = predictive.values.shape[1]
        levels = (np.arange(n) + 0.5) / n
        crps = 2 * metrics.pinball_loss(predictive.values, y, levels)
        nll, interval = math.nan, predictive.values[:, [0, -1]]
    else:
        crps = float(metrics.crps(predictive, y))
        nll = -float(metrics.log_likelihood(predictive, y)) - math.log(scale)
        interval = predictive.interval(LEVEL)
    return {
        "crps": crps / scale,
        "rmse": float(metrics.rmse(predictive.mean, y)) / scale,
        "nll": nll,
        "interval_score_90": metrics.interval_score(interval, y, LEVEL) / scale,
        "coverage_90": metrics.interval_coverage(interval, y),
        "width_90": metrics.interval_width(interval) / scale,
    }
