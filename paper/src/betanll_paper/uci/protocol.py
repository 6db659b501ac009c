"""The paper's UCI protocol: which tasks there are, and what one of them does.

For each split the learning rate is chosen on the last fifth of the training rows, with
whitening by the others, and the network is trained anew on all of them for the best
number of epochs. Numbers are of the test rows, in original units.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

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
from betanll_paper.published.methods import METHODS, Method

BATCH_SIZE = 256
PATIENCE = 50
#: Updates of a training; the code has six sets with a long budget, the paper four.
UPDATES = 20_000
LONG_UPDATES = 100_000
LONG_SETS = frozenset(
    ["carbon", "kin8m", "naval", "power", "protein", "superconductivity"]
)
HIDDEN = 50
WIDE_HIDDEN = {"protein": 100}


class Preset(NamedTuple):
    """How much of the benchmark is run."""

    n_splits: int
    max_updates: int | None
    learning_rates: tuple[float, ...] = LEARNING_RATES


PRESETS = {
    "smoke": Preset(2, 60, (3e-3, 7e-3)),
    "laptop": Preset(5, None),
    "paper": Preset(20, None),
}


def uci_tasks(
    preset: str,
    *,
    methods: Iterable[Method] = METHODS,
    datasets: Iterable[str] = UCI_NAMES,
) -> list[Task]:
    """Return the tasks of a preset, a split of a set with one method each.

    Tasks of one set and method follow each other, so that a worker compiles seldom.
    Where the data is does not belong to a task: workers look in ``$BETANLL_DATA``.

    Examples
    --------
    >>> tasks = uci_tasks("laptop", methods=[Method("mse")], datasets=["yacht"])
    >>> len(tasks), dict(tasks[0].settings)["split"]
    (5, 0)
    """
    chosen = PRESETS[preset]
    return [
        Task.of(
            run_split,
            dataset=dataset,
            method=method.name,
            beta=method.beta,
            split=split,
            max_updates=chosen.max_updates or updates_of(dataset),
            learning_rates=" ".join(f"{rate:g}" for rate in chosen.learning_rates),
        )
        for dataset in datasets
        for method in methods
        for split in range(min(chosen.n_splits, 5 if dataset == "protein" else 20))
    ]


def updates_of(dataset: str) -> int:
    """Return the budget of one training."""
    return LONG_UPDATES if dataset in LONG_SETS else UPDATES


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
        Method(method, beta).objective,
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
    """Return the fitted model of a training part, and the updates of all trainings."""
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
