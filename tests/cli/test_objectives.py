"""``betanll objectives``, and ``--plugin`` of the commands that train and predict."""

import sys
from pathlib import Path

import pytest

from betanll.objectives import get, names, unregister

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "objectives.md"
MODULE = """
from betanll.objectives import MSE, objective

@objective("{name}")
class Plugged(MSE):
    "Squared error by another name."
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a module into the current folder; its objective is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    known = names()

    def write(module, text=None):
        (tmp_path / f"{module}.py").write_text(text or MODULE.format(name="plugged"))
        return module

    yield write
    for name in set(names()) - set(known):
        unregister(name)
    sys.modules.pop("plugged_cli", None)


def test_every_objective_is_listed(run):
    outcome = run("objectives")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert [line.split()[0] for line in lines] == list(names())
    assert "vbem-star       VBEM(trainable=True)     Variational precision" in lines[12]


def test_the_page_has_the_table_of_the_registry(run):
    table = run("objectives", "--markdown").out
    for name in names():
        assert f"| `{name}` |" in table
    assert table in PAGE.read_text(encoding="utf-8")


def test_a_module_of_the_current_folder_is_a_plugin(run, plugin):
    outcome = run("objectives", "--plugin", plugin("plugged_cli"))
    assert outcome.code == 0
    line = outcome.out.splitlines()[-1]
    assert line.split(maxsplit=2)[:2] == ["plugged", "Plugged()"]
    assert line.endswith("Squared error by another name.")
    assert type(get("plugged")).__module__ == "plugged_cli"


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "data.csv", "--target", "y"),
        ("compare", "data.csv", "--target", "y"),
        ("diagnose", "data.csv", "--target", "y"),
        ("predict", "model", "data.csv"),
        ("objectives",),
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize(
    ("module", "text", "message"),
    [
        ("absent", None, "'absent' cannot be imported: No module named 'absent'"),
        ("my.py/x", None, "a plug-in is the name of a module, such as my_objectives"),
        ("broken_cli", "1 / 0", "'broken_cli' cannot be imported: ZeroDivisionError"),
        (
            "twice_cli",
            MODULE.format(name="nll"),
            "the objective name 'nll' is taken by betanll.objectives._gaussian.Gauss",
        ),
    ],
    ids=["absent", "file", "broken", "twice"],
)
def test_faulty_plugins_are_told_in_one_line(
    run, plugin, tmp_path, arguments, module, text, message
):
    if text is not None:
        plugin(module, text)
    outcome = run(*arguments, "--plugin", module)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert {path.suffix for path in tmp_path.iterdir()} <= {".py", ""}


def test_faulty_packages_do_not_hide_the_others(run, tmp_path, monkeypatch):
    folder = tmp_path / "faulty-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\n")
    (folder / "entry_points.txt").write_text("[betanll.objectives]\nbad = no_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = run("objectives")
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1].split(maxsplit=1) == [
        "bad",
        "WARNING: the plug-in 'no_module' cannot be imported: No module named "
        "'no_module'",
    ]
    outcome = run("fit", "data.csv", "--target", "y", "--objective", "bad")
    assert outcome.code == 2
    assert "the plug-in 'no_module' cannot be imported" in outcome.err
