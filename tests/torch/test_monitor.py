"""PitfallMonitor on tensors, and the page docs/monitor.md from top to bottom."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import betanll.diagnostics  # noqa: E402
import betanll.torch  # noqa: E402
from betanll.torch import PitfallMonitor  # noqa: E402

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "monitor.md"


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


def run_page(monkeypatch, n_blocks):
    """Return the names of the page after its code, with a Lightning in name only."""
    lightning, pytorch = ModuleType("lightning"), ModuleType("lightning.pytorch")
    lightning.pytorch, pytorch.Callback = pytorch, type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "lightning", lightning)
    monkeypatch.setitem(sys.modules, "lightning.pytorch", pytorch)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(blocks) == 4
    names = {}
    torch.manual_seed(0)
    for block in blocks[:n_blocks]:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_code_of_the_page_prints_what_it_says(monkeypatch, capsys):
    page = run_page(monkeypatch, 4)
    summary, verdict = capsys.readouterr().out.splitlines()
    assert "'n_updates': 200.0" in summary
    assert verdict == "True"
    assert page["checkpoint"]["monitor"]["n_updates"] == 200


def test_lightning_callback_of_the_page(monkeypatch):
    page = run_page(monkeypatch, 3)
    callback = page["PitfallCallback"](beta=0.0, every=2)
    logged = []
    trainer = SimpleNamespace(log_every_n_steps=3)
    module = SimpleNamespace(log_dict=logged.append)

    def call_hook(outputs, batch, batch_idx):
        # As lightning.pytorch.trainer.call does: by position.
        callback.on_train_batch_end(trainer, module, outputs, batch, batch_idx)

    mean, variance, target = tensors()
    x = torch.zeros(40, 1)
    outputs = {"loss": torch.tensor(0.0), "mean": mean, "variance": variance}
    for batch_idx in range(6):
        call_hook(outputs, (x, target), batch_idx)
    call_hook({}, (x, target), 6)  # training_step returned None
    assert len(logged) == 2
    assert logged[-1]["pitfall/n_updates"] == 6
    direct = summary_of(mean, variance, target)
    for name in ("starved_fraction", "rmse"):
        assert logged[-1][f"pitfall/{name}"] == pytest.approx(direct[name])
    other = page["PitfallCallback"](beta=0.0, every=2)
    other.load_state_dict(callback.state_dict())
    assert other.monitor.summary() == callback.monitor.summary()
