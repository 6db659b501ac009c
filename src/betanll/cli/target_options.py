"""What is learnt instead of a target: options, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from betanll.cli.options import AUTO, say_note

if TYPE_CHECKING:
    from betanll.distributions import Transform

Command = TypeVar("Command", bound=Callable[..., Any])
NONE = "none"


def target_options(default: str) -> Callable[[Command], Command]:
    """Add ``--target-transform``, with this default, and ``--log``."""

    def decorate(command: Command) -> Command:
        command = click.option(
            "--log",
            "is_log",
            is_flag=True,
            help="Same as --target-transform log: for positive targets such as prices.",
        )(command)
        return click.option(
            "--target-transform",
            type=transforms_of,
            default=default,
            show_default=True,
            metavar="NAME",
            help="Learn log, log1p or logit:LOW:HIGH of the target and predict the "
            'target; "auto" tries log for positive, skewed targets; "none" never '
            "does. One for each target, with commas between them.",
        )(command)

    return decorate


def transforms_of(text: str) -> list[str]:
    """Read names of transforms with commas between them."""
    from betanll.distributions import transforms

    names = [name.strip() for name in text.split(",")]
    for name in names:
        try:
            if name != AUTO:
                transforms.get(name)
        except ValueError as error:
            raise click.BadParameter(f"{error}.") from None
    return names


def chosen(
    names: Sequence[str], is_log: bool, targets: Sequence[str]
) -> str | list[str]:
    """Return the parameter of the estimator."""
    from click.core import ParameterSource

    if is_log:
        source = click.get_current_context().get_parameter_source("target_transform")
        if source != ParameterSource.DEFAULT:
            raise click.UsageError("--log is --target-transform log: give one of them")
        names = ["log"]
    if len(names) not in (1, len(targets)):
        raise click.UsageError(
            f"--target-transform names {len(names)} transforms for {len(targets)} "
            "targets"
        )
    return names[0] if len(names) == 1 else list(names)


def without_student_t(
    contenders: Sequence[str], transform: str | list[str], *, are_given: bool
) -> list[str]:
    """Leave out objectives that transformed targets cannot be combined with."""
    from betanll import objectives

    kept = [
        name
        for name in contenders
        if name.startswith("beta-nll")
        or objectives.get(name).predictive_family != "student-t"
    ]
    names = [transform] if isinstance(transform, str) else transform
    if are_given or len(kept) == len(contenders) or {*names} <= {AUTO, NONE}:
        return list(contenders)
    left_out = ", ".join(name for name in contenders if name not in kept)
    say_note(f"{left_out} left out: the exponential of a Student t has no mean.")
    return kept


def say_transforms(
    targets: Sequence[str],
    found: Sequence[Transform],
    parameter: str | list[str],
) -> None:
    """Say which targets were transformed, and how to change it."""
    from betanll.distributions import Identity, transforms

    names = [parameter] * len(targets) if isinstance(parameter, str) else parameter
    for target, one, name in zip(targets, found, names, strict=True):
        if isinstance(one, Identity):
            continue
        why = ""
        if name == AUTO:
            why = ", as a trial found it better; --target-transform none leaves it"
        click.echo(f"{target}: learnt as {transforms.text(one)}{why}.")
