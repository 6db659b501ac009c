"""The command line; a command's module is imported only when the command runs."""

from __future__ import annotations

import os
import sys

import click

from betanll import __version__
from betanll._cache import compilation_cache
from betanll.cli._commands import CommandGroup
from betanll.cli.output import example, start_clock
from betanll.files import cache_folder
from betanll.sentences import shortened

INTERRUPTED = 130


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example("betanll fit houses.csv --target price"),
)
@click.version_option(__version__, prog_name="betanll")
def cli() -> None:
    """Regression with trustworthy uncertainty."""
    start_clock()
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
    except MemoryError as error:
        text = _one_line(str(error)) or "there is not enough memory"
        click.echo(f"betanll: {text}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("betanll: interrupted", err=True)
        return INTERRUPTED
    except (RuntimeError, AssertionError) as error:
        complaint = _complaint_of_jax(error)
        if complaint is None:
            raise
        click.echo(f"betanll: {complaint}", err=True)
        return 2
    return 0


def _complaint_of_jax(error: Exception) -> str | None:
    """Return a line about the machine or the environment, None for other faults."""
    if "RESOURCE_EXHAUSTED" in str(error):
        return "JAX ran out of memory: choose a smaller network or a smaller --jobs"
    platforms = os.environ.get("JAX_PLATFORMS")
    if not platforms or _has_devices(error):
        return None
    return (
        f"JAX cannot use JAX_PLATFORMS={platforms} on this machine: unset it, or set "
        "it to cpu"
    )


def _has_devices(error: Exception) -> bool:
    """Return whether an error cannot come from a platform that JAX fails to use."""
    if "jax" not in sys.modules:
        return True
    if str(error).startswith("Unable to initialize backend"):
        return False
    try:
        sys.modules["jax"].devices()
    except Exception:  # of several kinds, some without a message
        return False
    return True


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
    # Options and names of files may be long, and hold codes that move the cursor.
    return shortened(" ".join(line.strip() for line in text.splitlines()))
