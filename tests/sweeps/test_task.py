import subprocess
import sys
from pathlib import Path

import pytest
import sweep_probes
from hypothesis import given
from hypothesis import strategies as st

from betanll.sweeps import Store, Task, run_sweep, task
from betanll.sweeps._task import echo

plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
)
all_settings = st.dictionaries(st.text(min_size=1, max_size=6), plain, max_size=5)


@given(all_settings, st.randoms(use_true_random=False))
def test_order_of_settings_does_not_matter(settings, random):
    names = list(settings)
    random.shuffle(names)
    one = Task.of(echo, **settings)
    other = Task.of(echo, **{name: settings[name] for name in names})
    assert one == other
    assert one.key == other.key


@given(all_settings, st.text(min_size=1, max_size=6), plain)
def test_any_change_of_a_setting_changes_the_key(settings, name, value):
    task = Task.of(echo, **settings)
    changed = Task.of(echo, **{**settings, name: value})
    # By repr: 1, 1.0 and True are equal, but not the same setting.
    is_same = name in settings and repr(settings[name]) == repr(value)
    assert (task.key == changed.key) == is_same
    for left_out in settings:
        rest = {key: value for key, value in settings.items() if key != left_out}
        assert Task.of(echo, **rest).key != task.key
    assert Task("betanll.sweeps._task:other", task.settings).key != task.key


@given(all_settings)
def test_json_holds_everything(settings):
    task = Task.of(echo, **settings)
    again = Task.from_json(task.to_json())
    assert again == task
    assert again.key == task.key
    assert again.run() == [settings]


def test_keys_are_the_same_in_all_processes_and_versions():
    task = Task.of(echo, rate=7e-3, name="β", n=3, is_on=True, beta=None)
    script = (
        f"from betanll.sweeps import Task;print(Task.from_json({task.to_json()!r}).key)"
    )
    for seed in "12":
        printed = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert printed.strip() == task.key
    # Written down: results on disk are found by it.
    assert (
        task.key == "c062f0849a60829998f9c94f00c40a3c79045a1fdd32ad5833842bf45ec82ef3"
    )


def test_settings_may_have_any_name():
    assert Task.of(echo, function=1, self=2).run() == [{"function": 1, "self": 2}]


@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), b"x", 1j])
def test_settings_that_are_not_plain_are_refused(value):
    with pytest.raises(TypeError, match="setting 'x' is not plain"):
        Task.of(echo, x=value)


def test_functions_of_any_module_can_be_marked():
    assert task(sweep_probes.visit) is sweep_probes.visit
    described = Task.of(sweep_probes.delegate, number=4.0)
    assert described.function == "sweep_probes:delegate"


@pytest.mark.parametrize("function", [sweep_probes.count, Path.cwd, print, "a:b", None])
def test_functions_that_are_not_marked_are_refused(function):
    with pytest.raises(ValueError, match=r"may not run .*: mark the function with @ta"):
        Task.of(function)


@pytest.mark.parametrize(
    "name", ["os:getcwd", "sweep_probes:count", "sweep_probes:", "json:decoder", "os"]
)
def test_descriptions_call_marked_functions_only(name, store):
    described = Task(name, ())
    for use in (described.run, lambda: run_sweep([described], store)):
        with pytest.raises(ValueError, match=f"may not run {name}: mark the function"):
            use()


@pytest.mark.parametrize("name", ["antigravity:fly", ":", "", "nowhere:nothing"])
def test_descriptions_import_nothing(name, store):
    described = Task.from_json(Task(name, ()).to_json())
    for use in (described.run, lambda: run_sweep([described], store)):
        with pytest.raises(ValueError, match="import the module of the task"):
            use()
    assert "antigravity" not in sys.modules


def test_functions_that_workers_cannot_find_are_not_marked():
    def inner():
        pass

    class Owner:
        def method(self):
            pass

    for function in (lambda: [], inner, Owner.method):
        with pytest.raises(ValueError, match="at the top level of a module, got "):
            task(function)
    for thing in (print, Owner, Owner().method, 3):
        with pytest.raises(ValueError, match="@task needs a function, got "):
            task(thing)


DEFINITION = """
from betanll.sweeps import Task, task

@task
def square(*, number):
    return [{"square": number**2}]

"""


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, **options
    )


def test_a_function_has_one_name_as_script_and_as_module(tmp_path):
    text = DEFINITION + "print(Task.of(square, number=3).to_json())\n"
    (tmp_path / "squares.py").write_text(text)
    ways = ["squares.py"], ["-m", "squares"], ["-c", "import squares"]
    found = {python(*way, cwd=tmp_path, check=True).stdout for way in ways}
    assert found == {'{"function":"squares:square","settings":{"number":3}}\n'}


def test_functions_of_an_interactive_session_are_refused():
    run = python("-c", DEFINITION)
    last = run.stderr.splitlines()[-1]
    assert last.startswith("ValueError: @task cannot mark square of an interactive")


@pytest.mark.cluster
@pytest.mark.parametrize("way", [["squares.py"], ["-m", "squares"]])
def test_workers_run_functions_of_the_script(way, tmp_path):
    """They are not imported a second time under the name of the module."""
    main = """
import sys
sys.modules["squares"] = None

if __name__ == "__main__":
    from pathlib import Path
    from betanll.sweeps import Store, run_sweep
    with Store(Path("store.db")) as store:
        tasks = [Task.of(square, number=n) for n in range(3)]
        print(run_sweep(tasks, store, n_workers=1)[:4])
"""
    (tmp_path / "squares.py").write_text(DEFINITION + main)
    run = python(*way, cwd=tmp_path)
    assert run.stdout == "(3, 0, 0, 0)\n", run.stderr
    with Store(tmp_path / "store.db") as store:
        assert store.rows([Task("squares:square", (("number", 2),))]) == [{"square": 4}]
