"""What the commands print, and where they write."""

from __future__ import annotations

import contextlib
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from betanll.files import check_writable
from betanll.sentences import shortened

if TYPE_CHECKING:
    from betanll.columns import ColumnSummary
    from betanll.evaluation import TargetAssessment
    from betanll.metrics import Scores
    from betanll.reports import Finding
    from betanll.tables import TableModel

_MARKS = {"good": "ok", "note": "note", "warning": "WARNING"}


def load_table_model(path: Path) -> TableModel:
    """Load a model and print what is odd about it."""
    from betanll.tables import TableModel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model = TableModel.load(path)
    for warning in caught:
        click.echo(shortened(f"Note: {warning.message}"), err=True)
    return model


def command_line() -> str:
    """Return the command as it was written."""
    context = click.get_current_context()
    if context.obj is None:  # called by another program
        return context.command_path
    return shlex.join(["betanll", *context.obj])


def check_file(path: Path, *inputs: Path) -> None:
    """Refuse a file that cannot be written, or that is one of the inputs."""
    check_writable(path.parent)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    for file in inputs:
        if path.exists() and file.exists() and path.samefile(file):
            raise click.UsageError(f"--out would replace the input {file}")


def check_new_folder(path: Path) -> None:
    """Refuse a folder that cannot be made; an empty one may exist."""
    check_writable(path.parent)
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} exists and is not a folder")
    if path.is_dir() and any(path.iterdir()):
        raise FileExistsError(f"{path} exists and is not empty")


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let faults of the disk name `path`, not the temporary file beside it."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # it has a sentence of its own
            raise
        raise OSError(f"{path} cannot be written: {error.strerror}") from None


def print_columns(columns: Sequence[ColumnSummary]) -> None:
    """Print how each column was read."""
    width = min(32, max(len(name) for name in ("column", *(c.name for c in columns))))
    click.echo(f"{'column':{width}}  {'read as':9} {'missing':>7}  content")
    for line in columns:
        missing = f"{line.missing:.1%}" if line.missing else ""
        click.echo(
            shortened(
                f"{line.name:{width}}  {line.kind:9} {missing:>7}  {line.content}"
            )
        )


def print_assessment(
    targets: Sequence[TargetAssessment], findings: Iterable[Finding]
) -> None:
    """Print the scores as a table for each target, then the findings."""
    for target in targets:
        if target.scores:
            title = "held-out rows" if len(targets) == 1 else target.name
            click.echo()
            _print_scores(title, target.scores)
    click.echo()
    for finding in findings:
        click.echo(f"{_MARKS[finding.kind]}: {finding.text}")


def _print_scores(title: str, scores: Mapping[str, Scores]) -> None:
    levels = next(iter(scores.values())).coverage
    width = max(map(len, [title, *scores])) + 2
    heads = [f"covers {level:.0%}" for level in levels]
    click.echo(
        f"{title:{width}}{'RMSE':>11}{'log-lik.':>11}{'CRPS':>11}"
        + "".join(f"{head:>12}" for head in heads)
    )
    for name, score in scores.items():
        click.echo(
            f"{name:{width}}{score.rmse:11.4g}{score.log_likelihood:11.4g}"
            f"{score.crps:11.4g}"
            + "".join(f"{score.coverage[level]:12.1%}" for level in levels)
        )
