"""The page docs/how-to/pytorch.md, run from top to bottom."""

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


def test_code_of_the_page_runs(run_page):
    torch.manual_seed(0)
    names = run_page("docs/how-to/pytorch.md")
    assert torch.isfinite(names["loss"])
    assert torch.isfinite(names["per_sample"])
    # What the page says about a mask on the result.
    criterion = names["BetaNLLLoss"](reduction="none")
    mean = names["mean"].detach().requires_grad_()
    elements = criterion(mean, names["target"], names["variance"].detach())
    torch.where(names["observed"], elements, 0.0).sum().backward()
    assert mean.grad.isnan().any()
