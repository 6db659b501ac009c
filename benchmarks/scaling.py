"""Time and memory of a fit by the size of the table, each in a process of its own.

    python benchmarks/scaling.py                        # results/estimator/scaling.csv
    python benchmarks/scaling.py --preset fast --rows 1000000

Tables are synthetic: 20 columns in double precision, of which five matter, with noise
that depends on one of them. Run it alone on the machine.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import click

RESULTS = Path(__file__).parents[1] / "results" / "estimator"
COLUMNS = [
    "preset",
    "rows",
    "table_gib",
    "fit_seconds",
    "peak_gib",
    "updates",
    "rmse_over_noise",
    "coverage_90",
    "predict_million_rows_per_second",
]


@click.command()
@click.option("--preset", "presets", multiple=True, default=("fast", "default"))
@click.option("--rows", multiple=True, type=int, default=[10**k for k in range(3, 8)])
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS)
def main(presets: tuple[str, ...], rows: tuple[int, ...], out: Path) -> None:
    lines = []
    for preset in presets:
        for n in rows:
            run = subprocess.run(
                [sys.executable, "-c", _MEASURE, preset, str(n)],
                capture_output=True,
                text=True,
            )
            if run.returncode:
                why = (run.stderr.splitlines() or [f"exit code {run.returncode}"])[-1]
                click.echo(f"{preset} {n}: {why}")
                continue
            found = {"preset": preset, "rows": n, **json.loads(run.stdout)}
            lines.append(
                [f"{found[c]:.4g}" if c != "preset" else preset for c in COLUMNS]
            )
            click.echo("  ".join(lines[-1]))
    out.mkdir(parents=True, exist_ok=True)
    with (out / "scaling.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])


_MEASURE = """
import json, resource, sys, time
import numpy as np
from betanll import HeteroscedasticRegressor

preset, n = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)

def table(n):
    X = np.empty((n, 20))
    for part in np.array_split(X, max(1, n // 100_000)):
        part[:] = rng.normal(size=part.shape)
    mean = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3]
    std = 0.1 + 0.4 * (X[:, 4] > 0)
    return X, mean, std, mean + std * rng.normal(size=n)

X, _, _, y = table(n)
started = time.perf_counter()
model = HeteroscedasticRegressor(preset=preset, random_state=0).fit(X, y)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
X_test, mean, std, y_test = table(100_000)
model.predict(X_test, return_std=True)
started = time.perf_counter()
found, _ = model.predict(X_test, return_std=True)
rate = len(X_test) / (time.perf_counter() - started) / 1e6
lower, upper = model.predict_interval(X_test, 0.9).T
print(json.dumps({
    "table_gib": X.nbytes / 2**30,
    "fit_seconds": seconds,
    "peak_gib": peak / 2**30,
    "updates": sum(model.search_results_["n_updates"]),
    "rmse_over_noise": float(np.sqrt(np.mean((found - mean) ** 2) / np.mean(std**2))),
    "coverage_90": float(np.mean((lower <= y_test) & (y_test <= upper))),
    "predict_million_rows_per_second": rate,
}))
"""


if __name__ == "__main__":
    main()
