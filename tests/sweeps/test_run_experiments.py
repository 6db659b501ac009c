"""From a request to files, with tasks that run in this process."""

import importlib.metadata
import os

import pytest

from betanll import plugins
from betanll.sweeps import (
    Experiment,
    MissingResultsError,
    Request,
    RequestError,
    Store,
    SweepReport,
    Task,
    check_experiments,
    installed_experiments,
    run_experiments,
)
from betanll.sweeps._task import echo


class Search(Experiment):
    """Tries numbers, then the largest of them with two seeds."""

    name = "search"
    artefacts = {"best": "The best number.", "all": "All of them."}
    presets = {"smoke": 3}

    def tasks(self, request, results):
        grid = [Task.of(echo, number=i) for i in range(self.presets[request.preset])]
        if not all(map(results.is_done, grid)):
            return grid
        best = max(row["number"] for row in results.rows(grid))
        return [*grid, *(Task.of(echo, number=best, seed=seed) for seed in (1, 2))]

    def render(self, artefact, results, request):
        rows = results.rows(self.tasks(request, results))
        seeds = [row for row in rows if "seed" in row]
        if artefact == "best" and not seeds:
            raise MissingResultsError("best cannot be written: no seed has a result")
        return {f"{artefact}.txt": f"{len(rows)} {len(seeds)}".encode()}


class Elsewhere(Experiment):
    """Depends on a place."""

    name = "elsewhere"
    artefacts = {"place": "Where it is."}
    presets = {"smoke": 1}
    settings = ("place",)

    def check(self, request):
        if "place" not in request.settings:
            raise ValueError("there is no place")

    def environment(self, request):
        return {"BETANLL_PLACE": request.settings.get("place", "")}

    def max_workers(self, request):
        return 2

    def tasks(self, request, results):
        return [Task.of(echo, place="unknown")]

    def render(self, artefact, results, request):
        return {"place.txt": os.environ["BETANLL_PLACE"].encode()}


@pytest.fixture
def sweep():
    """Runs tasks here; `sweep.calls` are tasks and options."""

    def run(tasks, store, **options):
        run.calls.append((tasks, options))
        for task in tasks:
            store.add_result(task, task.run(), seconds=0.0)
        return SweepReport(len(tasks), 0, 0, 0, 0.0)

    run.calls = []
    return run


def numbers(call):
    return [dict(task.settings) for task in call[0]]


def test_tasks_that_depend_on_results_run_after_them(tmp_path, sweep):
    request = Request(("best", "all"), "smoke", folder=tmp_path)
    report = run_experiments([Search()], request, sweep=sweep)
    first, second = sweep.calls
    assert numbers(first) == [{"number": i} for i in range(3)]
    assert numbers(second) == [{"number": 2, "seed": seed} for seed in (1, 2)]
    assert report == ([tmp_path / "best.txt", tmp_path / "all.txt"], 5, 5)
    assert (tmp_path / "best.txt").read_text() == "5 2"
    assert first[1] == {
        **{"n_workers": None, "scheduler": None},
        **{"plugins": (), "progress": False},
    }


def test_tasks_that_all_fail_say_why(tmp_path):
    def fail(tasks, store, **options):
        for task in tasks:
            store.add_failure(task, "Traceback\n  line\nTypeError: no such thing\n")

    class Best(Search):
        def render(self, artefact, results, request):
            rows = results.rows(self.tasks(request, results))
            return {"all.txt": str(max(row["number"] for row in rows)).encode()}

    request = Request(("all",), "smoke", folder=str(tmp_path))
    message = "every task of search failed, the last by TypeError: no such thing"
    with pytest.raises(MissingResultsError, match=message):
        run_experiments([Best()], request, sweep=fail)
    assert not (tmp_path / "all.txt").exists()


def test_a_second_call_resumes(tmp_path, sweep):
    request = Request(("all",), "smoke", folder=tmp_path)
    with Store(tmp_path / "sweep.db") as store:
        for i in range(3):
            task = Task.of(echo, number=i)
            store.add_result(task, task.run(), seconds=0.0)
    run_experiments([Search()], request, sweep=sweep)
    assert [len(tasks) for tasks, _ in sweep.calls] == [5]


def test_stored_results_alone(tmp_path, sweep):
    request = Request(("all", "best"), "smoke", folder=tmp_path)
    with Store(tmp_path / "sweep.db") as store:
        store.add_result(Task.of(echo, number=0), [{"number": 0}], seconds=0.0)
    with pytest.raises(ValueError, match=r"^best cannot be written: no seed has a"):
        run_experiments([Search()], request, stored_only=True, sweep=sweep)
    # The others are written.
    assert (tmp_path / "all.txt").read_text() == "1 0"
    assert not (tmp_path / "best.txt").exists()
    assert not sweep.calls
    only = Request(("all",), "smoke", folder=tmp_path)
    report = run_experiments([Search()], only, stored_only=True)
    assert report[1:] == (3, 1)


class Mean(Search):
    """Fails in its own way for want of rows."""

    artefacts = {"mean": "Their mean.", "all": "All of them."}

    def tasks(self, request, results):
        return [Task.of(echo, number=i) for i in range(3)]

    def render(self, artefact, results, request):
        rows = results.rows(self.tasks(request, results))
        if artefact == "mean" and len(rows) < 3:
            raise KeyError("number")
        return {f"{artefact}.txt": str(len(rows)).encode()}


@pytest.mark.parametrize("n_done", [0, 1])
def test_a_rendering_that_lacks_rows_ends_in_one_sentence(tmp_path, sweep, n_done):
    request = Request(("mean", "all"), "smoke", folder=tmp_path)
    with Store(tmp_path / "sweep.db") as store:
        sweep(Mean().tasks(request, store)[:n_done], store)
    message = f"^mean cannot be made of the results of {n_done} of 3 tasks: KeyError: "
    with pytest.raises(MissingResultsError, match=message):
        run_experiments([Mean()], request, sweep=sweep, stored_only=True)
    assert (tmp_path / "all.txt").read_text() == str(n_done)


def test_a_rendering_that_has_all_rows_is_at_fault_itself(tmp_path, sweep, monkeypatch):
    monkeypatch.setattr(Mean, "render", lambda *arguments: {}["number"])
    request = Request(("mean",), "smoke", folder=tmp_path)
    with pytest.raises(KeyError, match="number"):
        run_experiments([Mean()], request, sweep=sweep)


def test_places_are_known_while_tasks_run(tmp_path, sweep, monkeypatch):
    monkeypatch.setenv("BETANLL_PLACE", "before")
    request = Request(("place",), "smoke", settings={"place": "x"}, folder=tmp_path)
    store = tmp_path / "mine.db"
    run_experiments([Search(), Elsewhere()], request, store=store, sweep=sweep)
    assert (tmp_path / "place.txt").read_text() == "x"
    assert os.environ["BETANLL_PLACE"] == "before"
    assert store.exists()
    ((_, options),) = sweep.calls
    assert options["n_workers"] == 2
    run_experiments(
        *([Elsewhere()], request), store=store, n_workers=5, sweep=sweep, plugins=["a"]
    )
    assert sweep.calls[-1][1]["n_workers"] == 5
    assert sweep.calls[-1][1]["plugins"] == ["a"]


def test_refusals_leave_nothing(tmp_path, sweep):
    out = tmp_path / "out"
    for wrong, message in (
        (Request(("place",), "smoke", folder=out), "there is no place"),
        (Request(("place",), "huge", folder=out), "needs a preset among smoke"),
    ):
        with pytest.raises(ValueError, match=message):
            run_experiments([Elsewhere()], wrong, sweep=sweep)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        run_experiments(
            *([Search()], Request(("all",), "smoke", folder=tmp_path / "file")),
            sweep=sweep,
        )
    with pytest.raises(RequestError, match="--artefact must be among place, got 'x'"):
        check_experiments([Elsewhere()], Request(("x",), "smoke"), option="--{}")
    assert not sweep.calls
    assert not out.exists()


class Broken(Experiment):
    """Without tasks and files."""


@pytest.fixture
def installed(monkeypatch):
    """A function that has packages offer objects of these modules as experiments."""

    def offer(*values):
        points = [
            importlib.metadata.EntryPoint(f"p{i}", value, "betanll.experiments")
            for i, value in enumerate(values)
        ]
        named = {point.name: (point,) for point in points}
        monkeypatch.setattr(plugins, "installed", lambda group: named)

    return offer


def test_experiments_of_other_packages(installed, monkeypatch):
    monkeypatch.setattr("betanll.sweeps._task.Search", Search, raising=False)
    monkeypatch.setattr("betanll.sweeps._task.Broken", Broken, raising=False)
    home = "betanll.sweeps._task"
    installed(f"{home}:Search", "nowhere:x", f"{home}:echo", f"{home}:Broken")
    (found,), complaints = installed_experiments()
    assert isinstance(found, Search)
    first, second, third = complaints
    assert first == (
        "the plug-in 'nowhere:x' of an unknown package cannot be loaded: "
        "No module named 'nowhere'; update or uninstall it"
    )
    assert second.startswith(
        "the experiment 'p2' is not a subclass of betanll.sweeps.Experiment: <function"
    )
    assert third.startswith("the experiment 'p3' cannot be used: TypeError: ")
