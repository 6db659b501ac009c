"""The code of the guide pages, run from top to bottom."""

import numpy as np

from betanll_paper.autoencoders import VAE


def test_code_of_the_page_on_images_runs(run_page):
    names = run_page("paper/docs/vae.md")
    model, images = names["model"], names["images"][1500:]
    assert names["mean"].shape == names["std"].shape == images.shape
    assert names["code"].shape == (297, 10)
    assert names["new"].shape == (5, 8, 8)
    assert model.collapse_ratio(images) < 0.8
    again = VAE.load("digits").reconstruct(images)
    np.testing.assert_array_equal(again, (names["mean"], names["std"]))
