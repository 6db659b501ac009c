"""From tasks to files, with the trainings of the smallest preset."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from betanll.sweeps import MissingResultsError, Request, Store, run_experiments
from betanll_paper.sine import SineFigures

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


def figure_tasks(names, preset):
    return SineFigures().tasks(Request(tuple(names), preset), None)


def write(store, folder, *names, preset="smoke"):
    """Write figures of what is stored; return the files."""
    request = Request(names, preset, folder=folder)
    return run_experiments(
        [SineFigures()], request, store=store, stored_only=True
    ).paths


class Given:
    """Results that consist of these rows."""

    def __init__(self, rows):
        self._rows = rows

    def rows(self, tasks):
        return self._rows


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
    results(store, name)
    paths = write(store, tmp_path, name)
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
    # Bytes are reproducible.
    before = [path.read_bytes() for path in paths]
    write(store, tmp_path, name)
    assert [path.read_bytes() for path in paths] == before


def test_probabilities_of_the_file_are_of_a_thousand_points(store, tmp_path):
    results(store, "fig5")
    write(store, tmp_path, "fig5")
    table = pd.read_csv(tmp_path / "fig5.csv").set_index("update")
    assert table.shape[1] == 200
    assert table.columns[0] == "x=0"
    # Each fifth of numbers that sum up to one, and are smooth.
    np.testing.assert_allclose(5 * table.sum(axis=1), 1, atol=0.02)


def test_heavy_artists_are_pixels(store, tmp_path):
    results(store, "fig4")
    paths = write(store, tmp_path, "fig4")
    assert paths[1].read_text("utf-8").count("<image") >= 3
    assert paths[1].stat().st_size < 150_000


def test_faults(store, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="must be among fig1, fig2"):
        write(store, out, "fig6")
    # Results of another preset do not count.
    results(store, "fig3")
    with pytest.raises(MissingResultsError, match="fig3 cannot be written: no task"):
        write(store, out, "fig3", preset="laptop")
    assert not out.exists()


def test_each_figure_is_in_the_list():
    assert list(SineFigures.artefacts) == [
        *("fig1", "fig2", "fig3", "fig4", "fig5", "fig7", "fig8"),
        *("figS1", "figS2", "figS3"),
    ]
    for preset in ("smoke", "laptop", "paper"):
        tasks = figure_tasks(SineFigures.artefacts, preset)
        assert len({task.key for task in tasks}) == len(tasks)


def test_a_training_that_diverged_early_does_not_withhold_other_figures(store):
    rows = results(store, "fig3")
    short = [row for row in rows if row["kind"] in ("summary", "curve")]
    request = Request(("fig2", "fig3", "fig4"), "smoke")
    match = "fig4 cannot be written: the run diverged"
    with pytest.raises(MissingResultsError, match=match):
        SineFigures().render("fig4", Given(short), request)
    assert "fig3.png" in SineFigures().render("fig3", Given(short), request)
    # Figure 2 shows none of the times at which these were recorded.
    early = [row for row in rows if row.get("update") == 10]
    with pytest.raises(MissingResultsError, match="diverged after 10 updates"):
        SineFigures().render("fig2", Given([*short, *early]), request)
