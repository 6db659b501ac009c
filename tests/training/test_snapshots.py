"""Parameters kept while the compiled loop runs, and callbacks beside it."""

import jax
import numpy as np
import optax
import pytest

from betanll.networks import MLP
from betanll.objectives import BetaNLL
from betanll.training import (
    Budget,
    Data,
    DivergedError,
    FitTask,
    fit,
    fit_fleet,
    optimizer,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2)).astype(np.float32)
Y = np.sin(X[:, :1]) + 0.1 * RNG.normal(size=(120, 1)).astype(np.float32)
NET = MLP(2, (8,), activation="tanh")
DATA = Data.of(X, Y)


def task(max_epochs, schedule_epochs=None, **options):
    budget = Budget(25, max_epochs, schedule_epochs=schedule_epochs)
    return FitTask(NET, BetaNLL((1.0, 0.0)), DATA, budget=budget, **options)


def assert_same_bits(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


def test_snapshots_are_the_parameters_of_a_plain_loop(plain_loop):
    """In the middle of an epoch of four updates, at its end, and in the last one."""
    updates = [1, 3, 4, 9, 12]
    described = task(max_epochs=3, snapshots=updates)
    (result,) = fit_fleet([described])
    expected = plain_loop(described, 3)
    assert list(result.snapshots) == updates
    for update in updates:
        for ours, theirs in zip(
            jax.tree.leaves(result.snapshots[update]),
            jax.tree.leaves(expected[update - 1]),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, atol=2e-6)
    assert_same_bits(result.snapshots[12], result.last_params)


def test_snapshots_do_not_change_the_training():
    with_them, without = fit_fleet(
        [task(max_epochs=30, snapshots=[50]), task(max_epochs=30)]
    )
    assert_same_bits(with_them.last_params, without.last_params)
    earlier = fit_fleet([task(max_epochs=13, schedule_epochs=30)])[0]
    other = fit_fleet([task(max_epochs=30, snapshots=[52, 60])])[0]
    assert_same_bits(other.snapshots[52], earlier.last_params)


def test_snapshots_of_fits_together():
    tasks = [task(max_epochs=3, snapshots=s, seed=i) for i, s in enumerate([[2], [9]])]
    for alone, together in zip(
        fit_fleet(tasks), fit_fleet(tasks, vectorize=True), strict=True
    ):
        assert list(alone.snapshots) == list(together.snapshots)
        for update, params in alone.snapshots.items():
            jax.tree.map(
                lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5),
                params,
                together.snapshots[update],
            )


def test_what_was_not_reached_is_not_there():
    result = fit(NET, "nll", X, Y, batch_size=30, max_epochs=2, snapshots=[3, 8, 9])
    assert list(result.snapshots) == [3, 8]
    diverged = fit(
        NET,
        "mse",
        X,
        Y,
        optimizer=optimizer(learning_rate=1e30),
        max_epochs=99,
        snapshots=[1, 99],
    )
    assert diverged.status == "diverged"
    assert list(diverged.snapshots) == [1]


def test_predictions_at_a_snapshot():
    result = fit(NET, "nll", X, Y, batch_size=40, max_epochs=5, snapshots=[3, 15])
    last = result.predict(X, at=15).mean
    np.testing.assert_array_equal(last, result.predict(X).mean)
    assert np.abs(result.predict(X, at=3).mean - last).max() > 1e-3
    with pytest.raises(ValueError, match="no snapshot of update 4, only of: 3, 15"):
        result.predict(X, at=4)


def test_predictions_before_a_divergence():
    result = fit(
        NET,
        "mse",
        X,
        Y,
        optimizer=optimizer(optax.sgd, learning_rate=1e30),
        batch_size=120,
        max_epochs=99,
        snapshots=[1, 2],
    )
    assert result.status == "diverged"
    assert np.isfinite(jax.tree.leaves(result.snapshots[1])[0]).all()
    assert np.isfinite(result.features(X, at=1)).all()
    for at in ("best", "last", 2):
        with pytest.raises(
            DivergedError, match=r"diverged in epoch \d and has no usab"
        ):
            result.predict(X, at=at)
    with pytest.raises(DivergedError) as caught:
        result.predict(X)
    assert caught.value.results == [result]
    with pytest.raises(
        ValueError, match=r'at must be "best", "last" or .* got \'end\''
    ):
        result.predict(X, at="end")


def test_best_and_last_parameters_predict_differently():
    # What is learnt is wrong for the rows for validation.
    rate = optimizer(learning_rate=0.05)
    result = fit(NET, "mse", X, Y, validation=(X, -Y), optimizer=rate, max_epochs=40)
    assert result.best_epoch < 40
    best, last = (result.predict(X, at=at).mean for at in ("best", "last"))
    np.testing.assert_array_equal(best, result.predict(X).mean)
    assert np.abs(best - last).max() > 1e-4


@pytest.mark.parametrize(
    ("snapshots", "message"),
    [
        ([0], "snapshots must be at least 1, got 0"),
        ([3, 3], "snapshots must increase"),
        ([1.5], "snapshots must be an integer, got 1.5"),
    ],
)
def test_wrong_snapshots_raise(snapshots, message):
    with pytest.raises(ValueError, match=message):
        fit(NET, "nll", X, Y, snapshots=snapshots)


def test_callbacks_see_the_parameters_of_the_moment():
    seen = []
    options = {"batch_size": 40, "validation": (X[:20], Y[:20])}
    result = fit(
        *(NET, "nll", X, Y),
        **options,
        max_epochs=25,
        callback=seen.append,
        callback_every=10,
    )
    assert [(shown.n_epochs, shown.status) for shown in seen] == [
        (10, "running"),
        (20, "running"),
        (25, "completed"),
    ]
    plain = fit(NET, "nll", X, Y, **options, max_epochs=25)
    assert_same_bits(plain.last_params, result.last_params)
    assert_same_bits(plain.params, result.params)
    assert_same_bits(seen[-1].params, result.last_params)
    at_ten = fit(NET, "nll", X, Y, **options, max_epochs=10)
    assert_same_bits(seen[0].params, at_ten.last_params)
    np.testing.assert_array_equal(plain.history["epoch"], result.history["epoch"])


def test_callbacks_may_come_after_every_epoch():
    seen = []
    options = {"batch_size": 40, "validation": (X[:20], Y[:20]), "max_epochs": 3}
    fit(NET, "nll", X, Y, **options, callback=seen.append, callback_every=1)
    assert [shown.n_epochs for shown in seen] == [1, 2, 3]


def test_wrong_callback_interval_raises():
    with pytest.raises(ValueError, match="callback_every must be at least 1, got 0"):
        fit(NET, "nll", X, Y, callback=print, callback_every=0)
