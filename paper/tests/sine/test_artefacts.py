"""From tasks to files, with the trainings of the smallest preset."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from betanll.sweeps import Store
from betanll_paper.sine import figure_tasks, write_figures
from betanll_paper.sine.artefacts import FIGURES

TABLES = {
    "fig1": ["-fit", "-runs"],
    "fig2": ["-probability", "-jacobian"],
    "fig8": ["-ratios"],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store that keeps the results of the tests before."""
    with Store(tmp_path_factory.mktemp("store") / "sweep.db") as opened:
        yield opened


def results(store, name):
    """Return the rows of a figure; what has no result is trained in this process."""
    tasks = figure_tasks([name], "smoke")
    for task in tasks:
        if task.key not in store.done():
            store.add_result(task, task.run(), seconds=0.0)
    return store.rows(tasks)


# In an order in which none trains for long.
@pytest.mark.parametrize(
    "name",
    [
        *("fig2", "fig3", "fig4", "fig5", "figS1", "fig1"),
        *("fig7", "figS3", "figS2", "fig8"),
    ],
)
def test_a_figure_from_tasks_to_files(store, tmp_path, name):
    rows = results(store, name)
    paths = write_figures(store, tmp_path, [name], preset="smoke")
    ends = [".png", ".svg", ".csv", *(f"{end}.csv" for end in TABLES.get(name, []))]
    assert [path.name for path in paths] == [f"{name}{end}" for end in ends]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    image = Image.open(paths[0])
    assert image.info["dpi"] == pytest.approx((150, 150), abs=0.1)
    assert 900 < image.width < 1700
    # White wherever the page may be dark.
    assert image.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
    svg = paths[1].read_text("utf-8")
    assert "Shortened run (preset smoke)" in svg
    assert "<dc:date>" not in svg
    assert max(path.stat().st_size for path in paths) < 500_000
    for path in paths[2:]:
        assert len(pd.read_csv(path))
    # The rows themselves give the same, also among others; bytes are reproducible.
    before = [path.read_bytes() for path in paths]
    other = {**rows[0], "seed": 77}
    write_figures([other, *rows], tmp_path, [name], preset="smoke")
    assert [path.read_bytes() for path in paths] == before


def test_probabilities_of_the_file_are_of_a_thousand_points(store, tmp_path):
    results(store, "fig5")
    write_figures(store, tmp_path, ["fig5"], preset="smoke")
    table = pd.read_csv(tmp_path / "fig5.csv").set_index("update")
    assert table.shape[1] == 200
    assert table.columns[0] == "x=0"
    # Each fifth of numbers that sum up to one, and are smooth.
    np.testing.assert_allclose(5 * table.sum(axis=1), 1, atol=0.02)


def test_heavy_artists_are_pixels(store, tmp_path):
    results(store, "fig4")
    paths = write_figures(store, tmp_path, ["fig4"], preset="smoke")
    assert paths[1].read_text("utf-8").count("<image") >= 3
    assert paths[1].stat().st_size < 150_000


def test_faults(store, tmp_path):
    with pytest.raises(ValueError, match="must be among fig1, fig2"):
        figure_tasks(["fig6"], "smoke")
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="no task of fig1 has a result"):
        write_figures([], out, ["fig1"], preset="smoke")
    # Those of another preset are no results.
    rows = results(store, "fig3")
    with pytest.raises(ValueError, match="no task of fig3 has a result"):
        write_figures(rows, out, ["fig3"], preset="laptop")
    assert not out.exists()


def test_each_figure_is_in_the_list():
    assert list(FIGURES) == [
        *("fig1", "fig2", "fig3", "fig4", "fig5", "fig7", "fig8"),
        *("figS1", "figS2", "figS3"),
    ]
    for preset in ("smoke", "laptop", "paper"):
        tasks = figure_tasks(FIGURES, preset)
        assert len({task.key for task in tasks}) == len(tasks)


def test_a_training_that_diverged_early_does_not_withhold_other_figures(
    store, tmp_path
):
    rows = results(store, "fig3")
    short = [row for row in rows if row["kind"] in ("summary", "curve")]
    with pytest.raises(ValueError, match="fig4 cannot be drawn: the training diverged"):
        write_figures(short, tmp_path, ["fig4", "fig3"], preset="smoke")
    assert (tmp_path / "fig3.png").exists()
    assert not (tmp_path / "fig4.png").exists()
    # Figure 2 shows none of the times at which these were recorded.
    early = [row for row in rows if row.get("update") == 10]
    with pytest.raises(ValueError, match="diverged after 10 updates"):
        write_figures([*short, *early], tmp_path, ["fig2"], preset="smoke")
