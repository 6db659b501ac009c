"""The code of README.md and of the guide pages, run from top to bottom."""

import re
from pathlib import Path

import numpy as np
import pytest

from betanll.distributions import Normal
from betanll.metrics import log_likelihood, rmse
from betanll.networks import MLP
from betanll.training import fit

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def code_of(path):
    """Return the Python blocks of a Markdown page."""
    return re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.M | re.S)


def run(path):
    """Run the blocks of a page one after the other and return their names."""
    names = {}
    for block in code_of(path):
        exec(compile(block, str(path), "exec"), names)
    return names


def numbers_of(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


@pytest.mark.torch
def test_code_of_the_readme_runs(capsys):
    pytest.importorskip("torch")
    assert len(code_of(README)) == 4
    names = run(README)
    *first, gradient = capsys.readouterr().out.splitlines()[:4]
    # Other machines round otherwise, so that a training ends a little elsewhere.
    shown = re.search(r"^```text\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    expected = numbers_of(shown.group(1))
    assert len(expected) == 18
    np.testing.assert_allclose(numbers_of("\n".join(first)), expected, atol=0.3)
    # (0 - 1) / 4 ** 0.5
    assert gradient == "[-0.5]"
    assert names["best"].status in ("stopped", "completed")


def test_code_of_the_loss_page_runs():
    assert run(ROOT / "docs" / "reference" / "losses.md")["losses"]


def test_code_of_the_training_page_reaches_the_noise():
    names = run(ROOT / "docs" / "how-to" / "train-networks.md")
    # The mean is nearly the true one, and the learnt spread, which grows with x, is
    # worth more than the true mean with the best constant spread.
    x, y = (names[name][names["test"]] for name in ("x", "y"))
    true_mean = x * np.sin(x)
    noise = rmse(true_mean, y)
    constant = Normal(true_mean, np.full_like(y, noise))
    prediction = names["prediction"]
    assert rmse(prediction.mean, y) < 1.1 * noise
    assert log_likelihood(prediction, y) > log_likelihood(constant, y)


def test_code_of_the_estimator_page_shows_what_it_says(capsys):
    names = run(ROOT / "docs" / "reference" / "estimator.md")
    assert names["interval"].shape == (len(names["X_test"]), 2)
    assert names["model"].beta_ in (0, 0.25, 0.5, 0.75, 1)
    assert names["display"].figure_ is not None
    # Every number that the page prints is one.
    score, log_likelihood, *_ = capsys.readouterr().out.split("\n")
    assert 0.2 < float(score) < 1
    assert float(log_likelihood) < 0


def test_objective_of_the_architecture_page_trains():
    annealed = run(ROOT / "docs" / "explanation" / "architecture.md")["Annealed"]

    x = np.linspace(-1, 1, 50)[:, None]
    result = fit(MLP(1, (8,)), annealed, x, x, max_epochs=5)
    assert result.status == "completed"


def test_links_of_the_readme_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8"))
    local = [target for target in targets if "://" not in target]
    assert local
    for target in local:
        assert (README.parent / target).exists(), target


def test_code_of_the_doctors_page_runs(capsys):
    names = run(ROOT / "docs" / "how-to" / "diagnose.md")
    assert not names["diagnosis"].pitfall
    assert names["evidence"].pitfall
    assert capsys.readouterr().out.startswith("No: likelihood training")
