"""The faults that benchmarks/mutants.py makes of a source."""

import ast
from pathlib import Path

import pytest
from benchmarks.mutants import chosen_tests, mutants_of

PATH = Path("src/betanll/losses/_moments.py")


def faults(source):
    """Return the sources with one fault each."""
    changed = [mutant.apply(source.encode()) for mutant in mutants_of(PATH, source)]
    return [text.decode() for text in changed]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b", {"(a - b)"}),
        ("a * b @ c", {"(a * b * c)", "(a / b) @ c"}),
        ("a < b", {"(a <= b)"}),
        ("a and not b", {"(a or not b)", "a and (b)"}),
        ("f(2, 0.5)", {"f((3), 0.5)", "f(2, (0.55))"}),
        ("a if b else c", {"(a)", "(c)"}),
        ("-a ** 2", {"(a ** 2)", "-(a * 2)", "-a ** (3)"}),
        ("jnp.maximum(a, b)", {"(jnp.minimum(a, b))"}),
        ("max(a, b)", {"(min(a, b))"}),
        ("jax.lax.stop_gradient(a)", {"(a)"}),
        ("f(True)", {"f((False))"}),
        # Beyond the first byte of a character, and on a second line.
        ('é = "é"\né = é + é', {'é = "é"\né = (é - é)'}),
    ],
)
def test_faults_by_hand(source, expected):
    assert set(faults(source)) == expected


def test_what_is_not_seen_is_left_alone():
    source = '''
from __future__ import annotations
def f(a: int | None, *, b: "x + y" = c) -> int | float:
    """A sum a + 1."""
    value: list[int | str] = [f"{a + 1}"]
    raise ValueError("a" + "b")
'''
    assert faults(source) == []


def test_every_fault_of_a_file_can_be_parsed():
    source = (Path(__file__).parents[2] / PATH).read_text("utf-8")
    texts = faults(source)
    assert len(texts) >= 5
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(source))


def test_the_tests_of_a_file_come_first():
    assert chosen_tests(PATH) == [
        "tests/losses/test_moments.py",
        "src/betanll/losses/_moments.py",
        "tests/losses",
    ]
    program = Path("src/betanll/training/_program.py")
    assert chosen_tests(program) == [str(program), "tests/training"]
