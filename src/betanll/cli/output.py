"""What the commands print, and where they write."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from betanll.files import check_writable
from betanll.sentences import shortened

if TYPE_CHECKING:
    from betanll.columns import ColumnSummary
    from betanll.evaluation import TargetAssessment
    from betanll.metrics import Scores
    from betanll.reports import Finding
    from betanll.tables import TableModel

#: How findings are marked, and the colour of the mark.
_MARKS = {
    "good": ("ok", "green"),
    "note": ("note", "cyan"),
    "warning": ("WARNING", "yellow"),
}


#: Where the context of a command keeps when it started.
_STARTED = f"{__name__}.started"
#: Below a table of scores.
BETTER = "* is best. Lower is better for RMSE and CRPS, higher for the log-likelihood."


def example(*commands: str) -> str:
    """Return the end of a command's help: how it is called."""
    noun = "Example" if len(commands) == 1 else "Examples"
    return "\n".join(["\b", f"{noun}:", *(f"  {line}" for line in commands)])


def start_clock() -> None:
    """Note when a command starts, for :func:`print_elapsed`."""
    click.get_current_context().meta[_STARTED] = time.perf_counter()


def print_elapsed(*, err: bool = False) -> None:
    """Print how long the command took."""
    started = click.get_current_context().meta.get(_STARTED)
    if started is not None:  # by another program if None
        click.echo(f"Time:   {time.perf_counter() - started:.1f} s", err=err)


def coloured(text: str, colour: str, *, err: bool = False) -> str:
    """Return text in a colour for a terminal, unless NO_COLOR forbids it."""
    stream = sys.stderr if err else sys.stdout
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return click.style(text, fg=colour, bold=True)


def stars(values: Sequence[float], better: Literal["lower", "higher"]) -> list[str]:
    """Return a star for the best of some scores, and a blank for the others.

    Scores that are printed alike share the star.

    Examples
    --------
    >>> stars([0.5, 0.25, 0.3], "lower")
    [' ', '*', ' ']
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return [" "] * len(values)
    best = f"{min(finite) if better == 'lower' else max(finite):.4g}"
    return ["*" if f"{value:.4g}" == best else " " for value in values]


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
    click.echo(f"{BETTER}\n")
    for finding in findings:
        click.echo(f"{coloured(*_MARKS[finding.kind])}: {finding.text}")


def _print_scores(title: str, scores: Mapping[str, Scores]) -> None:
    levels = next(iter(scores.values())).coverage
    width = max(map(len, [title, *scores])) + 2
    heads = [f"covers {level:.0%}" for level in levels]
    click.echo(
        f"{title:{width}}{'RMSE':>11}{'log-lik.':>12}{'CRPS':>12}"
        + "".join(f"{head:>12}" for head in heads)
    )
    best = (
        stars([score.rmse for score in scores.values()], "lower"),
        stars([score.log_likelihood for score in scores.values()], "higher"),
        stars([score.crps for score in scores.values()], "lower"),
    )
    for (name, score), rmse, likelihood, crps in zip(
        scores.items(), *best, strict=True
    ):
        click.echo(
            f"{name:{width}}{score.rmse:11.4g}{rmse}"
            f"{score.log_likelihood:11.4g}{likelihood}{score.crps:11.4g}{crps}"
            + "".join(f"{score.coverage[level]:11.1%} " for level in levels).rstrip()
        )
