"""The protocol without a refit: each member leaves out rows of its own.

Those rows end the member's training, and tell how far it is off on rows that it has not
seen. With ten members that leave out a fifth each, two have not seen any given row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from betanll.model_selection._held_out import held_out_residuals
from betanll.model_selection._plan import (
    FitPlan,
    FittedModel,
    all_diverged,
    bins_of,
    scheduled,
    search_table,
    slower,
)
from betanll.model_selection._rows import TrainingData
from betanll.model_selection._run import Steps
from betanll.model_selection._windows import windows
from betanll.networks import Network
from betanll.objectives import Objective
from betanll.training import Data, FitResult, FitTask, Optimizer
from betanll.typing import Rows

#: Members that try the candidates.
_MAX_SCOUTS = 5


def crossfit(
    plan: FitPlan, data: TrainingData, order: Rows, starts: Rows | None = None
) -> Steps[FittedModel]:
    """Train the members of an ensemble, each with its own validation rows.

    `order` is a permutation of the rows: validation parts are windows of it, which
    begin and end where blocks of rows do, at `starts` if there are blocks. Of several
    candidates the one with the best mean score of a few members is kept, and the other
    members are trained with it alone.
    """
    n_members, n = len(plan.seeds), len(data)
    n_train = plan.n_train(n)
    parts = windows(n_members, n, n - n_train, starts)
    targets = data.target_map()
    inputs = {net: data.input_map(n_bins=bins_of(net)) for net in plan.networks}
    packed = {net: data.pack(inputs[net], targets, order) for net in plan.networks}
    budget = plan.budget(n_train)

    def part(net: Network, m: int) -> Data:
        return packed[net].with_validation(*parts[m])

    def tasks(
        net: Network, objective: Objective, chosen: Optimizer, places: Sequence[int]
    ) -> list[FitTask]:
        return [
            FitTask(
                net,
                objective,
                part(net, m),
                optimizer=scheduled(chosen, budget, n_train),
                budget=budget,
                robust_selection=plan.robust_selection,
                seed=plan.seeds[m],
            )
            for m in places
        ]

    candidates = plan.candidates
    n_scouts = n_members if len(candidates) == 1 else min(n_members, _MAX_SCOUTS)
    scouts = [m * n_members // n_scouts for m in range(n_scouts)]
    others = sorted({*range(n_members)} - {*scouts})
    tried: list[FitResult] = []
    attempts = [slower(optimizer) for _, _, optimizer in candidates]
    for optimizers in zip(*attempts, strict=False):
        results = yield [
            task
            for (net, objective, _), chosen in zip(candidates, optimizers, strict=True)
            for task in tasks(net, objective, chosen, scouts)
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
        best, (net, objective, _) = groups[chosen], candidates[chosen]
        optimizer = optimizers[chosen]
        rest = (yield tasks(net, objective, optimizer, others)) if others else []
        tried += rest
        if _are_usable(rest):
            break
    else:
        raise all_diverged(tried)
    by_place = dict(zip([*scouts, *others], [*best, *rest], strict=True))
    members = [by_place[m] for m in range(n_members)]
    held_out, residual_scale = held_out_residuals(
        members, [part(net, m) for m in range(n_members)]
    )
    return FittedModel(
        inputs=inputs[net],
        targets=targets,
        net=net,
        objective=objective,
        learning_rate=optimizer.learning_rate,
        members=members,
        history=members[0].history,
        search=search_table(tried),
        best_score=-_mean_score(members),
        residual_scale=residual_scale,
        held_out=held_out,
    )


def _are_usable(members: Sequence[FitResult]) -> bool:
    return all(member.best_epoch > 0 for member in members)


def _mean_score(members: Sequence[FitResult]) -> float:
    return float(np.mean([member.best_score for member in members]))
