"""The same network trained with the likelihood, with other betas and with the MSE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from betanll.blocks import RowBlocks
from betanll.distributions import Distribution, Normal
from betanll.model_selection import TrainingData
from betanll.networks import MLP
from betanll.objectives import MSE, BetaNLL, Objective
from betanll.preprocessing import InputMap, Standardizer
from betanll.training import Budget, FitResult, FitTask, fit_fleet, optimizer
from betanll.typing import Array, Rows

SUBJECT = "nll"
#: Objectives with a spread and their betas; names are those of the command line.
BETAS = {SUBJECT: 0.0, "beta-nll:0.5": 0.5, "beta-nll:1": 1.0}
_OBJECTIVES: dict[str, Objective] = {
    **{name: BetaNLL(beta) for name, beta in BETAS.items()},
    "mse": MSE(),
}

#: Rows beyond these are left out: the answer would hardly change.
MAX_ROWS = 20_000
_VALIDATION_SHARE = _TEST_SHARE = 0.2
_N_EVALUATIONS = 200


@dataclass(frozen=True)
class TrialSettings:
    """The network that is put on trial, and how it is trained.

    The defaults learn wiggly functions fast. On the sine of the paper, standardised,
    the MSE comes down to 0.1 of the spread in 20 000 updates, and the NLL to 0.6; two
    hidden layers, or tanh units, would take the MSE several times as long.
    """

    hidden_sizes: tuple[int, ...] = (128, 128, 128)
    activation: str = "relu"
    learning_rate: float = 2e-3
    batch_size: int = 64
    max_updates: int = 20_000
    n_bins: int = 0


@dataclass(frozen=True, eq=False)
class Trial:
    """The trained networks, and the rows they were trained and are tested on.

    `validation_errors` are mean squared errors in units of the targets' spread.
    """

    train: Rows
    validation: Rows
    test: Rows
    inputs: InputMap
    targets: Standardizer
    fits: dict[str, FitResult]
    validation_errors: dict[str, float]

    def predict(self, name: str, x: Array) -> Distribution:
        """Return what a network predicts, in the unit of the targets."""
        whitened = self.fits[name].predict(self.inputs.apply(x))
        if isinstance(self.fits[name].objective, MSE):
            # It has no spread of its own: that of its validation errors.
            spread = np.sqrt(max(self.validation_errors[name], 1e-8))
            whitened = Normal(whitened.mean, np.full(whitened.shape, spread))
        return whitened.affine(self.targets.scale, self.targets.mean)


def run_trial(
    x: Array,
    y: Array,
    settings: TrialSettings,
    *,
    blocks: RowBlocks | None = None,
    seed: int,
    n_jobs: int | None,
    progress: bool,
) -> Trial:
    """Train on three fifths of the rows, choose epochs on one, predict the last."""
    train, validation, test = _parts(len(x), blocks, seed)
    data = TrainingData(x, y)
    inputs = data.input_map(train, n_bins=settings.n_bins)
    targets = data.target_map(train)
    packed = data.pack(inputs, targets, train, validation)
    budget = Budget.of_updates(settings.max_updates, len(train), settings.batch_size)
    every = max(1, budget.max_epochs // _N_EVALUATIONS)
    net = MLP(
        x.shape[1],
        settings.hidden_sizes,
        settings.activation,
        n_bins=settings.n_bins,
    )
    results = fit_fleet(
        [
            FitTask(
                net,
                objective,
                packed,
                optimizer=optimizer(learning_rate=settings.learning_rate),
                budget=budget._replace(validate_every=every),
                seed=seed,
            )
            for objective in _OBJECTIVES.values()
        ],
        n_jobs=n_jobs,
        progress=progress,
    )
    fits = dict(zip(_OBJECTIVES, results, strict=True))
    diverged = [name for name, fit in fits.items() if fit.best_epoch == 0]
    if diverged:
        raise ValueError(
            f"training with {diverged[0]} diverged: look for outliers or choose a "
            "smaller learning rate"
        )
    return Trial(
        train=train,
        validation=validation,
        test=test,
        inputs=inputs,
        targets=targets,
        fits=fits,
        validation_errors={name: _error(fit) for name, fit in fits.items()},
    )


def _parts(n: int, blocks: RowBlocks | None, seed: int) -> tuple[Rows, Rows, Rows]:
    """Return rows to train, to validate and to test with."""
    random = np.random.default_rng(seed)
    if blocks is None:
        order = random.permutation(n)[:MAX_ROWS]
        n_test = max(1, round(_TEST_SHARE * len(order)))
        n_validation = max(1, round(_VALIDATION_SHARE * len(order)))
        test, validation, train = np.split(order, [n_test, n_test + n_validation])
        return train, validation, test
    rest, test = blocks.held_out(_TEST_SHARE, seed)
    share = _VALIDATION_SHARE / (1 - _TEST_SHARE)
    train, validation = (rest[part] for part in blocks[rest].held_out(share, seed))
    limit = MAX_ROWS / n
    train, validation, test = (
        part[random.permutation(len(part))[: max(1, int(limit * len(part)))]]
        for part in (train, validation, test)
    )
    return train, validation, test


def _error(fit: FitResult) -> float:
    """Return the validation error of the epoch that was chosen."""
    is_chosen = fit.history["epoch"] == fit.best_epoch
    return float(fit.history["validation_mse"][is_chosen][0])
