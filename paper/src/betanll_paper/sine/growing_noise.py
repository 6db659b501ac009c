"""A sine with growing noise: which objective learns the noise? (figure 8)

The data and the network are those of the paper. It gives no learning rate, and that of
its code belongs to a larger network: with it, this one is not trained to the end. So a
second one is tried, and each objective has the better one by validation likelihood, as
each training has its best epoch and each picture the best trial.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from betanll.datasets import heteroscedastic_sine
from betanll.networks import MLP
from betanll.sweeps import Task, task
from betanll.training import fit, optimizer
from betanll_paper.presets import Preset
from betanll_paper.published.methods import Method, spec_of
from betanll_paper.rows import plain, rounded
from betanll_paper.sine.training import settings_of

BATCH_SIZE = 100
#: That of the code, and ours.
LEARNING_RATES = (1e-4, 1e-3)
HIDDEN = (50,)
VALIDATE_EVERY = 100
TRAIN_SEED, VALIDATION_SEED = 0, 1
#: Inputs of the training data, and where fits are drawn.
TRAINED_RANGE = (0.0, 10.0)
GRID_X = np.linspace(-4, 14, 361)
METHODS = (
    Method("nll"),
    Method("beta-nll:0.25"),
    Method("beta-nll:0.5"),
    Method("beta-nll:1"),
    Method("mm"),
)


PRESETS = {
    "smoke": Preset(2, {"": 40}, repeat="trial"),
    "laptop": Preset(10, {"": 20_000}, repeat="trial"),
    "paper": Preset(10, {"": 20_000}, repeat="trial"),
}


def heteroscedastic_tasks(preset: str) -> list[Task]:
    """Return the tasks of figure 8.

    Examples
    --------
    >>> len(heteroscedastic_tasks("paper"))
    100
    """
    chosen = PRESETS[preset]
    return [
        Task.of(
            train,
            **settings_of(method),
            learning_rate=rate,
            seed=trial,
            epochs=chosen.length[""],
        )
        for method in METHODS
        for rate in LEARNING_RATES
        for trial in range(chosen.repeats)
    ]


@task
def train(
    *,
    objective: str,
    beta: float | None,
    learning_rate: float,
    seed: int,
    epochs: int,
) -> list[dict[str, Any]]:
    """Train once; mean and standard deviation are None where it has diverged."""
    started = time.perf_counter()
    x, y = heteroscedastic_sine(seed=TRAIN_SEED)
    result = fit(
        MLP(1, HIDDEN, activation="tanh", initialiser="lecun"),
        spec_of(objective, beta),
        x,
        y,
        validation=heteroscedastic_sine(seed=VALIDATION_SEED),
        optimizer=optimizer(learning_rate=learning_rate),
        batch_size=BATCH_SIZE,
        max_epochs=epochs,
        validate_every=min(VALIDATE_EVERY, epochs),
        seed=seed,
    )
    is_usable = math.isfinite(result.best_score)
    there = result.predict(GRID_X[:, None]) if is_usable else None
    return [
        {
            "kind": "heteroscedastic",
            "objective": objective,
            "beta": beta,
            "learning_rate": learning_rate,
            "seed": seed,
            "epochs": epochs,
            "validation_nll": plain(result.best_score),
            "best_epoch": result.best_epoch,
            "mean": None if there is None else rounded(there.mean),
            "std": None if there is None else rounded(there.std),
            "status": result.status,
            "seconds": time.perf_counter() - started,
        }
    ]
