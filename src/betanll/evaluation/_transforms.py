"""One transform of the targets for all models that an assessment trains."""

from __future__ import annotations

from typing import Any

import numpy as np

from betanll.columns import take_rows
from betanll.distributions import Identity
from betanll.estimators import HeteroscedasticRegressor, decide_transforms
from betanll.typing import Array, Rows


def settle_transforms(
    model: HeteroscedasticRegressor,
    X: Any,
    y: Array,
    train: Rows,
    *,
    n_jobs: int | None = None,
) -> None:
    """Replace "auto" in the parameter `target_transform` by what it comes to.

    Pilots see training rows alone. That no value is zero or negative is asked of all
    rows: a logarithm has to exist for each part of them.
    """
    given = getattr(model, "target_transform", None)
    entries = list(given) if isinstance(given, list | tuple) else [given] * y.shape[1]
    if not any(isinstance(one, str) and one == "auto" for one in entries):
        return
    # Infinite values are refused by the fit, with a sentence of its own.
    is_positive = np.nanmin(y, axis=0) > 0
    if is_positive.any() and len(entries) == y.shape[1] and not np.isinf(y).any():
        found = decide_transforms(model, take_rows(X, train), y[train], n_jobs=n_jobs)
    else:
        found = (Identity(),) * y.shape[1]
    model.set_params(
        target_transform=[
            (one if positive else Identity()) if entry == "auto" else entry
            for one, positive, entry in zip(found, is_positive, entries, strict=False)
        ]
    )
