"""The protocol without a refit: each member leaves out rows of its own.

Those rows end the member's training, and tell how far it is off on rows that it has not
seen. With ten members that leave out a fifth each, two have not seen any given row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from betanll.protocols._data import Rows, TrainingData
from betanll.protocols._recipe import (
    RATE_FACTORS,
    Fitted,
    Recipe,
    all_diverged,
    overview,
)
from betanll.protocols._run import Protocol
from betanll.protocols._unseen import unseen_residuals, window_start
from betanll.training import FitResult, FitTask


def crossfit(recipe: Recipe, data: TrainingData, order: Rows) -> Protocol[Fitted]:
    """Train the members of an ensemble, each with its own validation rows.

    `order` is a permutation of the rows: validation parts are windows of it, evenly
    spaced and wrapped around. Of several candidates the one with the best mean score of
    its members is kept.
    """
    n_train = recipe.n_train(len(data))
    inputs = data.input_map(n_bins=recipe.net.n_bins)
    targets = data.target_map()
    n_members = len(recipe.seeds)
    packed = data.pack(inputs, targets, order)
    parts = [
        packed.with_validation(
            window_start(m, n_members, len(data)), len(data) - n_train
        )
        for m in range(n_members)
    ]
    budget = recipe.budget(n_train)
    for factor in RATE_FACTORS:
        results = yield [
            FitTask(
                recipe.net,
                objective,
                part,
                optimizer=recipe.optimizer(factor * rate, budget),
                batch_size=budget.batch_size,
                max_epochs=budget.max_epochs,
                patience=budget.patience,
                validate_every=budget.validate_every,
                seed=seed,
            )
            for objective in recipe.objectives
            for rate in recipe.learning_rates
            for part, seed in zip(parts, recipe.seeds, strict=True)
        ]
        ensembles = [
            results[first : first + n_members]
            for first in range(0, len(results), n_members)
        ]
        usable = [e for e in ensembles if all(fit.best_epoch > 0 for fit in e)]
        if usable:
            break
    else:
        raise all_diverged(results)
    members = min(usable, key=_mean_score)
    unseen, residual_scale = unseen_residuals(members, parts)
    return Fitted(
        inputs=inputs,
        targets=targets,
        net=recipe.net,
        objective=members[0].objective,
        learning_rate=members[0].optimizer.learning_rate,
        members=members,
        history=members[0].history,
        search=overview(results),
        best_score=-_mean_score(members),
        residual_scale=residual_scale,
        unseen=unseen,
    )


def _mean_score(members: Sequence[FitResult]) -> float:
    return float(np.mean([member.best_score for member in members]))
