"""What may be imported without waiting for JAX or PyTorch."""

import subprocess
import sys

import pytest

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
