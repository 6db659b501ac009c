"""Reading the results of single runs."""

from __future__ import annotations

import os
from typing import TextIO

import numpy as np
import pandas as pd

from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import DATASETS

_NEEDED = ("dataset", "method", "beta", "split", "log_likelihood", "rmse")
_KEYS = ["dataset", "method", "beta", "split"]
_WITHOUT_BETA = {method.name for method in METHODS if method.beta is None}


def read_runs(path: str | os.PathLike[str] | TextIO) -> pd.DataFrame:
    """Read and check the table of UCI runs, a line for each split.

    Parameters
    ----------
    path : path of a CSV file, or an open one
        With the columns dataset, method, beta, split, log_likelihood and rmse; others
        are passed on. Methods have the names of the objectives; ``beta`` is empty
        unless the method has one, and ``nll`` is taken as ``beta-nll`` with beta 0. A
        result that is empty or not finite belongs to a training that failed.

    Returns
    -------
    DataFrame
        Beta and the results as floats, NaN where empty. No two rows have the same
        dataset, method, beta and split.

    Raises
    ------
    ValueError
        If columns are missing, a value cannot be read, a dataset is not one of the
        paper's or a run is there twice.

    Examples
    --------
    >>> import io
    >>> runs = read_runs(
    ...     io.StringIO(
    ...         "dataset,method,beta,split,log_likelihood,rmse\\n"
    ...         "yacht,nll,,0,-1.5,0.8\\n"
    ...         "yacht,mse,,0,,0.7\\n"
    ...     )
    ... )
    >>> runs[["method", "beta", "rmse"]]
         method  beta  rmse
    0  beta-nll   0.0   0.8
    1       mse   NaN   0.7
    """
    where = str(path) if isinstance(path, (str, os.PathLike)) else "the table of runs"
    try:
        # As text, so that a wrong entry is found here and shown as it is written.
        runs = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeError) as error:
        raise ValueError(f"{where} is not a table of runs: {error}") from error
    missing = [name for name in _NEEDED if name not in runs.columns]
    if missing:
        raise ValueError(f"{where} has no column {', '.join(missing)}")
    if runs.empty:
        raise ValueError(f"{where} has no runs")
    for name in runs.columns:  # lines that end early have NaN even as text
        runs[name] = runs[name].fillna("").str.strip()

    _refuse(where, runs, ~runs["dataset"].isin(DATASETS), "dataset", "unknown dataset")
    _refuse(where, runs, runs["method"] == "", "method", "missing method")
    for name in ("beta", "log_likelihood", "rmse"):
        text = runs[name]
        # Spellings of NaN are numbers here: what a training that failed reports.
        numbers = pd.to_numeric(text, errors="coerce").astype(np.float64)
        is_blank = text.str.lower().isin(["", "nan"])
        _refuse(where, runs, numbers.isna() & ~is_blank, name, f"{name} is no number")
        runs[name] = numbers
    _refuse(where, runs, ~runs["split"].str.fullmatch(r"\d+"), "split", "wrong split")
    runs["split"] = runs["split"].astype(np.int64)

    is_nll = runs["method"] == "nll"
    has_beta = is_nll & (runs["beta"].fillna(0) != 0)
    _refuse(where, runs, has_beta, "method", "beta given for the method")
    runs["method"] = runs["method"].mask(is_nll, "beta-nll")
    runs["beta"] = runs["beta"].mask(is_nll, 0.0)
    needs_beta = (runs["method"] == "beta-nll") & runs["beta"].isna()
    _refuse(where, runs, needs_beta, "method", "no beta of the method")
    has_none = runs["method"].isin(_WITHOUT_BETA) & runs["beta"].notna()
    _refuse(where, runs, has_none, "method", "beta given for the method")
    runs["beta"] = runs["beta"].round(6)
    is_twice = runs.duplicated(_KEYS)
    if is_twice.any():
        row = int(np.flatnonzero(is_twice)[0])
        first = runs.iloc[row]
        run = ", ".join(
            f"{key} {first[key]}" for key in _KEYS if not pd.isna(first[key])
        )
        raise ValueError(f"{where}, line {row + 2}: a second run of {run}")
    return runs


def _refuse(
    where: str, runs: pd.DataFrame, is_wrong: pd.Series[bool], name: str, problem: str
) -> None:
    """Raise an error that names the first wrong line, counted with the head."""
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong)[0])
        raise ValueError(
            f"{where}, line {row + 2}: {problem}: {runs[name].iloc[row]!r}"
        )
