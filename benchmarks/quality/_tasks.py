"""The tasks of the benchmark: a split of a table with one method each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from benchmarks.quality._adapters import Array, Prediction
from benchmarks.quality._methods import get_method, predict
from benchmarks.quality._names import versions
from benchmarks.quality._tables import load_split, n_splits

from betanll import metrics
from betanll.sweeps import Task, task

#: On these a method is judged; the others are for its development.
REPORT_SPLITS = tuple(range(5))
LEVEL = 0.9


def quality_tasks(
    datasets: Iterable[str], methods: Iterable[str], splits: Iterable[int]
) -> list[Task]:
    """Return the tasks; a table takes part with those of the splits that it has.

    Tasks of one table and method follow each other, so that a worker compiles seldom.
    """
    splits = list(splits)
    methods = {name: get_method(name).settings for name in methods}
    return [
        Task.of(run_split, dataset=dataset, method=name, split=split, settings=settings)
        for dataset in datasets
        for name, settings in methods.items()
        for split in splits
        if split < n_splits(dataset)
    ]


@task
def run_split(
    *, dataset: str, method: str, split: int, settings: str
) -> list[dict[str, Any]]:
    """Fit, predict and score; the number of the split is the seed."""
    rows = load_split(dataset, split)
    prediction = predict(method, *rows[:3], split, settings=settings)
    return [
        {
            "dataset": dataset,
            "split": split,
            "method": method,
            **score(prediction, rows.y_train, rows.y_test),
            "fit_seconds": prediction.fit_seconds,
            "predict_seconds": prediction.predict_seconds,
            "n_train": len(rows.y_train),
            "n_test": len(rows.y_test),
            "versions": versions(get_method(method).packages),
        }
    ]


def score(prediction: Prediction, y_train: Array, y_test: Array) -> dict[str, float]:
    """Return the metrics of a prediction.

    NLL and CRPS are sums over the targets of means over the rows, each target by
    itself; ``crps_scaled`` and ``width_90`` are in units of the standard deviations of
    the training targets.
    """
    predictive, n_targets = prediction.distribution, y_test.shape[1]
    std = np.std(y_train, axis=0)
    scaled, y_scaled = predictive.affine(1 / std, 0.0), y_test / std
    interval = scaled.interval(LEVEL)
    return {
        "nll": -metrics.log_likelihood(predictive, y_test),
        "crps": metrics.crps(predictive, y_test) * n_targets,
        "crps_scaled": metrics.crps(scaled, y_scaled) * n_targets,
        "rmse": metrics.rmse(predictive.mean, y_test),
        "coverage_90": metrics.interval_coverage(interval, y_scaled),
        "width_90": metrics.interval_width(interval),
    }
