"""The page docs/how-to/pytorch.md, run from top to bottom."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pytorch.md"


def test_code_of_the_page_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(blocks) == 5
    names = {}
    torch.manual_seed(0)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert torch.isfinite(names["loss"])
    assert torch.isfinite(names["per_sample"])
    # What the page says about a mask on the result.
    criterion = names["BetaNLLLoss"](reduction="none")
    mean = names["mean"].detach().requires_grad_()
    elements = criterion(mean, names["target"], names["variance"].detach())
    torch.where(names["observed"], elements, 0.0).sum().backward()
    assert mean.grad.isnan().any()
