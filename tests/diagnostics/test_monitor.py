"""PitfallMonitor: its averages, its verdict and its warning."""

import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

from betanll.datasets import sine
from betanll.diagnostics import (
    PitfallMonitor,
    PitfallWarning,
    effective_sample_fraction,
    starved_fraction,
)
from betanll.distributions import Normal
from betanll.networks import MLP
from betanll.objectives import BetaNLL
from betanll.training import fit, optimizer

NUMBERS = ("effective_sample_fraction", "starved_fraction", "mean_squared_z", "rmse")


def numbers_of(monitor):
    return [getattr(monitor, name) for name in NUMBERS]


def batch(seed, shape=(50,), spread=2.0):
    rng = np.random.default_rng(seed)
    mean, target = rng.normal(size=(2, *shape))
    return mean, np.exp(spread * rng.normal(size=shape)), target


def starving_batch():
    # Half of the points have a weight of 1e-4 of the other half's.
    return np.zeros(20), np.repeat([1e-4, 1.0], 10), np.zeros(20)


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(50,), (50, 1), (50, 3)])
def test_numbers_of_constant_data_are_those_of_the_batch(beta, shape):
    mean, variance, target = batch(0, shape)
    expected = [
        effective_sample_fraction(variance, beta),
        starved_fraction(variance, beta),
        np.mean((target - mean) ** 2 / variance),
        np.sqrt(np.mean((target - mean) ** 2)),
    ]
    monitor = PitfallMonitor(beta, every=1, memory=20, warn=False)
    for n_updates in (1, 2, 60):
        while monitor.n_updates < n_updates:
            monitor.update(mean, variance, target)
        np.testing.assert_allclose(numbers_of(monitor), expected, rtol=1e-12)


def test_exponential_averages_by_hand():
    # Looks after updates 1, 4 and 7 fill the horizon of 10 by what they stand for.
    monitor = PitfallMonitor(beta=0.0, every=3, memory=10, warn=False)
    batches = [batch(seed) for seed in range(3)]
    for one in batches:
        for _ in range(3):
            monitor.update(*one)
    importance = np.array([(1 - 0.9) * 0.9**6, (1 - 0.9**3) * 0.9**3, 1 - 0.9**3])
    importance /= importance.sum()
    means = {
        "w": [np.mean(1 / v) for _, v, _ in batches],
        "w2": [np.mean(1 / v**2) for _, v, _ in batches],
        "z2": [np.mean((y - m) ** 2 / v) for m, v, y in batches],
        "e2": [np.mean((y - m) ** 2) for m, v, y in batches],
    }
    w, w2, z2, e2 = (np.dot(importance, means[name]) for name in means)
    # The starved share of a look is taken against the mean of the time.
    shares = []
    for i, (_, variance, _) in enumerate(batches):
        running = np.dot(importance[: i + 1], means["w"][: i + 1])
        running /= importance[: i + 1].sum()
        reference = min(running, means["w"][i])
        shares.append(np.mean(1 / variance < 0.05 * reference))
    expected = [w**2 / w2, np.dot(importance, shares), z2, np.sqrt(e2)]
    np.testing.assert_allclose(numbers_of(monitor), expected, rtol=1e-12)


def test_small_batches_are_compared_with_the_running_mean():
    # One point at a time: half of them have a weight of 1e-4 of the other half's.
    monitor = PitfallMonitor(every=1, memory=1000, warn=False)
    for _ in range(2000):
        for variance in (1e-4, 1.0):
            monitor.update([0.0], [variance], [0.0])
    assert monitor.starved_fraction == pytest.approx(0.5, abs=0.01)
    assert monitor.effective_sample_fraction == pytest.approx(0.5, abs=0.01)


def test_variances_that_rise_together_starve_no_point():
    monitor = PitfallMonitor(every=1, warn=False)
    for log_variance in np.linspace(0, 20, 500):
        variance = np.exp(log_variance) * np.linspace(1, 2, 32)
        monitor.update(np.zeros(32), variance, np.zeros(32))
    assert monitor.starved_fraction == 0


@pytest.mark.parametrize("scale", [1e-10, 1e8])
def test_the_unit_matters_to_the_rmse_alone(scale):
    here = PitfallMonitor(0.3, every=1, warn=False)
    there = PitfallMonitor(0.3, every=1, warn=False)
    for seed in range(5):
        mean, variance, target = batch(seed, (40, 2))
        here.update(mean, variance, target)
        there.update(scale * mean, scale**2 * variance, scale * target)
    *expected, rmse = numbers_of(here)
    np.testing.assert_allclose(numbers_of(there), [*expected, scale * rmse])


def test_extreme_variances_do_not_overflow():
    monitor = PitfallMonitor(every=1, warn=False)
    variance = np.array([1e-300, 1.0, 1e300, 1.0])
    monitor.update(np.zeros(4), variance, np.zeros(4))
    np.testing.assert_allclose(numbers_of(monitor), [0.25, 0.75, 0, 0])


def test_nothing_is_read_between_two_looks():
    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError(f"{name} was asked for")

    monitor = PitfallMonitor(every=4)
    assert all(math.isnan(number) for number in numbers_of(monitor))
    assert not monitor.is_starving
    for _ in range(2):
        monitor.update(*batch(0))
        for _ in range(3):
            monitor.update(Untouchable(), Untouchable(), Untouchable())
    assert monitor.n_updates == 8
    assert monitor.summary()["n_updates"] == 8


def test_summary_is_flat_and_of_floats():
    monitor = PitfallMonitor(every=1, warn=False)
    assert [type(v) for v in monitor.summary().values()] == [float] * 6
    monitor.update(*batch(0, (50, 2)))
    summary = monitor.summary()
    assert [type(v) for v in summary.values()] == [float] * 6
    assert [summary[name] for name in NUMBERS] == numbers_of(monitor)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["mean", "variance", "target"])
def test_entries_that_are_not_finite_are_left_out(bad, place):
    parts = dict(zip(("mean", "variance", "target"), batch(0, (30, 2)), strict=True))
    rows = {name: part[1:, 0] for name, part in parts.items()}
    columns = [PitfallMonitor(every=1, warn=False) for _ in range(2)]
    columns[0].update(**rows)
    columns[1].update(**{name: part[:, 1] for name, part in parts.items()})
    parts[place][0, 0] = bad
    monitor = PitfallMonitor(every=1, warn=False)
    monitor.update(**parts)
    assert monitor.n_skipped == 1
    *expected, _ = np.mean([numbers_of(column) for column in columns], axis=0)
    np.testing.assert_allclose(numbers_of(monitor)[:3], expected)


def test_a_useless_batch_changes_nothing_and_a_useless_output_only_itself():
    monitor = PitfallMonitor(every=1, warn=False)
    nothing = np.full((30, 2), np.nan)
    monitor.update(nothing, nothing, nothing)
    assert math.isnan(monitor.rmse)
    assert monitor.n_skipped == 60
    # The second output is never seen: the numbers are those of the first.
    mean, variance, target = batch(0, (30, 2))
    variance[:, 1] = 0
    monitor.update(mean, variance, target)
    alone = PitfallMonitor(every=1, warn=False)
    alone.update(mean[:, 0], variance[:, 0], target[:, 0])
    np.testing.assert_allclose(numbers_of(monitor), numbers_of(alone))
    json.dumps(monitor.state_dict(), allow_nan=False)
    before = numbers_of(monitor)
    monitor.update(np.zeros((0, 2)), np.ones((0, 2)), np.zeros((0, 2)))
    assert numbers_of(monitor) == before


def test_wrong_batches_raise():
    monitor = PitfallMonitor(every=1)
    with pytest.raises(ValueError, match=r"shapes must be equal, got mean \(3,\), var"):
        monitor.update(np.zeros(3), np.ones((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match=r"target \(1,\)"):
        monitor.update(np.zeros(3), np.ones(3), np.zeros(1))
    with pytest.raises(ValueError, match=r"variance must be positive, got -2\.0"):
        monitor.update(np.zeros(2), np.array([1.0, -2.0]), np.zeros(2))
    monitor.update(*batch(0, (5, 2)))
    with pytest.raises(ValueError, match="the batch has 3 outputs, earlier ones 2"):
        monitor.update(*batch(0, (5, 3)))


@pytest.mark.parametrize("n_good_before", [0, 3])
@pytest.mark.parametrize(
    "bad",
    [
        (np.zeros(3), np.ones((3, 1)), np.zeros(3)),
        (np.zeros(3), -np.ones(3), np.zeros(3)),
        (np.zeros((5, 3)), np.ones((5, 3)), np.zeros((5, 3))),
        (np.zeros(3), np.ones(3), ["a", "b", "c"]),
    ],
    ids=["shapes", "negative", "outputs", "text"],
)
def test_a_refused_batch_leaves_no_trace(bad, n_good_before):
    # Three batches are one look and two calls that only count.
    monitor = PitfallMonitor(every=3, warn=False)
    twin = PitfallMonitor(every=3, warn=False)
    good = batch(0, (20, 2))
    for _ in range(n_good_before):
        monitor.update(*good)
        twin.update(*good)
    if n_good_before or bad[0].shape != (5, 3):  # else these are the first outputs
        before = monitor.state_dict()
        with pytest.raises(ValueError):  # noqa: PT011 - each case has its own words
            monitor.update(*bad)
        assert monitor.state_dict() == before
    for _ in range(9):
        monitor.update(*good)
        twin.update(*good)
    assert monitor.state_dict() == twin.state_dict()
    assert math.isfinite(monitor.rmse)


def test_a_refused_look_at_a_fit_leaves_no_trace():
    x = np.linspace(-1, 1, 20)[:, None]
    monitor = PitfallMonitor(warn=False)
    callback = monitor.watch(x, np.zeros((20, 2)))

    class Result:
        status, n_updates = "running", 7

        def predict(self, x):
            return Normal(np.zeros((20, 1)), np.ones((20, 1)))

    before = monitor.state_dict()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"mean \(20, 1\).* target \(20, 2\)"):
            callback(Result())
        assert monitor.state_dict() == before


def test_a_damaged_state_leaves_no_trace():
    monitor = PitfallMonitor(every=1, warn=False)
    monitor.update(*batch(0, (20, 2)))
    before = monitor.state_dict()
    for damage in ({"starved": [0.5]}, {"rows": 1, "last_look": "x"}):
        with pytest.raises(ValueError, match=r"shapes must be equal|invalid literal"):
            monitor.load_state_dict({**before, "n_updates": 9, **damage})
        assert monitor.state_dict() == before


@pytest.mark.parametrize("shape", [(), (1,), (4, 3, 5), (2, 3, 4, 5), (2, 1, 1, 1, 9)])
def test_entries_of_any_other_shape_are_points_of_one_output(shape):
    monitor, flat = (PitfallMonitor(every=1, warn=False) for _ in range(2))
    for seed in range(3):
        parts = batch(seed, shape)
        monitor.update(*parts)
        flat.update(*(np.ravel(part) for part in parts))
    assert monitor.state_dict() == flat.state_dict()
    assert math.isfinite(monitor.rmse)
    # Sequences of another length are more points, not other outputs.
    monitor.update(*batch(9, (7, 2, 6)))
    assert monitor.n_updates == 4


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"beta": math.nan}, "beta must be a finite number of at least 0"),
        ({"beta": -3}, "beta must be a finite number of at least 0, got -3"),
        ({"beta": "0.5"}, "beta must be a finite number of at least 0, got '0.5'"),
        ({"every": 0}, "every must be a whole number of at least 1, got 0"),
        ({"memory": 0.5}, "memory must be a finite number of at least 1, got 0.5"),
        ({"warm_up": -1}, "warm_up must be a whole number of at least 0, got -1"),
        (
            {"starved_below": 1.0},
            r"starved_below must be a number in \(0, 1\)",
        ),
        ({"max_starved": 1.1}, r"max_starved must be a number in \[0, 1\], got 1.1"),
    ],
)
def test_wrong_settings_raise(setting, message):
    with pytest.raises(ValueError, match=message):
        PitfallMonitor(**setting)


def test_it_warns_once_after_the_warm_up():
    monitor = PitfallMonitor(every=10, warm_up=35)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(40):
            monitor.update(*starving_batch())
        assert monitor.is_starving
        assert not caught
        for _ in range(60):
            monitor.update(*starving_batch())
    (warning,) = caught
    assert warning.category is PitfallWarning
    assert warning.filename == __file__
    message = str(warning.message)
    for part in ("41 updates", "beta=0,", "50% of the points", "0.05 times", "0.5,"):
        assert part in message
    assert "pays almost no attention" in message
    assert "Train with beta=0.5; `betanll diagnose`" in message
    # After a reset it is as new.
    monitor.reset()
    for _ in range(40):
        monitor.update(*starving_batch())
    with pytest.warns(PitfallWarning):
        monitor.update(*starving_batch())


def test_it_does_not_warn_without_reason_or_when_told_not_to():
    fine = PitfallMonitor(every=1, warm_up=0)
    fine.update(*batch(0, spread=0.5))
    quiet = PitfallMonitor(every=1, warm_up=0, warn=False)
    quiet.update(*starving_batch())
    assert quiet.is_starving
    assert not fine.is_starving


def test_advice_to_those_who_have_followed_it():
    monitor = PitfallMonitor(beta=0.5, every=1, warm_up=0)
    mean, variance, target = starving_batch()
    with pytest.warns(PitfallWarning, match="Train with a beta closer to 1;"):
        monitor.update(mean, variance**2, target)


def test_a_checkpoint_continues_and_is_plain():
    whole, first = (PitfallMonitor(every=2, warm_up=0) for _ in range(2))
    with pytest.warns(PitfallWarning):
        whole.update(*starving_batch())
    with pytest.warns(PitfallWarning):
        first.update(*starving_batch())
    state = json.loads(json.dumps(first.state_dict()))
    second = PitfallMonitor(every=2, warm_up=0)
    second.load_state_dict(state)
    # The second does not warn again.
    for seed in range(6):
        whole.update(*batch(seed, (20,)))
        second.update(*batch(seed, (20,)))
    assert second.summary() == whole.summary()
    assert second.state_dict() == whole.state_dict()
    # A new monitor has a state too.
    second.load_state_dict(PitfallMonitor().state_dict())
    assert second.n_updates == 0
    assert math.isnan(second.rmse)
    with pytest.raises(ValueError, match="the state of the monitor lacks filled"):
        second.load_state_dict({k: v for k, v in state.items() if k != "filled"})


def test_jax_arrays_are_the_same_to_it():
    import jax.numpy as jnp

    parts = [part.astype(np.float32) for part in batch(0, (40, 2))]
    monitors = [PitfallMonitor(every=1, warn=False) for _ in range(2)]
    monitors[0].update(*parts)
    monitors[1].update(*map(jnp.asarray, parts))
    assert monitors[0].summary() == monitors[1].summary()
    # bfloat16 has three digits.
    half = PitfallMonitor(every=1, warn=False)
    half.update(*(jnp.asarray(part, jnp.bfloat16) for part in parts))
    np.testing.assert_allclose(numbers_of(half), numbers_of(monitors[0]), rtol=0.02)


def test_neither_jax_nor_torch_is_imported():
    code = """if True:
        import sys
        from betanll.diagnostics import PitfallMonitor
        PitfallMonitor().update([0.0], [1.0], [0.0])
        assert "jax" not in sys.modules
        assert "torch" not in sys.modules
        """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_nll_starves_the_sine_and_beta_nll_does_not():
    x, y = sine()
    shares = {}
    for beta in (0.0, 0.5):
        monitor = PitfallMonitor(beta, warn=False)
        result = fit(
            MLP(1, (32, 32), "tanh"),
            BetaNLL(beta),
            x,
            y,
            batch_size=100,
            max_epochs=1200,
            optimizer=optimizer(learning_rate=5e-3),
            seed=1,
            callback=monitor.watch(x, y[:, 0]),
            callback_every=20,
        )
        assert monitor.n_updates == result.n_updates == 12_000
        shares[beta] = monitor.starved_fraction
    # Far on either side of 0.2: seeds 0 and 1 and networks from 32 to 128 units gave
    # 0.6 to 0.83 after 12 000 updates with the NLL, and 0 with beta = 0.5.
    assert shares[0.0] > 0.4
    assert shares[0.5] < 0.05


def test_true_variances_starve_no_point():
    # sigma = 0.3 sqrt(1 + x^2) on [0, 10]: weights are above 1 / 0.09 / 101, a share of
    # 0.067 of their mean, arctan(10) / 10 / 0.09.
    rng = np.random.default_rng(0)
    monitor = PitfallMonitor(every=1, warm_up=0)
    for _ in range(100):
        x = rng.uniform(0, 10, 100)
        mean, std = x * np.sin(x), 0.3 * np.sqrt(1 + x**2)
        monitor.update(mean, std**2, mean + std * rng.normal(size=100))
    assert monitor.starved_fraction < 0.01
    fraction = (np.arctan(10) / 10) ** 2 / ((np.arctan(10) + 10 / 101) / 20)
    # The effective sample of 10 000 points has 2 700.
    assert monitor.effective_sample_fraction == pytest.approx(fraction, rel=0.1)
    assert monitor.mean_squared_z == pytest.approx(1, abs=0.1)


def test_pure_noise_starves_no_point():
    x, y = np.random.default_rng(0).normal(size=(2, 1000, 1))
    monitor = PitfallMonitor(warm_up=0)
    fit(
        MLP(1, (32, 32), "tanh"),
        BetaNLL(0.0),
        x,
        y,
        batch_size=100,
        max_epochs=300,
        callback=monitor.watch(x, y),
        callback_every=20,
    )
    assert monitor.starved_fraction < 0.01
    assert monitor.effective_sample_fraction > 0.9


def test_a_fit_that_diverges_is_skipped():
    x = np.linspace(-1, 1, 50)[:, None]
    monitor = PitfallMonitor(every=1, warn=False)
    result = fit(
        MLP(1, (8,)),
        "nll",
        x,
        1e30 * x,
        optimizer=optimizer(learning_rate=1e30),
        max_epochs=50,
        callback=monitor.watch(x, 1e30 * x),
        callback_every=50,
    )
    assert result.status == "diverged"
    assert monitor.n_skipped == 50
    assert math.isnan(monitor.rmse)


def test_one_callback_may_watch_several_fits():
    x = np.linspace(-1, 1, 50)[:, None]
    monitor = PitfallMonitor(warn=False)
    callback = monitor.watch(x, x)
    for n_epochs in (30, 20):
        fit(MLP(1, (8,)), "nll", x, x, max_epochs=n_epochs, callback=callback)
    assert monitor.n_updates == 50


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("every", "a"),
        ("every", 1.5),
        ("every", 0),
        ("memory", math.inf),
        ("memory", 10**400),
        ("warm_up", None),
        ("warm_up", -1),
        ("starved_below", "half"),
        ("max_starved", 1.1),
    ],
)
def test_unusable_settings_are_named(setting, value):
    with pytest.raises(ValueError, match=f"{setting} must be a .* got"):
        PitfallMonitor(**{setting: value})
