"""Parts of input space that contain the ignored points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from betanll.typing import Array

_MAX_DEPTH = 2
_MIN_ROWS = 5
_MIN_SHARE = 0.05


class Region(NamedTuple):
    """A part of input space.

    Parameters
    ----------
    description : str
        Such as ``"x0 > 3.2 and x1 <= 0.5"``.
    n_rows : int
        Held-out rows in the region.
    gain_share : float
        Share of the whole gain that lies in the region.
    rmse, challenger_rmse : float
        In units of the targets' spread.
    """

    description: str
    n_rows: int
    gain_share: float
    rmse: float
    challenger_rmse: float


def find_regions(
    x: Array,
    names: Sequence[str],
    squared_errors: Array,
    challenger_squared_errors: Array,
) -> list[Region]:
    """Return the parts of input space in which the challenger gains, most gain first.

    A small decision tree of the gain divides the space.
    """
    gain = squared_errors - challenger_squared_errors
    is_seen = ~np.isnan(gain)
    x, gain = x[is_seen], gain[is_seen]
    ours, theirs = squared_errors[is_seen], challenger_squared_errors[is_seen]
    total = float(gain.sum())
    if total <= 0 or len(x) < 2 * _MIN_ROWS:
        return []
    tree = DecisionTreeRegressor(
        max_depth=_MAX_DEPTH,
        min_samples_leaf=max(_MIN_ROWS, round(_MIN_SHARE * len(x))),
        random_state=0,
    ).fit(x, gain)
    leaves = tree.apply(x)
    regions = []
    for leaf, conditions in _paths(tree.tree_, names):
        rows = leaves == leaf
        share = float(gain[rows].sum() / total)
        if conditions and share > 1 / len(set(leaves)):
            regions.append(
                Region(
                    conditions,
                    int(rows.sum()),
                    share,
                    float(np.sqrt(ours[rows].mean())),
                    float(np.sqrt(theirs[rows].mean())),
                )
            )
    return sorted(regions, key=lambda region: -region.gain_share)


def _paths(tree: Any, names: Sequence[str]) -> list[tuple[int, str]]:
    """Return the leaves with their conditions."""
    found = []

    def visit(node: int, bounds: dict[int, tuple[float, float]]) -> None:
        left, right = tree.children_left[node], tree.children_right[node]
        if left == right:
            found.append((node, _describe(bounds, names)))
            return
        column, cut = int(tree.feature[node]), float(tree.threshold[node])
        low, high = bounds.get(column, (-np.inf, np.inf))
        visit(left, {**bounds, column: (low, min(high, cut))})
        visit(right, {**bounds, column: (max(low, cut), high)})

    visit(0, {})
    return found


def _describe(bounds: dict[int, tuple[float, float]], names: Sequence[str]) -> str:
    parts = []
    for column, (low, high) in bounds.items():
        name = names[column]
        if np.isinf(low):
            parts.append(f"{name} <= {high:.4g}")
        elif np.isinf(high):
            parts.append(f"{name} > {low:.4g}")
        else:
            parts.append(f"{low:.4g} < {name} <= {high:.4g}")
    return " and ".join(parts)
