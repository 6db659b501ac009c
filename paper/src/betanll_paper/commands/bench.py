"""``betanll bench``: microseconds per update, of betanll and of PyTorch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from betanll.cli.options import MAX_COUNT
from betanll.cli.output import example

if TYPE_CHECKING:
    from betanll_paper.speed import Measurement, ObjectiveCost

# Spelt out, because --help must not import JAX.
_NETWORKS = ("uci", "sine", "object-slide", "fpp", "vae")


@click.command(epilog=example("betanll bench --network uci"))
@click.option(
    "--network",
    "networks",
    type=click.Choice(_NETWORKS),
    multiple=True,
    help="Network to time; may be repeated.  [default: all]",
)
@click.option(
    "--objectives",
    "by_objective",
    is_flag=True,
    help="Compare objectives on one network instead, uci by default.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, MAX_COUNT),
    default=7,
    show_default=True,
    help="Turns of each contender; the fastest counts.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=0.5,
    show_default=True,
    help="Length of a turn.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    networks: tuple[str, ...],
    by_objective: bool,
    rounds: int,
    seconds: float,
    as_json: bool,
) -> None:
    """Time updates of the paper's networks.

    Compares betanll on one core, betanll with one model on each core, and a plain
    PyTorch loop if PyTorch is installed. The last column is the speed of the matrix
    products in updates, as a share of this machine's speed for large ones. Close other
    programs first.
    """
    from betanll_paper import speed

    if by_objective:
        if len(networks) > 1:
            raise click.UsageError("--objectives takes one --network")
        name = networks[0] if networks else "uci"
        costs = speed.run_objectives(name, rounds=rounds, seconds=seconds)
        _print(costs, as_json, _objective_table(costs))
    else:
        results = speed.run(networks or _NETWORKS, rounds=rounds, seconds=seconds)
        _print(results, as_json, _network_table(results))


def _print(
    results: Sequence[Measurement] | Sequence[ObjectiveCost], as_json: bool, table: str
) -> None:
    if as_json:
        table = json.dumps([result._asdict() for result in results], indent=2)
    click.echo(table)


def _network_table(results: Sequence[Measurement]) -> str:
    lines = [
        "Microseconds per update and model",
        f"{'network':14}{'ours, 1 core':>14}{'ours':>9}{'PyTorch':>10}"
        f"{'ratio':>8}{'of matmul peak':>16}",
    ]
    for result in results:
        us, ratio = result.torch_eager_us, result.ratio
        lines.append(
            f"{result.network:14}{result.ours_one_core_us:14.1f}{result.ours_us:9.1f}"
            f"{'-' if us is None else f'{us:.0f}':>10}"
            f"{'-' if ratio is None else f'{ratio:.1f}':>8}"
            f"{result.matmul_fraction:16.0%}"
        )
    return "\n".join(lines)


def _objective_table(costs: Sequence[ObjectiveCost]) -> str:
    lines = [f"{'objective':16}{'us/update':>10}{'of nll':>9}"]
    lines += [f"{c.objective:16}{c.us:10.1f}{c.ratio:8.1f}x" for c in costs]
    return "\n".join(lines)
