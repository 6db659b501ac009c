"""What the README and the docs claim about HeteroscedasticRegressor, measured.

    python benchmarks/estimator.py ensembles --data-dir DIR   # results/estimator/*.csv
    python benchmarks/estimator.py conformal --data-dir DIR
    python benchmarks/estimator.py speed --data-dir DIR       # alone on the machine
    python benchmarks/estimator.py memory

DIR has the UCI tables as ``uci/<name>.csv.gz`` with ``uci/<name>.splits.npz`` beside.
``speed`` also times NGBoost where it is installed.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

SMALL_SETS = ["concrete", "energy", "housing", "wine-red", "wine-white", "yacht"]
LARGE_SETS = ["carbon", "kin8m", "naval", "power", "protein", "superconductivity"]
SETS = sorted(SMALL_SETS + LARGE_SETS)
RESULTS = Path(__file__).parents[1] / "results" / "estimator"


def load(folder: Path, name: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Return training inputs and targets, then those of the test part."""
    frame = pd.read_csv(folder / "uci" / f"{name}.csv.gz")
    rows = np.load(folder / "uci" / f"{name}.splits.npz")
    X = frame.filter(regex="^x_").to_numpy(np.float64)
    y = frame.filter(regex="^y_").to_numpy(np.float64)
    train, test = rows[f"train_{split}"], rows[f"test_{split}"]
    return X[train], y[train], X[test], y[test]


class Table:
    """A CSV file that grows line by line; what it has already is not computed again."""

    def __init__(self, path: Path, columns: list[str], n_keys: int) -> None:
        self.path, self.columns, self.n_keys = path, columns, n_keys
        self.done: set[tuple[str, ...]] = set()
        if path.exists():
            with path.open(newline="") as file:
                lines = list(csv.reader(file))[1:]
            self.done = {tuple(line[:n_keys]) for line in lines}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(",".join(columns) + "\n")

    def add(self, **values: Any) -> None:
        texts = [
            f"{v:.6g}" if isinstance(v, float) else str(v) for v in values.values()
        ]
        assert list(values) == self.columns
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(texts)
        click.echo(" ".join(texts))


def todo(table: Table, sets: list[str], splits: range) -> Iterator[tuple[str, int]]:
    for name in sets:
        for split in splits:
            exists = name != "protein" or split < 5
            if exists and (name, str(split)) not in table.done:
                yield name, split


@click.group()
def cli() -> None:
    pass


data_dir = click.option(
    "--data-dir", type=click.Path(exists=True, path_type=Path), required=True
)


@cli.command()
@data_dir
@click.option("--splits", default=5, show_default=True)
def ensembles(data_dir: Path, splits: int) -> None:
    """Compare five members with the first of them alone."""
    from betanll import HeteroscedasticRegressor, metrics

    columns = ["dataset", "split", "single_ll", "ensemble_ll", "single_rmse"]
    columns += ["ensemble_rmse", "single_coverage", "ensemble_coverage", "seconds"]
    table = Table(RESULTS / "ensembles.csv", columns, 2)
    for name, split in todo(table, SETS, range(splits)):
        X, y, X_test, y_test = load(data_dir, name, split)
        started = time.perf_counter()
        ensemble = HeteroscedasticRegressor(
            preset="paper", n_members=5, random_state=0
        ).fit(X, y)
        seconds = time.perf_counter() - started
        mixture = ensemble.predict_dist(X_test)
        many = metrics.evaluate(mixture, y_test, levels=[0.9])
        one = metrics.evaluate(mixture.components[0], y_test, levels=[0.9])
        table.add(
            dataset=name,
            split=split,
            single_ll=one.log_likelihood,
            ensemble_ll=many.log_likelihood,
            single_rmse=one.rmse,
            ensemble_rmse=many.rmse,
            single_coverage=one.coverage[0.9],
            ensemble_coverage=many.coverage[0.9],
            seconds=seconds,
        )
    frame = pd.read_csv(table.path).groupby("dataset").mean(numeric_only=True)
    wins = (frame.ensemble_ll > frame.single_ll).sum()
    click.echo(frame.round(4).to_string())
    click.echo(f"the ensemble has the better mean log-likelihood on {wins} sets")


@cli.command()
@data_dir
def conformal(data_dir: Path) -> None:
    """Measure the coverage of conformal 90 % intervals over all splits."""
    from betanll import HeteroscedasticRegressor, metrics

    columns = ["dataset", "split", "coverage", "plain_coverage", "n_test"]
    table = Table(RESULTS / "conformal.csv", columns, 2)
    for name, split in todo(table, SMALL_SETS, range(20)):
        X, y, X_test, y_test = load(data_dir, name, split)
        model = HeteroscedasticRegressor(
            preset="paper", calibration="conformal", random_state=split
        )
        model.fit(X, y)
        plain = model.predict_dist(X_test).interval(0.9)
        table.add(
            dataset=name,
            split=split,
            coverage=metrics.interval_coverage(model.predict_interval(X_test), y_test),
            plain_coverage=metrics.interval_coverage(plain, y_test),
            n_test=len(y_test),
        )
    frame = pd.read_csv(table.path).groupby("dataset")
    summary = frame[["coverage", "plain_coverage"]].mean()
    summary["standard_error"] = frame["coverage"].std() / np.sqrt(frame.size())
    click.echo(summary.round(4).to_string())


_FIT = """
import sys, time
sys.path.insert(0, {folder!r})
from pathlib import Path
from estimator import load
X, y, _, _ = load(Path({data!r}), {name!r}, 0)
started = time.perf_counter()
{code}
print(time.perf_counter() - started)
"""
_OURS = """
from betanll import HeteroscedasticRegressor
HeteroscedasticRegressor(preset="paper", random_state=0).fit(X, y[:, 0])
"""
_NGBOOST = """
from ngboost import NGBRegressor
NGBRegressor(verbose=False).fit(X, y[:, 0])
"""


@cli.command()
@data_dir
@click.option("--rounds", default=3, show_default=True)
def speed(data_dir: Path, rounds: int) -> None:
    """Time default fits in fresh processes, imports and compilation included."""
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": ""}
    click.echo("seconds, best and worst of rounds")
    for name, contender, code in [
        ("concrete", "betanll", _OURS),
        ("kin8m", "betanll", _OURS),
        ("kin8m", "ngboost", _NGBOOST),
    ]:
        script = _FIT.format(
            folder=str(Path(__file__).parent), data=str(data_dir), name=name, code=code
        )
        seconds = []
        for _ in range(rounds):
            run = subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                click.echo(f"{name} {contender}: {run.stderr.splitlines()[-1]}")
                break
            seconds.append(float(run.stdout))
        else:
            click.echo(f"{name:10}{contender:10}{min(seconds):7.1f}{max(seconds):7.1f}")
    _throughput()


def _throughput() -> None:
    from betanll import HeteroscedasticRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 10))
    model = HeteroscedasticRegressor(preset="paper", max_updates=500, random_state=0)
    model.fit(X[:2000], X[:2000, 0])
    for label, predict in [
        ("predict", lambda: model.predict(X)),
        ("predict with std", lambda: model.predict(X, return_std=True)),
        ("predict_interval", lambda: model.predict_interval(X)),
    ]:
        best = np.inf
        for _ in range(5):
            started = time.perf_counter()
            predict()
            best = min(best, time.perf_counter() - started)
        click.echo(f"{label}: {len(X) / best / 1e6:.1f} million rows/s of 10 inputs")


@cli.command()
@click.option("--rows", default=2_000_000, show_default=True)
def memory(rows: int) -> None:
    """Peak memory of a fit and of a prediction, the data included, over the data."""
    for precision in ("float64", "float32"):
        run = subprocess.run(
            [sys.executable, "-c", _MEMORY, str(rows), precision],
            capture_output=True,
            text=True,
            check=True,
        )
        fit, predict = map(float, run.stdout.split())
        click.echo(f"{precision}: fit {fit:.2f} x data, predict {predict:.2f} x data")


_MEMORY = """
import sys, threading, time
from pathlib import Path
import numpy as np
from betanll import HeteroscedasticRegressor

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

rows, dtype = int(sys.argv[1]), np.dtype(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20)).astype(dtype)
model = HeteroscedasticRegressor(
    preset="paper", max_updates=20, learning_rate_init=1e-3
)
model.fit(X, X[:, 0]).predict(X)  # what the libraries need themselves
before = resident()
X = np.empty((rows, 20), dtype)
for part in np.array_split(X, 100):
    part[:] = rng.normal(size=part.shape)
y = X[:, 0].copy()
size = X.nbytes + y.nbytes
peak, is_done = 0, False

def watch():
    global peak
    while not is_done:
        peak = max(peak, resident())
        time.sleep(0.005)

thread = threading.Thread(target=watch)
thread.start()
model = HeteroscedasticRegressor(
    preset="paper", max_updates=2000, random_state=0
).fit(X, y)
print((peak - before) / size)
peak = 0
model.predict(X, return_std=True)
print((peak - before) / size)
is_done = True
thread.join()
"""


if __name__ == "__main__":
    cli()
