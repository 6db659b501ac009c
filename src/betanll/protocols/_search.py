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
    """Choose among the candidates on validation rows, then refit on all rows.

    `order` is a permutation of the rows: its last part is the validation part.
    """
    n_train = recipe.n_train(len(data))
    train, validation = order[:n_train], order[n_train:]
    targets = data.target_map(train)
    packed = {
        net: data.pack(
            data.input_map(train, n_bins=net.n_bins), targets, train, validation
        )
        for net in recipe.nets
    }
    budget = recipe.budget(n_train)
    candidates = recipe.candidates
    tasks = [
        FitTask(
            net,
            objective,
            packed[net],
            optimizer=recipe.optimizer(rate, budget),
            batch_size=budget.batch_size,
            max_epochs=budget.max_epochs,
            patience=budget.patience,
            validate_every=budget.validate_every,
            selection=recipe.selection,
            seed=recipe.seeds[0],
        )
        for net, objective, rate in candidates
    ]
    results = yield tasks
    chosen = _best(results)
    best, (net, objective, rate) = results[chosen], candidates[chosen]
    x, y, weights = packed[net].samples(range(n_train, len(data)))
    residuals = whitened_moments(best, x)[0] - y
    residual_scale = targets.scale * root_mean_square(
        residuals, np.broadcast_to(weights, residuals.shape)
    )
    search = overview(results)
    del tasks, results, packed
    gc.collect(0)  # JAX lets go of memory that it took over from NumPy only then

    # The refit measures anew, on all rows, and counts epochs rather than updates.
    inputs = data.input_map(n_bins=net.n_bins)
    targets = data.target_map()
    all_rows = data.pack(inputs, targets, None)
    batch_size = min(recipe.batch_size, len(data))
    n_updates = budget.max_epochs * (len(data) // batch_size)
    budget = budget._replace(batch_size=batch_size, n_updates=n_updates)
    for factor in RATE_FACTORS:
        its_rate = factor * rate
        members = yield [
            FitTask(
                net,
                objective,
                all_rows,
                optimizer=recipe.optimizer(its_rate, budget),
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
            f"training on all rows diverged, last with learning rate {its_rate:.1g}: "
            "look for outliers or choose a smaller learning_rate_init"
        )
    return Fitted(
        inputs=inputs,
        targets=targets,
        net=net,
        objective=objective,
        learning_rate=its_rate,
        members=members,
        history=best.history,
        search=search,
        best_score=-best.best_score,
        residual_scale=residual_scale / targets.scale,
    )


def _best(results: Sequence[FitResult]) -> int:
    """Return the place of the best one."""
    usable = [i for i, result in enumerate(results) if result.best_epoch > 0]
    if not usable:
        raise all_diverged(results)
    return min(usable, key=lambda i: results[i].best_score)
