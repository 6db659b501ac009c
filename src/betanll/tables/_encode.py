"""From tables to matrices, by a description of the columns alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.sentences import listed
from betanll.tables._cells import (
    booleans,
    category_codes,
    cell_fault,
    numbers,
    parse_cells,
)
from betanll.tables._errors import TableError
from betanll.tables._notation import Notation

if TYPE_CHECKING:
    from betanll.tables._schema import Column

UNKNOWN, NEWLY_MISSING = -1, -2


def split(features: Iterable[Column]) -> tuple[list[Column], list[Column]]:
    """Return the numeric and boolean columns, and the categorical ones."""
    columns = list(features)
    numeric = [column for column in columns if column.kind != "categorical"]
    return numeric, [column for column in columns if column.kind == "categorical"]


def encoded_names(features: Sequence[Column]) -> tuple[str, ...]:
    numeric, categorical = split(features)
    names = [column.name for column in numeric]
    names += [f"{column.name} is missing" for column in numeric if column.has_missing]
    for column in categorical:
        names += [f"{column.name}={text}" for text in column.categories]
        names += [f"{column.name} is missing"] if column.has_missing else []
    return tuple(names)


def encoded_columns(features: Sequence[Column]) -> tuple[str, ...]:
    """Return for each encoded column the name of the feature that it comes from."""
    numeric, categorical = split(features)
    names = [column.name for column in numeric]
    names += [column.name for column in numeric if column.has_missing]
    for column in categorical:
        names += [column.name] * (len(column.categories) + column.has_missing)
    return tuple(names)


def check_present(frame: pd.DataFrame, names: Iterable[str]) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        raise TableError(f"the table lacks the {noun} {listed(missing)}")


def raw_matrix(
    features: Sequence[Column],
    frame: pd.DataFrame,
    first_row: int,
    notations: Mapping[str, Notation],
) -> NDArray[np.float64]:
    """Return a new matrix of numbers, NaN where missing, then of category codes.

    A code is the position among the categories, after which comes that of missing
    cells, or one of the negative constants of this module.
    """
    numeric, categorical = split(features)
    check_present(frame, [column.name for column in features])
    names = [column.name for column in numeric]
    is_plain = all(
        column.kind == "numeric"
        and column.name not in notations
        and _is_numpy_number(frame[column.name].dtype)
        for column in numeric
    )
    if is_plain and not categorical:
        plain = frame[names]
        matrix = np.array(plain.to_numpy(np.float64), order="C")
        if np.isinf(matrix).any():
            j = int(np.argmax(np.isinf(matrix).any(axis=0)))
            is_wrong = np.isinf(matrix[:, j])
            raise cell_fault(
                plain[names[j]], is_wrong, "is not a finite number", first_row
            )
        return matrix
    matrix = np.empty((len(frame), len(features)))
    for j, column in enumerate([*numeric, *categorical]):
        cells = parse_cells(frame, column.name, first_row, notations.get(column.name))
        if column.kind == "categorical":
            n = len(column.categories)
            matrix[:, j] = category_codes(
                cells,
                column.categories,
                missing=n if column.has_missing else NEWLY_MISSING,
                unknown=UNKNOWN,
            )
        else:
            convert = numbers if column.kind == "numeric" else booleans
            matrix[:, j] = convert(cells)
    return matrix


def build_transformer(features: Sequence[Column]) -> Any:
    """Return a fitted scikit-learn transformer of raw matrices.

    It is fitted to two made-up rows, the second with a missing cell wherever training
    had one, from which it learns the very fills and marks of the description.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    numeric, categorical = split(features)
    template = np.zeros((2, len(features)))
    for j, column in enumerate(numeric):
        template[:, j] = column.fill, np.nan if column.has_missing else column.fill
    codes = [
        np.arange(len(column.categories) + column.has_missing, dtype=np.float64)
        for column in categorical
    ]
    # The most frequent of equal values is exact; their mean or median may overflow.
    fill = SimpleImputer(strategy="most_frequent", add_indicator=True)
    one_hot = OneHotEncoder(
        categories=codes, handle_unknown="ignore", sparse_output=False
    )
    steps = []
    if numeric:
        steps.append(("numbers", fill, slice(0, len(numeric))))
    if categorical:
        steps.append(("categories", one_hot, slice(len(numeric), len(features))))
    return ColumnTransformer(steps).fit(template)


def surprises(
    features: Sequence[Column], raw: NDArray[np.float64]
) -> Counter[tuple[str, str]]:
    numeric, categorical = split(features)
    found: Counter[tuple[str, str]] = Counter()
    for j, column in enumerate([*numeric, *categorical]):
        values = raw[:, j]
        if column.kind == "categorical":
            found[column.name, "unknown"] = int(np.sum(values == UNKNOWN))
            found[column.name, "missing"] = int(np.sum(values == NEWLY_MISSING))
        elif not column.has_missing:
            found[column.name, "missing"] = int(np.sum(np.isnan(values)))
    return +found


def notes(features: Sequence[Column], found: Counter[tuple[str, str]]) -> list[str]:
    sentences = []
    for column in features:
        if n := found[column.name, "unknown"]:
            sentences.append(
                f"column {column.name!r}: {n} {_cells(n)} with a category that is not "
                f"among the {len(column.categories)} known ones"
            )
        if n := found[column.name, "missing"]:
            is_text = column.kind == "categorical"
            effect = "none of its categories" if is_text else f"{column.fill:g}"
            sentences.append(
                f"column {column.name!r}: {n} missing {_cells(n)} (none in training), "
                f"taken as {effect}"
            )
    return sentences


def _cells(n: int) -> str:
    return "cell" if n == 1 else "cells"


def _is_numpy_number(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"
