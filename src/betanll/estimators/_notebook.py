"""What a fitted estimator shows in a notebook."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import norm, t

from betanll.diagnostics import calibration_svg
from betanll.model_selection import HeldOutResiduals, weighted_mean
from betanll.typing import Array

#: Promised coverages of `held_out_coverage_`.
LEVELS = np.arange(1, 10) / 10
_TITLE = "Coverage of intervals on rows that training has not seen"


class NotebookPicture:
    """Shows the calibration of a fitted estimator below the diagram of scikit-learn."""

    held_out_coverage_: Array | None

    def _html_repr(self) -> str:
        html: str = super()._html_repr()  # type: ignore[misc]
        coverage = getattr(self, "held_out_coverage_", None)
        if coverage is None:
            return html
        picture = calibration_svg(LEVELS, coverage, title=_TITLE)
        return f"{html}<figure>{picture}<figcaption>{_TITLE}</figcaption></figure>"


def held_out_coverage(model: Any, held_out: HeldOutResiduals | None) -> Array | None:
    """Return the share of held-out rows in intervals of each of `LEVELS`.

    None without such rows, and for objectives that predict no normals.

    Returns
    -------
    array of shape (n_levels, n_outputs) or None
    """
    if held_out is None or model.objective_.predictive_family != "normal":
        return None
    distance = np.abs(held_out.residuals) / model.spread_
    shares = []
    for level in LEVELS:
        reach = norm.ppf((1 + level) / 2)
        if model.df_ is not None:
            unit = [math.sqrt((df - 2) / df) for df in model.df_]
            reach = t.ppf((1 + level) / 2, model.df_) * unit
        shares.append(
            weighted_mean(distance <= reach, held_out.weights, default=math.nan)
        )
    return np.array(shares)
