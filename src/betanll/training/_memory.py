"""Refuse fits that need more memory than there is, before anything is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from betanll import _machine
from betanll.networks import Network
from betanll.training import _loop

if TYPE_CHECKING:
    from betanll.training._run import Run

#: Fits that need fewer bytes are not checked: the check would take longer.
_LITTLE = 2**26


class _Need(NamedTuple):
    """Lower bounds, in bytes."""

    n_parameters: int
    #: Parameters, best parameters and what the optimiser and snapshots keep of them.
    state: int
    #: Outputs of the hidden layers, kept for the backward pass.
    activations: int

    @property
    def running(self) -> int:
        """Bytes of a call: the state before and after it, a gradient, activations."""
        return 2 * self.state + 4 * self.n_parameters + self.activations

    @property
    def finished(self) -> int:
        """Bytes of the result: best and last parameters."""
        return 8 * self.n_parameters


def check_memory(fits: Sequence[Run], n_at_a_time: int) -> None:
    """Raise a ``MemoryError`` if fits cannot run, so many at a time, on this machine.

    The estimate comes from shapes and is a lower bound: fits that pass may still be too
    large. The memory of an accelerator is not checked.
    """
    if not fits or jax.default_backend() != "cpu":
        return
    needs = _needs(fits)
    running = sorted(need.running for need in needs)
    results = sum(need.finished for need in needs)
    needed = max(running[-1], sum(running[:n_at_a_time]), results)
    if needed < _LITTLE:
        return
    available = _machine.available_memory()
    if available is None or needed <= available:
        return
    largest = max(range(len(fits)), key=lambda i: needs[i].running)
    need, program = needs[largest], fits[largest].program
    network = _described(program.network)
    if need.running - need.activations > available:
        advice = (
            f"{network} has {need.n_parameters:,} parameters: choose smaller layers"
        )
    elif need.running > available:
        advice = (
            f"{program.batch_capacity:,} rows at a time pass through {network}: "
            "choose a smaller batch_size or smaller layers"
        )
    elif results > available:
        advice = (
            f"{len(fits):,} networks are trained in this step: train fewer or smaller "
            "ones"
        )
    else:
        n = min(n_at_a_time, len(fits))
        advice = f"{n} networks are trained at a time: choose a smaller n_jobs"
    raise MemoryError(
        f"training needs at least {_size(needed)} of memory but only "
        f"{_size(available)} are free; {advice}"
    )


def _needs(fits: Sequence[Run]) -> list[_Need]:
    known: dict[Any, _Need] = {}
    needs = []
    for fit in fits:
        structure = jax.tree.structure((fit.objective, fit.task.optimizer))
        kind = fit.program, structure
        if kind not in known:
            known[kind] = _need(fit)
        needs.append(known[kind])
    return needs


def _need(fit: Run) -> _Need:
    # Training starts with the same trace, so it costs nothing here.
    state = _loop.start.eval_shape(
        fit.program, fit.objective, fit.task.optimizer, fit.init_inputs, fit.init_key
    )
    # Of custom networks only the parameters are known.
    n_units = sum(getattr(fit.program.network, "hidden_sizes", ()))
    return _Need(
        n_parameters=state.params.size,
        state=sum(a.size * a.dtype.itemsize for a in jax.tree.leaves(state)),
        activations=4 * fit.program.batch_capacity * n_units,
    )


def _described(net: Network) -> str:
    sizes = getattr(net, "hidden_sizes", ())
    if len(sizes) in (1, 2, 3, 4):
        return f"a network with hidden layers of {', '.join(map(str, sizes))} units"
    return "the network"


def _size(n_bytes: int) -> str:
    gib = n_bytes / 2**30
    return f"{gib:,.3g} GiB" if gib < 1000 else f"{gib:,.0f} GiB"


@contextmanager
def naming_failed_allocations() -> Iterator[None]:
    """Raise a ``MemoryError`` with one sentence where JAX runs out of memory."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise MemoryError(
            "JAX ran out of memory: choose a smaller network, a smaller batch_size or "
            "a smaller n_jobs"
        ) from error
