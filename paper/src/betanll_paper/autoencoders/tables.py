"""Tables S3 and 3: variational autoencoders beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from betanll import reports
from betanll.reports import Page, Table
from betanll_paper.autoencoders.protocol import AVERAGED, PRESETS
from betanll_paper.comparison.cells import (
    Cell,
    Key,
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
from betanll_paper.published.autoencoders import (
    DATASETS,
    NAMES,
    ROWS,
    SELECTED,
    paper_cells,
)
from betanll_paper.published.methods import Method, Metric, PaperCell

TABLES = {
    "tableS3": "Table S3: variational autoencoders",
    "table3-vae": "Table 3: variational autoencoders, selected methods",
}
_METRICS: dict[Metric, str] = {"rmse": "RMSE", "ll": "Log-likelihood"}
_DIGITS: dict[Metric, int] = {"rmse": 3, "ll": 0}
_MM = Method("mm")
#: All datasets with their methods, as the tables have them.
KNOWN = [(dataset, method) for dataset in DATASETS for method in (*ROWS, AVERAGED)]


def compare_vae(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the cells of Table S3 that have a result.

    The published numbers of moment matching are of a loss averaged over pixels, so they
    stand beside ours with that loss. Its likelihood was evaluated with the standard
    deviation in the place of the variance, and is left out.
    """
    results = [row for row in rows if row["kind"] == "result"]
    cells = compare_with_paper(results, _comparable, known=KNOWN)
    return [cell for cell in cells if cell.values]


def _comparable(metric: Metric) -> dict[Key, PaperCell]:
    cells = {
        (dataset, AVERAGED if method == _MM else method): cell
        for (dataset, method), cell in paper_cells(metric).items()
    }
    if metric == "ll":
        cells = {key: cell for key, cell in cells.items() if key[1] != AVERAGED}
    return cells


def table_files(
    artefact: str, rows: Iterable[dict[str, Any]], preset: str
) -> dict[str, bytes]:
    """Return the contents of the files of a table by their names.

    The CSV file has a line for each run.
    """
    results = [row for row in rows if row["kind"] == "result"]
    if artefact == "table3-vae":
        results = [row for row in results if _method(row) in SELECTED]
    if not results:
        raise NothingToDraw("no run has a result")
    names = ("dataset", "method", "beta", "seed", "rmse", "log_likelihood")
    lines = [
        {
            **{name: row[name] for name in names},
            "epochs": row["n_epochs"],
            "status": row["status"],
            "is_collapsed": row["is_collapsed"],
        }
        for row in in_order(results, KNOWN)
    ]
    page = _page(artefact, results, preset)
    return page_files(artefact, table_csv(pd.DataFrame(lines)), page)


def _method(row: dict[str, Any]) -> Method:
    return Method.of_row(row)


def _page(artefact: str, results: Sequence[dict[str, Any]], preset: str) -> Page:
    cells = compare_vae(results)
    if preset == "smoke":
        cells = untrained(cells)
    n = count_agreement(cells)
    text = [
        "Mean ± standard deviation over the seeds, of all test images. The density of "
        "an image is averaged over 20 codes from its posterior; the RMSE is that of "
        "the mean over these codes."
    ]
    if n.n_compared:
        text.append(
            f"{n.n_agree} of {n.n_compared} cells agree with the paper's: their means "
            "differ by at most two standard errors of the difference, plus half a unit "
            "of the paper's last digit."
        )
    if any(cell.method == AVERAGED for cell in cells):
        text.append(
            "Moment matching sums its loss over pixels, as the others do; the paper's "
            "averages it, and is shown beside the variant that does the same. Its "
            "likelihood in the paper was computed with the standard deviation in the "
            "place of the variance."
        )
    tables = [
        Table(
            ["Method", "Ours", "Paper", COMPARED],
            [
                _line(cell)
                for cell in cells
                if (cell.dataset, cell.metric) == (dataset, metric)
            ],
            title=f"{NAMES[dataset]}, {title}",
        )
        for dataset in DATASETS
        if any(cell.dataset == dataset for cell in cells)
        for metric, title in _METRICS.items()
    ]
    return comparison_page(
        TABLES[artefact],
        tables,
        preset=preset,
        warnings=_warnings(results, preset),
        text=text,
        source=f"Table {'S3' if artefact == 'tableS3' else '3'}",
    )


def _line(cell: Cell) -> list[str | reports.Cell]:
    digits = _DIGITS[cell.metric]
    paper = "–" if cell.paper is None else spread(cell.paper[0], cell.paper[1], digits)
    verdict = VERDICTS[cell.verdict]
    if (cell.method, cell.metric) == (AVERAGED, "ll"):
        verdict = "– not comparable"
    ours = spread(cell.mean, cell.std, digits)
    return [cell.method.label, ours, paper, verdict_cell(verdict)]


def _warnings(results: Sequence[dict[str, Any]], preset: str) -> list[str]:
    warnings = PRESETS[preset].warnings(PRESETS["paper"])
    collapsed = _names(row for row in results if row["is_collapsed"])
    if collapsed:
        warnings.append(f"Reconstructions no better than the mean image: {collapsed}.")
    diverged = _names(row for row in results if row["status"] == "diverged")
    if diverged:
        warnings.append(f"Diverged in a run: {diverged}.")
    return warnings


def _names(results: Iterable[dict[str, Any]]) -> str:
    names = (
        f"{_method(row).label} on {NAMES[row['dataset']]}"
        for row in in_order(results, KNOWN)
    )
    return "; ".join(dict.fromkeys(names))
