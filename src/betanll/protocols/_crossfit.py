"""The protocol without a refit: each member leaves out rows of its own.

Those rows end the member's training, and tell how far it is off on rows that it has not
seen. With ten members that leave out a fifth each, two have not seen any given row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from betanll.nets import MLP
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
from betanll.training import FitResult, FitTask, PackedData

#: Members that try the candidates.
_MAX_SCOUTS = 5


def crossfit(recipe: Recipe, data: TrainingData, order: Rows) -> Protocol[Fitted]:
    """Train the members of an ensemble, each with its own validation rows.

    `order` is a permutation of the rows: validation parts are windows of it. Of several
    candidates the one with the best mean score of a few members is kept, and the other
    members are trained with it alone.
    """
    n_members, n = len(recipe.seeds), len(data)
    n_train = recipe.n_train(n)
    n_validation = n - n_train
    targets = data.target_map()
    inputs = {net: data.input_map(n_bins=net.n_bins) for net in recipe.nets}
    packed = {net: data.pack(inputs[net], targets, order) for net in recipe.nets}
    budget = recipe.budget(n_train)

    def part(net: MLP, m: int) -> PackedData:
        first = window_start(m, n_members, n, n_validation)
        return packed[net].with_validation(first, n_validation)

    def tasks(
        net: MLP, objective: Objective, learning_rate: float, places: Sequence[int]
    ) -> list[FitTask]:
        return [
            FitTask(
                net,
                objective,
                part(net, m),
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

    candidates = recipe.candidates
    n_scouts = n_members if len(candidates) == 1 else min(n_members, _MAX_SCOUTS)
    scouts = [m * n_members // n_scouts for m in range(n_scouts)]
    others = [m for m in range(n_members) if m not in scouts]
    tried: list[FitResult] = []
    for factor in RATE_FACTORS:
        results = yield [
            task
            for net, objective, rate in candidates
            for task in tasks(net, objective, factor * rate, scouts)
        ]
        tried += results
        groups = [
            results[first : first + n_scouts]
            for first in range(0, len(results), n_scouts)
        ]
        usable = [i for i, group in enumerate(groups) if _are_usable(group)]
        if not usable:
            continue
        chosen = min(usable, key=lambda i: _mean_score(groups[i]))
        best, (net, objective, rate) = groups[chosen], candidates[chosen]
        rate *= factor
        rest = (yield tasks(net, objective, rate, others)) if others else []
        tried += rest
        if _are_usable(rest):
            break
    else:
        raise all_diverged(tried)
    by_place = dict(zip([*scouts, *others], [*best, *rest], strict=True))
    members = [by_place[m] for m in range(n_members)]
    unseen, residual_scale = unseen_residuals(
        members, [part(net, m) for m in range(n_members)]
    )
    return Fitted(
        inputs=inputs[net],
        targets=targets,
        net=net,
        objective=objective,
        learning_rate=rate,
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
