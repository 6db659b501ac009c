"""What the other libraries need: raw columns as numbers and categories.

The rules look at training rows only. They are what an analyst does by hand: dates
become numbers, numbers in text become numbers, all other text is a category.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

MISSING = "(missing)"
#: This share of the cells that are there must follow a rule.
_MOST = 0.95
_DATE = re.compile(r"\s*(\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4})")
_DAY = 86_400.0
#: Such as "", " ", "." and "--".
_EMPTY = re.compile(r"[\W_]*")


@dataclass(frozen=True)
class Reading:
    """How each column of a table is read, learnt from training rows.

    Parameters
    ----------
    numbers, dates, categories : tuple of str
        Names of columns.
    """

    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    categories: tuple[str, ...]

    @classmethod
    def learn(cls, frame: pd.DataFrame) -> Reading:
        """Return what each column of the training inputs is.

        Examples
        --------
        >>> frame = pd.DataFrame({"n": ["1", "."] * 30, "d": ["2020-01-31"] * 60})
        >>> Reading.learn(frame.assign(c="a"))
        Reading(numbers=('n',), dates=('d',), categories=('c',))
        """
        kinds = {name: _kind(frame[name]) for name in frame.columns}
        return cls(
            *(
                tuple(name for name, kind in kinds.items() if kind == which)
                for which in ("number", "date", "category")
            )
        )

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return numbers, NaN where missing, and categories as text.

        A date becomes days since 1970, month, day of the week and hour; of the last
        three, constant ones stay in.
        """
        columns: dict[str, object] = {
            name: _numbers(frame[name]) for name in self.numbers
        }
        for name in self.dates:
            stamps = as_stamps(frame[name])
            columns[name] = stamps
            for part, values in _parts(stamps).items():
                columns[f"{name}: {part}"] = values
        for name in self.categories:
            texts = frame[name].astype("object")
            columns[name] = texts.where(texts.notna(), MISSING).astype(str)
        return pd.DataFrame(columns, index=frame.index)


def as_stamps(column: pd.Series) -> npt.NDArray[np.float64]:
    """Return numbers as they are and dates in days since 1970, NaN where missing."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(np.float64, na_value=np.nan)
    stamps = _stamps(column)
    epoch = pd.Timestamp("1970-01-01", tz="UTC").as_unit("us")
    return ((stamps - epoch) / pd.Timedelta(seconds=1) / _DAY).to_numpy(np.float64)


def _kind(column: pd.Series) -> str:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return "date"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return "number"
    present = column.dropna()
    present = present[~present.astype(str).map(_is_empty)]
    if (
        present.empty
        or _share(pd.to_numeric(present, errors="coerce").notna()) >= _MOST
    ):
        return "number"
    is_date = present.astype(str).map(lambda text: _DATE.match(text) is not None)
    if _share(is_date) >= _MOST and _share(_stamps(present).notna()) >= _MOST:
        return "date"
    return "category"


def _is_empty(text: str) -> bool:
    return _EMPTY.fullmatch(text) is not None


def _share(mask: pd.Series) -> float:
    return float(np.mean(mask.to_numpy(bool)))


def _numbers(column: pd.Series) -> npt.NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce")
    return values.to_numpy(np.float64, na_value=np.nan)


def _stamps(column: pd.Series) -> pd.Series:
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        texts = column.astype("object").where(column.notna(), None)
        column = pd.to_datetime(
            texts.map(lambda cell: None if cell is None else str(cell)),
            errors="coerce",
            utc=True,
            format="mixed",
        )
    elif column.dt.tz is None:
        column = column.dt.tz_localize("UTC")
    # Microseconds reach from the first year to far beyond any table.
    return column.dt.as_unit("us")


def _parts(days: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    whole = np.floor(days)
    is_there = np.isfinite(whole)
    dates = np.where(is_there, whole, 0).astype("datetime64[D]")
    month = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1.0
    # The first day of 1970 was a Thursday, the third after Monday.
    weekday = (np.where(is_there, whole, 0) + 3) % 7
    hour = np.round((days - whole) * 24, 3)
    return {
        "month": np.where(is_there, month, np.nan),
        "weekday": np.where(is_there, weekday, np.nan),
        "hour": hour,
    }
