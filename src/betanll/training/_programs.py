"""Forget compiled programs before there are too many for the operating system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from betanll.training import _loop, _predict

#: A process of Linux may map 65,530 regions by default. A compiled fit takes about 400,
#: and XLA crashes when it gets no more.
_MAX_REGIONS = 40_000
#: Programs below which the regions are not even counted.
_FEW = 64
_REGIONS = Path("/proc/self/maps")
# JAX does not annotate the methods of compiled functions.
_COMPILED: tuple[Any, ...] = (
    *(_loop.start, _loop.run, _loop.run_vectorized),
    *(_predict.predict_at_once, _predict.predict_in_blocks),
)


def forget_if_many() -> None:
    """Forget the compiled programs of fits and predictions, if they are very many.

    Long searches over sizes of networks compile hundreds. Forgotten programs are
    compiled again, or read from the user's compilation cache.
    """
    if sum(function._cache_size() for function in _COMPILED) <= _FEW:
        return
    if not _REGIONS.exists():
        return
    with _REGIONS.open("rb") as lines:
        are_many = sum(1 for _ in lines) > _MAX_REGIONS
    if are_many:
        for function in _COMPILED:
            function.clear_cache()
