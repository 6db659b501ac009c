"""Time all contenders in turns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

from betanll import objectives
from betanll.objectives import BetaNLL
from betanll.processes import available_cores
from betanll.progress import Progress
from betanll_paper.speed.contenders import (
    MATMUL_FLOPS,
    Contender,
    matmul_peaks,
    ours,
    torch_eager,
)
from betanll_paper.speed.networks import NETWORKS, Network


class Measurement(NamedTuple):
    """Microseconds per update and model of one network, and two ratios.

    `ratio` is PyTorch's time over ours, `matmul_fraction` our share of the peak.
    """

    network: str
    ours_one_core_us: float
    ours_us: float
    torch_eager_us: float | None
    ratio: float | None
    matmul_fraction: float


class ObjectiveCost(NamedTuple):
    """Microseconds per update and model of one objective, and their ratio to NLL."""

    objective: str
    us: float
    ratio: float


def run(
    names: Sequence[str] = tuple(NETWORKS), *, rounds: int = 7, seconds: float = 0.5
) -> list[Measurement]:
    """Time networks; contenders take turns, so that a busy moment affects all.

    The result of a contender is the fastest of `rounds` turns of about `seconds` each.
    PyTorch uses one thread or all cores, whichever is faster.
    """
    return [_measure(NETWORKS[name], rounds, seconds) for name in names]


def run_objectives(
    name: str = "uci", *, rounds: int = 5, seconds: float = 0.3
) -> list[ObjectiveCost]:
    """Time every objective on one network, with one model on each core."""
    contenders = {
        objective: ours(NETWORKS[name], objectives.get(objective), available_cores())
        for objective in objectives.OBJECTIVES
    }
    best = _fastest(contenders, rounds, seconds, description=name)
    return [ObjectiveCost(o, us, us / best["nll"]) for o, us in best.items()]


def _measure(network: Network, rounds: int, seconds: float) -> Measurement:
    n_cores = available_cores()
    contenders = {
        "one core": ours(network, BetaNLL(0.5), 1),
        "all cores": ours(network, BetaNLL(0.5), n_cores),
        **{f"matmul {name}": peak for name, peak in matmul_peaks().items()},
    }
    if find_spec("torch") is not None:
        for n_threads in {1, n_cores}:
            contenders[f"torch {n_threads}"] = torch_eager(network, n_threads)
    best = _fastest(contenders, rounds, seconds, description=network.name)

    def fastest_of(prefix: str) -> float:
        return min(us for name, us in best.items() if name.startswith(prefix))

    peak = MATMUL_FLOPS / fastest_of("matmul")
    torch_us = fastest_of("torch") if f"torch {n_cores}" in best else None
    return Measurement(
        network=network.name,
        ours_one_core_us=best["one core"],
        ours_us=best["all cores"],
        torch_eager_us=torch_us,
        ratio=None if torch_us is None else torch_us / best["all cores"],
        matmul_fraction=network.flops / best["all cores"] / peak,
    )


def _fastest(
    contenders: Mapping[str, Contender],
    rounds: int,
    seconds: float,
    *,
    description: str,
) -> dict[str, float]:
    """Return the fewest microseconds per unit of work of each contender."""
    n_measurements = (rounds + 1) * len(contenders)
    with Progress(n_measurements, "measurements", description=description) as progress:
        work: dict[str, int] = {}
        for name, contender in contenders.items():
            contender(1)  # compile and warm up
            started = time.perf_counter()
            done = contender(1)
            elapsed = time.perf_counter() - started
            work[name] = max(1, int(done * seconds / elapsed))
            progress.update()
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(rounds):
            for name, contender in contenders.items():
                started = time.perf_counter()
                done = contender(work[name])
                microseconds = (time.perf_counter() - started) / done * 1e6
                best[name] = min(best[name], microseconds)
                progress.update()
    return best
