"""The paper's UCI protocol.

For each split, the last fifth of the training rows chooses the learning rate; the other
rows standardise the data. The network is then trained again on all training rows for
the best number of epochs. Scores are of the test rows, in original units.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from betanll import metrics
from betanll.distributions import Distribution
from betanll.model_selection import (
    LEARNING_RATES,
    FitPlan,
    FittedModel,
    TrainingData,
    run,
    search_and_refit,
)
from betanll.networks import MLP
from betanll.objectives import Objective
from betanll.sweeps import Task, task
from betanll.training import optimizer
from betanll_paper.datasets import UCI_NAMES, UCITable, load_uci
from betanll_paper.presets import Preset
from betanll_paper.published.methods import METHODS, Method, spec_of
from betanll_paper.published.uci import n_paper_splits

BATCH_SIZE = 256
PATIENCE = 50
#: Updates of a run; the code has six sets with a long budget, the paper four.
UPDATES = 20_000
LONG_UPDATES = 100_000
LONG_SETS = ("carbon", "kin8m", "naval", "power", "protein", "superconductivity")
HIDDEN = 50
WIDE_HIDDEN = {"protein": 100}


PAPER = Preset(
    20,
    {"": UPDATES, **dict.fromkeys(LONG_SETS, LONG_UPDATES)},
    {"learning rate": LEARNING_RATES},
    repeat="split",
    unit="update",
)
PRESETS = {
    "smoke": replace(
        PAPER, repeats=2, length={"": 60}, grid={"learning rate": (3e-3, 7e-3)}
    ),
    "laptop": replace(PAPER, repeats=5),
    "paper": PAPER,
}


def uci_tasks(
    preset: str,
    *,
    methods: Iterable[Method] = METHODS,
    datasets: Iterable[str] = UCI_NAMES,
) -> list[Task]:
    """Return the tasks of a preset, a split of a set with one method each.

    Tasks of one set and method follow each other, so that a worker compiles seldom.
    The folder of the data is not part of a task: workers read ``$BETANLL_DATA``.

    Examples
    --------
    >>> tasks = uci_tasks("laptop", methods=[Method("mse")], datasets=["yacht"])
    >>> len(tasks), dict(tasks[0].settings)["split"]
    (5, 0)
    """
    chosen = PRESETS[preset]
    rates = " ".join(f"{rate:g}" for rate in chosen.grid["learning rate"])
    return [
        Task.of(
            run_split,
            dataset=dataset,
            **method.settings,
            split=split,
            max_updates=chosen.length_of(dataset),
            learning_rates=rates,
        )
        for dataset in datasets
        for method in methods
        for split in range(min(chosen.repeats, n_paper_splits(dataset)))
    ]


@task
def run_split(
    *,
    dataset: str,
    method: str,
    beta: float | None,
    split: int,
    max_updates: int,
    learning_rates: str,
) -> list[dict[str, Any]]:
    """Search, refit and test on one split."""
    started = time.perf_counter()
    table = _table(dataset)
    train, test = table.split(split)
    fitted, n_updates = fit_split(
        table.x[train],
        table.y[train],
        Method(spec_of(method, beta)).objective,
        hidden=WIDE_HIDDEN.get(dataset, HIDDEN),
        max_updates=max_updates,
        learning_rates=[float(rate) for rate in learning_rates.split()],
        seed=split,
    )
    predictive = predict(fitted, table.x[test])
    has_likelihood = fitted.objective.validation_score == "nll"
    log_likelihood = (
        metrics.log_likelihood(predictive, table.y[test]) if has_likelihood else None
    )
    return [
        {
            "dataset": dataset,
            "method": method,
            "beta": beta,
            "split": split,
            "log_likelihood": log_likelihood,
            "rmse": metrics.rmse(predictive.mean, table.y[test]),
            "learning_rate": fitted.learning_rate,
            "epochs": fitted.members[0].n_epochs,
            "updates": n_updates,
            "seconds": time.perf_counter() - started,
        }
    ]


def fit_split(
    x: Any,
    y: Any,
    objective: Objective,
    *,
    hidden: int,
    max_updates: int,
    learning_rates: Sequence[float],
    seed: int,
) -> tuple[FittedModel, int]:
    """Return the fitted model of a training part, and the updates of all runs."""
    n = len(x)
    # The first int(0.8 n) rows train.
    n_validation = n - int(0.8 * n)
    net = MLP(x.shape[1], (hidden,), "relu")
    plan = FitPlan(
        candidates=[
            (net, objective, optimizer(learning_rate=rate)) for rate in learning_rates
        ],
        batch_size=BATCH_SIZE,
        n_updates=max_updates,
        patience=PATIENCE,
        validation_fraction=n_validation / n,
        seeds=(seed,),
    )
    steps = search_and_refit(plan, TrainingData(x, y), np.arange(n))
    (fitted,) = run([steps], n_jobs=1)
    return fitted, sum(fitted.search["n_updates"]) + fitted.members[0].n_updates


def predict(fitted: FittedModel, x: Any) -> Distribution:
    """Return the predictive distribution in original units."""
    predictive = fitted.members[0].predict(fitted.inputs.apply(x))
    return predictive.affine(fitted.targets.scale, fitted.targets.mean)


@lru_cache(maxsize=2)
def _table(dataset: str) -> UCITable:
    return load_uci(dataset)
