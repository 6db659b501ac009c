"""Further cells that count as missing: markers such as ``-99`` of one table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from betanll.columns._cells import NUMBER, factorized, judge, plain_cell
from betanll.columns._column import check_texts
from betanll.columns._errors import TableError

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")


def as_markers(values: Any) -> tuple[str, ...]:
    """Return markers of missing cells as texts, each once.

    Examples
    --------
    >>> as_markers([-99, "unknown", "-99"])
    ('-99', 'unknown')
    """
    if isinstance(values, str | int | float):
        values = (values,)
    try:
        given = tuple(values)
    except TypeError:
        given = (None,)
    for value in given:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TableError(f"na_values must be texts or numbers, got {value!r}")
    markers = tuple(dict.fromkeys(str(value).strip() for value in given))
    check_texts(markers, "na_values")
    return markers


def mark_missing(
    frame: pd.DataFrame, markers: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Return a table in which cells with one of their column's markers are missing.

    A marker that is a number means all writings of it: ``-99`` also ``-99.0``.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [3, -99], "eyes": ["blue", "unknown"]})
    >>> mark_missing(frame, {"age": ["-99"], "eyes": ["unknown"]})
       age  eyes
    0  3.0  blue
    1  NaN   NaN
    """
    found = {
        name: texts
        for name, texts in markers.items()
        if texts and name in frame.columns
    }
    if not found:
        return frame
    frame = frame.copy(deep=False)
    for name, texts in found.items():
        is_missing = _is_marked(frame[name], texts)
        if is_missing.any():
            frame[name] = frame[name].mask(is_missing)
    return frame


def _is_marked(series: pd.Series, markers: Sequence[str]) -> np.ndarray:
    types = pd.api.types
    dtype = series.dtype
    numbers = {value for text in markers if (value := _number(text)) is not None}
    if types.is_datetime64_any_dtype(dtype):
        dates = [text for text in markers if _ISO_DATE.fullmatch(text)]
        stamps = pd.to_datetime(pd.Series(dates, dtype=str), errors="coerce").dropna()
        return np.asarray(series.isin(stamps))
    if types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype):
        return np.asarray(series.isin(list(numbers)))
    try:
        codes, distinct = factorized(series)
    except TypeError:  # nested values, which are refused where they are used
        return np.zeros(len(series), np.bool_)
    texts = set(markers)
    hits = [_is_marker(cell, texts, numbers) for cell in distinct]
    # Code -1 stands for missing and picks the last element.
    return np.array([*hits, False], np.bool_)[codes]


def _is_marker(cell: Any, texts: Iterable[str], numbers: Iterable[float]) -> bool:
    cell = plain_cell(cell)
    if str(cell).strip() in texts:
        return True
    try:
        kind, value = judge(cell)
    except TypeError:
        return False
    return kind == NUMBER and value in numbers


def _number(text: str) -> float | None:
    kind, value = judge(text)
    return value if kind == NUMBER else None
