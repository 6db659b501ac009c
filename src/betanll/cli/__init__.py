"""The command line; a command's module is imported only when the command runs."""

from __future__ import annotations

import importlib
import os
import sys

import click

from betanll._cache import cache_folder, compilation_cache
from betanll._version import __version__

# Name, module and one-line help: the overview must not import the commands.
_COMMANDS = {
    "bench": "Time updates next to a plain PyTorch loop and the matmul peak.",
    "compare": "Objectives side by side on your data, cross-validated.",
    "data": "The paper's data sets: list, download, generate.",
    "demo": "The pitfall and the cure, and a fit, with a report to open.",
    "depth": "Learn the depth of pixels from images, with its uncertainty.",
    "diagnose": "Does the likelihood starve points of your data? Which beta helps?",
    "fit": "Learn mean and spread from a table; writes a model and a report.",
    "reproduce": "Tables and figures of the paper, beside the paper's numbers.",
    "predict": "Mean, std and interval for each row of a table.",
}


INTERRUPTED = 130


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command = importlib.import_module(f"betanll.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_LazyGroup)
@click.version_option(__version__, prog_name="betanll")
def cli() -> None:
    """Regression with trustworthy uncertainty."""
    _keep_compiled_programs()


def _keep_compiled_programs() -> None:
    """Let JAX find the programs of earlier runs, unless the user has set this up."""
    try:
        cache_folder("jax").mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    for name, value in compilation_cache().items():
        os.environ.setdefault(name, value)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; faults of the input end in one line and exit code 2."""
    code = _exit_code(arguments)
    if code == INTERRUPTED:
        # JAX may crash when it is torn down after an interruption; nothing is left to
        # clean up.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _exit_code(arguments: list[str] | None) -> int:
    try:
        written = sys.argv[1:] if arguments is None else arguments
        cli.main(arguments, prog_name="betanll", standalone_mode=False, obj=written)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        _complain(error)
        return 2
    # Of the input, of a training that diverged, of an extra that is not installed.
    except (ValueError, OSError, FloatingPointError, ImportError) as error:
        click.echo(f"betanll: {_one_line(str(error))}", err=True)
        return 2
    except MemoryError:
        click.echo("betanll: there is not enough memory", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("betanll: interrupted", err=True)
        return INTERRUPTED
    return 0


def _complain(error: click.ClickException) -> None:
    """Print wrong usage in one line, where click prints four."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    text = _one_line(error.format_message())
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text += f" (help: {error.ctx.command_path} --help)"
    click.echo(f"betanll: {text}", err=True)


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())
