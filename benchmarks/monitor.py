"""What PitfallMonitor costs beside a PyTorch training step.

    python benchmarks/monitor.py

Trains the UCI network (8-50-2, batch 256) eagerly on one thread and hands every batch
to a monitor. Steps, looks and skipped calls take turns, so that a busy moment hits all;
the fastest turn of each counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import click
import torch

from betanll.torch import BetaNLLLoss, GaussianHead, PitfallMonitor


def microseconds(call: Callable[[], object], n_calls: int) -> float:
    started = time.perf_counter()
    for _ in range(n_calls):
        call()
    return (time.perf_counter() - started) / n_calls * 1e6


@click.command()
@click.option("--rounds", default=20, show_default=True)
@click.option("--every", default=10, show_default=True)
def main(rounds: int, every: int) -> None:
    """Print the times of a step and of the monitor, and their ratio."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, target = torch.randn(256, 8), torch.randn(256, 1)
    network = torch.nn.Sequential(
        torch.nn.Linear(8, 50), torch.nn.ReLU(), GaussianHead(50, 1)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    criterion = BetaNLLLoss()

    def step() -> None:
        mean, variance = network(x)
        loss = criterion(mean, target, variance)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    prediction = network(x)
    looking = PitfallMonitor(beta=0.5, every=1, warn=False)
    counting = PitfallMonitor(beta=0.5, every=2**30, warn=False)
    contenders: dict[str, tuple[Callable[[], object], int]] = {
        "step": (step, 200),
        "look": (lambda: looking.update(*prediction, target), 200),
        "call without a look": (lambda: counting.update(*prediction, target), 10_000),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, (call, n_calls) in contenders.items():
            best[name] = min(best[name], microseconds(call, n_calls))
    for name, time_of in best.items():
        click.echo(f"{name + ':':22}{time_of:8.2f} us")
    update = (best["look"] + (every - 1) * best["call without a look"]) / every
    ratio = update / best["step"]
    click.echo(f"update, every={every}: {update:.2f} us, {ratio:.2%} of a step")


if __name__ == "__main__":
    main()
