"""The code of the guide pages, run from top to bottom."""

import re
from pathlib import Path

import numpy as np

from betanll_paper.autoencoders import VAE

PAGES = Path(__file__).parents[1] / "docs"


def run(path):
    """Run the Python blocks of a page one after the other and return their names."""
    names = {}
    text = path.read_text("utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        exec(compile(block, str(path), "exec"), names)
    return names


def test_code_of_the_page_on_images_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(PAGES / "vae.md")
    model, images = names["model"], names["images"][1500:]
    assert names["mean"].shape == names["std"].shape == images.shape
    assert names["code"].shape == (297, 10)
    assert names["new"].shape == (5, 8, 8)
    assert model.collapse_ratio(images) < 0.8
    again = VAE.load("digits").reconstruct(images)
    np.testing.assert_array_equal(again, (names["mean"], names["std"]))
