"""Data of which the truth is known, to count how often the doctor errs.

A case is a family of functions with noise, and a seed that draws the rest. Since the
function and the noise are known, so is the truth about the networks that the doctor has
trained: the errors of their means, and where the likelihood sees noise that is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from betanll.distributions import Distribution
from betanll.evaluation import SUBJECT, TrialSettings, conclude, run_trial
from betanll.sweeps import Task, task
from betanll.typing import Array

_N_CLEAN = 4000
#: The likelihood sees false noise where its variance is so many times the true one.
_FALSE_NOISE = 4.0


class Problem(NamedTuple):
    """A function of inputs in the unit cube, and the spread of the noise on it."""

    n_inputs: int
    mean: Callable[[Array], Array]
    noise: Callable[[Array], Array]
    heavy_tails: bool = False


def _constant(value: float) -> Callable[[Array], Array]:
    return lambda x: np.full(len(x), value)


def _zero(x: Array) -> Array:
    return np.zeros(len(x))


def _smooth(rng: np.random.Generator, n_inputs: int) -> Callable[[Array], Array]:
    """Return a sum of slow waves of all inputs."""
    slopes = rng.normal(size=n_inputs)
    speed = rng.uniform(1, 4, n_inputs)
    shift = rng.uniform(0, 6, n_inputs)
    return lambda x: np.sum(slopes * np.sin(speed * x + shift), axis=1)


def _waves(rng: np.random.Generator) -> Problem:
    periods, noise = rng.uniform(8, 16), 10 ** rng.uniform(-2.3, -1.3)
    phase = rng.uniform(0, 6)
    return Problem(
        1, lambda x: np.sin(2 * np.pi * periods * x[:, 0] + phase), _constant(noise)
    )


def _chirp(rng: np.random.Generator) -> Problem:
    """Slow on the left, fast on the right."""
    periods, noise = rng.uniform(10, 20), 10 ** rng.uniform(-2.3, -1.3)
    return Problem(
        1, lambda x: np.sin(2 * np.pi * periods * x[:, 0] ** 2), _constant(noise)
    )


def _half_hard(rng: np.random.Generator) -> Problem:
    """A line, and waves beyond a border."""
    periods, noise = rng.uniform(15, 30), 10 ** rng.uniform(-2.3, -1.3)
    border = rng.uniform(0.3, 0.6)

    def mean(x: Array) -> Array:
        wave = np.sin(2 * np.pi * periods * (x[:, 0] - border))
        return np.where(x[:, 0] > border, wave, x[:, 0] - border)

    return Problem(1, mean, _constant(noise))


def _sawtooth(rng: np.random.Generator) -> Problem:
    teeth, noise = rng.uniform(8, 14), 10 ** rng.uniform(-2.3, -1.3)
    return Problem(1, lambda x: 2 * (teeth * x[:, 0] % 1) - 1, _constant(noise))


def _board(rng: np.random.Generator) -> Problem:
    """Hills and valleys of two inputs."""
    a, b = rng.uniform(2.5, 5, 2)
    noise = 10 ** rng.uniform(-2.3, -1.3)

    def mean(x: Array) -> Array:
        return np.sin(2 * np.pi * a * x[:, 0]) * np.sin(2 * np.pi * b * x[:, 1])

    return Problem(2, mean, _constant(noise))


def _one_fast_input(rng: np.random.Generator) -> Problem:
    n_inputs = int(rng.integers(2, 5))
    slow, periods = _smooth(rng, n_inputs), rng.uniform(6, 10)

    def mean(x: Array) -> Array:
        return 0.3 * slow(x) + np.sin(2 * np.pi * periods * x[:, 0])

    return Problem(n_inputs, mean, _constant(10 ** rng.uniform(-2.3, -1.3)))


def _growing_sine(rng: np.random.Generator) -> Problem:
    """The heteroscedastic sine of the paper, stretched at random."""
    stretch, noise = rng.uniform(5, 12), rng.uniform(0.1, 0.5)

    def mean(x: Array) -> Array:
        z = stretch * x[:, 0]
        return z * np.sin(z)

    return Problem(1, mean, lambda x: noise * np.sqrt(1 + (stretch * x[:, 0]) ** 2))


def _pure_noise(rng: np.random.Generator) -> Problem:
    return Problem(int(rng.integers(1, 8)), _zero, _constant(1.0))


def _pure_growing_noise(rng: np.random.Generator) -> Problem:
    decades = rng.uniform(1, 2)
    return Problem(
        int(rng.integers(1, 5)), _zero, lambda x: 10 ** (decades * (x[:, 0] - 1))
    )


def _line_with_growing_noise(rng: np.random.Generator) -> Problem:
    n_inputs = int(rng.integers(1, 8))
    slopes, decades = rng.normal(size=n_inputs), rng.uniform(0.5, 2)
    return Problem(
        n_inputs, lambda x: x @ slopes, lambda x: 0.5 * 10 ** (decades * (x[:, 0] - 1))
    )


def _smooth_with_noise(rng: np.random.Generator) -> Problem:
    n_inputs = int(rng.integers(1, 6))
    return Problem(
        n_inputs, _smooth(rng, n_inputs), _constant(10 ** rng.uniform(-1, 0))
    )


def _two_noise_levels(rng: np.random.Generator) -> Problem:
    n_inputs = int(rng.integers(1, 5))
    ratio = 10 ** rng.uniform(0.5, 1.5)
    return Problem(
        n_inputs,
        _smooth(rng, n_inputs),
        lambda x: np.where(x[:, 0] > 0.5, 0.5, 0.5 / ratio),
    )


def _heavy_tails(rng: np.random.Generator) -> Problem:
    n_inputs = int(rng.integers(1, 5))
    return Problem(n_inputs, _smooth(rng, n_inputs), _constant(0.3), heavy_tails=True)


def _waves_in_noise(rng: np.random.Generator) -> Problem:
    """Fast waves that noise hides."""
    periods = rng.uniform(8, 16)
    return Problem(
        1,
        lambda x: np.sin(2 * np.pi * periods * x[:, 0]),
        _constant(rng.uniform(1.5, 3)),
    )


FAMILIES: dict[str, Callable[[np.random.Generator], Problem]] = {
    "waves": _waves,
    "chirp": _chirp,
    "half-hard": _half_hard,
    "sawtooth": _sawtooth,
    "board": _board,
    "one-fast-input": _one_fast_input,
    "growing-sine": _growing_sine,
    "pure-noise": _pure_noise,
    "pure-growing-noise": _pure_growing_noise,
    "line-with-growing-noise": _line_with_growing_noise,
    "smooth-with-noise": _smooth_with_noise,
    "two-noise-levels": _two_noise_levels,
    "heavy-tails": _heavy_tails,
    "waves-in-noise": _waves_in_noise,
}


def case_tasks(n_cases: int, *, first_seed: int = 0) -> list[Task]:
    """Return cases that go round the families.

    Examples
    --------
    >>> [dict(task.settings)["family"] for task in case_tasks(3)]
    ['waves', 'chirp', 'half-hard']
    """
    names = list(FAMILIES)
    return [
        Task.of(
            run_case,
            family=names[i % len(names)],
            seed=first_seed + i,
            max_updates=TrialSettings.max_updates,
        )
        for i in range(n_cases)
    ]


def draw(family: str, seed: int) -> tuple[Problem, Array, Array]:
    """Return a problem with its inputs and noisy targets."""
    rng = _generator(family, seed, 1)
    problem = FAMILIES[family](rng)
    x = rng.uniform(size=(int(rng.integers(300, 2000)), problem.n_inputs))
    return problem, x, problem.mean(x) + problem.noise(x) * _errors(rng, problem, x)


def clean_inputs(family: str, seed: int, n_inputs: int) -> Array:
    """Return further inputs, at which the truth is evaluated."""
    return _generator(family, seed, 2).uniform(size=(_N_CLEAN, n_inputs))


def _generator(family: str, seed: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, list(FAMILIES).index(family), purpose])


def _errors(rng: np.random.Generator, problem: Problem, x: Array) -> Array:
    if problem.heavy_tails:
        return rng.standard_t(3, len(x)) / np.sqrt(3)
    return rng.normal(size=len(x))


@task
def run_case(*, family: str, seed: int, max_updates: int) -> list[dict[str, Any]]:
    """Let the doctor judge a case, and compare with the truth."""
    started = time.perf_counter()
    problem, x, y = draw(family, seed)
    trial = run_trial(
        x,
        y[:, None],
        TrialSettings(max_updates=max_updates),
        seed=seed,
        n_jobs=1,
        progress=False,
    )
    names = [f"x{i}" for i in range(x.shape[1])]
    diagnosis = conclude(trial, x, y[:, None], names, ["y"])
    seconds = time.perf_counter() - started
    clean = clean_inputs(family, seed, problem.n_inputs)
    predictions = {name: trial.predict(name, clean) for name in trial.fits}
    truth = true_numbers(predictions, problem.mean(clean), problem.noise(clean) ** 2)
    evidence = diagnosis.evidence
    return [
        {
            "family": family,
            "seed": seed,
            "n_rows": len(x),
            "n_inputs": problem.n_inputs,
            **truth,
            "pitfall": diagnosis.pitfall,
            "challenger": evidence.challenger,
            "recommended_beta": diagnosis.recommended_beta,
            "gain": evidence.gain,
            "gain_low": evidence.gain_low,
            "ignored_share": evidence.ignored_share,
            "effective_sample_fraction": evidence.effective_sample_fraction,
            "starved_fraction": evidence.starved_fraction,
            "log_variance_spread": evidence.log_variance_spread,
            **{f"rmse_{name}": value for name, value in diagnosis.rmse.items()},
            **{f"ll_{name}": value for name, value in diagnosis.log_likelihood.items()},
            "seconds": seconds,
        }
    ]


def true_numbers(
    predictions: Mapping[str, Distribution], mean: Array, noise: Array
) -> dict[str, float]:
    """Return the truth about networks where mean and noise variance are known.

    Returns
    -------
    dict
        ``noise`` and ``misfit_<name>``: the mean noise variance, and the mean squared
        distance of each network's mean from the true one. ``true_gain``: the share of
        the likelihood's expected squared error that the best other network saves.
        ``false_noise``: the share of the inputs at which the likelihood's variance is
        more than four times that of the noise, and ``saved_there``: the part of the
        saving that lies in them, 0 if nothing is saved.
    """
    squares = {name: (p.mean[:, 0] - mean) ** 2 for name, p in predictions.items()}
    misfit = {name: float(np.mean(square)) for name, square in squares.items()}
    best = min((name for name in misfit if name != SUBJECT), key=misfit.__getitem__)
    saved = squares[SUBJECT] - squares[best]
    is_false = predictions[SUBJECT].std[:, 0] ** 2 > _FALSE_NOISE * noise
    level, total = float(np.mean(noise)), float(np.sum(saved))
    return {
        "noise": level,
        **{f"misfit_{name}": value for name, value in misfit.items()},
        "true_gain": float(np.mean(saved)) / (misfit[SUBJECT] + level),
        "false_noise": float(np.mean(is_false)),
        "saved_there": float(np.sum(saved[is_false]) / total) if total > 0 else 0.0,
    }
