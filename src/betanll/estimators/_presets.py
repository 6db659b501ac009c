"""The presets: a value for each parameter of the estimator that is "auto"."""

from __future__ import annotations

from typing import Any

#: The value of a parameter that the preset decides.
AUTO = "auto"

#: Where a preset says "auto", the size of the table decides. The last two are no
#: parameters: how often at most a run validates, and whether a few rows far off may
#: decide which epoch is best.
_DEFAULT: dict[str, Any] = {
    "hidden_layer_sizes": (128, 128),
    "activation": "silu",
    "n_bins": AUTO,
    "learning_rate_init": 7e-3,
    "learning_rate": "cosine",
    "weight_decay": 0.05,
    "batch_size": AUTO,
    "max_updates": 10_000,
    "n_iter_no_change": AUTO,
    "n_members": 10,
    "refit": False,
    "calibration": "student-t",
    "max_evaluations": 400,
    "robust_selection": True,
}

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {**_DEFAULT, "n_members": 1, "max_updates": 3000},
    "default": _DEFAULT,
    "best": {
        **_DEFAULT,
        "n_members": 20,
        "learning_rate_init": (3e-3, 7e-3, 1.5e-2),
    },
    "paper": {
        "hidden_layer_sizes": (50,),
        "activation": "relu",
        "n_bins": (0,),
        "learning_rate_init": "search",
        "learning_rate": "constant",
        "weight_decay": 0.0,
        "batch_size": 256,
        "max_updates": 20_000,
        "n_iter_no_change": 50,
        "n_members": 1,
        "refit": True,
        "calibration": None,
        "max_evaluations": None,
        "robust_selection": False,
    },
}


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the preset."""
    return isinstance(value, str) and value == AUTO
