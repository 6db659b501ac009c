"""Many short runs on the sine: does a choice of network, learning rate or
optimiser avoid the trap? (figures 7, S2, S3)

The paper gives neither the learning rates nor the settings of the optimisers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import optax

from betanll import metrics
from betanll.datasets import sine
from betanll.networks import MLP
from betanll.objectives import BetaNLL
from betanll.sweeps import Task, task
from betanll.training import Budget, fit
from betanll.training import optimizer as optimizer_of
from betanll_paper.presets import Preset
from betanll_paper.rows import plain
from betanll_paper.sine.training import (
    BATCH_SIZE,
    EVALUATION_SEED,
    TRAIN_SEED,
    predictive,
)

#: Factories of optax and, as PyTorch has it, where RMSprop adds eps.
OPTIMIZERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "adam": (optax.adam, {}),
    "rmsprop": (optax.rmsprop, {"eps_in_sqrt": False}),
    "sgd": (optax.sgd, {}),
}
#: Of an optimiser, as the settings of a task: all of them are given.
Settings = dict[str, Any]
#: Table S5: hidden layers of equal width.
ARCHITECTURES = ("2x32", "2x64", "2x128", "3x128", "3x256")
#: That of figure S2.
OPTIMIZER_ARCHITECTURE = "2x128"
BETAS = (0.0, 0.5, 1.0)
LEARNING_RATES = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
SGD_LEARNING_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
MOMENTA = (0.0, 0.9, 0.99)
ADAM_COEFFICIENTS = tuple((b1, b2) for b1 in (0.5, 0.9) for b2 in (0.9, 0.99, 0.999))
RMSPROP_DECAYS = (0.9, 0.99)


#: Figures 7, S2 and S3 share the runs that they have in common.
_PAPER = Preset(
    3,
    {"": 2_000_000},
    {
        "network": ARCHITECTURES,
        "learning rate": LEARNING_RATES,
        "learning rate of SGD": SGD_LEARNING_RATES,
    },
    repeat="trial",
    unit="update",
)
PRESETS = {
    "smoke": replace(
        _PAPER,
        repeats=1,
        length={"": 100},
        grid={
            "network": ("2x32", "2x128"),
            "learning rate": (3e-5, 3e-3),
            "learning rate of SGD": (1e-5, 1e-1),
        },
    ),
    # The largest network takes longer than all others together. With small learning
    # rates even the squared error would learn nothing in so few updates.
    "laptop": replace(
        _PAPER,
        repeats=1,
        length={"": 300_000},
        grid={
            "network": ARCHITECTURES[:-1],
            "learning rate": LEARNING_RATES[-3:],
            "learning rate of SGD": SGD_LEARNING_RATES[-3:],
        },
    ),
    "paper": _PAPER,
}


def grid_tasks(preset: str) -> list[Task]:
    """Return the tasks of figures 7 and S3, those of one network together.

    Examples
    --------
    >>> len(grid_tasks("laptop")), len(grid_tasks("paper"))
    (36, 225)
    """
    chosen = PRESETS[preset]
    return [
        _task(architecture, beta, _adam(rate), trial, chosen.length[""])
        # The largest networks take longest: they begin.
        for architecture in reversed(chosen.grid["network"])
        for beta in BETAS
        for rate in chosen.grid["learning rate"]
        for trial in range(chosen.repeats)
    ]


def optimizer_tasks(preset: str) -> list[Task]:
    """Return the tasks of figure S2.

    Examples
    --------
    >>> len(optimizer_tasks("laptop")), len(optimizer_tasks("paper"))
    (33, 165)
    """
    chosen = PRESETS[preset]
    return [
        _task(OPTIMIZER_ARCHITECTURE, 0.0, optimizer, trial, chosen.length[""])
        for optimizer in [*sgd_settings(preset), *adaptive_settings(preset)]
        for trial in range(chosen.repeats)
    ]


def sgd_settings(preset: str) -> list[Settings]:
    """Return the cells of the left panel of figure S2."""
    rates = PRESETS[preset].grid["learning rate of SGD"]
    return [
        {"optimizer": "sgd", "learning_rate": rate, "momentum": momentum}
        for momentum in MOMENTA
        for rate in rates
    ]


def adaptive_settings(preset: str) -> list[Settings]:
    """Return the cells of the right panel of figure S2."""
    rates = PRESETS[preset].grid["learning rate"]
    return [
        *(_adam(rate, b1, b2) for b1, b2 in ADAM_COEFFICIENTS for rate in rates),
        *(_rmsprop(rate, decay) for decay in RMSPROP_DECAYS for rate in rates),
    ]


def _adam(learning_rate: float, b1: float = 0.9, b2: float = 0.999) -> Settings:
    return {"optimizer": "adam", "learning_rate": learning_rate, "b1": b1, "b2": b2}


def _rmsprop(learning_rate: float, decay: float) -> Settings:
    rates = {"learning_rate": learning_rate, "decay": decay, "momentum": 0.0}
    return {"optimizer": "rmsprop", **rates}


def _task(
    architecture: str, beta: float, optimizer: Settings, trial: int, updates: int
) -> Task:
    return Task.of(
        train,
        architecture=architecture,
        beta=beta,
        seed=trial,
        updates=updates,
        **optimizer,
    )


@task
def train(
    *,
    architecture: str,
    beta: float,
    seed: int,
    updates: int,
    optimizer: str,
    **options: Any,
) -> list[dict[str, Any]]:
    """Train once and evaluate the last parameters; None where they have diverged."""
    started = time.perf_counter()
    n_layers, width = map(int, architecture.split("x"))
    x, y = sine(seed=TRAIN_SEED)
    target = sine(seed=EVALUATION_SEED).y
    factory, fixed = OPTIMIZERS[optimizer]
    result = fit(
        MLP(1, (width,) * n_layers, activation="tanh"),
        BetaNLL(beta),
        x,
        y,
        optimizer=optimizer_of(factory, **options, **fixed),
        batch_size=BATCH_SIZE,
        max_epochs=Budget.of_updates(updates, len(x), BATCH_SIZE).max_epochs,
        seed=seed,
    )
    last = None
    if result.status != "diverged":
        last = predictive(result, x, "last")
    return [
        {
            "kind": "final",
            "architecture": architecture,
            "beta": beta,
            "seed": seed,
            "updates": updates,
            "optimizer": optimizer,
            **options,
            "rmse": None if last is None else plain(metrics.rmse(last.mean, target)),
            "nll": None
            if last is None
            else plain(-metrics.log_likelihood(last, target)),
            "status": result.status,
            "seconds": time.perf_counter() - started,
        }
    ]
