"""What the tables of the UCI benchmark say, in words that any format can print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from betanll_paper.comparison.cells import METRICS, Cell, count_agreement
from betanll_paper.comparison.pages import VERDICTS, spread
from betanll_paper.comparison.ties import MIN_SPLITS
from betanll_paper.published.methods import METHODS, Mark, Method, Metric
from betanll_paper.published.uci import (
    DATASETS,
    OVERVIEW_DATASETS,
    digits_of,
    n_paper_splits,
    paper_ties,
)

TITLES = {
    "tableS1": "Table S1: log-likelihood on the UCI datasets",
    "tableS2": "Table S2: RMSE on the UCI datasets",
    "table1": "Table 1: overview of the UCI datasets",
}
METRIC_NAMES: dict[Metric, str] = {"ll": "Log-likelihood", "rmse": "RMSE"}
#: Presets that shorten nothing but the number of splits.
_FULL_TRAINING = ("paper", "laptop")


class Row(NamedTuple):
    """A line of a table: ours, the paper's, and how they compare."""

    label: str
    ours: str
    mark: Mark
    paper: str
    paper_mark: Mark
    verdict: str


class Section(NamedTuple):
    """A dataset and its methods."""

    title: str
    splits: str
    rows: list[Row]


@dataclass(frozen=True)
class Page:
    """A table of the paper with everything that is said about it."""

    title: str
    preset: str
    splits: str
    warnings: list[str]
    summary: str
    ties: list[tuple[str, list[str]]]
    sections: list[Section]
    counts: list[tuple[str, list[str]]]
    not_run: list[tuple[str, str]]
    has_others: bool


def cells_of(artefact: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells that are printed in one of the tables."""
    if artefact == "table1":
        return [cell for cell in cells if cell.dataset in OVERVIEW_DATASETS]
    metric = "ll" if artefact == "tableS1" else "rmse"
    return [cell for cell in cells if cell.metric == metric]


def page_of(artefact: str, cells: Sequence[Cell], *, preset: str) -> Page:
    """Put a table into words.

    Parameters
    ----------
    artefact : {"tableS1", "tableS2", "table1"}
    cells : sequence of Cell
        Of all tables.
    preset : str
        Name of the settings of the run. Of ``"paper"`` and ``"laptop"`` the training is
        known to be as long as in the paper.
    """
    shown = cells_of(artefact, cells)
    # The ties of Table 1 are counted over all datasets.
    used = list(cells) if artefact == "table1" else shown
    own = count_agreement(shown)
    return Page(
        title=TITLES[artefact],
        preset=preset,
        splits=_splits(used),
        warnings=_warnings(used, preset),
        summary=f"{own.n_agree} of {own.n_compared}",
        ties=_ties(cells) if artefact == "table1" else [],
        sections=_sections(shown, with_metric=artefact == "table1"),
        counts=_counts(shown, cells),
        not_run=_not_run(used),
        has_others=any(cell.paper is None for cell in used),
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
        if cell.metric == metric and cell.method == method and cell.n_splits
    ]
    ours = sum(bool(cell.mark) for cell in of_method)
    paper = sum(cell.paper is not None and bool(cell.paper.mark) for cell in of_method)
    return ours, paper, len(of_method)


def methods_of(cells: Sequence[Cell]) -> list[Method]:
    """Return the paper's methods and then the others of the cells."""
    return list(dict.fromkeys([*METHODS, *(cell.method for cell in cells)]))


def _ties(cells: Sequence[Cell]) -> list[tuple[str, list[str]]]:
    rows = []
    for method in methods_of(cells):
        texts = []
        for metric in METRICS:
            ours, paper, n = count_ties(cells, metric, method)
            total = paper_ties(metric).get(method)
            has_metric = total is not None or n
            texts.append(f"{ours} of {n}" if n else "not run" if has_metric else "–")
            if total is None:
                texts.append("–")
            else:
                texts.append(f"{paper} of {n}" if n else f"{total} of {len(DATASETS)}")
        rows.append((method.label, texts))
    return rows


def _sections(cells: Sequence[Cell], *, with_metric: bool) -> list[Section]:
    """Return the datasets of which something was run."""
    sections = []
    for metric in METRICS:
        for dataset in DATASETS:
            here = [c for c in cells if c.metric == metric and c.dataset == dataset]
            if not any(cell.n_splits for cell in here):
                continue
            title = f"{dataset}, {METRIC_NAMES[metric]}" if with_metric else dataset
            splits = _n_splits(here, dataset)
            sections.append(Section(title, splits, [_row(cell) for cell in here]))
    return sections


def _row(cell: Cell) -> Row:
    digits = digits_of(cell.metric, cell.dataset)
    ours = spread(cell.mean, cell.std, digits) if cell.n_splits else "–"
    paper = spread(cell.paper.mean, cell.paper.std, digits) if cell.paper else "–"
    return Row(
        label=cell.method.label,
        ours=ours,
        mark=cell.mark,
        paper=paper,
        paper_mark=cell.paper.mark if cell.paper else "",
        verdict=VERDICTS[cell.verdict],
    )


def _counts(
    shown: Sequence[Cell], cells: Sequence[Cell]
) -> list[tuple[str, list[str]]]:
    groups: dict[str, Sequence[Cell]] = {"This table": shown}
    for metric in METRICS:
        label = f"{METRIC_NAMES[metric]} (Table {'S1' if metric == 'll' else 'S2'})"
        groups[label] = [cell for cell in cells if cell.metric == metric]
    groups["Both in total"] = cells
    rows = []
    for label, group in groups.items():
        n = count_agreement(group)
        share = "–" if math.isnan(n.share) else f"{100 * n.share:.0f} %"
        counts = (n.n_compared, n.n_better, n.n_worse, n.n_not_judged, n.n_not_run)
        rows.append((label, [str(n.n_agree), share, *map(str, counts)]))
    return rows


def _not_run(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    """Return the datasets that lack something and the methods they lack."""
    rows = []
    for dataset in DATASETS:
        here = [cell for cell in cells if cell.dataset == dataset]
        missing = [cell.method for cell in here if not cell.n_splits]
        labels = list(dict.fromkeys(method.label for method in missing))
        if len(missing) == len(here):
            rows.append((dataset, "all methods"))
        elif missing:
            rows.append((dataset, "; ".join(labels)))
    return rows


def _warnings(cells: Sequence[Cell], preset: str) -> list[str]:
    run = [cell for cell in cells if cell.n_splits]
    warnings = []
    if any(cell.n_splits < n_paper_splits(cell.dataset) for cell in run):
        warnings.append(
            "Shortened run: fewer splits than the paper's 20 (protein 5), so means and "
            f"ties are less certain. {_splits(cells)}."
        )
    if any(cell.n_splits < MIN_SPLITS for cell in run):
        warnings.append(
            f"With fewer than {MIN_SPLITS} splits the test for ties finds no "
            "difference at all, so that every method counts as tied."
        )
    if preset not in _FULL_TRAINING:
        warnings.append(
            f"Preset “{preset}”: the training itself may be shorter than in the paper."
        )
    return warnings


def _splits(cells: Sequence[Cell]) -> str:
    """Return how many splits each dataset has, datasets of the same number together."""
    groups: dict[str, list[str]] = {}
    for dataset in DATASETS:
        here = [cell for cell in cells if cell.dataset == dataset and cell.n_splits]
        if here:
            groups.setdefault(_n_splits(here, dataset), []).append(dataset)
    if not groups:
        return "No runs"
    return "; ".join(f"{text}: {', '.join(names)}" for text, names in groups.items())


def _n_splits(cells: Sequence[Cell], dataset: str) -> str:
    numbers = [cell.n_splits for cell in cells if cell.n_splits]
    low, high, paper = min(numbers), max(numbers), n_paper_splits(dataset)
    count = f"{low}" if low == high else f"{low} to {high}"
    of_paper = f" of {paper}" if low < paper else ""
    return f"{count}{of_paper} split{'s' if max(high, paper) > 1 else ''}"
