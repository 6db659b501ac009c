"""``betanll reproduce`` with figures, which need no data."""

import pytest

from betanll.sweeps import Store, SweepReport
from betanll_paper.commands.reproduce import EXPERIMENTS
from betanll_paper.published import Method
from betanll_paper.sine.grid import grid_tasks
from betanll_paper.uci import UCITables
from betanll_paper.uci.protocol import uci_tasks
from betanll_paper.uci.tables import TABLES

FIG7 = ("reproduce", "fig7", "--preset", "smoke")


@pytest.fixture(autouse=True)
def _no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path / "nothing"))


@pytest.fixture
def sweep(replace_sweep):
    """The lists of tasks that the engine would be given."""
    return replace_sweep(lambda task: [row_of(task)])


def row_of(task):
    settings = dict(task.settings)
    if "split" in settings:
        return {**settings, "log_likelihood": -1.0, "rmse": 1.0}
    return {"kind": "final", **settings, "rmse": 0.1, "nll": None}


def test_names_are_those_of_the_library():
    names = [name for one in EXPERIMENTS for name in one.artefacts]
    assert len(set(names)) == len(names) == 24
    assert sorted(TABLES) == sorted(UCITables.artefacts)


def test_figures_without_any_data(run, sweep, tmp_path):
    out = tmp_path / "out"
    outcome = run(*FIG7, "figS3", "fig7", "--out", out)
    assert outcome.code == 0, outcome
    (tasks,) = sweep
    assert tasks == grid_tasks("smoke")
    written = [
        f"{name}.{end}" for name in ("fig7", "figS3") for end in ("png", "svg", "csv")
    ]
    assert outcome.out.splitlines() == [
        "12 tasks in 1 s; 0 had results before.",
        *(str(out / name) for name in written),
    ]
    assert {path.name for path in out.iterdir()} - {"sweep.db"} == set(written)


def test_figures_and_tables_together(run, sweep, data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(data_dir))
    options = ("--dataset", "yacht", "--method", "mse", "--out", tmp_path)
    outcome = run(*FIG7, "tableS2", *options)
    assert outcome.code == 0, outcome
    (tasks,) = sweep
    of_tables = uci_tasks("smoke", methods=[Method("mse")], datasets=["yacht"])
    assert tasks == [*of_tables, *grid_tasks("smoke")]
    for name in ("runs.csv", "tableS2.html", "fig7.svg"):
        assert (tmp_path / name).is_file()
        assert str(tmp_path / name) in outcome.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "yacht"], "--dataset concerns nothing"),
        (
            ["--method", "mse", "--data-dir", "."],
            "--method and --data-dir concern nothing",
        ),
    ],
)
def test_options_of_tables_are_refused(refused, sweep, tmp_path, options, message):
    out = tmp_path / "out"
    assert message in refused(*FIG7, *options, "--out", out)
    assert not sweep
    assert not out.exists()


def test_bad_input_is_refused(refused, sweep, tmp_path):
    assert "'fig99' is not one of" in refused("reproduce", "fig99")
    assert "'--preset'" in refused("reproduce", "fig1", "--preset", "huge")
    # A table asks for its data before anything is computed, also beside a figure.
    assert "is missing" in refused(*FIG7, "table1", "--out", tmp_path / "out")
    assert not sweep


def test_a_figure_without_results_is_told(refused, monkeypatch, tmp_path):
    nothing = SweepReport(0, 0, 0, 0, 1.0)
    monkeypatch.setattr("betanll.sweeps.run_sweep", lambda *_, **__: nothing)
    assert "fig7 cannot be written: no task has a result" in refused(
        *FIG7, "--out", tmp_path
    )


@pytest.mark.cluster
def test_workers_train_and_the_next_figure_needs_no_training(run, tmp_path):
    options = ("--preset", "smoke", "--workers", 1, "--out", tmp_path)
    outcome = run("reproduce", "fig3", *options)
    assert outcome.code == 0, outcome
    assert outcome.out.startswith("1 tasks in ")
    outcome = run("reproduce", "fig4", "fig5", *options)
    assert outcome.out.startswith("0 tasks in 0 s; 1 had results before.")
    with Store(tmp_path / "sweep.db") as store:
        assert len(store.done()) == 1
