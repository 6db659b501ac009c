"""Do later rows and new groups get what held-out rows promised?

    python -m benchmarks.real_tables.promises --out results/real_tables/promises.csv

The training part of split 4 by time (nine tenths of the rows), or of split 5 by group,
goes to ``TableModel.fit`` with ``time=`` or ``group=``, and once more without. Its
report promises CRPS and coverage; the test part tells what they are. The columns
``*_errors_apart`` divide the difference by the standard errors of both parts together,
in which a group, or one of at most 50 spans of time, counts once. ``warns`` tells
whether the report says that scores get worse with time or that intervals are wrong.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pandas as pd
from benchmarks.real_tables._catalogue import TABLES, expand
from benchmarks.real_tables._splits import split_rows
from benchmarks.real_tables._tables import is_installed, load

from betanll.files import written_atomically
from betanll.tables import TableModel

Array = npt.NDArray[np.float64]

_SPLITS = {"time": 4, "group": 5}
_WARNS = ("get worse with time", "intervals are too")
#: Rows that stand for one where times are many.
_MAX_BLOCKS = 50


def promise(name: str, kind: str, *, is_honest: bool, preset: str) -> dict[str, Any]:
    """Fit on the earlier rows or known groups, and compare promise and truth."""
    table = TABLES[name]
    frame = load(table)
    column = table.time[0] if kind == "time" else str(table.group)
    frame = frame[frame[column].notna()].reset_index(drop=True)
    train, test = split_rows(table, frame, kind, _SPLITS[kind])
    known, later = frame.iloc[train].reset_index(drop=True), frame.iloc[test]
    options: dict[str, Any] = {kind: column} if is_honest else {"drop": [column]}
    if kind == "time" and not is_honest:
        options = {}
    model = TableModel.fit(known, table.target, preset=preset, n_jobs=1, **options)
    assert model.assessment is not None
    (judged,) = model.assessment.targets
    crps, inside = _scores(model, later, table.target)
    interval, truth = model.assessment.interval[..., 0], model.assessment.target[:, 0]
    held_inside = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    held_out = known.iloc[model.assessment.rows]
    kept = {}
    for what, promised, found in (
        ("crps", judged.crps["this model"], crps),
        ("coverage", held_inside.astype(float), inside),
    ):
        error = np.hypot(
            _error(promised, _blocks(held_out[column], kind)),
            _error(found, _blocks(later[column], kind)),
        )
        kept[f"promised_{what}"] = float(np.mean(promised))
        kept[f"found_{what}"] = float(np.mean(found))
        kept[f"{what}_errors_apart"] = float(
            (np.mean(found) - np.mean(promised)) / max(error, 1e-12)
        )
    findings = [finding.text for finding in model.report().findings]
    return {
        "table": name,
        "kind": kind,
        "judged_by": kind if is_honest else "random",
        "rows": len(known),
        "later_rows": len(later),
        **{key: f"{value:.4g}" for key, value in kept.items()},
        "warns": any(words in text for text in findings for words in _WARNS),
    }


def _scores(model: TableModel, rows: pd.DataFrame, target: str) -> tuple[Array, Array]:
    inputs = rows[[column.name for column in model.schema.encoder.columns]]
    predictive = model.regressor.predict_dist(inputs)[:, 0]
    truth = rows[target].to_numpy(np.float64)
    low, high = predictive.interval(0.9).T
    inside = (low <= truth) & (truth <= high)
    return predictive.crps(truth), inside.astype(np.float64)


def _blocks(labels: pd.Series, kind: str) -> npt.NDArray[np.intp]:
    codes = pd.factorize(labels, sort=kind == "time")[0]
    if kind == "time":  # neighbours in time are alike
        n_blocks = min(_MAX_BLOCKS, len({*codes.tolist()}))
        codes = codes * n_blocks // (codes.max() + 1)
    return np.asarray(codes, np.intp)


def _error(values: Array, blocks: npt.NDArray[np.intp]) -> float:
    """Return the standard error of a mean over rows that depend on each other.

    A single block says nothing about others; its rows then count as independent.
    """
    n = len(np.unique(blocks))
    if n == 1:
        return float(np.std(values, ddof=1) / np.sqrt(len(values)))
    total = np.bincount(blocks, values - values.mean())
    return float(np.sqrt(np.sum(total**2) * n / (n - 1)) / len(values))


def _jobs(names: list[str]) -> Iterator[tuple[str, str, bool]]:
    for name in names:
        for kind in TABLES[name].split_kinds[1:]:
            if is_installed(TABLES[name]):
                yield from ((name, kind, is_honest) for is_honest in (True, False))


@click.command()
@click.option("--table", "tables", multiple=True, default=("development",))
@click.option("--preset", default="fast", show_default=True)
@click.option("--out", type=Path, default=Path("results/real_tables/promises.csv"))
def main(tables: tuple[str, ...], preset: str, out: Path) -> None:
    """Write a row for each table, kind of split and way to judge."""
    rows = []
    for name, kind, is_honest in _jobs(expand(tables)):
        rows.append(promise(name, kind, is_honest=is_honest, preset=preset))
        click.echo(rows[-1])
        with written_atomically(out) as path, path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
