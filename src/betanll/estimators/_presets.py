"""What "auto" means: the settings of each preset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from betanll import objectives
from betanll.objectives._student_t import GammaPrecision

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

#: The value of a parameter that the preset decides.
AUTO = "auto"


@dataclass(frozen=True)
class Settings:
    """Parameters of the estimator that a preset has values for.

    `max_evaluations` is how often at most a training looks at its validation rows, and
    `selection` what it looks at.
    """

    hidden_layer_sizes: Sequence[int]
    activation: str
    n_bins: Sequence[int] | str
    learning_rate_init: float | Sequence[float] | str
    learning_rate: str
    weight_decay: float
    batch_size: int | str
    max_updates: int
    n_iter_no_change: int | str
    n_members: int
    refit: bool
    calibration: str | None
    max_evaluations: int | None
    selection: str

    @property
    def holds_out_rows(self) -> bool:
        """Whether rows are set aside for calibration alone."""
        if self.calibration == "conformal":
            return True
        return self.calibration is not None and self.refit


_DEFAULT = Settings(
    hidden_layer_sizes=(128, 128),
    activation="silu",
    n_bins=AUTO,
    learning_rate_init=7e-3,
    learning_rate="cosine",
    weight_decay=0.05,
    batch_size=AUTO,
    max_updates=10_000,
    n_iter_no_change=AUTO,
    n_members=10,
    refit=False,
    calibration="student-t",
    max_evaluations=400,
    selection="student-t",
)

PRESETS = {
    "fast": replace(_DEFAULT, n_members=1, max_updates=3000),
    "default": _DEFAULT,
    "best": replace(_DEFAULT, n_members=20, learning_rate_init=(3e-3, 7e-3, 1.5e-2)),
    "paper": Settings(
        hidden_layer_sizes=(50,),
        activation="relu",
        n_bins=(0,),
        learning_rate_init="search",
        learning_rate="constant",
        weight_decay=0.0,
        batch_size=256,
        max_updates=20_000,
        n_iter_no_change=50,
        n_members=1,
        refit=True,
        calibration=None,
        max_evaluations=None,
        selection="nll",
    ),
}

_BATCH_SIZES = ((800, 32), (4000, 64), (16_000, 128))
_LARGEST_BATCH = 256
_MAX_BINS, _MIN_BINS = 32, 4
#: Bins are fewer than `_MAX_BINS` where the first layer would see more values.
_MAX_ENCODED = 768
#: An ensemble for a table of fewer rows is tried without bins, too: where targets are
#: nearly linear and noisy, bins cost more than they bring.
_MANY_ROWS = 4000


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the preset."""
    return isinstance(value, str) and value == AUTO


def _has_own_tails(objective: Any) -> bool:
    """Whether an objective predicts a Student t by itself."""
    return isinstance(objectives.get(objective), GammaPrecision)


def settings_of(
    estimator: HeteroscedasticRegressor, *, n_rows: int, n_inputs: int
) -> Settings:
    """Return the settings of checked parameters for a table of this size.

    Only `n_iter_no_change` may still be "auto": a tenth of a budget.
    """
    preset = PRESETS[estimator.preset]
    values: dict[str, Any] = {}
    for field in fields(Settings):
        given = getattr(estimator, field.name, AUTO)
        values[field.name] = getattr(preset, field.name) if is_auto(given) else given
    for name in ("hidden_layer_sizes", "n_bins"):
        if not is_auto(values[name]):
            values[name] = tuple(map(int, np.ravel(values[name]).tolist()))
    if is_auto(values["batch_size"]):
        values["batch_size"] = next(
            (size for limit, size in _BATCH_SIZES if n_rows < limit), _LARGEST_BATCH
        )
    if is_auto(values["n_bins"]):
        fitting = _MAX_ENCODED // n_inputs - 1
        values["n_bins"] = (max(_MIN_BINS, min(_MAX_BINS, fitting)),)
        if n_rows < _MANY_ROWS and values["n_members"] > 1:
            values["n_bins"] += (0,)
    if _has_own_tails(estimator.objective):
        if estimator.calibration == "student-t":
            raise ValueError(
                'calibration="student-t" is for Gaussian predictions, not for '
                f"objective {estimator.objective!r}"
            )
        if values["calibration"] == "student-t":
            values["calibration"] = None
    return Settings(**values)
