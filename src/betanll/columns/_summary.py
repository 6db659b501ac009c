"""How every column of a training table was read, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from betanll.columns._cells import TEXT, judge, parse_cells
from betanll.columns._column import Column
from betanll.columns._dates import shown_date
from betanll.columns._encoder import ColumnEncoder
from betanll.columns._read import MISSING_LEVEL, UNKNOWN, codes_of, values_of
from betanll.sentences import shown


class ColumnSummary(NamedTuple):
    """How a column was read.

    Parameters
    ----------
    name, kind : str
    missing : float
        Share of the cells.
    content : str
        Range of numbers and dates, levels of categories.
    n_inputs : int
        Inputs of the network that come from the column.
    notes : tuple of str
        Sentences without subject, such as "is always 3 and says nothing".
    """

    name: str
    kind: str
    missing: float
    content: str
    n_inputs: int
    notes: tuple[str, ...]


def summarise(encoder: ColumnEncoder, frame: pd.DataFrame) -> list[ColumnSummary]:
    """Return how each column of the training table was read.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": ["$5,700", "$90"], "colour": ["red", None]})
    >>> for line in summarise(ColumnEncoder.infer(frame), frame):
    ...     print(line.name, line.kind, line.missing, line.content, line.notes)
    price number 0.0 90 to 5700 ("is read as numbers: '$5,700' is 5700",)
    colour category 0.5 'red' ('has one value and says nothing',)
    """
    frame = encoder.marked(frame)
    return [_summary(encoder, column, frame) for column in encoder.columns]


def _summary(
    encoder: ColumnEncoder, column: Column, frame: pd.DataFrame
) -> ColumnSummary:
    notes = list(encoder.notes.get(column.name, ()))
    if column.kind == "ignored":
        missing = float(frame[column.name].isna().mean())
        return ColumnSummary(column.name, "not used", missing, "", 0, tuple(notes))
    cells = parse_cells(frame, column.name, 0, column.notation)
    if column.kind == "category":
        codes = codes_of(column, cells)
        is_missing = codes == MISSING_LEVEL
        content = _levels(column, np.asarray(codes))
        n_values = len(cells.texts()[1])
    else:
        values = values_of(column, cells)
        is_missing = np.isnan(values)
        seen = values[~is_missing]
        low, high = (float(bound) for bound in (seen.min(), seen.max()))
        n_values = 1 if low == high else 2
        form = shown_date if column.kind == "date" else "{:.6g}".format
        content = form(low) if low == high else f"{form(low)} to {form(high)}"
        if column.kind == "boolean":
            content = f"{np.mean(seen):.0%} true"
    if column.notation is not None:
        notes += _example(column, cells.distinct)
    if n_values == 1:
        notes.append("has one value and says nothing")
    share = float(np.mean(is_missing))
    n_inputs = len(column.encoded_names)
    return ColumnSummary(
        column.name, column.kind, share, content, n_inputs, tuple(notes)
    )


def _levels(column: Column, codes: np.ndarray) -> str:
    n = len(column.levels)
    if n <= 3:
        text = ", ".join(shown(level) for level in column.levels)
    else:
        text = f"{n} levels"
    if column.has_many_levels:
        text += ", by what they say about the target"
    n_rare = int(np.sum(codes == UNKNOWN))
    if n_rare:
        share = math.floor(100 * (1 - n_rare / max(1, np.sum(codes != MISSING_LEVEL))))
        text += f" ({share}% of the rows), rare ones together"
    return text


def _example(column: Column, distinct: Sequence[object]) -> list[str]:
    """Return a sentence with one cell that is written for people."""
    for cell in distinct:
        value = judge(cell, column.notation)[1]
        if judge(cell)[0] == TEXT and not math.isnan(value):
            return [f"is read as numbers: {shown(cell)} is {value:.12g}"]
    return []
