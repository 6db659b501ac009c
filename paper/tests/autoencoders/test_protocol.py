"""Autoencoders on images: the trainings, their rows, tables and the figure."""

import json
import math

import numpy as np
import pytest

from betanll.objectives import BetaNLL, MomentMatching
from betanll_paper.autoencoders import VAE
from betanll_paper.autoencoders import figures as _vae_figures
from betanll_paper.autoencoders import protocol as _vae
from betanll_paper.autoencoders.figures import figS5
from betanll_paper.autoencoders.protocol import (
    AVERAGED,
    PICTURES,
    PRESETS,
    decoded,
    train,
    vae_tasks,
)
from betanll_paper.autoencoders.tables import compare_vae, table_files
from betanll_paper.datasets import ImageSet
from betanll_paper.drawing.marks import NothingToDraw
from betanll_paper.published import Method
from betanll_paper.published.autoencoders import (
    DATASETS,
    N_LATENT,
    ROWS,
    SELECTED,
    paper_cells,
)

SMALL = {
    "dataset": "mnist",
    "method": "beta-nll",
    "beta": 0.5,
    "seed": 0,
    "epochs": 2,
    "n_images": 40,
}


def bars(n=60, seed=0):
    """Images of bars whose place is their label."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n, dtype=np.uint8) % 10
    images = rng.integers(0, 40, (n, 28, 28), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[2 * label : 2 * label + 4] = 200
    return images, labels


@pytest.fixture
def images(monkeypatch):
    """Sixty training and twenty test images in the place of MNIST."""
    some = ImageSet("mnist", *bars(), *bars(20, seed=1))
    for module in (_vae, _vae_figures):
        monkeypatch.setattr(module, "load_images", lambda name: some)
    return some


def test_the_paper_has_all_rows():
    keys = {(dataset, method) for dataset in DATASETS for method in ROWS}
    assert len(ROWS) == 12
    assert set(paper_cells("rmse")) == set(paper_cells("ll")) == keys
    assert set(SELECTED) < set(ROWS)


def test_tasks_are_those_of_the_preset():
    tasks = [dict(task.settings) for task in vae_tasks(PRESETS["paper"])]
    assert len(tasks) == 13 * 2 * 5
    assert {task["epochs"] for task in tasks} == {1000}
    short = {
        task["method"]: task["epochs"]
        for task in map(settings, vae_tasks(PRESETS["laptop"]))
    }
    assert short["vbem"] < short["beta-nll"]
    # The slow ones begin.
    assert settings(vae_tasks(PRESETS["laptop"])[0])["method"] == "xvamp"


def settings(task):
    return dict(task.settings)


def test_models_are_the_papers():
    model = _vae._model("fashion-mnist", Method("beta-nll:0.25"), 40, 3)
    assert model.objective == BetaNLL(0.25)
    assert model.n_latent == N_LATENT["fashion-mnist"] == 25
    assert model.hidden_layer_sizes == (512, 256, 128)
    assert (model.batch_size, model.learning_rate_init) == (256, 3e-4)
    assert (model.n_iter_no_change, model.validate_every) == (50, 5)
    assert (model.reduction, model.random_state) == ("sum", 3)
    summed = _vae._model("mnist", Method("mm"), 40, 0)
    averaged = _vae._model("mnist", AVERAGED, 40, 0)
    assert (summed.objective, summed.reduction) == (MomentMatching(), "sum")
    assert (averaged.objective, averaged.reduction) == ("mm", "mean")


def test_a_training_is_tested_on_other_images(images, monkeypatch):
    seen = {}
    fit, evaluate = _vae.VAE.fit, _vae.VAE.evaluate

    def spy_fit(self, X, *, validation):
        seen["train"], seen["validation"] = X, validation
        return fit(self, X, validation=validation)

    def spy_evaluate(self, X, n_samples, *seed):
        seen["test"], seen["n_samples"] = X, n_samples
        return evaluate(self, X, n_samples, *seed)

    monkeypatch.setattr(_vae.VAE, "fit", spy_fit)
    monkeypatch.setattr(_vae.VAE, "evaluate", spy_evaluate)
    row, pictures = train(**SMALL)
    first, second = images.split()
    np.testing.assert_array_equal(seen["train"], images.train_images[first[:40]])
    np.testing.assert_array_equal(seen["validation"], images.train_images[second])
    np.testing.assert_array_equal(seen["test"], images.test_images)
    assert seen["n_samples"] == 20
    assert row["kind"] == "result"
    assert 0 < row["rmse"] < 1
    assert math.isfinite(row["log_likelihood"])
    assert row["n_epochs"] == 2
    assert pictures["kind"] == "pictures"
    for name in PICTURES:
        assert decoded(pictures[name]).shape == (10, 28, 28)
    json.dumps([row, pictures], allow_nan=False)
    drawing = figS5([row, pictures], "smoke")
    titles = [ax.get_title(loc="left") for ax in drawing.figure.axes]
    assert f"β-NLL, β = 0.5: RMSE {row['rmse']:.3f}" in titles[1]
    labels = [text.get_text() for text in drawing.figure.axes[1].get_yticklabels()]
    assert labels == [
        "mean",
        "standard\ndeviation",
        "posterior\nsample",
        "prior\nsample",
    ]
    shown = drawing.figure.axes[1].images[0].get_array()
    np.testing.assert_array_equal(shown[:28, :28], decoded(pictures["mean"])[0])
    inputs = drawing.figure.axes[0].images[0].get_array()
    np.testing.assert_array_equal(inputs[:, :28], images.test_images[0])


def test_only_the_first_seed_keeps_pictures(images):
    (row,) = train(**{**SMALL, "seed": 1})
    assert row["kind"] == "result"


def test_a_training_that_diverges_at_once_has_a_row(images, monkeypatch):
    monkeypatch.setattr(_vae, "_model", lambda *_: VAE(learning_rate_init=1e30))
    (row,) = train(**SMALL)
    assert (row["status"], row["rmse"], row["log_likelihood"]) == (
        *("diverged", None),
        None,
    )
    page = table_files("tableS3", [row], "smoke")["tableS3.md"].decode()
    assert "| not finite |" in page


def test_a_score_that_is_not_finite_is_drawn(images):
    row, pictures = train(**SMALL)
    row["log_likelihood"] = None
    drawing = figS5([row, pictures], "smoke")
    title = drawing.figure.axes[1].get_title(loc="left")
    assert title.endswith("log-likelihood not finite")


def result(dataset, method, seed, *, shift=0.0, is_collapsed=False):
    published = Method("mm") if method == AVERAGED else method
    rmse, ll = (paper_cells(m)[dataset, published].mean for m in ("rmse", "ll"))
    return {
        "kind": "result",
        "dataset": dataset,
        "method": method.name,
        "beta": method.beta,
        "seed": seed,
        "rmse": rmse + shift + 1e-5 * seed,
        "log_likelihood": ll + seed,
        "n_epochs": 40,
        "status": "completed",
        "is_collapsed": is_collapsed,
    }


def results(**changes):
    return [
        result(dataset, method, seed, **changes)
        for dataset in DATASETS
        for method in (*ROWS, AVERAGED)
        for seed in (0, 1)
    ]


def test_cells_agree_or_not():
    verdicts = {
        (cell.metric, cell.method): cell.verdict
        for cell in compare_vae(results())
        if cell.dataset == "mnist"
    }
    for method in ROWS:
        for metric in ("rmse", "ll"):
            expected = "not in paper" if method == Method("mm") else "agrees"
            assert verdicts[metric, method] == expected
    # The published moment matching averages, and its likelihood is not one.
    assert verdicts["rmse", AVERAGED] == "agrees"
    assert verdicts["ll", AVERAGED] == "not in paper"
    worse = compare_vae(results(shift=0.1))
    assert {c.verdict for c in worse if c.metric == "rmse" and c.paper} == {"worse"}


def test_tables_say_what_was_run():
    rows = results()
    rows[-1]["is_collapsed"] = True
    rows[0]["status"] = "diverged"
    files = table_files("tableS3", rows[::-1], "laptop")
    lines = files["tableS3.csv"].decode().splitlines()
    head = "dataset,method,beta,seed,rmse,log_likelihood,epochs,status,is_collapsed"
    assert lines[0] == head
    assert lines[1].startswith("mnist,fixed-variance,,0,0.153,-730,40,")
    assert len(lines) == 1 + 2 * 13 * 2
    page = files["tableS3.md"].decode()
    assert (
        "Shortened run: 2 epochs of xVAMP and VBEM instead of 1,000; 40 epochs of the "
        "others instead of 1,000; 1 seed instead of 5."
    ) in page
    assert "mean image: Moment matching, pixels averaged on Fashion-MNIST." in page
    assert "Diverged in a run: Fixed variance on MNIST." in page
    assert "46 of 46 cells agree" in page
    assert page.count("± 1 | – | – not comparable |") == 2
    assert "| Fixed variance | 0.153 ± 0.000 | 0.153 ± 0.002 | ✓ agrees |" in page
    selected = table_files("table3-vae", rows, "paper")["table3-vae.csv"].decode()
    assert len(selected.splitlines()) == 1 + 2 * 6 * 2
    assert (
        "Shortened"
        not in table_files("table3-vae", rows, "paper")["table3-vae.md"].decode()
    )
    with pytest.raises(NothingToDraw, match="no run has a result"):
        table_files("tableS3", [], "laptop")
