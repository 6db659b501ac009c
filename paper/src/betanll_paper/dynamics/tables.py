"""Tables 2 and S7: the dynamics models beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from betanll import reports
from betanll.reports import Page, Table
from betanll_paper.comparison.cells import (
    Cell,
    compare_with_paper,
    count_agreement,
    in_order,
    untrained,
)
from betanll_paper.comparison.tables import (
    COMPARED,
    VERDICTS,
    comparison_page,
    page_files,
    spread,
    table_csv,
    verdict_cell,
)
from betanll_paper.drawing.marks import NothingToDraw
from betanll_paper.dynamics.protocol import (
    best_configurations,
    configurations,
    count_seeds,
    run_and_paper,
)
from betanll_paper.published.dynamics import (
    CONTROL,
    DATASETS,
    FETCH,
    NAMES,
    OBJECT_SLIDE,
    paper_best,
    paper_cells,
)
from betanll_paper.published.methods import METHODS, Metric

TABLES = ("table2", "tableS7")
SIMULATED = (
    "The paper's recordings of ObjectSlide were never published. These are simulated "
    "anew, after the authors' environment."
)
SUBSTITUTE = (
    "The paper's recordings of Fetch-PickAndPlace were never published. These are of a "
    "scripted controller with noise, so that the numbers cannot be compared, only how "
    "the methods rank."
)
_METRICS: dict[Metric, str] = {"rmse": "RMSE", "ll": "Log-likelihood"}
#: All datasets with their methods, as the tables have them.
KNOWN = [(dataset, method) for dataset in DATASETS for method in (*METHODS, CONTROL)]
#: Decimals that the paper prints.
_DIGITS: dict[tuple[str, Metric], int] = {
    (OBJECT_SLIDE, "rmse"): 4,
    (OBJECT_SLIDE, "ll"): 2,
    (FETCH, "rmse"): 5,
    (FETCH, "ll"): 2,
}


def table_files(
    artefact: str, rows: Iterable[dict[str, Any]], preset: str
) -> dict[str, bytes]:
    """Return the contents of the files of a table by their names.

    ``table2.csv`` has a line for each training that was tested, ``tableS7.csv`` one for
    each best configuration; with a page as Markdown and as HTML beside it.
    """
    content, absent = {
        "table2": (_results, "no run has a result"),
        "tableS7": (_configurations, "no configurations were compared"),
    }[artefact]
    lines, page = content(list(rows), preset)
    if not lines:
        raise NothingToDraw(absent)
    return page_files(artefact, table_csv(pd.DataFrame(lines)), page)


def compare_dynamics(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the cells of Table 2 that have a result, and those of further methods.

    The recordings behind the Fetch cells of the paper are others, so that these have
    nothing to agree with.
    """
    final = [row for row in rows if row["kind"] == "final"]
    cells = compare_with_paper(final, paper_cells, known=KNOWN)
    return [
        replace(cell, paper=None) if cell.dataset == FETCH else cell
        for cell in cells
        if cell.values
    ]


_Lines = list[dict[str, Any]]


def _results(rows: _Lines, preset: str) -> tuple[_Lines, Page]:
    """Return Table 2: a line for each training, and the page."""
    final = [row for row in rows if row["kind"] == "final"]
    names = ("method", "beta", "seed", "rmse", "log_likelihood")
    lines = [
        {"task": row["dataset"], **{name: row.get(name) for name in names}}
        for row in in_order(final, KNOWN)
    ]
    cells = compare_dynamics(rows)
    if preset == "smoke":
        cells = untrained(cells)
    shown = [name for name in DATASETS if any(cell.dataset == name for cell in cells)]
    tables = [
        Table(
            title=f"{NAMES[dataset]}, {title}",
            note="Substitute data." if dataset == FETCH else "",
            columns=["Method", "Ours", "Paper", COMPARED],
            rows=[
                _line(cell, count_seeds(preset, cell.method))
                for cell in cells
                if cell.dataset == dataset and cell.metric == metric
            ],
        )
        for dataset in shown
        for metric, title in _METRICS.items()
    ]
    n = count_agreement(cells)
    text = ["Mean ± standard deviation of the test results over the seeds."]
    if n.n_compared:
        text.append(
            f"{n.n_agree} of {n.n_compared} cells of ObjectSlide agree with the "
            "paper's: their means differ by at most two standard errors of the "
            "difference, plus half a unit of the paper's last digit."
        )
    text.append(
        "The scale of Student-t and of the variational methods may be far smaller than "
        f"that of a Gaussian here; “{CONTROL.label}” has the floor of the Gaussians."
    )
    page = comparison_page(
        "Table 2: dynamics models",
        tables,
        preset=preset,
        warnings=_warnings(shown, preset, rows),
        text=text,
        source="Table 2",
    )
    return lines, page


def _line(cell: Cell, n_seeds: int) -> list[str | reports.Cell]:
    digits = _DIGITS[cell.dataset, cell.metric]
    printed = paper_cells(cell.metric).get((cell.dataset, cell.method))
    paper = "–" if printed is None else spread(printed.mean, printed.std, digits)
    verdict = VERDICTS[cell.verdict]
    if (cell.dataset, cell.method.name, cell.metric) == (OBJECT_SLIDE, "mm", "ll"):
        paper, verdict = "diverges", "– diverged in the paper"
    if cell.dataset == FETCH and printed is not None:
        verdict = "– other data"
    ours = spread(cell.mean, cell.std, digits)
    if cell.n_repeats < n_seeds:
        ours += f" ({cell.n_repeats} of {n_seeds} seeds)"
    return [cell.method.label, ours, paper, verdict_cell(verdict)]


def _configurations(rows: _Lines, preset: str) -> tuple[_Lines, Page]:
    """Return Table S7: a line for each best configuration, and the page."""
    best = best_configurations(in_order(rows, KNOWN))
    lines = []
    shown: dict[str, list[list[str]]] = {}
    for (dataset, method), ours in best.items():
        paper = paper_best().get((dataset, method))
        line = {"task": dataset, **method.settings}
        line |= ours._asdict()
        if paper is not None:
            line |= {f"paper_{name}": value for name, value in paper._asdict().items()}
        lines.append(line)
        n_tried = len(configurations(preset, dataset, method))
        texts = [str(ours), "–" if paper is None else str(paper), f"{n_tried} tried"]
        shown.setdefault(dataset, []).append([method.label, *texts])
    page = comparison_page(
        "Table S7: best configurations of the dynamics models",
        [
            Table(["Method", "Ours", "Paper", "Grid"], texts, title=NAMES[dataset])
            for dataset, texts in shown.items()
        ],
        preset=preset,
        warnings=_warnings(list(shown), preset, rows),
        text=[
            "Chosen by the validation log-likelihood, for MSE by the validation error."
        ],
        source="Table S7",
    )
    return lines, page


def _warnings(datasets: Sequence[str], preset: str, rows: _Lines) -> list[str]:
    grids = (configurations(preset, name, m) for name in datasets for m in METHODS)
    longest = max(grids, key=len, default=())
    done, paper = run_and_paper(preset, rows, datasets, longest)
    origins = {OBJECT_SLIDE: SIMULATED, FETCH: SUBSTITUTE}
    return [*done.warnings(paper), *(origins[name] for name in datasets)]
