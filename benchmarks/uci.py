"""Speed of the UCI protocol: against a PyTorch loop, and on one and two workers.

    python benchmarks/uci.py reference --data-dir DIR   # alone on the machine
    python benchmarks/uci.py workers --data-dir DIR     # alone on the machine
    python benchmarks/uci.py sample --data-dir DIR      # alone on the machine

DIR has the data as ``betanll data download`` leaves it. They write
``speed-reference.csv``, ``speed-workers.csv`` and ``speed-sample.csv`` in
``paper/results/uci``.
"""

from __future__ import annotations

import copy
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from betanll.sweeps import task

RESULTS = Path(__file__).parents[1] / "paper" / "results" / "uci"
BETA = 0.5

data_dir = click.option(
    "--data-dir", type=click.Path(exists=True, path_type=Path), required=True
)


@task
def nothing(*, number: int) -> list[dict[str, Any]]:
    """Return at once, to time what a sweep adds to its tasks."""
    return []


@click.group()
def cli() -> None:
    pass


class TorchProtocol:
    """The protocol of a split as most people would write it in PyTorch."""

    def __init__(self, x: Any, y: Any, *, max_updates: int, seed: int) -> None:
        import torch

        self.torch = torch
        self.x, self.y = x, y
        self.max_updates = max_updates
        self.n_updates = 0
        torch.manual_seed(seed)

    def run(self, learning_rates: tuple[float, ...]) -> Any:
        """Search, refit and return a function that predicts means."""
        n = int(0.8 * len(self.x))
        train = self.whitened(slice(0, n), slice(0, n))
        validation = self.whitened(slice(0, n), slice(n, None))
        scores = []
        for rate in learning_rates:
            _, score, epochs = self.train(*train, rate, validation=validation)
            scores.append((score, rate, epochs))
        _, rate, epochs = min(scores)
        everything = slice(None)
        model, _, _ = self.train(
            *self.whitened(everything, everything), rate, epochs=epochs
        )
        mean_x, std_x, mean_y, std_y = self.moments(everything)

        def predict(x: Any) -> Any:
            inputs = self.torch.tensor((x - mean_x) / std_x, dtype=self.torch.float32)
            with self.torch.no_grad():
                mean = model(inputs).chunk(2, dim=1)[0].numpy()
            return mean * std_y + mean_y

        return predict

    def moments(self, rows: slice) -> tuple[Any, Any, Any, Any]:
        x, y = self.x[rows], self.y[rows]
        return x.mean(0), x.std(0), y.mean(0), y.std(0)

    def whitened(self, by: slice, rows: slice) -> tuple[Any, Any]:
        mean_x, std_x, mean_y, std_y = self.moments(by)
        return tuple(
            self.torch.tensor(array, dtype=self.torch.float32)
            for array in (
                (self.x[rows] - mean_x) / std_x,
                (self.y[rows] - mean_y) / std_y,
            )
        )

    def nll(self, model: Any, x: Any, y: Any) -> tuple[Any, Any]:
        torch = self.torch
        mean, raw = model(x).chunk(2, dim=1)
        variance = torch.nn.functional.softplus(raw + 0.5413248) + 1e-8
        variance = variance.clamp(max=1000)
        return 0.5 * (variance.log() + (y - mean) ** 2 / variance), variance

    def train(
        self,
        x: Any,
        y: Any,
        rate: float,
        *,
        validation: tuple[Any, Any] | None = None,
        epochs: int | None = None,
    ) -> tuple[Any, float, int]:
        torch = self.torch
        model = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 50),
            torch.nn.ReLU(),
            torch.nn.Linear(50, 2 * y.shape[1]),
        )
        for layer in (model[0], model[2]):
            torch.nn.init.xavier_uniform_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        batch = min(256, len(x))
        n_batches = len(x) // batch
        best, best_epoch, best_state = math.inf, 0, None
        for epoch in range(1, (epochs or math.ceil(self.max_updates / n_batches)) + 1):
            order = torch.randperm(len(x))
            for i in range(n_batches):
                rows = order[i * batch : (i + 1) * batch]
                loss, variance = self.nll(model, x[rows], y[rows])
                optimizer.zero_grad()
                (loss * variance.detach() ** BETA).sum(1).mean().backward()
                optimizer.step()
                self.n_updates += 1
            if validation is not None:
                with torch.no_grad():
                    score = self.nll(model, *validation)[0].mean().item()
                if score < best:
                    best, best_epoch = score, epoch
                    best_state = copy.deepcopy(model.state_dict())
                elif epoch - best_epoch >= 50:
                    break
        if best_state is not None:
            model.load_state_dict(best_state)
        return model, best, best_epoch


@cli.command()
@data_dir
@click.option("--dataset", default="concrete", show_default=True)
@click.option("--splits", default=3, show_default=True)
def reference(data_dir: Path, dataset: str, splits: int) -> None:
    """Time whole splits, ours and PyTorch's taking turns, each on one core."""
    # Before JAX and PyTorch start their threads.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ["NPROC"] = "1"
    os.environ["BETANLL_DATA"] = str(data_dir)
    import torch

    from betanll_paper.datasets import load_uci
    from betanll_paper.uci.protocol import LEARNING_RATES, PAPER, run_split

    torch.set_num_threads(1)
    table = load_uci(dataset)
    settings = {
        "dataset": dataset,
        "method": "beta-nll",
        "beta": BETA,
        "max_updates": PAPER.length_of(dataset),
        "learning_rates": " ".join(map(str, LEARNING_RATES)),
    }
    run_split(split=0, **settings)  # compiles
    lines = []
    for split in range(splits):
        (row,) = run_split(split=split, **settings)
        train, test = table.split(split)
        started = time.perf_counter()
        loop = TorchProtocol(
            table.x[train],
            table.y[train],
            max_updates=PAPER.length_of(dataset),
            seed=split,
        )
        predict = loop.run(LEARNING_RATES)
        error = predict(table.x[test]) - table.y[test]
        seconds = time.perf_counter() - started
        lines += [
            ("betanll", split, row["updates"], row["seconds"], row["rmse"]),
            ("torch", split, loop.n_updates, seconds, np.sqrt(np.mean(error**2))),
        ]
    columns = ["program", "split", "updates", "seconds", "rmse"]
    frame = pd.DataFrame(lines, columns=columns)
    frame.insert(0, "dataset", dataset)
    frame.to_csv(RESULTS / "speed-reference.csv", index=False, float_format="%.6g")
    total = frame.groupby("program")[["updates", "seconds"]].sum()
    cost = total["seconds"] / total["updates"] * 1e6
    click.echo(frame.to_string())
    click.echo(f"microseconds per update: {cost.round(1).to_dict()}")
    click.echo(f"PyTorch / ours, per update: {cost['torch'] / cost['betanll']:.1f}")


@cli.command()
@data_dir
@click.option("--dataset", default="concrete", show_default=True)
def workers(data_dir: Path, dataset: str) -> None:
    """Time the same tasks on one and two workers, and tasks that do nothing."""
    os.environ["BETANLL_DATA"] = str(data_dir)
    from betanll.sweeps import Store, Task, run_sweep
    from betanll_paper.published import Method
    from betanll_paper.uci.protocol import uci_tasks

    methods = [Method(f"beta-nll:{beta}") for beta in (0.0, 0.25, 0.5, 0.75, 1.0)]
    real = uci_tasks("paper", methods=methods, datasets=[dataset])
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        empty = [Task.of(nothing, number=i) for i in range(400)]
        for name, tasks in (("warm-up", real[:4]), (dataset, real), ("empty", empty)):
            for n_workers in (1, 2):
                with Store(Path(folder) / f"{name}-{n_workers}.db") as store:
                    report = run_sweep(tasks, store, n_workers=n_workers)
                    rows = store.rows(tasks)
                busy = sum(row.get("seconds", 0.0) for row in rows)
                updates = sum(row.get("updates", 0) for row in rows)
                lines.append(
                    (name, n_workers, report.n_done, updates, report.seconds, busy)
                )
    columns = ["tasks", "workers", "done", "updates", "seconds", "busy_seconds"]
    frame = pd.DataFrame(lines, columns=columns)
    frame = frame[frame["tasks"] != "warm-up"]
    frame.to_csv(RESULTS / "speed-workers.csv", index=False, float_format="%.6g")
    click.echo(frame.to_string())


@cli.command()
@data_dir
@click.option("--splits", default=2, show_default=True, help="Of each set and method.")
def sample(data_dir: Path, splits: int) -> None:
    """Estimate how long the cheap methods take in full, from a sample of the splits.

    Updates are those of the full run, in ``runs.csv``; what one costs, with everything
    around it, is measured here, on two workers.
    """
    os.environ["BETANLL_DATA"] = str(data_dir)
    from betanll.sweeps import Store, run_sweep
    from betanll_paper.published.methods import METHODS
    from betanll_paper.uci.protocol import uci_tasks

    cheap = [m for m in METHODS if m.name in ("beta-nll", "mm", "mse", "student-t")]
    tasks = [
        task
        for task in uci_tasks("paper", methods=cheap)
        if dict(task.settings)["split"] < splits
    ]
    with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/sweep.db") as store:
        report = run_sweep(tasks, store, n_workers=2, progress=True)
        sampled = pd.DataFrame(store.rows(tasks))
    by = ["dataset", "method"]
    amounts = ["updates", "seconds"]
    frame = sampled.groupby(by)[amounts].sum().add_prefix("sample_")
    full = pd.read_csv(RESULTS / "runs.csv").groupby(by)
    frame["splits"] = full.size()
    frame["updates"] = full["updates"].sum()
    frame["us_per_update"] = frame["sample_seconds"] / frame["sample_updates"] * 1e6
    frame["seconds"] = frame["us_per_update"] * frame["updates"] / 1e6
    frame.to_csv(RESULTS / "speed-sample.csv", float_format="%.6g")
    # Start of the processes, compilation and the wait at the end.
    busy = frame["sample_seconds"].sum() / (2 * report.seconds)
    click.echo(frame.to_string())
    click.echo(f"sample: {report.seconds:.0f} s, workers {busy:.0%} busy")
    splits, updates, seconds = frame[["splits", "updates", "seconds"]].sum()
    minutes = seconds / 2 / 60
    click.echo(
        f"in full: {splits:.0f} splits, {updates:.4g} updates of "
        f"{seconds / updates * 1e6:.1f} us, {minutes:.1f} minutes on two cores, "
        f"{minutes / busy:.1f} if they are as often idle as in the sample"
    )


if __name__ == "__main__":
    cli()
