"""The figures of the paper: which tasks they need, and where they are written."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from betanll.files import write_files
from betanll.sweeps import MissingResultsError, Store, Task
from betanll_paper.sine.grid import grid_tasks, optimizer_tasks
from betanll_paper.sine.growing_noise import heteroscedastic_tasks
from betanll_paper.sine.training import curve_tasks, first_nll_task, further_nll_tasks

if TYPE_CHECKING:
    from betanll_paper.drawing.marks import Drawing


class _Artefact(NamedTuple):
    tasks: Callable[[str], list[Task]]
    module: str


# Drawing is imported when it is needed: workers, which import this, do without it.
FIGURES = {
    "fig1": _Artefact(curve_tasks, "figures"),
    "fig2": _Artefact(first_nll_task, "circle_figure"),
    "fig3": _Artefact(first_nll_task, "figures"),
    "fig4": _Artefact(first_nll_task, "figures"),
    "fig5": _Artefact(first_nll_task, "figures"),
    "fig7": _Artefact(grid_tasks, "grid_figures"),
    "fig8": _Artefact(heteroscedastic_tasks, "growing_noise_figures"),
    "figS1": _Artefact(further_nll_tasks, "figures"),
    "figS2": _Artefact(optimizer_tasks, "grid_figures"),
    "figS3": _Artefact(grid_tasks, "grid_figures"),
}


def figure_tasks(artefacts: Iterable[str], preset: str) -> list[Task]:
    """Return the trainings behind figures, each once.

    Parameters
    ----------
    artefacts : iterable of str
        Among ``fig1 fig2 fig3 fig4 fig5 fig7 fig8 figS1 figS2 figS3``.
    preset : {"smoke", "laptop", "paper"}

    Examples
    --------
    >>> len(figure_tasks(["fig1"], "paper"))
    40
    >>> len(figure_tasks(["fig1", "fig3", "fig4", "fig5", "figS1"], "paper"))
    40
    """
    tasks = [task for name in artefacts for task in _artefact(name).tasks(preset)]
    return list(dict.fromkeys(tasks))


def write_figures(
    results: Store | Iterable[dict[str, Any]],
    folder: str | os.PathLike[str],
    artefacts: Sequence[str] = tuple(FIGURES),
    *,
    preset: str,
) -> list[Path]:
    """Draw figures of the paper.

    Each is written as PNG and SVG, with the numbers behind it as CSV beside it. A line
    below the figure says what was run shorter than in the paper.

    Parameters
    ----------
    results : Store or iterable of dict
        A store of results, or the rows of tasks. Those that do not belong to the preset
        are left out.
    folder : path
        Made if it does not exist. Files of the same names are replaced.
    artefacts : sequence of str
        As in :func:`figure_tasks`.
    preset : {"smoke", "laptop", "paper"}

    Returns
    -------
    list of Path
        The files, for example ``fig1.png``, ``fig1.svg`` and ``fig1.csv``.

    Raises
    ------
    ValueError
        If a figure is unknown or has no result at all; nothing is written then. Also
        if a training diverged before it had recorded what a figure shows; the others
        are written.
    """
    from betanll_paper.drawing.marks import NothingToDraw

    given = results if isinstance(results, Store) else list(results)
    contents: dict[str, bytes] = {}
    failures = []
    for name in dict.fromkeys(artefacts):
        rows = _rows_of(given, figure_tasks([name], preset))
        try:
            contents |= figure_files(name, rows, preset)
        except NothingToDraw as error:
            failures.append(f"{name} cannot be drawn: {error}")
    paths = write_files(folder, contents)
    if failures:
        raise ValueError("; ".join(failures))
    return paths


def _artefact(name: str) -> _Artefact:
    if name not in FIGURES:
        raise ValueError(f"artefacts must be among {', '.join(FIGURES)}, got {name!r}")
    return FIGURES[name]


def _rows_of(
    results: Store | list[dict[str, Any]], tasks: Sequence[Task]
) -> list[dict[str, Any]]:
    if isinstance(results, Store):
        return results.rows(tasks)
    wanted = {task.settings for task in tasks}
    names = {tuple(name for name, _ in settings) for settings in wanted}
    # A row repeats the settings of its task.
    return [
        row
        for row in results
        if any(tuple((n, row.get(n)) for n in these) in wanted for these in names)
    ]


def figure_files(
    name: str, rows: list[dict[str, Any]], preset: str
) -> dict[str, bytes]:
    """Return the files of a figure of the sine by their names."""
    if not rows:
        raise MissingResultsError(
            f"no task of {name} has a result, so it cannot be drawn"
        )
    module = importlib.import_module(f"betanll_paper.sine.{_artefact(name).module}")
    return drawn_files(name, lambda: getattr(module, name)(rows, preset))


def drawn_files(name: str, draw: Callable[[], Drawing]) -> dict[str, bytes]:
    """Return the contents of the files of a figure by their names."""
    from betanll.reports.style import rendered, report_style

    with report_style():
        drawing = draw()
        files = {
            f"{name}.png": rendered(drawing.figure, "png"),
            f"{name}.svg": rendered(drawing.figure, "svg"),
        }
    for end, table in drawing.tables.items():
        text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        files[f"{name}{end}.csv"] = text.encode()
    return files
