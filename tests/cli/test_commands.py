"""Commands that installed packages bring along."""

import importlib.metadata
import sys

import pytest

from betanll import plugins

GREETING = """
import click

@click.command()
@click.argument("name")
def command(name):
    click.echo(f"hello {name}")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A function that installs packages: contents of their modules by name.

    Each is an entry point that names the object COMMANDS of its module.
    """
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def write(**contents):
        names.extend(contents)
        for name, text in contents.items():
            (tmp_path / f"{name}.py").write_text(text)
        points = [
            importlib.metadata.EntryPoint(name, f"{name}:COMMANDS", "betanll.commands")
            for name in contents
        ]
        named = {point.name: (point,) for point in points}
        monkeypatch.setattr(plugins, "installed", lambda group: named)

    yield write
    for name in [*names, "greeting"]:
        sys.modules.pop(name, None)


PLUGIN = 'COMMANDS = {"greet": ("Say hello.", "greeting:command")}'


def test_packages_add_commands(run, install, tmp_path):
    install(plugged=PLUGIN)
    (tmp_path / "greeting.py").write_text(GREETING)
    overview = run("--help")
    assert "  greet       Say hello.\n" in overview.out
    assert "greeting" not in sys.modules
    assert run("greet", "you") == (0, "hello you\n", "")
    assert "Usage: betanll greet [OPTIONS] NAME" in run("greet", "--help").out


def test_own_commands_look_for_no_packages(run, monkeypatch):
    monkeypatch.setattr(plugins, "installed", None)
    assert run("fit", "--help").code == 0


@pytest.mark.parametrize("name", ["bench", "data", "depth", "reproduce"])
def test_commands_of_the_paper_say_how_to_get_them(run, install, name):
    install()
    assert run(name, "--anything") == (
        *(2, ""),
        f"betanll: {name} is part of the package betanll-paper, in the folder paper of "
        "the repository: pip install ./paper\n",
    )
    assert f"\n  {name} " not in run("--help").out


def test_unknown_commands_stay_unknown(refused, install):
    install()
    assert "No such command 'nothing'" in refused("nothing")


def test_a_package_that_cannot_be_imported_is_told_and_left_out(run, install):
    install(broken="import no_such_library", plugged=PLUGIN)
    complaint = (
        "betanll: the plug-in 'broken:COMMANDS' of an unknown package cannot be "
        "loaded: No module named 'no_such_library'; update or uninstall it\n"
    )
    overview = run("--help")
    assert (overview.code, overview.err) == (0, complaint)
    assert "greet" in overview.out
    # Its commands are not known; whoever asks for one learns why.
    assert run("reproduce") == (2, "", complaint)


@pytest.mark.parametrize(
    "commands",
    [
        "3",
        '["greet"]',
        '{"greet": "greeting:command"}',
        '{"greet": ("a", "b", "c")}',
        "{1: ('a', 'b')}",
    ],
)
def test_entry_points_that_are_no_commands_are_told(run, install, commands):
    install(plugged=f"COMMANDS = {commands}")
    overview = run("--help")
    assert overview.code == 0
    assert overview.err.startswith(
        "betanll: the plug-in 'plugged' is not a dictionary of commands, name -> (help"
    )
    assert overview.err.count("\n") == 1


def test_names_are_given_once(run, install):
    own = 'COMMANDS = {"fit": ("Mine.", "x:y"), "greet": ("Mine.", "x:y")}'
    install(plugged=PLUGIN, second=own)
    overview = run("--help")
    assert "Mine." not in overview.out
    assert overview.err == "".join(
        f"betanll: the command '{name}' of the plug-in 'second' is ignored: there is "
        "another one of this name\n"
        for name in ("fit", "greet")
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "cannot be loaded from 'greeting:command': ZeroDivisionError: divi"),
        ("other = 1", "AttributeError: module 'greeting' has no attribute 'command'"),
        ("command = print", "cannot be used: 'greeting:command' is not a command of"),
        (None, "No module named 'greeting'; update or uninstall"),
    ],
)
def test_broken_commands_are_one_sentence(refused, install, tmp_path, text, reason):
    install(plugged=PLUGIN)
    if text is not None:
        (tmp_path / "greeting.py").write_text(text)
    message = refused("greet")
    assert message.startswith("betanll: the command greet cannot be ")
    assert reason in message
