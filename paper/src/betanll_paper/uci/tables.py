"""Tables 1, S1 and S2: the UCI sets beside the paper's numbers."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from betanll import reports
from betanll.reports import Block, Card, Finding, Heading, Page, Table, Text
from betanll_paper.comparison.cells import (
    METRICS,
    Cell,
    compare_with_paper,
    count_agreement,
    untrained,
    with_ties,
)
from betanll_paper.comparison.tables import (
    COMPARED,
    SOURCE,
    VERDICTS,
    page_files,
    spread,
    verdict_cell,
)
from betanll_paper.comparison.ties import MIN_SPLITS
from betanll_paper.published.methods import METHODS, Method, Metric
from betanll_paper.published.uci import (
    DATASETS,
    OVERVIEW_DATASETS,
    digits_of,
    n_paper_splits,
    paper_cells,
    paper_ties,
)
from betanll_paper.uci.protocol import PAPER, PRESETS

TABLES = {
    "tableS1": "Table S1: log-likelihood on the UCI datasets",
    "tableS2": "Table S2: RMSE on the UCI datasets",
    "table1": "Table 1: overview of the UCI datasets",
}
_METRIC_NAMES: dict[Metric, str] = {"ll": "Log-likelihood", "rmse": "RMSE"}
_VERDICTS = {**VERDICTS, "not judged": "– one split"}


def table_files(artefact: str, cells: Sequence[Cell], preset: str) -> dict[str, bytes]:
    """Return the contents of the files of a table by their names.

    Parameters
    ----------
    artefact : {"tableS1", "tableS2", "table1"}
        Log-likelihood, RMSE, and the overview with the number of ties.
    cells : sequence of Cell
        Of all tables, from :func:`compare_uci`.
    preset : str
        Name of the settings of the run. Warnings say how those of the experiment differ
        from the paper's.
    """
    if preset == "smoke":
        cells = untrained(cells)
    return page_files(
        artefact, _csv(artefact, cells, preset), _page(artefact, cells, preset)
    )


def compare_uci(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the cells of all tables; the best and tied ones are marked.

    Results count as ``runs.csv`` prints them, with ten digits, so that its readers come
    to the same means. Methods that the paper does not have follow those that it has.
    """
    printed = [
        row | {column: _ten_digits(row[column]) for column in METRICS.values()}
        for row in rows
    ]
    methods = {Method.of_row(row) for row in printed}
    others = sorted(methods - set(METHODS), key=lambda m: (m.name, m.beta or -1.0))
    known = [(name, method) for name in DATASETS for method in (*METHODS, *others)]
    return with_ties(
        compare_with_paper(printed, paper_cells, known=known, repeat="split")
    )


def count_ties(
    cells: Sequence[Cell], metric: Metric, method: Method
) -> tuple[int, int, int]:
    """Return ties of a method, the paper's on the same datasets, and how many they are.

    The best method is tied with itself.
    """
    of_method = [
        cell
        for cell in cells
        if cell.metric == metric and cell.method == method and cell.values
    ]
    ours = sum(bool(cell.mark) for cell in of_method)
    paper = sum(cell.paper is not None and bool(cell.paper.mark) for cell in of_method)
    return ours, paper, len(of_method)


def _ten_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.10g}")


def _cells_of(artefact: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that are printed in one of the tables."""
    if artefact == "table1":
        return [cell for cell in cells if cell.dataset in OVERVIEW_DATASETS]
    metric = "ll" if artefact == "tableS1" else "rmse"
    return [cell for cell in cells if cell.metric == metric]


def _csv(artefact: str, cells: Sequence[Cell], preset: str) -> bytes:
    """Return a line for each cell; empty where there is no number."""
    has_ties = artefact == "table1"
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    ties_head = ["ties", "ties_datasets", "paper_ties_of_12"] if has_ties else []
    writer.writerow(
        [
            *("metric", "dataset", "method", "beta", "n_splits", "mean", "std", "mark"),
            *("paper_n_splits", "paper_mean", "paper_std", "paper_mark"),
            *("difference", "tolerance", "verdict", *ties_head, "preset"),
        ]
    )
    for cell in _cells_of(artefact, cells):
        paper = cell.paper
        ties: list[int | None] = []
        if has_ties:
            ours, _, n = count_ties(cells, cell.metric, cell.method)
            ties = [ours if n else None, n, paper_ties(cell.metric).get(cell.method)]
        numbers = [cell.mean, cell.std, cell.tolerance, math.nan]
        if paper:
            numbers[3] = cell.mean - paper.mean
        mean, std, tolerance, difference = (
            "" if math.isnan(number) else number for number in numbers
        )
        writer.writerow(
            [
                *(cell.metric, cell.dataset, *cell.method.settings.values()),
                cell.n_repeats,
                *(mean, std, cell.mark),
                *((paper.n_splits, paper.mean, paper.std) if paper else ("", "", "")),
                *(paper.mark if paper else "", difference, tolerance, cell.verdict),
                *(*ties, preset),
            ]
        )
    return file.getvalue().encode()


def _page(artefact: str, cells: Sequence[Cell], preset: str) -> Page:
    is_overview = artefact == "table1"
    shown = _cells_of(artefact, cells)
    # The ties of Table 1 are counted over all datasets.
    used = list(cells) if is_overview else shown
    own = count_agreement(shown)
    others = ""
    if any(cell.paper is None for cell in used):
        others = ", also those that the paper does not have"
    agreement = Card(
        f"{own.n_agree} of {own.n_compared}",
        "cells of this table agree with the paper’s",
        "Their means differ by at most two standard errors of the difference, plus "
        "half a unit of the paper’s last digit.",
    )
    blocks = [
        *(Finding("warning", text) for text in _warnings(used, preset)),
        *([] if preset == "smoke" else [agreement]),
        Card(preset, "preset", f"{_splits(used)}."),
        Text(
            "Mean ± standard deviation over the splits. ★, in bold: the best mean of a "
            "dataset. †: tied with the best, which a two-sided Kolmogorov–Smirnov test "
            "between the splits does not tell apart (exact p > 0.05). Both among the "
            f"methods that were run{others}. ✓: agrees with the paper. ✗: differs, "
            "with whether it is better or worse."
        ),
        *(_ties(cells) if is_overview else ()),
        Heading("Results"),
        *_results(shown, with_metric=is_overview),
        *_agreement(shown, cells),
        Heading("Not run"),
        _not_run(used),
    ]
    footer = f"Paper: {SOURCE}, Tables S1 and S2."
    return Page(TABLES[artefact], blocks, footer)


def _ties(cells: Sequence[Cell]) -> Iterator[Block]:
    yield Heading("Ties")
    fewer = sum(n < len(METHODS) for n in _n_methods(cells).values())
    yield Text(
        "Datasets on which a method is the best or tied with it, and the same of the "
        "paper on these datasets."
        + (
            f" On {fewer} datasets our best is that of fewer methods than the paper's "
            f"{len(METHODS)}: a tie is easier to have among fewer."
            if fewer
            else ""
        )
    )
    rows = []
    for method in dict.fromkeys([*METHODS, *(cell.method for cell in cells)]):
        texts = [method.label]
        for metric in METRICS:
            ours, paper, n = count_ties(cells, metric, method)
            total = paper_ties(metric).get(method)
            has_metric = total is not None or n
            texts.append(f"{ours} of {n}" if n else "not run" if has_metric else "–")
            if total is None:
                texts.append("–")
            else:
                texts.append(f"{paper} of {n}" if n else f"{total} of {len(DATASETS)}")
        rows.append(texts)
    head = ["Method", "Likelihood", "Paper", "RMSE", "Paper"]
    yield Table(head, rows, label="Ties")


def _n_methods(cells: Sequence[Cell]) -> Counter[str]:
    """Return how many of the paper's methods were run, by dataset."""
    return Counter(
        cell.dataset
        for cell in cells
        if cell.metric == "rmse" and cell.values and cell.method in METHODS
    )


def _results(cells: Sequence[Cell], *, with_metric: bool) -> Iterator[Block]:
    """Yield a table for each dataset of which something was run."""
    if not any(cell.values for cell in cells):
        yield Text("None of the datasets of this table was run.")
    for metric, name in _METRIC_NAMES.items():
        for dataset in DATASETS:
            here = [c for c in cells if c.metric == metric and c.dataset == dataset]
            if any(cell.values for cell in here):
                yield Table(
                    ["Method", "Ours", "Paper", COMPARED],
                    [_row(cell) for cell in here],
                    title=f"{dataset}, {name}" if with_metric else dataset,
                    note=f"{_n_splits(here, dataset)}.",
                )


def _row(cell: Cell) -> list[str | reports.Cell]:
    digits, paper = digits_of(cell.metric, cell.dataset), cell.paper
    ours = spread(cell.mean, cell.std, digits) if cell.values else "–"
    printed = spread(paper.mean, paper.std, digits) if paper else "–"
    return [
        cell.method.label,
        reports.Cell(ours, cell.mark),
        reports.Cell(printed, paper.mark if paper else ""),
        verdict_cell(_VERDICTS[cell.verdict]),
    ]


def _agreement(shown: Sequence[Cell], cells: Sequence[Cell]) -> Iterator[Block]:
    yield Heading("Agreement")
    yield Text(
        "About 95 % is what equal methods on independent splits would reach; on the "
        "paper’s own splits it should be more, with only a few splits less."
    )
    groups: dict[str, Sequence[Cell]] = {"This table": shown}
    for metric, name in _METRIC_NAMES.items():
        label = f"{name} (Table {'S1' if metric == 'll' else 'S2'})"
        groups[label] = [cell for cell in cells if cell.metric == metric]
    groups["Both in total"] = cells
    rows = []
    for label, group in groups.items():
        n = count_agreement(group)
        share = "–" if math.isnan(n.share) else f"{100 * n.share:.0f} %"
        counts = (n.n_compared, n.n_better, n.n_worse, n.n_not_judged, n.n_not_run)
        rows.append([label, str(n.n_agree), share, *map(str, counts)])
    counted = ("Compared", "Better", "Worse", "One split", "Not run")
    yield Table(["Cells", "Agree", "Share", *counted], rows, label="Agreement")


def _not_run(cells: Sequence[Cell]) -> Block:
    """Return the datasets that lack something and the methods they lack."""
    rows = []
    for dataset in DATASETS:
        here = [cell for cell in cells if cell.dataset == dataset]
        missing = [cell.method for cell in here if not cell.values]
        labels = list(dict.fromkeys(method.label for method in missing))
        if missing:
            is_all = len(missing) == len(here)
            rows.append([dataset, "all methods" if is_all else "; ".join(labels)])
    return Table([], rows, label="Not run") if rows else Text("Everything was run.")


def _warnings(cells: Sequence[Cell], preset: str) -> list[str]:
    run = [cell for cell in cells if cell.values]
    fewer = [c.n_repeats for c in run if c.n_repeats < n_paper_splits(c.dataset)]
    chosen = PRESETS.get(preset, PAPER)
    done = replace(chosen, repeats=min(fewer, default=PAPER.repeats))
    warnings = done.warnings(PAPER)
    if fewer:
        warnings.append(
            f"With fewer splits, means and ties are less certain. {_splits(cells)}."
        )
    if any(cell.n_repeats < MIN_SPLITS for cell in run):
        warnings.append(
            f"With fewer than {MIN_SPLITS} splits the test for ties finds no "
            "difference at all, so that every method counts as tied."
        )
    if preset == "smoke":
        warnings.append("Runs this short have no meaning: no number is judged.")
    return warnings


def _splits(cells: Sequence[Cell]) -> str:
    """Return how many splits each dataset has, datasets of the same number together."""
    groups: dict[str, list[str]] = {}
    for dataset in DATASETS:
        here = [cell for cell in cells if cell.dataset == dataset and cell.values]
        if here:
            groups.setdefault(_n_splits(here, dataset), []).append(dataset)
    if not groups:
        return "No runs"
    return "; ".join(f"{text}: {', '.join(names)}" for text, names in groups.items())


def _n_splits(cells: Sequence[Cell], dataset: str) -> str:
    numbers = [cell.n_repeats for cell in cells if cell.values]
    low, high, paper = min(numbers), max(numbers), n_paper_splits(dataset)
    count = f"{low}" if low == high else f"{low} to {high}"
    of_paper = f" of {paper}" if low < paper else ""
    return f"{count}{of_paper} split{'s' if max(high, paper) > 1 else ''}"
