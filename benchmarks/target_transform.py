"""Whether `target_transform="auto"` decides well, on tables that are no report's.

    python -m benchmarks.target_transform --data-dir DIR > results/estimator/targets.csv

Synthetic families of positive, skewed targets, and splits 5 to 7 of four UCI sets: the
first five are for reports. DIR is as for benchmarks/estimator.py. Each line has the
scores of the default preset on the targets themselves and on their logarithms, and
which of the two "auto" takes.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from benchmarks.estimator import load

from betanll import HeteroscedasticRegressor
from betanll.distributions import transforms
from betanll.metrics import crps, interval_coverage, interval_score, rmse

SYNTHETIC = {
    "additive": 1000,
    "gamma": 300,
    "lognormal": 1000,
    "logt": 1000,
    "noise": 1000,
    "weibull": 1000,
}
UCI = ("energy", "housing", "power", "yacht")
SPLITS = (5, 6, 7)
N_TEST = 2000
SCORES = ("crps", "rmse", "coverage", "interval_score", "negative")


def synthetic(kind: str, n: int, split: int) -> tuple[Any, Any, Any, Any]:
    """Return training inputs and targets, then those of 2000 further rows."""
    rng = np.random.default_rng(1000 * split + n)
    X = rng.uniform(-1, 1, (n + N_TEST, 6))
    f = 1.2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.6 * (X[:, 3] > 0)
    s = np.where(X[:, 4] > 0, 0.5, 0.2)
    size = len(f)
    y = {
        "additive": lambda: 5 + np.exp(f) + 0.5 * rng.normal(size=size),
        "gamma": lambda: np.exp(f) * rng.gamma(2.0, 0.5, size=size),
        "lognormal": lambda: np.exp(10 + f + s * rng.normal(size=size)),
        "logt": lambda: np.exp(10 + f + s * rng.standard_t(4, size=size)),
        "noise": lambda: np.exp(0.3 * f + 0.9 * rng.normal(size=size)),
        "weibull": lambda: np.exp(f) * rng.weibull(1.5, size=size),
    }[kind]()
    return X[:n], y[:n], X[n:], y[n:]


def scores_of(model: HeteroscedasticRegressor, X: Any, y: Any) -> dict[str, float]:
    """Return the scores of held-out rows, in the unit of the target."""
    predictive, interval = model.predict_dist(X), model.predict_interval(X, 0.9)
    return {
        "crps": crps(predictive, y),
        "rmse": rmse(predictive.mean, y),
        "coverage": interval_coverage(interval, y),
        "interval_score": interval_score(interval, y, 0.9),
        "negative": float(np.mean(interval[:, 0] < 0)),
    }


@click.command()
@click.option("--data-dir", type=Path, required=True)
@click.option("--preset", default="default", show_default=True)
def main(data_dir: Path, preset: str) -> None:
    """Fit each table with and without the logarithm, and let "auto" choose."""
    writer = csv.writer(sys.stdout)
    names = [f"{score}_{way}" for way in ("plain", "log") for score in SCORES]
    writer.writerow(["table", "split", "auto", *names])
    for name in (*SYNTHETIC, *UCI):
        for split in SPLITS:
            if name in SYNTHETIC:
                X, y, *test = synthetic(name, SYNTHETIC[name], split)
            else:
                X, y, *test = load(data_dir, name, split)
                y, test[1] = y[:, 0], test[1][:, 0]
            line: list[Any] = [name, split]
            models = {
                way: HeteroscedasticRegressor(
                    preset=preset, target_transform=way, random_state=split
                ).fit(X, y)
                for way in ("auto", None, "log")
            }
            line.append(transforms.text(models["auto"].target_transform_[0]))
            for way in (None, "log"):
                scores = scores_of(models[way], *test)
                line += [f"{scores[score]:.6g}" for score in SCORES]
            writer.writerow(line)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
