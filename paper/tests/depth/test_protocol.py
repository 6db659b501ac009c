"""One training of depth regression, as the sweep engine runs it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("transformers")

from betanll_paper.depth.figures import contrasting_part
from betanll_paper.depth.protocol import (
    NYU_VARIABLE,
    PRESETS,
    RUNS_VARIABLE,
    depth_tasks,
    packed,
    unpacked,
)
from betanll_paper.published.depth import METRICS, ROWS, paper_lines
from betanll_paper.published.methods import Method


def test_a_training_gives_scores_and_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv(RUNS_VARIABLE, str(tmp_path))
    (task,) = depth_tasks(PRESETS["synthetic"]["smoke"], [Method("beta-nll:0.5")])
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
    monkeypatch.delattr("betanll_paper.depth.training._Training._updated")
    again, _ = task.run()
    assert {**again, "seconds": 0} == {**result, "seconds": 0}


def test_losses_without_a_variance_have_no_likelihood(monkeypatch):
    monkeypatch.delenv(RUNS_VARIABLE, raising=False)
    (task,) = depth_tasks(PRESETS["synthetic"]["smoke"], [Method("scale-invariant")])
    result, pictures = task.run()
    assert result["log_likelihood"] is None
    assert pictures["std"] == []


def test_real_images_are_cropped_as_usual(nyu_dir, monkeypatch):
    monkeypatch.setenv(NYU_VARIABLE, str(nyu_dir))
    monkeypatch.delenv(RUNS_VARIABLE, raising=False)
    preset = replace(PRESETS["nyuv2"]["smoke"], length={"": 2})
    (task,) = depth_tasks(preset, [Method("beta-nll:0.5")])
    result, pictures = task.run()
    assert result["data"] == "nyuv2"
    assert all(np.isfinite(result[name]) for name in METRICS)
    assert (pictures["height"], pictures["width"]) == (480, 640)


@pytest.mark.parametrize(("name", "card"), [(3, 1), ("host-3", 0), (None, 0)])
def test_workers_share_the_cards(monkeypatch, name, card):
    class Taken(Exception):
        pass

    def set_device(number):
        raise Taken(number)

    def get_worker():
        if name is None:
            raise ValueError("No worker found")
        return SimpleNamespace(name=name)

    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.set_device", set_device)
    monkeypatch.setattr("distributed.get_worker", get_worker)
    (task,) = depth_tasks(PRESETS["synthetic"]["smoke"], [Method("mse")])
    with pytest.raises(Taken, match=f"^{card}$"):
        task.run()


def test_the_enlarged_part_has_measurements():
    depth = np.zeros((9, 12))
    depth[8, 11] = 2.0
    rows, columns = contrasting_part(depth)
    assert depth[rows, columns].shape == (3, 4)
    assert depth[rows, columns].any()


def test_arrays_survive_being_text():
    values = np.arange(12, dtype=np.float16).reshape(3, 4)
    assert np.array_equal(unpacked(packed(values), np.float16, (3, 4)), values)


def test_the_paper_has_a_line_for_each_of_our_losses():
    lines = {line.method: line for line in paper_lines()}
    assert set(ROWS) <= set(lines)
    assert len(lines) == 11
    assert lines[Method("beta-nll:0.5")].numbers["rmse"] == "0.3789"
    assert lines[Method("mse")].numbers["log_likelihood"] == ""
