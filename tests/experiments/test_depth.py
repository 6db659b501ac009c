"""One training of depth regression, as the sweep engine runs it."""

import numpy as np
import pytest

pytest.importorskip("transformers")

from betanll.experiments._depth import (
    PRESETS,
    RUNS_VARIABLE,
    depth_tasks,
    packed,
    unpacked,
)
from betanll.experiments._paper import Method
from betanll.experiments._paper_depth import METRICS, ROWS, paper_lines


def test_a_training_gives_scores_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv(RUNS_VARIABLE, str(tmp_path))
    (task,) = depth_tasks(PRESETS["smoke", "synthetic"], [Method("beta-nll", 0.5)])
    result, pictures = task.run()
    assert result["updates"] == 4
    assert 0 < result["best_update"] <= 4
    assert all(np.isfinite(result[name]) for name in METRICS)
    assert len(pictures["image"]) == len(pictures["std"]) == 4
    shape = pictures["height"], pictures["width"]
    mean = unpacked(pictures["mean"][0], np.float16, shape)
    assert shape == (36, 72)
    assert ((mean >= 0.001) & (mean <= 10)).all()
    assert {path.name for path in tmp_path.glob("*/*")} == {
        *("best.safetensors", "checkpoint.pt", "log.csv")
    }
    # What is there is not trained again.
    again, _ = task.run()
    assert {**again, "seconds": 0} == {**result, "seconds": 0}


def test_losses_without_a_variance_have_no_likelihood(monkeypatch):
    monkeypatch.delenv(RUNS_VARIABLE, raising=False)
    (task,) = depth_tasks(PRESETS["smoke", "synthetic"], [Method("scale-invariant")])
    result, pictures = task.run()
    assert result["log_likelihood"] is None
    assert pictures["std"] == []


def test_arrays_survive_being_text():
    values = np.arange(12, dtype=np.float16).reshape(3, 4)
    assert np.array_equal(unpacked(packed(values), np.float16, (3, 4)), values)


def test_the_paper_has_a_line_for_each_of_our_losses():
    lines = {line.method: line for line in paper_lines()}
    assert set(ROWS) <= set(lines)
    assert len(lines) == 11
    assert lines[Method("beta-nll", 0.5)].numbers["rmse"] == "0.3789"
    assert lines[Method("mse")].numbers["log_likelihood"] == ""
