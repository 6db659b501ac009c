"""Sentences about how a training table is read, for whoever trains with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from betanll.sentences import shown
from betanll.tables._cells import TEXT, judge, parse_cells
from betanll.tables._notation import Notation

if TYPE_CHECKING:
    from betanll.tables._schema import Column


def notation_notes(notations: Mapping[str, Notation], frame: pd.DataFrame) -> list[str]:
    """Return a sentence for each column of written numbers, with an example."""
    sentences = []
    for name, notation in notations.items():
        for cell in parse_cells(frame, name).distinct:
            value = judge(cell, notation)[1]
            if judge(cell)[0] == TEXT and not math.isnan(value):
                sentences.append(
                    f"column {name!r} is read as numbers: {shown(cell)} is {value:.12g}"
                )
                break
    return sentences


def category_notes(features: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Return a sentence for each column of which rare categories are left out."""
    sentences = []
    for column in features:
        if column.kind != "categorical":
            continue
        codes, texts = parse_cells(frame, column.name).texts()
        known = set(column.categories)
        is_kept = [text in known for text in texts]
        if not all(is_kept):
            # Missing cells, of code -1, lose nothing. Rounded down, never to 100%.
            share = np.mean(np.array([*is_kept, True])[codes])
            sentences.append(
                f"column {column.name!r}: {sum(is_kept)} of {len(texts)} categories "
                f"kept, {math.floor(100 * share)}% of the rows"
            )
    return sentences
