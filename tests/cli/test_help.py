"""How the commands explain themselves, and how they print what they found."""

import click
import pytest

from betanll.cli import cli
from betanll.cli.output import coloured, stars

COMMANDS = ("compare", "demo", "diagnose", "fit", "objectives", "predict")
OF_THE_PAPER = (
    *(("bench",), ("reproduce",), ("data",), ("depth",), ("depth", "train")),
    *(("data", name) for name in ("list", "download", "generate")),
)


@pytest.mark.parametrize("path", [(), *((name,) for name in COMMANDS), *OF_THE_PAPER])
def test_every_command_has_an_example_and_a_short_option_for_help(run, path):
    long = run(*path, "--help")
    assert long.code == 0
    assert run(*path, "-h") == long
    *_, title, command, end = long.out.split("\n")
    assert (title.strip(), end) == ("Example:", "")
    assert command.strip().startswith(" ".join(["betanll", *path]))


def test_examples_are_calls_that_the_commands_understand():
    """But for their files, which need not exist."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        words = command.epilog.split("\n")[-1].split()
        assert words[:2] == ["betanll", name]
        if "--plugin" not in words:
            command.make_context(name, words[2:])


def test_commands_are_grouped(run):
    lines = run("--help").out.splitlines()
    titles = [line for line in lines if line.endswith(":") and line[:1].strip()]
    wanted = ["Options:", "Your data:", "Learn:", "Tools:"]
    assert [title for title in titles if title in wanted] == wanted
    first = lines.index("Your data:") + 1
    names = [line.split()[0] for line in lines[first : first + 5]]
    assert names == ["fit", "predict", "explain", "compare", "diagnose"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["fti"], "No such command 'fti'. Did you mean 'fit'?"),
        (["diagnos"], "Did you mean 'diagnose'?"),
        (["reprodcue"], "Did you mean 'reproduce'?"),
        (["fit", "x.csv", "--taget", "y"], "--target"),
    ],
)
def test_a_mistyped_name_brings_a_proposal(refused, arguments, hint):
    assert hint in refused(*arguments)


def test_nothing_is_proposed_for_a_name_like_no_other(refused):
    assert "Did you mean" not in refused("qwertz")


@pytest.mark.parametrize(
    ("is_terminal", "variables", "is_coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (False, {}, False),
    ],
)
def test_colours_are_for_terminals(monkeypatch, is_terminal, variables, is_coloured):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal, raising=False)
    text = coloured("ok", "green")
    assert ("\x1b[" in text) == is_coloured
    assert click.unstyle(text) == "ok"


def test_the_best_scores_are_starred():
    assert stars([2.0, 1.0, 1.00001], "lower") == [" ", "*", "*"]
    assert stars([2.0, float("nan"), 1.0], "higher") == ["*", " ", " "]
    assert stars([float("inf")], "lower") == [" "]


def test_fit_marks_the_best_and_says_what_to_do_next(fitted):
    printed = (fitted / "printed.txt").read_text()
    assert "* is best. Lower is better for RMSE and CRPS, higher for the" in printed
    table = printed.partition("held-out rows")[2].partition("* is best")[0]
    assert table.count("*") >= 3
    *_, elapsed, following = printed.splitlines()
    assert elapsed.startswith("Time:   ")
    assert elapsed.endswith(" s")
    assert following == f"Next:   betanll predict {fitted} NEW.csv"
