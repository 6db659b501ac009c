"""Tables S4 and 3: depth regression beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from betanll.reports import Column, Page, Table
from betanll_paper.comparison.tables import (
    comparison_page,
    page_files,
    spread,
    table_csv,
)
from betanll_paper.depth.protocol import NYUV2, PAPER, SYNTHETIC, chosen_preset
from betanll_paper.drawing.marks import NothingToDraw, Rows, of_kind
from betanll_paper.published.depth import METRICS, ROWS, SELECTED, paper_lines
from betanll_paper.published.methods import Method

TABLES = {
    "tableS4": "Table S4: depth regression",
    "table3-depth": "Table 3: depth regression, selected losses",
}
NAMES = {SYNTHETIC: "synthetic rooms", NYUV2: "NYU Depth V2"}
_NOT_A_NUMBER = float("nan")


def table_files(artefact: str, rows: Rows, preset: str, data: str) -> dict[str, bytes]:
    """Return the contents of the files of a table by their names.

    The CSV file has a line for each run.
    """
    is_whole = artefact == "tableS4"
    results = sorted(of_kind(rows, "result"), key=_place)
    if not is_whole:
        results = [row for row in results if _method(row) in SELECTED]
    if not results:
        raise NothingToDraw("no run has a result")
    columns = ["data", "method", "beta", *METRICS]
    table = pd.DataFrame(results)[columns]
    page = _page(artefact, results, preset, data)
    return page_files(artefact, table_csv(table), page)


def _method(row: dict[str, Any]) -> Method:
    return Method.of_row(row)


def _place(row: dict[str, Any]) -> int:
    method = _method(row)
    return ROWS.index(method) if method in ROWS else len(ROWS)


def _page(
    artefact: str, results: Sequence[dict[str, Any]], preset: str, data: str
) -> Page:
    is_whole = artefact == "tableS4"
    text = [
        "Means over the test images of what is computed for each over its valid "
        "pixels: shares of pixels within a factor of 1.25, 1.25² and 1.25³, relative "
        "error, RMSE in metres, error of the decimal logarithm, and Gaussian "
        "log-density of a pixel.",
        "The model is selected by the relative error on scenes of its own, the paper's "
        "on the test images.",
        "One run of each loss, so small differences mean little.",
    ]
    head = ["Loss", *(name for name, _ in METRICS.values())]
    ours = Table(
        [*head, Column("Selected", align="left")],
        [_our_line(row) for row in results],
        title=f"Ours, {NAMES[data]}",
    )
    paper = Table(
        [*head, Column("Source", align="left")],
        [
            [line.method.label, *map(_printed, line.numbers.values()), line.source]
            for line in paper_lines()
            if is_whole or line.method in SELECTED
        ],
        title="Paper, NYU Depth V2",
        note="" if data == NYUV2 else "Other data: not to be compared with ours.",
    )
    return comparison_page(
        TABLES[artefact],
        [ours, paper],
        preset=preset,
        warnings=_warnings(preset, data),
        text=text,
        source=f"Table {'S4' if is_whole else '3'}",
    )


def _our_line(row: dict[str, Any]) -> list[str]:
    numbers = [
        "–" if row[name] is None else spread(row[name], _NOT_A_NUMBER, digits)
        for name, (_, digits) in METRICS.items()
    ]
    selected = f"update {row['best_update']:,} of {row['updates']:,}"
    return [_method(row).label, *numbers, selected]


def _printed(number: str) -> str:
    return number.replace("-", "−") or "–"


def _warnings(preset: str, data: str) -> list[str]:
    warnings = chosen_preset(preset, data).warnings(PAPER)
    if data == SYNTHETIC:
        warnings.append(
            "Synthetic data: rooms made up by a program, with the noise and the gaps "
            "of a depth camera. It shows how the losses differ, not how well they do "
            "on photographs."
        )
    return warnings
