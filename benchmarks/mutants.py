"""Deliberate faults in the formulas, and whether the tests beside them fail.

    python benchmarks/mutants.py                # 100 in losses, objectives, training
    python benchmarks/mutants.py --n 20 --seed 3 src/betanll/training/_loop.py

Each fault changes one operator, comparison, number or stop-gradient in a copy of the
project, in which the tests of the same folder then run. Faults that no test notices are
printed: some change nothing that can be seen, for the others a test is missing.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).parents[1]
FOLDERS = [f"src/betanll/{name}" for name in ("losses", "objectives", "training")]

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
FUNCTIONS = {"minimum": "maximum", "maximum": "minimum", "min": "max", "max": "min"}
#: Calls that are replaced by their argument.
PASSED_THROUGH = ("stop_gradient",)
# Types are not looked at when the code runs, and messages have tests of their own.
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list")
SKIPPED_NODES = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)


class Mutant(NamedTuple):
    """A file with a fault: the text that takes the place of one expression."""

    path: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.old}  →  {self.new}"

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants_of(path: Path, source: str) -> Iterator[Mutant]:
    """Yield every fault of a file, in the order of the syntax tree."""
    lengths = [len(line) for line in source.encode().splitlines(keepends=True)]
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    for node in expressions(ast.parse(source)):
        for changed in changes(node):
            yield Mutant(
                path,
                node.lineno,
                starts[node.lineno - 1] + node.col_offset,
                starts[node.end_lineno - 1] + node.end_col_offset,
                ast.unparse(node),
                f"({ast.unparse(changed)})",
            )


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that have a value when the code runs."""
    if isinstance(node, ast.expr):
        yield node
    for name, field in ast.iter_fields(node):
        if name in SKIPPED_FIELDS:
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not isinstance(child, SKIPPED_NODES):
                yield from expressions(child)


def changes(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that may take the place of one."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        yield with_field(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield with_field(node, ops=[OPERATORS[type(node.ops[0])]()])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield ast.Constant(1.1 * node.value or 0.1)
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in PASSED_THROUGH:
            yield node.args[0]
        elif name in FUNCTIONS:
            function = copy.deepcopy(node.func)
            field = "attr" if isinstance(function, ast.Attribute) else "id"
            setattr(function, field, FUNCTIONS[name])
            yield with_field(node, func=function)


def with_field(node: ast.expr, **fields: object) -> ast.expr:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def chosen_tests(path: Path) -> list[str]:
    """Return the tests of a file: its own first, then those of its folder."""
    folder = path.parent.relative_to("src/betanll")
    own = Path("tests") / folder / f"test{path.stem}.py"
    found = [own] if (ROOT / own).is_file() else []
    return [str(part) for part in (*found, path, Path("tests") / folder)]


def run_tests(copied: Path, path: Path, timeout: float | None) -> bool:
    """Tell whether the tests of a file pass in the copy."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copied / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        # Runs share compiled programs: most are the same with a fault. The settings
        # of the tests leave the folder alone when they believe to be in a worker.
        "PYTEST_XDIST_WORKER": "mutants",
        "JAX_COMPILATION_CACHE_DIR": str(copied / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0"]
    command += ["-p", "no:cacheprovider", *chosen_tests(path)]
    try:
        finished = subprocess.run(
            command,
            cwd=copied,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return False
    return finished.returncode == 0


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--n", default=100, show_default=True, help="Faults to try.")
@click.option("--seed", default=0, show_default=True, help="Seed of their choice.")
def main(paths: tuple[Path, ...], n: int, seed: int) -> None:
    """Try a sample of the faults in PATHS, files or folders of src/betanll."""
    chosen = [path.resolve() for path in paths] or [ROOT / name for name in FOLDERS]
    files = sorted(
        file.relative_to(ROOT)
        for path in chosen
        for file in (path.rglob("*.py") if path.is_dir() else [path])
        if file.name != "__init__.py"
    )
    mutants = [
        mutant
        for file in files
        for mutant in mutants_of(file, (ROOT / file).read_text())
    ]
    sample = sorted(random.Random(seed).sample(mutants, min(n, len(mutants))))
    print(f"{len(sample)} of {len(mutants)} faults in {len(files)} files", flush=True)
    survivors = []
    with tempfile.TemporaryDirectory(prefix="betanll-mutants-") as folder:
        copied = Path(folder)
        for name in ("src", "tests", "conftest.py", "pyproject.toml"):
            kind = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            kind(ROOT / name, copied / name)
        seconds: dict[Path, float] = {}
        for mutant in sample:
            source = (copied / mutant.path).read_bytes()
            if mutant.path.parent not in seconds:
                begin = time.monotonic()
                if not run_tests(copied, mutant.path, None):
                    raise click.ClickException(
                        f"the tests of {mutant.path.parent} fail without a fault"
                    )
                seconds[mutant.path.parent] = time.monotonic() - begin
            (copied / mutant.path).write_bytes(mutant.apply(source))
            limit = 60 + 5 * seconds[mutant.path.parent]
            survived = run_tests(copied, mutant.path, limit)
            (copied / mutant.path).write_bytes(source)
            print("SURVIVED" if survived else "killed  ", mutant, flush=True)
            survivors += [mutant] if survived else []
    print(f"{len(sample) - len(survivors)} killed, {len(survivors)} survived")


if __name__ == "__main__":
    main()
