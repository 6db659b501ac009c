"""PitfallMonitor on tensors, and the page docs/how-to/monitor.md from top to bottom."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import betanll.diagnostics  # noqa: E402
import betanll.torch  # noqa: E402
from betanll.torch import PitfallMonitor  # noqa: E402

pytestmark = pytest.mark.torch


def tensors(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    mean, log_variance, target = torch.randn(3, 40, 2, generator=generator)
    return mean.to(dtype), log_variance.exp().to(dtype), target.to(dtype)


def summary_of(*batch):
    monitor = PitfallMonitor(every=1, warn=False)
    monitor.update(*batch)
    return monitor.summary()


def test_it_is_the_one_of_the_diagnostics():
    assert betanll.torch.PitfallMonitor is betanll.diagnostics.PitfallMonitor


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_tensors_are_the_same_to_it_as_arrays(dtype):
    batch = tensors(dtype)
    assert summary_of(*batch) == summary_of(*(part.numpy() for part in batch))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    half = tensors(dtype)
    # The conversion is exact; half precision itself has two or three digits.
    assert summary_of(*half) == summary_of(*(part.float() for part in half))
    actual, expected = summary_of(*half), summary_of(*tensors())
    np.testing.assert_allclose(
        list(actual.values()), list(expected.values()), rtol=0.02
    )


def test_gradients_pass_it_by():
    mean, variance, target = tensors()
    mean.requires_grad_()
    variance.requires_grad_()
    loss = torch.nn.functional.gaussian_nll_loss(mean, target, variance)
    summary_of(mean, variance, target)
    loss.backward()
    expected = (mean - target).detach() / variance.detach() / mean.numel()
    torch.testing.assert_close(mean.grad, expected)


def test_tensors_that_would_broadcast_raise():
    with pytest.raises(ValueError, match=r"mean \(4, 1\), variance \(4, 1\), target"):
        summary_of(torch.zeros(4, 1), torch.ones(4, 1), torch.zeros(4))


def test_a_state_survives_the_safe_loader(tmp_path):
    monitor = PitfallMonitor(every=1, warn=False)
    monitor.update(*tensors())
    torch.save(monitor.state_dict(), tmp_path / "monitor.pt")
    other = PitfallMonitor()
    other.load_state_dict(torch.load(tmp_path / "monitor.pt", weights_only=True))
    assert other.summary() == monitor.summary()


def test_code_of_the_page_prints_what_it_says(run_page, capsys):
    torch.manual_seed(0)
    # All but the callback, which is tested under Lightning itself.
    page = run_page("docs/how-to/monitor.md", numbers=(0, 1, 3))
    summary, verdict = capsys.readouterr().out.splitlines()
    assert "'n_updates': 200.0" in summary
    assert verdict == "True"
    assert page["checkpoint"]["monitor"]["n_updates"] == 200


@pytest.mark.parametrize("shape", [(), (3, 2, 4, 4)])
def test_images_and_scalars(shape):
    generator = torch.Generator().manual_seed(0)
    batch = torch.randn(3, *shape, generator=generator).exp()
    assert summary_of(*batch) == summary_of(*(part.reshape(-1) for part in batch))
