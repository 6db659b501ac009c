"""Long runs on the sine: how NLL gets stuck (figures 1 to 5, S1).

Each task is a run. It records the error over time and the fit at a few times; detailed
runs also record Jacobian variances and sampling probabilities. All figures share tasks.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal

import numpy as np

from betanll import metrics, objectives
from betanll.datasets import sine
from betanll.diagnostics import effective_sampling_probabilities
from betanll.distributions import Distribution
from betanll.networks import MLP
from betanll.sweeps import Task, task
from betanll.training import Budget, DivergedError, FitResult, fit, optimizer
from betanll_paper.presets import Preset
from betanll_paper.published.methods import Method, spec_of
from betanll_paper.rows import log_spaced, plain, rounded
from betanll_paper.sine.jacobians import feature_jacobians, jacobian_variance

BATCH_SIZE = 100
LEARNING_RATE = 5e-4
HIDDEN = (128, 128)
TRAIN_SEED, EVALUATION_SEED = 0, 1
#: Epochs from one point of the error curve to the next, and the points to keep.
EVALUATE_EVERY = 10
CURVE_PER_DECADE = 30
SNAPSHOTS_PER_DECADE = 8
#: Updates of figure 3. A shorter training is cut at the same fractions.
FIT_UPDATES = (1_000, 10_000, 500_000)
#: Where fits are drawn, and where Jacobians are compared.
FIT_X = np.linspace(0, 12, 481)
JACOBIAN_X = np.linspace(0, 12, 200)
#: The paper gives no radius: half a period, with half and twice of it beside.
RADII = (0.5, 0.25, 1.0)
#: Of the 1000 sampling probabilities each fifth is kept.
PROBABILITY_STEP = 5


NLL = Method("nll")
#: The objectives of figure 1: the two of the paper, then the cure.
CURVES = (NLL, Method("mse"), Method("beta-nll:0.5"), Method("beta-nll:1"))


PRESETS = {
    "smoke": Preset(2, {"NLL": 300, "": 200}, unit="update"),
    "laptop": Preset(4, {"NLL": 2_000_000, "": 500_000}, unit="update"),
    "paper": Preset(10, {"NLL": 10_000_000, "": 10_000_000}, unit="update"),
}


def sine_task(curve: Method, seed: int, preset: str) -> Task:
    """Return the task of one training.

    Examples
    --------
    >>> dict(sine_task(Method("mse"), 0, "laptop").settings)["updates"]
    500000
    """
    return Task.of(
        train,
        **settings_of(curve),
        seed=seed,
        updates=PRESETS[preset].length_of(curve.short_label),
        detailed=curve == NLL and seed == 0,
    )


def settings_of(method: Method) -> dict[str, Any]:
    """Return objective and beta as settings of a task, where NLL has no beta."""
    if method == NLL:
        return {"objective": "nll", "beta": None}
    return {"objective": method.name, "beta": method.beta}


def curve_tasks(preset: str) -> list[Task]:
    """Return the tasks of figure 1, the longest first."""
    seeds = range(PRESETS[preset].repeats)
    return [sine_task(curve, seed, preset) for curve in CURVES for seed in seeds]


def first_nll_task(preset: str) -> list[Task]:
    """Return the task of figures 3, 4 and 5."""
    return [sine_task(NLL, 0, preset)]


def further_nll_tasks(preset: str) -> list[Task]:
    """Return the tasks of figure S1: as many of three further seeds as there are."""
    seeds = range(1, min(4, PRESETS[preset].repeats))
    return [sine_task(NLL, seed, preset) for seed in seeds]


@task
def train(
    *, objective: str, beta: float | None, seed: int, updates: int, detailed: bool
) -> list[dict[str, Any]]:
    """Train once; rows of the kinds summary, curve, fit, jacobian and probability."""
    started = time.perf_counter()
    x, y = sine(seed=TRAIN_SEED)
    target = sine(seed=EVALUATION_SEED).y
    fit_updates = sorted(set(fit_updates_of(updates)) if detailed else set())
    snapshots = (
        sorted(
            {*log_spaced(10, updates, per_decade=SNAPSHOTS_PER_DECADE), *fit_updates}
        )
        if detailed
        else []
    )
    epochs = Budget.of_updates(updates, len(x), BATCH_SIZE).max_epochs
    chosen = objectives.get(spec_of(objective, beta))
    result = fit(
        MLP(1, HIDDEN, activation="tanh"),
        chosen,
        x,
        y,
        validation=(x, target),
        optimizer=optimizer(learning_rate=LEARNING_RATE),
        batch_size=BATCH_SIZE,
        max_epochs=epochs,
        # A short training has few epochs to choose from.
        validate_every=max(1, min(EVALUATE_EVERY, epochs // 20)),
        snapshots=snapshots,
        seed=seed,
    )
    has_likelihood = chosen.validation_score == "nll"
    last = predictive(result, x, "last")
    curve = _curve(result, has_likelihood)
    rows: list[dict[str, Any]] = [
        {
            "kind": "summary",
            **_last_and_best(last, target, curve, has_likelihood),
            "status": result.status,
            "seconds": time.perf_counter() - started,
        },
        {"kind": "curve", **_thinned(curve)},
    ]
    rows += _fit_rows(result, [*fit_updates, updates], has_likelihood)
    if detailed:
        rows += _detail_rows(result, x)
    settings = {"objective": objective, "beta": beta, "seed": seed, "updates": updates}
    return [{**settings, "detailed": detailed, **row} for row in rows]


def fit_updates_of(updates: int) -> list[int]:
    """Return the updates of figure 3 for a run of that length.

    Examples
    --------
    >>> fit_updates_of(10**7), fit_updates_of(5000)
    ([1000, 10000, 500000], [10, 100, 5000])
    """
    share = min(1.0, updates / FIT_UPDATES[-1])
    return [max(1, round(share * update)) for update in FIT_UPDATES]


def predictive(
    result: FitResult, x: Any, at: Literal["last"] | int
) -> Distribution | None:
    """Return what a network predicts at this update, None if it had diverged."""
    try:
        return result.predict(x, at=at)
    except DivergedError:
        return None


def _curve(result: FitResult, has_likelihood: bool) -> dict[str, Any]:
    history = result.history
    return {
        "update": history["epoch"] * (result.n_updates // result.n_epochs),
        "rmse": np.sqrt(history["validation_mse"]),
        "log_likelihood": -history["validation_nll"] if has_likelihood else None,
    }


def _last_and_best(
    last: Distribution | None, target: Any, curve: dict[str, Any], has_likelihood: bool
) -> dict[str, Any]:
    """Return the numbers of a table; the best are the best of all evaluations."""
    finite = np.where(np.isfinite(curve["rmse"]), curve["rmse"], np.inf)
    best = int(np.argmin(finite))
    likelihoods = curve["log_likelihood"]
    row: dict[str, Any] = {
        "rmse_last": None if last is None else plain(metrics.rmse(last.mean, target)),
        "rmse_best": plain(finite[best]),
        "rmse_best_update": int(curve["update"][best]),
        "log_likelihood_last": None,
        "log_likelihood_best": None,
    }
    if has_likelihood:
        if last is not None:
            row["log_likelihood_last"] = plain(metrics.log_likelihood(last, target))
        row["log_likelihood_best"] = plain(
            np.max(likelihoods, where=np.isfinite(likelihoods), initial=-np.inf)
        )
    return row


def _thinned(curve: dict[str, Any]) -> dict[str, Any]:
    updates = curve["update"]
    wanted = log_spaced(int(updates[0]), int(updates[-1]), per_decade=CURVE_PER_DECADE)
    places = np.unique(np.clip(np.searchsorted(updates, wanted), 0, len(updates) - 1))
    likelihoods = curve["log_likelihood"]
    return {
        "update": updates[places].tolist(),
        "rmse": rounded(curve["rmse"][places]),
        "log_likelihood": None if likelihoods is None else rounded(likelihoods[places]),
    }


def _fit_rows(
    result: FitResult, updates: list[int], has_likelihood: bool
) -> list[dict[str, Any]]:
    rows = []
    last = updates[-1]
    for update in dict.fromkeys(updates):
        # A detailed training keeps its end as well; the others have only that.
        if update != last and update not in result.snapshots:
            continue
        at: Literal["last"] | int = "last" if update == last else update
        there = predictive(result, FIT_X[:, None], at)
        if there is None:
            continue
        std = rounded(there.std) if has_likelihood else None
        rows.append(
            {"kind": "fit", "update": update, "mean": rounded(there.mean), "std": std}
        )
    return rows


def _detail_rows(result: FitResult, x: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for update in result.snapshots:
        there = predictive(result, x, update)
        if there is None:
            break
        probability = effective_sampling_probabilities(there.std**2, beta=0.0)
        rows.append(
            {
                "kind": "probability",
                "update": update,
                "values": rounded(probability[::PROBABILITY_STEP]),
            }
        )
        jacobians = feature_jacobians(partial(result.features, at=update), JACOBIAN_X)
        rows += [
            {
                "kind": "jacobian",
                "update": update,
                "radius": radius,
                "values": rounded(jacobian_variance(jacobians, JACOBIAN_X, radius)),
            }
            for radius in RADII
        ]
    return rows
