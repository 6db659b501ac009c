"""The protocol of the paper: search on a part of the rows, refit on all of them."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import numpy as np

from betanll.blocks import nearest_cut
from betanll.model_selection._plan import (
    FitPlan,
    FittedModel,
    all_diverged,
    bins_of,
    root_mean_square,
    scheduled,
    search_table,
    slower,
    whitened_moments,
)
from betanll.model_selection._rows import TrainingData
from betanll.model_selection._run import Steps
from betanll.training import Budget, DivergedError, FitResult, FitTask
from betanll.typing import Rows


def search_and_refit(
    plan: FitPlan, data: TrainingData, order: Rows, starts: Rows | None = None
) -> Steps[FittedModel]:
    """Choose among the candidates on validation rows, then refit on all rows.

    `order` is a permutation of the rows: its last part is the validation part, which
    begins where a block of rows does, at one of `starts` if there are blocks.
    """
    n_train = nearest_cut(plan.n_train(len(data)), starts)
    train, validation = order[:n_train], order[n_train:]
    targets = data.target_map(train)
    packed = {
        net: data.pack(
            data.input_map(train, n_bins=bins_of(net)), targets, train, validation
        )
        for net in plan.networks
    }
    budget = plan.budget(n_train)
    candidates = plan.candidates
    tasks = [
        FitTask(
            net,
            objective,
            packed[net],
            optimizer=scheduled(optimizer, budget, n_train),
            budget=budget,
            robust_selection=plan.robust_selection,
            seed=plan.seeds[0],
        )
        for net, objective, optimizer in candidates
    ]
    results = yield tasks
    chosen = _best(results)
    best, (net, objective, optimizer) = results[chosen], candidates[chosen]
    x, y, weights = packed[net].samples(range(n_train, len(data)))
    residuals = whitened_moments(best, x)[0] - y
    residual_scale = targets.scale * root_mean_square(
        residuals, np.broadcast_to(weights, residuals.shape)
    )
    search = search_table(results)
    del tasks, results, packed
    gc.collect(0)  # JAX lets go of memory that it took over from NumPy only then

    # The refit measures anew, on all rows, and counts epochs rather than updates.
    inputs = data.input_map(n_bins=bins_of(net))
    targets = data.target_map()
    all_rows = data.pack(inputs, targets, None)
    planned = Budget(min(plan.batch_size, len(data)), budget.max_epochs)
    budget = planned._replace(
        max_epochs=best.best_epoch, schedule_epochs=planned.max_epochs
    )
    for attempt in slower(optimizer):
        members = yield [
            FitTask(
                net,
                objective,
                all_rows,
                optimizer=scheduled(attempt, planned, len(data)),
                budget=budget,
                seed=seed,
            )
            for seed in plan.seeds
        ]
        if all(member.status != "diverged" for member in members):
            break
    else:
        rate = attempt.learning_rate
        last = "" if rate is None else f", last with learning rate {rate:.1g}"
        raise DivergedError(
            f"training on all rows diverged{last}: look for outliers or choose a "
            "smaller learning_rate_init",
            members,
        )
    return FittedModel(
        inputs=inputs,
        targets=targets,
        net=net,
        objective=objective,
        learning_rate=attempt.learning_rate,
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
