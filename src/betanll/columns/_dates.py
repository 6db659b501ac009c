"""Dates and times: how texts spell them, and the numbers that a network reads.

A date is the number of days since 1970, in UTC. Texts are dates if one format reads
nearly all of them; the schema keeps that format for later tables.
"""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from betanll.typing import Array

ISO = "ISO8601"
_DAYS = (
    *("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%d.%m.%y", "%m/%d/%y", "%d/%m/%y"),
    *("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y", "%d-%b-%Y"),
    *("%d-%b-%y", "%b %Y", "%B %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
#: Formats of texts; where days and months cannot be told apart, the first one counts.
FORMATS = (ISO, *(day + time for time in _TIMES for day in _DAYS))
#: A date has digits, and marks or months between them. The search takes time that grows
#: with the square of the length, so that longer texts are decided before it.
_MAX_LENGTH = 64
_LIKELY = re.compile(r"(?=.*[0-9]).*[0-9A-Za-z][-/. :,T].*[0-9]")
#: Share of the distinct texts of a column of dates that the format reads.
MIN_SHARE = 0.95
#: Larger whole numbers are not dates.
_MAX_WHOLE = 1e15
#: Distinct texts that choose the format; the rest only confirm it.
_MAX_TRIED = 200
_BLOCK_ROWS = 2**16

#: Numbers of a date by name, in the order in which a network reads them.
PARTS = (
    *("elapsed days", "year", "month", "year sine", "year cosine"),
    *("weekday", "week sine", "week cosine", "hour", "day sine", "day cosine"),
)


def days_of(cell: Any) -> float:
    """Return a date, time stamp or duration as days, in UTC."""
    if isinstance(cell, datetime.timedelta | np.timedelta64):
        return float(pd.Timedelta(cell) / pd.Timedelta(days=1))
    if isinstance(cell, datetime.time):
        seconds = 3600 * cell.hour + 60 * cell.minute + cell.second
        return (seconds + cell.microsecond / 1e6) / 86_400
    stamp = pd.Timestamp(cell)
    return float(series_days(pd.Series([stamp]))[0])


def series_days(series: pd.Series) -> Array:
    """Return a column of time stamps as days since 1970, NaN where missing."""
    if getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    stamps = series.to_numpy("datetime64[us]")
    days = stamps.astype("datetime64[us]").astype(np.float64) / 86_400e6
    return np.where(np.isnat(stamps), np.nan, days)


def parse(texts: Sequence[str], form: str) -> Array:
    """Return the days of texts, NaN for those that the format does not read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        read = pd.to_datetime(
            pd.Series(list(texts), dtype=object), format=form, errors="coerce", utc=True
        )
    return series_days(read)


def parse_numbers(numbers: Array, form: str | None) -> Array:
    """Return the days of dates that are written as numbers, NaN for other numbers.

    Examples
    --------
    >>> parse_numbers(np.array([19700102, 19701332]), "%Y%m%d")
    array([ 1., nan])
    >>> parse_numbers(np.array([10270.0]), "%m%d%y")
    array([1.])
    """
    days = np.full(len(numbers), np.nan)
    if form is None or form == ISO:
        return days
    is_whole = (np.abs(numbers) < _MAX_WHOLE) & (numbers >= 0) & (numbers % 1 == 0)
    distinct, places = np.unique(numbers[is_whole], return_inverse=True)
    texts = [padded(str(int(number)), form) for number in distinct]
    days[is_whole] = parse(texts, form)[places]
    return days


def padded(text: str, form: str) -> str:
    """Return digits with the zeros in front that the format has and numbers lose."""
    width = len(datetime.date(2011, 11, 11).strftime(form))
    return text.zfill(width) if text.isdigit() else text


def find_format(texts: Sequence[str]) -> tuple[str, str | None] | None:
    """Return the format that reads all texts, else the one that reads 95% of them.

    Beside it, another format that reads as many, but as other dates, if any.

    Examples
    --------
    >>> find_format(["2020-01-31", "2020-02-29"])
    ('ISO8601', None)
    >>> find_format(["01/02/2020", "03/04/2020"])
    ('%m/%d/%Y', '%d/%m/%Y')
    >>> find_format([f"{day}.1.2020" for day in range(1, 32)] + ["31.2.2020"])
    ('%d.%m.%Y', None)
    >>> find_format(["red", "blue"]) is None
    True
    """
    texts = [text.strip() for text in texts]
    step = -(-len(texts) // _MAX_TRIED)
    for some in (texts[::step], texts) if texts else ([],):
        likely = [text for text in some if _is_likely(text)]
        if not likely or len(likely) < MIN_SHARE * len(some):
            return None
    tried = likely[:: -(-len(likely) // _MAX_TRIED)]
    found: dict[str, Array] = {}
    for form in FORMATS:
        if np.mean(~np.isnan(parse(tried, form))) >= MIN_SHARE:
            found[form] = parse(likely, form)
    fits = {form: int(np.sum(~np.isnan(days))) for form, days in found.items()}
    best = max(fits, key=lambda form: fits[form], default=None)
    if best is None or fits[best] < MIN_SHARE * len(texts):
        return None
    for form, days in found.items():
        if fits[form] == fits[best] and not _agree(days, found[best]):
            return best, form
    return best, None


def _is_likely(text: str) -> bool:
    return len(text) <= _MAX_LENGTH and _LIKELY.search(text) is not None


def _agree(some: Array, others: Array) -> bool:
    return np.array_equal(some, others, equal_nan=True)


def is_format(text: str) -> bool:
    """Tell whether a text is a format for dates, such as ``%d/%m/%Y``."""
    if text == ISO:
        return True
    try:
        parse(["2011"], text)
    except (ValueError, re.error):  # an unknown or repeated directive
        return False
    return re.search("%[YyjGs]", text) is not None


def parts(days: Array, reference: float) -> dict[str, Array]:
    """Return the parts of dates by name, the days counted from `reference`."""
    whole = np.floor(days)
    stamps = np.where(np.isnan(whole), 0, whole).astype("datetime64[D]")
    years = stamps.astype("datetime64[Y]")
    months = stamps.astype("datetime64[M]")
    of_year = (days - years.astype("datetime64[D]").astype(float)) / 365.25
    of_week = np.mod(days + 3, 7)  # 1970 began on a Thursday; weeks on Mondays
    of_day = np.mod(days, 1)
    values = (
        days - reference,
        years.astype(float) + 1970,
        (months - years.astype("datetime64[M]")).astype(float) + 1,
        *_circle(of_year),
        np.floor(of_week),
        *_circle(of_week / 7),
        np.floor(24 * of_day),
        *_circle(of_day),
    )
    is_missing = np.isnan(days)
    return {
        name: np.where(is_missing, np.nan, value)
        for name, value in zip(PARTS, values, strict=True)
    }


def varying_parts(days: Array) -> tuple[str, ...]:
    """Return the parts that tell dates apart: a table of one year needs no year."""
    seen = days[~np.isnan(days)]
    bounds: dict[str, list[float]] = {name: [] for name in PARTS}
    for start in range(0, len(seen), _BLOCK_ROWS):
        for name, value in parts(seen[start : start + _BLOCK_ROWS], 0.0).items():
            bounds[name] += [value.min(), value.max()]
    varying = {name for name, ends in bounds.items() if min(ends) < max(ends)}
    # Sine and cosine say in full days what the number of the day says in steps.
    if not np.any(np.mod(seen, 1)):
        varying -= {"hour", "day sine", "day cosine"}
    return tuple(name for name in PARTS if name in varying)


def shown_date(days: float) -> str:
    """Return a date in a sentence, with the time unless it is midnight."""
    stamp = np.datetime64(round(days * 86_400), "s")
    text = str(stamp).replace("T", " ")
    return text.removesuffix(" 00:00:00")


def _circle(share: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.sin(2 * np.pi * share), np.cos(2 * np.pi * share)
