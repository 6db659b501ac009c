"""The code and the links of README.md and of the pages."""

import re
from pathlib import Path

import numpy as np
import pytest

from betanll.distributions import Normal
from betanll.metrics import log_likelihood, rmse
from betanll.networks import MLP
from betanll.training import fit

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "paper/*.md", "paper/docs/**/*.md")
    for path in ROOT.glob(pattern)
    if "_build" not in path.parts
)
#: Pages whose code only has to run.
PLAIN = (
    "docs/explanation/beta-nll.md",
    "docs/explanation/uncertainty.md",
    "docs/how-to/calibrate.md",
    "docs/how-to/choose-beta.md",
    "docs/how-to/compare.md",
    "docs/how-to/explain.md",
    "docs/how-to/migrate.md",
    "docs/how-to/splits.md",
    "docs/how-to/targets.md",
)
TESTED = (
    "README.md",
    "docs/explanation/architecture.md",
    "docs/how-to/deploy.md",
    "docs/how-to/diagnose.md",
    "docs/how-to/extend.md",
    "docs/how-to/monitor.md",
    "docs/how-to/pytorch.md",
    "docs/how-to/train-networks.md",
    "docs/reference/estimator.md",
    "docs/reference/losses.md",
    "paper/docs/vae.md",
)
#: Its code trains a network for many minutes.
TOO_LONG = ("paper/docs/depth.md",)


def numbers_of(text):
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


def test_the_code_of_every_page_is_run():
    pages = [
        page for page in PAGES if "```python\n" in (ROOT / page).read_text("utf-8")
    ]
    assert sorted(PLAIN + TESTED + TOO_LONG) == pages


@pytest.mark.parametrize("page", PLAIN)
def test_code_runs(run_page, page):
    assert len(run_page(page)) > 2


@pytest.mark.torch
def test_code_of_the_readme_runs(run_page, capsys):
    pytest.importorskip("torch")
    run_page("README.md")
    *first, gradient = capsys.readouterr().out.splitlines()
    # Other machines round otherwise, so that a training ends a little elsewhere.
    text = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    expected = numbers_of(shown.group(1))
    assert len(expected) == 18
    np.testing.assert_allclose(numbers_of("\n".join(first)), expected, atol=0.3)
    # (0 - 1) / 4 ** 0.5
    assert gradient == "[-0.5]"


def test_code_of_the_loss_page_runs(run_page):
    assert run_page("docs/reference/losses.md")["losses"]


def test_code_of_the_training_page_reaches_the_noise(run_page):
    names = run_page("docs/how-to/train-networks.md")
    # The mean is nearly the true one, and the learnt spread, which grows with x, is
    # worth more than the true mean with the best constant spread.
    x, y = (names[name][names["test"]] for name in ("x", "y"))
    true_mean = x * np.sin(x)
    noise = rmse(true_mean, y)
    constant = Normal(true_mean, np.full_like(y, noise))
    prediction = names["prediction"]
    assert rmse(prediction.mean, y) < 1.1 * noise
    assert log_likelihood(prediction, y) > log_likelihood(constant, y)


def test_code_of_the_estimator_page_shows_what_it_says(run_page, capsys):
    names = run_page("docs/reference/estimator.md")
    assert names["interval"].shape == (len(names["X_test"]), 2)
    assert names["display"].figure_ is not None
    # Every number that the page prints is one.
    score, log_likelihood = map(float, capsys.readouterr().out.split())
    assert 0.2 < score < 1
    assert log_likelihood < 0


@pytest.mark.torch
def test_the_page_on_deployment_exports_the_same_predictions(run_page):
    pytest.importorskip("torch")
    names = run_page("docs/how-to/deploy.md")
    mean, std = names["model"].predict(names["X"], return_std=True)
    for exported, expected in ((names["mean"], mean), (names["std"], std)):
        np.testing.assert_allclose(exported.detach(), expected, rtol=1e-4, atol=1e-5)


def test_objective_of_the_architecture_page_trains(run_page):
    annealed = run_page("docs/explanation/architecture.md")["Annealed"]

    x = np.linspace(-1, 1, 50)[:, None]
    result = fit(MLP(1, (8,)), annealed, x, x, max_epochs=5)
    assert result.status == "completed"


def test_code_of_the_doctors_page_runs(run_page, capsys):
    names = run_page("docs/how-to/diagnose.md")
    assert not names["diagnosis"].pitfall
    assert names["evidence"].pitfall
    assert capsys.readouterr().out.startswith("No: training with NLL")


@pytest.mark.parametrize("page", PAGES)
def test_links_exist(page):
    path = ROOT / page
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text("utf-8"))
    for target in targets:
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_every_public_module_has_a_place_in_the_reference():
    source = ROOT / "src"
    public = {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        for path in source.rglob("*.py")
    }
    public = {
        name
        for name in public
        if not any(part.startswith("_") for part in name.split("."))
    }
    # Commands are described by what they print; the front door is what the rest is.
    commands = {
        f"betanll.cli.{path.stem}" for path in (source / "betanll/cli").glob("*.py")
    }
    pages = (ROOT / "docs/reference/api").glob("*.md")
    described = {
        name
        for page in pages
        for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8"))
    }
    commands -= {f"betanll.cli.{name}" for name in ("options", "output", "sweeping")}
    # All its names are those of betanll.reports.
    exempt = {"betanll", "betanll.cli", "betanll.reports.page"}
    assert public - described == exempt | (commands & public)
