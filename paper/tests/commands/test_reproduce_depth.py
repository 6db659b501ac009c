"""Tables and the figure of depth regression on the command line."""

import os

import numpy as np
import pandas as pd
import pytest

import betanll.sweeps
from betanll.sweeps import SweepReport
from betanll_paper.depth.protocol import (
    NYU_VARIABLE,
    PRESETS,
    RUNS_VARIABLE,
    depth_tasks,
    packed,
)
from betanll_paper.published.depth import METRICS, SELECTED
from betanll_paper.published.methods import Method

pytest.importorskip("transformers")


@pytest.fixture
def sweep(replace_sweep):
    """The lists of tasks that the engine would be given."""
    return replace_sweep(rows_of)


@pytest.fixture
def told(sweep, monkeypatch):
    """What workers of each sweep find in their environment."""
    replaced, found = betanll.sweeps.run_sweep, []

    def run_sweep(*arguments, **options):
        found.append([os.environ[name] for name in (NYU_VARIABLE, RUNS_VARIABLE)])
        return replaced(*arguments, **options)

    monkeypatch.setenv(NYU_VARIABLE, "of the user")
    monkeypatch.delenv(RUNS_VARIABLE, raising=False)
    monkeypatch.setattr("betanll.sweeps.run_sweep", run_sweep)
    yield found
    # Only for the time of the run.
    assert os.environ[NYU_VARIABLE] == "of the user"
    assert RUNS_VARIABLE not in os.environ


def rows_of(task):
    settings = dict(task.settings)
    described = {name: settings[name] for name in ("data", "method", "beta", "seed")}
    scores = {name: 0.5 for name in METRICS}
    if settings["method"] != "beta-nll":
        scores["log_likelihood"] = None
    depth = packed(np.ones((6, 8), np.float16))
    pictures = {
        "height": 6,
        "width": 8,
        "image": [packed(np.zeros((6, 8, 3), np.uint8))],
        "depth": [depth],
        "mean": [depth],
        "std": [depth] if settings["method"] == "beta-nll" else [],
    }
    return [
        {"kind": "result", **described, **scores, "best_update": 2, "updates": 4},
        {"kind": "pictures", **described, **pictures},
    ]


def test_tables_and_the_figure_are_written(run, sweep, told, tmp_path):
    command = ("reproduce", "tableS4", "table3-depth", "figS6", "--preset", "smoke")
    outcome = run(*command, "--out", tmp_path)
    assert outcome.code == 0, outcome
    assert sweep == [depth_tasks(PRESETS["synthetic"]["smoke"])]
    table = pd.read_csv(tmp_path / "tableS4.csv")
    assert list(table) == ["data", "method", "beta", *METRICS]
    assert len(table) == 8
    assert set(table["data"]) == {"synthetic"}
    assert len(pd.read_csv(tmp_path / "table3-depth.csv")) == len(SELECTED)
    for name in ("tableS4.md", "tableS4.html"):
        text = (tmp_path / name).read_text()
        assert "Synthetic data" in text
        assert "not to be compared" in text
    for name in ("figS6.png", "figS6.svg", "figS6.csv"):
        assert (tmp_path / name).stat().st_size
    assert told == [["", str(tmp_path / "depth-runs")]]


def test_a_table_of_few_methods_trains_no_others(run, sweep, tmp_path):
    options = ("--preset", "smoke", "--out", tmp_path)
    outcome = run("reproduce", "table3-depth", "--method", "beta-nll", *options)
    assert outcome.code == 0, outcome
    betas = [Method(f"beta-nll:{beta}") for beta in (0.0, 0.5, 1.0)]
    assert sweep == [depth_tasks(PRESETS["synthetic"]["smoke"], betas)]


@pytest.fixture
def no_weights(monkeypatch):
    """The sources of encoders whose weights are wanted, which are not downloaded."""
    sources = []

    def make_network(source, *, has_variance):
        sources.append(source)

    monkeypatch.setattr("betanll_paper.depth.protocol.make_network", make_network)
    return sources


def test_real_images_are_trained_on_as_in_the_paper(
    run, sweep, told, nyu_dir, no_weights, tmp_path
):
    options = ("--nyu-dir", nyu_dir, "--out", tmp_path / "out")
    outcome = run("reproduce", "tableS4", "--method", "l1", *options)
    assert outcome.code == 0, outcome
    assert sweep == [depth_tasks(PRESETS["nyuv2"]["paper"], [Method("l1")])]
    assert told == [[str(nyu_dir), str(tmp_path / "out" / "depth-runs")]]
    assert no_weights == ["google/efficientnet-b5"]
    text = (tmp_path / "out" / "tableS4.md").read_text()
    assert "Ours, NYU Depth V2" in text
    assert "Warning:" not in text


@pytest.mark.parametrize("n_cards", [0, 2])
def test_real_images_have_a_worker_for_each_card(
    run, nyu_dir, tmp_path, monkeypatch, n_cards
):
    given = []

    def run_sweep(tasks, store, *, n_workers, **_):
        given.append(n_workers)
        return SweepReport(0, 0, 0, 0, 0.0)

    monkeypatch.setattr("betanll.sweeps.run_sweep", run_sweep)
    monkeypatch.setattr("torch.cuda.device_count", lambda: n_cards)
    command = ("reproduce", "tableS4", "--preset", "smoke", "--out", tmp_path / "out")
    run(*command)
    run(*command, "--nyu-dir", nyu_dir)
    run(*command, "--nyu-dir", nyu_dir, "--workers", 3)
    assert given == [None, max(1, n_cards), 3]


def test_images_that_cannot_be_tested_are_refused(
    refused, sweep, nyu_dir, no_weights, tmp_path
):
    cropped = "bedroom_crop/rgb_00000.jpg bedroom_crop/sync_depth_00000.png 518.8579\n"
    (nyu_dir / "nyudepthv2_test_files_with_gt.txt").write_text(cropped)
    options = ("--nyu-dir", nyu_dir, "--out", tmp_path / "out")
    for command in (("reproduce", "tableS4"), ("depth", "train")):
        assert "rgb_00000.jpg has 565 x 427 pixels, but the Eigen" in refused(
            *command, *options
        )
    assert not sweep


def test_bad_input_is_refused(refused, sweep, nyu_dir, tmp_path):
    out = ("--out", tmp_path / "out")
    smoke = ("--preset", "smoke", *out)
    nyu = ("--nyu-dir", nyu_dir)
    assert "give its folder as --nyu-dir" in refused(
        *("reproduce", "tableS4", "--preset", "paper", *out)
    )
    assert "without --nyu-dir" in refused(
        *("reproduce", "tableS4", "--preset", "laptop", *nyu, *out)
    )
    assert "there is no folder" in refused(
        *("reproduce", "figS6", "--nyu-dir", tmp_path / "nowhere", *out)
    )
    assert "--nyu-dir concerns nothing" in refused("reproduce", "fig1", *nyu, *smoke)
    assert "-1 is not a finite number of at least 0" in refused(
        *("reproduce", "tableS4", "--method", "beta-nll:-1", *smoke)
    )
    assert "not with xvamp" in refused(
        *("reproduce", "tableS4", "--method", "xvamp", *smoke)
    )
    assert "tableS3 can be made with mse" in refused(
        *("reproduce", "tableS3", "--method", "l1", *smoke)
    )
    assert "table3-depth shows none of the methods asked for" in refused(
        *("reproduce", "table3-depth", "--method", "beta-nll:0.25", *smoke)
    )
    (nyu_dir / "sync" / "basement" / "rgb_00050.jpg").unlink()
    message = refused("reproduce", "tableS4", *nyu, *out)
    assert "rgb_00050.jpg" in message
    assert not sweep
    assert not (tmp_path / "out").exists()
