"""The protocol of a fit: search on a part of the rows, refit on all of them.

A protocol is a generator of fleets: it yields tasks, is sent their results and returns
the fitted model. Whoever drives it decides how many protocols share a fleet.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import jax
import numpy as np
import numpy.typing as npt

from betanll.estimators._whitening import Matrix, Whitening, blocks
from betanll.nets import MLP
from betanll.objectives import Objective
from betanll.training import (
    Adam,
    FitResult,
    FitTask,
    PackedData,
    epochs_for,
    fit_fleet,
    predict_parameters,
)

#: Learning rates of the UCI protocol of Seitzer et al. 2022, appendix.
LEARNING_RATES = (1e-4, 3e-4, 7e-4, 1e-3, 3e-3, 7e-3)
#: Exponents that ``beta="auto"`` chooses from.
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)

#: One row could not be whitened.
MIN_TRAINING_ROWS = 2

Rows = npt.NDArray[np.intp]

# Tried in turn when training on all rows diverges.
_RATE_FACTORS = (1, 1 / 3, 1 / 9)


@dataclass(frozen=True)
class Recipe:
    """What is trained, and for how long."""

    net: MLP
    objectives: Sequence[Objective]
    learning_rates: Sequence[float]
    batch_size: int
    max_updates: int
    patience: int
    validation_fraction: float
    seeds: Sequence[int]


@dataclass(frozen=True)
class TrainingData:
    """Rows as the user gave them; a NaN target is a missing one."""

    inputs: npt.NDArray[np.floating]
    targets: Matrix
    weights: Matrix | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Rows) -> TrainingData:
        weights = None if self.weights is None else self.weights[rows]
        return TrainingData(self.inputs[rows], self.targets[rows], weights)

    def whitenings(self, rows: Rows | None = None) -> tuple[Whitening, Whitening]:
        """Measure inputs and targets on these rows alone."""
        return (
            Whitening.of_inputs(self.inputs, self.weights, rows),
            Whitening.of_targets(self.targets, self.weights, rows),
        )

    def pack(
        self, inputs: Whitening, targets: Whitening, *parts: Rows | None
    ) -> PackedData:
        """Return the whitened rows of the training and of the validation part."""
        weights = self.weights
        is_seen = ~np.isnan(self.targets)
        if not is_seen.all():
            weights = is_seen * (1.0 if weights is None else weights)

        def shares(rows: Rows | None) -> Iterator[Any]:
            if weights is None:
                return itertools.repeat(1.0)
            mine = weights if rows is None else weights[rows]
            return blocks(mine / mine.mean())

        def pieces(rows: Rows | None) -> Iterator[tuple[Any, Any, Any]]:
            return zip(
                inputs.blocks(self.inputs, rows),
                targets.blocks(self.targets, rows),
                shares(rows),
                strict=False,
            )

        sizes = [len(self) if rows is None else len(rows) for rows in parts]
        return PackedData.from_blocks(
            itertools.chain.from_iterable(map(pieces, parts)),
            n_train=sizes[0],
            n_validation=sum(sizes[1:]),
            n_inputs=self.inputs.shape[1],
            n_targets=self.targets.shape[1],
            n_weights=1 if weights is None else weights.shape[1],
        )


@dataclass(frozen=True)
class Fitted:
    """A fitted model in whitened units, and how it came about."""

    inputs: Whitening
    targets: Whitening
    net: MLP
    objective: Objective
    learning_rate: float
    members: Sequence[FitResult]
    history: dict[str, npt.NDArray[Any]]
    search: dict[str, list[Any]]
    best_score: float
    residual_scale: Matrix = field(repr=False)


Outcome = TypeVar("Outcome")
#: Yields fleets, is sent their results.
Protocol = Generator[list[FitTask], list[FitResult], Outcome]


def protocol(
    recipe: Recipe, data: TrainingData, order: npt.NDArray[Any]
) -> Protocol[Fitted]:
    """Choose objective and learning rate on validation rows, then refit on all rows.

    `order` is a permutation of the rows: its last part is the validation part.
    """
    n_validation = max(1, round(recipe.validation_fraction * len(data)))
    n_train = max(MIN_TRAINING_ROWS, len(data) - n_validation)
    n_validation = len(data) - n_train
    train, validation = order[:n_train], order[n_train:]
    inputs, targets = data.whitenings(train)
    max_epochs = epochs_for(recipe.max_updates, n_train, recipe.batch_size)
    packed = data.pack(inputs, targets, train, validation)
    tasks = [
        FitTask(
            recipe.net,
            objective,
            packed,
            optimizer=Adam(rate),
            batch_size=min(recipe.batch_size, n_train),
            max_epochs=max_epochs,
            patience=recipe.patience,
            seed=recipe.seeds[0],
        )
        for objective in recipe.objectives
        for rate in recipe.learning_rates
    ]
    results = yield tasks
    best = _best(results)
    residual_scale = targets.scale * _residual_scale(
        best, *packed.samples(n_train, n_validation)
    )
    search = _overview(results)
    del tasks, results, packed
    gc.collect(0)  # JAX lets go of memory that it took over from NumPy only then

    # The refit whitens anew, on all rows, and counts epochs rather than updates.
    inputs, targets = data.whitenings()
    packed = data.pack(inputs, targets, None)
    for factor in _RATE_FACTORS:
        rate = factor * best.optimizer.learning_rate
        members = yield [
            FitTask(
                recipe.net,
                best.objective,
                packed,
                optimizer=Adam(rate),
                batch_size=min(recipe.batch_size, len(data)),
                max_epochs=best.best_epoch,
                schedule_epochs=max_epochs,
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


def run(
    protocols: Sequence[Protocol[Outcome]],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Outcome]:
    """Run protocols side by side, their tasks of one stage as one fleet."""
    fitted: dict[int, Outcome] = {}
    waiting = {i: next(protocol) for i, protocol in enumerate(protocols)}
    while waiting:
        tasks = [task for stage in waiting.values() for task in stage]
        results = iter(fit_fleet(tasks, n_jobs=n_jobs, progress=progress))
        del tasks
        stages, waiting = waiting, {}
        for i in list(stages):
            mine = [next(results) for _ in stages.pop(i)]
            try:
                waiting[i] = protocols[i].send(mine)
            except StopIteration as stop:
                fitted[i] = stop.value
    return [fitted[i] for i in range(len(protocols))]


def as_numpy(params: Any) -> Any:
    """Return a pytree of JAX arrays with NumPy arrays in their places."""
    return jax.tree.map(np.asarray, params)


def _best(results: Sequence[FitResult]) -> FitResult:
    usable = [result for result in results if result.best_epoch > 0]
    if not usable:
        rates = sorted({result.optimizer.learning_rate for result in results})
        raise ValueError(
            "training diverged with every learning rate "
            f"({', '.join(f'{rate:g}' for rate in rates)}): look for outliers or "
            "choose a smaller learning_rate_init"
        )
    return min(usable, key=lambda result: result.best_score)


def _overview(results: Sequence[FitResult]) -> dict[str, list[Any]]:
    return {
        "learning_rate": [result.optimizer.learning_rate for result in results],
        "beta": [getattr(result.objective, "beta", None) for result in results],
        "best_score": [-result.best_score for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "n_updates": [result.n_updates for result in results],
        "status": [result.status for result in results],
    }


def _residual_scale(result: FitResult, x: Any, y: Any, weights: Any) -> Matrix:
    """Return the root mean square of the whitened validation residuals by target."""
    parameters = predict_parameters(result.net, result.objective, result.params, x)
    mean = result.objective.predictive(parameters).mean
    weights = np.broadcast_to(weights, mean.shape)
    total = np.sum(weights, axis=0)
    square = np.sum(weights * (mean - y) ** 2, axis=0)
    # A target without a validation value keeps the scale of whitened data.
    mean_square = np.where(total > 0, square / np.where(total > 0, total, 1), 1.0)
    return np.sqrt(np.maximum(mean_square, 1e-8))
