"""Regression with trustworthy uncertainty, by neural networks that avoid the NLL trap.

The names below load on first use, so that ``import betanll`` is fast and imports
neither JAX nor PyTorch.
"""

from __future__ import annotations

import importlib
from typing import Any

from betanll._version import __version__

_MODULES = (
    "bench",
    "datasets",
    "distributions",
    "losses",
    "metrics",
    "nets",
    "objectives",
    "training",
)

__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"betanll.{name}")
    raise AttributeError(f"module 'betanll' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
