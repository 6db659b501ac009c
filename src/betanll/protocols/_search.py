"""The protocol of the paper: search on a part of the rows, refit on all of them."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import numpy as np

from betanll.protocols._data import Rows, TrainingData
from betanll.protocols._recipe import (
    RATE_FACTORS,
    Fitted,
    Recipe,
    all_diverged,
    overview,
    root_mean_square,
    whitened_moments,
)
from betanll.protocols._run import Protocol
from betanll.training import FitResult, FitTask


def search_and_refit(
    recipe: Recipe, data: TrainingData, order: Rows
) -> Protocol[Fitted]:
    """Choose objective and learning rate on validation rows, then refit on all rows.

    `order` is a permutation of the rows: its last part is the validation part.
    """
    n_train = recipe.n_train(len(data))
    train, validation = order[:n_train], order[n_train:]
    inputs = data.input_map(train, n_bins=recipe.net.n_bins)
    targets = data.target_map(train)
    budget = recipe.budget(n_train)
    packed = data.pack(inputs, targets, train, validation)
    tasks = [
        FitTask(
            recipe.net,
            objective,
            packed,
            optimizer=recipe.optimizer(rate, budget),
            batch_size=budget.batch_size,
            max_epochs=budget.max_epochs,
            patience=budget.patience,
            validate_every=budget.validate_every,
            selection=recipe.selection,
            seed=recipe.seeds[0],
        )
        for objective in recipe.objectives
        for rate in recipe.learning_rates
    ]
    results = yield tasks
    best = _best(results)
    x, y, weights = packed.samples(range(n_train, len(packed)))
    residuals = whitened_moments(best, x)[0] - y
    residual_scale = targets.scale * root_mean_square(
        residuals, np.broadcast_to(weights, residuals.shape)
    )
    search = overview(results)
    del tasks, results, packed
    gc.collect(0)  # JAX lets go of memory that it took over from NumPy only then

    # The refit measures anew, on all rows, and counts epochs rather than updates.
    inputs = data.input_map(n_bins=recipe.net.n_bins)
    targets = data.target_map()
    packed = data.pack(inputs, targets, None)
    batch_size = min(recipe.batch_size, len(data))
    n_updates = budget.max_epochs * (len(data) // batch_size)
    budget = budget._replace(batch_size=batch_size, n_updates=n_updates)
    for factor in RATE_FACTORS:
        rate = factor * best.optimizer.learning_rate
        members = yield [
            FitTask(
                recipe.net,
                best.objective,
                packed,
                optimizer=recipe.optimizer(rate, budget),
                batch_size=budget.batch_size,
                max_epochs=best.best_epoch,
                schedule_epochs=budget.max_epochs,
                seed=seed,
            )
            for seed in recipe.seeds
        ]
        if all(member.status != "diverged" for member in members):
            break
    else:
        raise ValueError(
            f"training on all rows diverged, last with learning rate {rate:.1g}: "
            "look for outliers or choose a smaller learning_rate_init"
        )
    return Fitted(
        inputs=inputs,
        targets=targets,
        net=recipe.net,
        objective=best.objective,
        learning_rate=rate,
        members=members,
        history=best.history,
        search=search,
        best_score=-best.best_score,
        residual_scale=residual_scale / targets.scale,
    )


def _best(results: Sequence[FitResult]) -> FitResult:
    usable = [result for result in results if result.best_epoch > 0]
    if not usable:
        raise all_diverged(results)
    return min(usable, key=lambda result: result.best_score)
