"""The tables that ``tables.toml`` describes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.real_tables._tables import RealTable


def _described(name: str, entry: dict[str, Any]) -> RealTable:
    columns = {key: tuple(entry[key]) for key in ("time", "drop") if key in entry}
    return RealTable(name, **{**entry, **columns})


#: Names on the command line that stand for several tables.
PARTS = {
    part: tuple(_described(name, entry) for name, entry in entries.items())
    for part, entries in tomllib.loads(
        Path(__file__).with_name("tables.toml").read_text(encoding="utf-8")
    ).items()
}
DEVELOPMENT, REPORT = PARTS["development"], PARTS["report"]
TABLES = {table.name: table for table in (*DEVELOPMENT, *REPORT)}
assert len(TABLES) == len(DEVELOPMENT) + len(REPORT), "names must differ"


def expand(names: Iterable[str]) -> list[str]:
    """Return the tables that the names of tables and of both parts stand for.

    Examples
    --------
    >>> expand(["coffee", "development"])[:3]
    ['coffee', 'diamonds', 'gss-cat']
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in PARTS and name not in TABLES:
            raise ValueError(
                f"there is no table {name!r}; there are {', '.join(TABLES)}"
            )
        part = PARTS.get(name)
        found.update(dict.fromkeys([name] if part is None else (t.name for t in part)))
    return list(found)
