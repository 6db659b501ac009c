"""Regression with trustworthy uncertainty, by neural networks that avoid the NLL trap.

The names below load on first use, so that ``import betanll`` is fast and imports
neither JAX nor PyTorch.
"""

from __future__ import annotations

import importlib
from typing import Any

from betanll._version import __version__

_MODULES = (
    "datasets",
    "diagnostics",
    "distributions",
    "estimators",
    "evaluation",
    "losses",
    "metrics",
    "model_selection",
    "networks",
    "objectives",
    "preprocessing",
    "reports",
    "sweeps",
    "tables",
    "training",
)
#: Names that most people need, and the modules that have them.
_NAMES = {
    "CalibrationDisplay": "reports",
    "HeteroscedasticRegressor": "estimators",
    "IntervalDisplay": "reports",
    "ResidualDisplay": "reports",
    "diagnose": "evaluation",
}

__all__ = ["__version__", *_MODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"betanll.{name}")
    if name in _NAMES:
        module = importlib.import_module(f"betanll.{_NAMES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'betanll' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
