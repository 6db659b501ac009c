"""From a training table to the description of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.sentences import listed, option, shown
from betanll.tables._cells import (
    BOOLEAN,
    BOOLEAN_PAIRS,
    MISSING,
    NUMBER,
    TEXT,
    Cells,
    booleans,
    judge,
    numbers,
    parse_cells,
    target_numbers,
)
from betanll.tables._errors import TableError, check_known, repeated
from betanll.tables._file import DECIMAL
from betanll.tables._notation import Notation, find_notation

MAX_CATEGORIES = 30
#: More distinct texts than this, in more than half of the rows, are no categories.
MAX_DISTINCT = 50


class Chosen(NamedTuple):
    targets: tuple[str, ...]
    features: tuple[str, ...]
    ids: tuple[str, ...]


def choose_columns(
    frame: pd.DataFrame,
    targets: Sequence[str],
    drop: Sequence[str],
    ids: Sequence[str],
) -> Chosen:
    """Return what each column is for, or raise if the choice makes no sense."""
    columns = list(frame.columns)
    if odd := [name for name in columns if not isinstance(name, str)]:
        raise TableError(f"column names must be text, got {shown(odd[0])}")
    if (name := repeated(columns)) is not None:
        raise TableError(f"the name {name!r} is shared by several columns")
    targets, drop, ids = (_as_tuple(names) for names in (targets, drop, ids))
    if not targets:
        raise TableError("no target is given")
    check_known((*targets, *drop, *ids), columns)
    for what, names in (("target", targets), ("id", ids)):
        if (name := repeated(names)) is not None:
            raise TableError(f"column {name!r} is given twice as {what}")
    for what, others in (("dropped", drop), ("an id", ids)):
        for name in targets:
            if name in others:
                raise TableError(f"column {name!r} cannot be a target and {what}")
    left_out = {*targets, *drop, *ids}
    features = tuple(name for name in columns if name not in left_out)
    if not features:
        hint = ", so --delimiter may be wrong" if len(columns) == 1 else ""
        raise TableError(
            f"no feature is left among the columns {listed(columns)}{hint}"
        )
    return Chosen(targets, features, ids)


def infer_notation(frame: pd.DataFrame, name: str) -> Notation | None:
    """Return how the numbers of a text column are written, None if it has others."""
    cells = parse_cells(frame, name)
    if not np.any(cells.kinds == TEXT):
        return None
    decimal = frame.attrs.get(DECIMAL, ".")
    return find_notation(name, cells.distinct, "," if decimal == "," else ".")


def check_target(frame: pd.DataFrame, name: str, notation: Notation | None) -> None:
    if np.isnan(target_numbers(parse_cells(frame, name, 0, notation))).all():
        raise TableError(f"target {name!r} has no values")


def infer_column(
    frame: pd.DataFrame, name: str, notation: Notation | None
) -> dict[str, Any]:
    """Return the fields of the `Column` that describes a feature."""
    cells = parse_cells(frame, name, 0, notation)
    counts = np.bincount(cells.kinds, minlength=4)
    n_present = len(cells.kinds) - int(counts[MISSING])
    if n_present == 0:
        raise TableError(
            f"column {name!r} has no values: leave it out with {option('--drop', name)}"
        )
    common = {"name": name, "has_missing": bool(counts[MISSING])}
    if 2 * counts[NUMBER] >= n_present:
        values = numbers(cells)
        is_constant = _is_constant(values)
        fill = _median(values[~np.isnan(values)])
        return {**common, "kind": "numeric", "fill": fill, "is_constant": is_constant}
    if counts[BOOLEAN] == n_present and _is_boolean(cells):
        values = booleans(cells)
        fill = float(2 * np.nansum(values) > n_present)
        is_constant = _is_constant(values)
        return {**common, "kind": "boolean", "fill": fill, "is_constant": is_constant}
    codes, texts = cells.texts()
    if len(texts) > MAX_DISTINCT and 2 * len(texts) > n_present:
        raise TableError(
            f"column {name!r} has {len(texts)} different texts in {n_present} rows, "
            "so it looks like an identifier, a date or free text: leave it out with "
            f"{option('--drop', name)} or hand it on with {option('--id', name)}"
        )
    sizes = np.bincount(codes[codes >= 0], minlength=len(texts))
    order = sorted(range(len(texts)), key=lambda i: (-sizes[i], texts[i]))
    return {
        **common,
        "kind": "categorical",
        "categories": tuple(sorted(texts[i] for i in order[:MAX_CATEGORIES])),
        "is_constant": len(texts) == 1 and not common["has_missing"],
    }


def _as_tuple(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _is_boolean(cells: Cells) -> bool:
    """Tell whether truth words are of one pair; a lone letter may mean anything."""
    words = {
        cell.strip().lower() if isinstance(cell, str) else str(bool(cell)).lower()
        for cell in cells.distinct
        if judge(cell)[0] != MISSING
    }
    return any(
        words.issubset(pair) and (len(words) == 2 or pair in BOOLEAN_PAIRS[:2])
        for pair in BOOLEAN_PAIRS
    )


def _is_constant(values: NDArray[np.float64]) -> bool:
    return bool(np.all(values == values[0]))


def _median(values: NDArray[np.float64]) -> float:
    middle = (len(values) - 1) // 2, len(values) // 2
    lower, upper = np.partition(values, middle)[list(middle)].tolist()
    # Halved before they are added, which cannot overflow.
    return lower if lower == upper else 0.5 * lower + 0.5 * upper
