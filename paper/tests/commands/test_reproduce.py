import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from betanll import plugins
from betanll.sweeps import Store, SweepReport
from betanll_paper.commands import reproduce as reproduce
from betanll_paper.published import Method
from betanll_paper.uci.protocol import uci_tasks

YACHT = ("reproduce", "tableS1", "--preset", "smoke", "--dataset", "yacht")


@pytest.fixture(autouse=True)
def _data(data_dir, monkeypatch):
    monkeypatch.setenv("BETANLL_DATA", str(data_dir))


@pytest.fixture
def sweep(monkeypatch):
    """Replaces the engine: returns the list of calls; `sweep.act` is what they do."""

    class Sweep(list):
        def act(self, tasks, store):
            for task in tasks:
                store.add_result(task, [row_of(task)], seconds=0.1)
            return SweepReport(len(tasks), 0, 0, 0, 1.0)

        def __call__(self, tasks, store, **options):
            self.append((tasks, options))
            return self.act(tasks, store)

    fake = Sweep()
    monkeypatch.setattr("betanll.sweeps.run_sweep", fake)
    return fake


def row_of(task):
    settings = dict(task.settings)
    names = ("dataset", "method", "beta", "split")
    return {name: settings[name] for name in names} | {
        "log_likelihood": -1.0 - settings["split"],
        "rmse": 1.0,
        "learning_rate": 1e-3,
        "epochs": 4,
        "updates": 8,
        "seconds": 0.5,
    }


def test_tables_and_runs_are_written(run, sweep, data_dir, tmp_path):
    out = tmp_path / "out"
    outcome = run(*YACHT, "--method", "nll", "--method", "mse", "--out", out)
    assert outcome.code == 0, outcome
    assert "4 tasks in 1 s; 0 had results before." in outcome.out
    ((tasks, options),) = sweep
    methods = [Method("nll"), Method("mse")]
    assert tasks == uci_tasks("smoke", methods=methods, datasets=["yacht"])
    assert options == {
        **{"n_workers": None, "scheduler": None},
        **{"plugins": (), "progress": True},
    }
    assert len(pd.read_csv(out / "runs.csv")) == 4
    for path in re.findall(r"^/.*$", outcome.out, re.MULTILINE):
        assert Path(path).is_file()


def test_options_reach_the_engine(run, sweep, data_dir, tmp_path):
    options = ("--workers", 2, "--scheduler", "tcp://h:1", "--method", "beta-nll")
    assert run(*YACHT, *options, "--out", tmp_path).code == 0
    ((tasks, seen),) = sweep
    assert seen == {
        **{"n_workers": 2, "scheduler": "tcp://h:1"},
        **{"plugins": (), "progress": True},
    }
    betas = {dict(task.settings)["beta"] for task in tasks}
    assert betas == {0.0, 0.25, 0.5, 0.75, 1.0}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, from which plug-ins are imported."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("reproduce_plugin", None)


def test_plugins_are_imported_and_reach_the_engine(run, sweep, data_dir, here):
    (here / "reproduce_plugin.py").write_text("IS_IMPORTED = True\n")
    plugin = ("--plugin", "reproduce_plugin")
    assert run(*YACHT, *plugin, "--method", "mse").code == 0
    assert sys.modules["reproduce_plugin"].IS_IMPORTED
    ((_, seen),) = sweep
    assert seen["plugins"] == ("reproduce_plugin",)


OWN = """
from betanll.sweeps import Experiment, Task, task

@task
def count(*, number):
    return [{"number": number}]

class Counting(Experiment):
    name = "counting"
    artefacts = {"counts": "Numbers, one after the other."}
    presets = {"few": 2}

    def tasks(self, request, results):
        return [Task.of(count, number=i) for i in range(self.presets[request.preset])]

    def render(self, artefact, results, request):
        rows = results.rows(self.tasks(request, results))
        return {"counts.txt": str([row["number"] for row in rows]).encode()}
"""


def test_plugins_bring_experiments(run, replace_sweep, here):
    replace_sweep(lambda task: task.run())
    (here / "reproduce_plugin.py").write_text(OWN)
    plugin = ("reproduce", "--plugin", "reproduce_plugin")
    outcome = run(*plugin, "counts", "--preset", "few", "--out", here / "out")
    assert outcome.code == 0, outcome
    assert (here / "out" / "counts.txt").read_text() == "[0, 1]"
    text = run(*plugin, "--help").out
    assert "Artefacts of other packages:\n  counts  Numbers, one" in text
    assert "[smoke|laptop|paper|few]" in text
    # The next command has no plug-in.
    assert run("reproduce", "counts").code == 2


def test_packages_bring_experiments(run, refused, replace_sweep, here, monkeypatch):
    replace_sweep(lambda task: task.run())
    (here / "reproduce_plugin.py").write_text(OWN)
    points = [
        importlib.metadata.EntryPoint("own", value, "betanll.experiments")
        for value in ("reproduce_plugin:Counting", "reproduce_plugin:Nothing")
    ]
    installed = plugins.installed
    monkeypatch.setattr(
        plugins,
        "installed",
        lambda group: (
            {"own": points} if group == "betanll.experiments" else installed(group)
        ),
    )
    monkeypatch.syspath_prepend(here)
    reproduce._installed.cache_clear()
    try:
        outcome = run("reproduce", "counts", "--preset", "few", "--out", here / "out")
        assert outcome.code == 0
        assert outcome.err == (
            "betanll: the plug-in 'reproduce_plugin:Nothing' of an unknown package "
            "cannot be loaded: AttributeError: module 'reproduce_plugin' has no "
            "attribute 'Nothing'; update or uninstall it\n"
        )
        assert (here / "out" / "counts.txt").read_text() == "[0, 1]"
        message = refused("reproduce", "counts", "--method", "mse")
        assert "--method concerns nothing" in message
        assert "needs a --preset among few" in refused("reproduce", "counts")
    finally:
        reproduce._installed.cache_clear()


def test_plugins_that_cannot_be_imported_are_refused(refused, here):
    (here / "reproduce_plugin.py").write_text("import no_such_library\n")
    assert refused(*YACHT, "--plugin", "reproduce_plugin") == (
        "betanll: the plug-in 'reproduce_plugin' cannot be imported: "
        "No module named 'no_such_library'"
    )
    assert "the plug-in 'absent' cannot be" in refused(*YACHT, "--plugin", "absent")


def test_a_run_goes_on_elsewhere(run, sweep, data_dir, tmp_path):
    mse = (*YACHT, "--method", "mse")
    moved = tmp_path / "moved.csv"
    assert run(*mse, "--out", tmp_path / "here", "--export", moved).code == 0
    outcome = run(*mse, "--out", tmp_path / "there", "--import", moved)
    assert f"2 new results from {moved}" in outcome.out
    runs = [(tmp_path / name / "runs.csv").read_bytes() for name in ("here", "there")]
    assert runs[0] == runs[1]


def test_stored_results_alone(run, sweep, data_dir, tmp_path, monkeypatch):
    """Neither trainings nor data are needed for them."""
    mse = (*YACHT, "--method", "mse", "--out", tmp_path)
    assert run(*mse).code == 0
    before = (tmp_path / "runs.csv").read_bytes()
    monkeypatch.setenv("BETANLL_DATA", str(tmp_path / "nowhere"))
    outcome = run(*mse, "--method", "nll", "--stored-only")
    assert outcome.code == 0, outcome
    assert len(sweep) == 1
    assert "2 of 4 tasks have results." in outcome.out
    assert (tmp_path / "runs.csv").read_bytes() == before


def test_an_interruption_says_how_to_go_on(run, sweep, data_dir, tmp_path):
    def act(tasks, store):
        store.add_result(tasks[0], [row_of(tasks[0])] * 2, seconds=0.1)
        raise KeyboardInterrupt

    sweep.act = act
    moved = tmp_path / "moved.csv"
    outcome = run(
        *(*YACHT, "--method", "mse", "--out", tmp_path / "out", "--export", moved)
    )
    assert outcome.code == 130
    assert "Stopped with 1 of 2 results stored in" in outcome.err
    assert "To resume, run the same command again." in outcome.err
    assert len(moved.read_text().splitlines()) == 2


def give_up(n_good):
    def act(tasks, store):
        for task in tasks[:n_good]:
            store.add_result(task, [row_of(task)], seconds=0.1)
        for task in tasks[n_good:] * 3:
            store.add_failure(task, "Traceback\nOSError: no data")
        # Failed once and then went well: not what the message is about.
        if n_good:
            store.add_failure(tasks[0], "Traceback\nValueError: once")
        return SweepReport(n_good, 0, 3, len(tasks) - n_good, 1.0)

    return act


@pytest.mark.parametrize(("n_good", "code"), [(1, 0), (0, 2)])
def test_tasks_that_were_given_up_are_told(
    run, sweep, data_dir, tmp_path, n_good, code
):
    sweep.act = give_up(n_good)
    outcome = run(*YACHT, "--method", "mse", "--out", tmp_path)
    assert outcome.code == code
    assert f"{2 - n_good} tasks were given up after three attempts" in outcome.err
    assert "OSError: no data" in outcome.err
    assert ("no task has a result" in outcome.err) == (code == 2)
    # They stay given up until it is asked otherwise.
    sweep.act = give_up(2)
    assert run(*YACHT, "--method", "mse", "--out", tmp_path).code == 0
    with Store(tmp_path / "sweep.db") as store:
        assert max(store.n_failures().values()) >= 3
    run(*YACHT, "--method", "mse", "--out", tmp_path, "--retry-failed")
    with Store(tmp_path / "sweep.db") as store:
        assert max(store.n_failures().values()) == 1


@pytest.mark.parametrize("fault", [OSError("disk is full"), ConnectionError("lost")])
def test_faults_of_the_engine_are_one_line(run, sweep, data_dir, tmp_path, fault):
    def act(tasks, store):
        raise fault

    sweep.act = act
    outcome = run(*YACHT, "--method", "mse", "--out", tmp_path)
    assert (outcome.code, outcome.err) == (2, f"betanll: {fault}\n")


def test_bad_input_is_refused(refused, data_dir, tmp_path):
    out = ("--out", tmp_path / "out")
    assert "got 'boat'" in refused("reproduce", "tableS1", "--dataset", "boat")
    assert "is not one of" in refused(*YACHT, "--method", "magic", *out)
    assert "mse has no beta" in refused(*YACHT, "--method", "mse:0.5", *out)
    assert "'x' is not a number" in refused(*YACHT, "--method", "beta-nll:x", *out)
    assert "tableS9" in refused("reproduce", "tableS9")
    assert "is missing" in refused(*YACHT, "--data-dir", tmp_path, *out)
    (tmp_path / "other.csv").write_text("a,b\n")
    os.environ["BETANLL_DATA"] = str(data_dir)
    assert "not an export" in refused(*YACHT, "--import", tmp_path / "other.csv", *out)


def test_a_foreign_store_is_left_alone(refused, data_dir, tmp_path):
    (tmp_path / "sweep.db").write_text("mine")
    assert "result store" in refused(*YACHT, "--out", tmp_path)
    assert (tmp_path / "sweep.db").read_text() == "mine"


@pytest.mark.cluster
def test_interruption_of_the_whole_command(data_dir, tmp_path):
    main = "from betanll.cli import main; main()"
    command = [sys.executable, "-c", main, *YACHT]
    command += ["--workers", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    with process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            time.sleep(0.2)
            if (tmp_path / "sweep.db").exists():
                with Store(tmp_path / "sweep.db") as store:
                    if store.done():
                        break
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert re.search(r"Stopped with \d+ of 24 results", err)
    assert goes_away(process.pid)


def goes_away(group):
    """Return whether a process group ends; the tracker of Python is a bit late."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
