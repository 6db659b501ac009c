"""Objectives are pytrees once training is imported, whichever was there first."""

import subprocess
import sys

import jax
import pytest

from betanll import objectives, training

DEFINITION = """
from betanll.objectives import MSE, objective, traced

@objective(None)
class Weighted(MSE):
    name = "weighted"
    factor: float = traced(default=2)
"""
TRAINING = "import betanll.training"
LEAVES = "import jax; assert jax.tree.leaves(Weighted()) == [2.0, 2.0]"


@pytest.mark.parametrize(
    "lines",
    [
        (DEFINITION, TRAINING, LEAVES),
        (TRAINING, DEFINITION, LEAVES),
        ("import jax", DEFINITION, TRAINING, LEAVES),
    ],
    ids=["objective-first", "training-first", "jax-first"],
)
def test_both_orders_in_a_fresh_process(lines):
    code = "\n".join(lines)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_an_objective_in_a_field_is_a_subtree():
    @objectives.objective(None)
    class Around(objectives.MSE):
        inner: objectives.Objective = objectives.BetaNLL()
        n: int = 3

    assert training.fit is not None
    leaves, structure = jax.tree.flatten(Around(objectives.BetaNLL(0.25)))
    assert leaves == [0.25, 0.25]
    assert structure == jax.tree.structure(Around(objectives.BetaNLL((1.0, 0.0))))
    assert structure != jax.tree.structure(Around(objectives.GaussianNLL()))
    assert structure != jax.tree.structure(Around(n=4))
    again = jax.tree.unflatten(structure, leaves)
    assert isinstance(again.inner, objectives.BetaNLL)
    assert again.n == 3
