"""The protocol without a refit: each member leaves out rows of its own.

Those rows end the member's training, and tell how far it is off on rows that it has not
seen. With ten members that leave out a fifth each, two have not seen any given row.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from betanll.objectives import Objective
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

#: Members that try the candidates.
_MAX_SCOUTS = 5


def crossfit(recipe: Recipe, data: TrainingData, order: Rows) -> Protocol[Fitted]:
    """Train the members of an ensemble, each with its own validation rows.

    `order` is a permutation of the rows: validation parts are windows of it, evenly
    spaced and wrapped around. Of several candidates the one with the best mean score of
    a few members is kept, and the other members are trained with it alone.
    """
    n_train = recipe.n_train(len(data))
    inputs = data.input_map(n_bins=recipe.net.n_bins)
    targets = data.target_map()
    n_members = len(recipe.seeds)
    packed = data.pack(inputs, targets, order)
    n_validation = len(data) - n_train
    parts = [
        packed.with_validation(
            window_start(m, n_members, len(data), n_validation), n_validation
        )
        for m in range(n_members)
    ]
    budget = recipe.budget(n_train)

    def tasks(
        objective: Objective, learning_rate: float, places: Sequence[int]
    ) -> list[FitTask]:
        return [
            FitTask(
                recipe.net,
                objective,
                parts[m],
                optimizer=recipe.optimizer(learning_rate, budget),
                batch_size=budget.batch_size,
                max_epochs=budget.max_epochs,
                patience=budget.patience,
                validate_every=budget.validate_every,
                selection=recipe.selection,
                seed=recipe.seeds[m],
            )
            for m in places
        ]

    candidates = list(itertools.product(recipe.objectives, recipe.learning_rates))
    n_scouts = n_members if len(candidates) == 1 else min(n_members, _MAX_SCOUTS)
    scouts = [m * n_members // n_scouts for m in range(n_scouts)]
    others = [m for m in range(n_members) if m not in scouts]
    tried: list[FitResult] = []
    for factor in RATE_FACTORS:
        results = yield [
            task
            for objective, rate in candidates
            for task in tasks(objective, factor * rate, scouts)
        ]
        tried += results
        groups = [
            results[first : first + n_scouts]
            for first in range(0, len(results), n_scouts)
        ]
        usable = [group for group in groups if _are_usable(group)]
        if not usable:
            continue
        best = min(usable, key=_mean_score)
        objective, rate = best[0].objective, best[0].optimizer.learning_rate
        rest = (yield tasks(objective, rate, others)) if others else []
        tried += rest
        if _are_usable(rest):
            break
    else:
        raise all_diverged(tried)
    by_place = dict(zip([*scouts, *others], [*best, *rest], strict=True))
    members = [by_place[m] for m in range(n_members)]
    unseen, residual_scale = unseen_residuals(members, parts)
    return Fitted(
        inputs=inputs,
        targets=targets,
        net=recipe.net,
        objective=members[0].objective,
        learning_rate=members[0].optimizer.learning_rate,
        members=members,
        history=members[0].history,
        search=overview(tried),
        best_score=-_mean_score(members),
        residual_scale=residual_scale,
        unseen=unseen,
    )


def _are_usable(members: Sequence[FitResult]) -> bool:
    return all(member.best_epoch > 0 for member in members)


def _mean_score(members: Sequence[FitResult]) -> float:
    return float(np.mean([member.best_score for member in members]))
