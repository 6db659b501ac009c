"""What may be imported without waiting for JAX or PyTorch, and what is declared."""

import ast
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Packages whose modules have another name.
IMPORT_NAMES = {"scikit-learn": "sklearn", "array-api-compat": "array_api_compat"}
#: Of the standard library of later versions of Python.
LATER = {"compression"}
HEAVY = ("jax", "scipy", "sklearn", "torch")


@pytest.mark.parametrize(
    "name",
    [
        "betanll",
        "betanll_paper.commands.reproduce",
        "betanll.losses",
        "betanll.objectives",
        "betanll.sweeps",
        "betanll.typing",
    ],
)
def test_light_modules(name):
    code = f"import sys, {name}; print(*(m for m in {HEAVY} if m in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "\n"


def test_every_package_that_is_imported_is_declared():
    declared = {
        IMPORT_NAMES.get(name, name) for name in _requirements(ROOT / "pyproject.toml")
    }
    imported = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in _top_level_imports(path)
    }
    own = set(sys.stdlib_module_names) | LATER | {"betanll"}
    assert imported - own <= declared


def _requirements(path):
    project = tomllib.loads(path.read_text())["project"]
    extras = project["optional-dependencies"]
    listed = itertools.chain(
        project["dependencies"],
        *(names for extra, names in extras.items() if extra not in {"dev", "docs"}),
    )
    return {re.match(r"[\w-]+", requirement)[0] for requirement in listed}


def _top_level_imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]
