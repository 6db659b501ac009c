import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betanll.sweeps import Task

ECHO = "betanll.sweeps._task:echo"

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
    one = Task.of(ECHO, **settings)
    other = Task.of(ECHO, **{name: settings[name] for name in names})
    assert one == other
    assert one.key == other.key


@given(all_settings, st.text(min_size=1, max_size=6), plain)
def test_any_change_of_a_setting_changes_the_key(settings, name, value):
    task = Task.of(ECHO, **settings)
    changed = Task.of(ECHO, **{**settings, name: value})
    # By repr: 1, 1.0 and True are equal, but not the same setting.
    is_same = name in settings and repr(settings[name]) == repr(value)
    assert (task.key == changed.key) == is_same
    for left_out in settings:
        rest = {key: value for key, value in settings.items() if key != left_out}
        assert Task.of(ECHO, **rest).key != task.key
    assert Task.of("betanll.sweeps._task:other", **settings).key != task.key


@given(all_settings)
def test_json_holds_everything(settings):
    task = Task.of(ECHO, **settings)
    again = Task.from_json(task.to_json())
    assert again == task
    assert again.key == task.key
    assert again.run() == [settings]


def test_keys_are_the_same_in_all_processes_and_versions():
    task = Task.of(ECHO, rate=7e-3, name="β", n=3, is_on=True, beta=None)
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
    assert Task.of(ECHO, function=1, self=2).run() == [{"function": 1, "self": 2}]


@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), b"x", 1j])
def test_settings_that_are_not_plain_are_refused(value):
    with pytest.raises(TypeError, match="setting 'x' is not plain"):
        Task.of(ECHO, x=value)


@pytest.mark.parametrize("function", ["os:getcwd", "betanllx.y:z", "echo", ""])
def test_only_functions_of_the_library_are_called(function):
    with pytest.raises(ValueError, match="is not a function of betanll"):
        Task.of(function).run()
