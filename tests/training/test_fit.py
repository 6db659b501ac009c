"""The compiled loop: bits, programs, fleets, and input that is refused."""

import re
import subprocess
import sys

import jax
import numpy as np
import pytest

from betanll.networks import MLP
from betanll.objectives import MSE, BetaNLL
from betanll.training import Budget, Data, FitTask, _loop, fit, fit_fleet, optimizer

NET = MLP(2, (8,), activation="tanh")


def regression_data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = np.sin(x[:, :1]) + 0.1 * rng.normal(size=(n, 1))
    return x.astype(np.float32), y.astype(np.float32)


X, Y = regression_data()
DATA = Data.of(X, Y)


def test_compiled_loop_equals_a_plain_loop(plain_loop):
    # 25 does not divide 120: the partial batch is dropped. 25 is padded to 32.
    budget = Budget(batch_size=25, max_epochs=7)
    task = FitTask(NET, BetaNLL((1.0, 0.0)), DATA, budget=budget, seed=3)
    result, expected = fit_fleet([task])[0], plain_loop(task, 7)[-1]
    assert result.n_updates == 7 * 4
    for ours, theirs in zip(
        jax.tree.leaves(result.params), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


def test_same_key_same_bits_alone_in_a_fleet_and_in_another_process(same_bits):
    tasks = [
        FitTask(NET, BetaNLL(beta), DATA, budget=Budget(32, 5), seed=seed)
        for beta in (0.0, 0.5)
        for seed in (0, 1)
    ]
    fleet = fit_fleet(tasks, n_jobs=2)
    assert not same_bits(fleet[0].params, fleet[1].params)
    assert same_bits(fit_fleet(tasks[2:3])[0].params, fleet[2].params)
    program = (
        "import sys, numpy as np, jax\n"
        f"sys.path.insert(0, {str(__file__).rsplit('/', 1)[0]!r})\n"
        "from test_fit import *\n"
        "r = fit(NET, BetaNLL(0.5), X, Y, batch_size=32, max_epochs=5, seed=0)\n"
        "print(''.join(np.asarray(p).tobytes().hex() "
        "for p in jax.tree.leaves(r.params)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    expected = "".join(
        np.asarray(leaf).tobytes().hex() for leaf in jax.tree.leaves(fleet[2].params)
    )
    assert out.stdout.strip() == expected


def test_one_compilation_serves_a_sweep():
    x, y = regression_data(130)
    net = MLP(2, (9,))  # a network of its own, so that nothing is cached yet
    tasks = [
        FitTask(
            net,
            BetaNLL(beta),
            Data.of(x[:n], y[:n], validation=(x[n:], y[n:])),
            optimizer(learning_rate=rate),
            Budget(32, epochs, patience),
            seed=seed,
        )
        for beta, rate, n, epochs, patience, seed in [
            (0.0, 1e-3, 100, 3, 1, 0),
            (0.5, np.float64(1e-2), 101, 4, 2, 1),
            (1, 1e-2, 100, 3, 2, 1),
            (np.float32(0.5), 1, 100, 3, 2, 1),
            ((1, 0.5), 1e-2, 100, 3, 2, 1),
            ((1.0, 0.0), 3e-3, 97, 5, 3, 2),
        ]
    ]
    before = _loop.n_traces
    fit_fleet(tasks)
    fit(net, BetaNLL(0.3), x, y, batch_size=32, max_epochs=2)  # a refit on all rows
    assert _loop.n_traces == before + 1


def test_small_data_sets_of_similar_size_share_a_program():
    net = MLP(2, (7,))
    before = _loop.n_traces
    for n in (50, 53, 56):  # full batches
        fit(net, MSE(), X[:n], Y[:n], max_epochs=2)
    assert _loop.n_traces == before + 1


def test_vectorized_fleet_agrees_with_threads():
    data = Data.of(X[:100], Y[:100], validation=(X[100:], Y[100:]))
    tasks = [
        FitTask(NET, BetaNLL(beta), data, budget=Budget(32, epochs, 4), seed=seed)
        for beta, epochs, seed in [(0.0, 3, 0), (0.5, 9, 1), (1.0, 6, 2)]
    ]
    seen = []
    together = fit_fleet(
        tasks, vectorize=True, progress=lambda done, total: seen.append((done, total))
    )
    for one, other in zip(fit_fleet(tasks), together, strict=True):
        assert one.n_epochs == other.n_epochs
        np.testing.assert_allclose(
            one.predict(X).mean, other.predict(X).mean, atol=1e-3
        )
        np.testing.assert_allclose(
            one.history["validation_nll"], other.history["validation_nll"], rtol=1e-3
        )
    assert seen[-1] == (18, 18)


def test_progress_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("betanll.progress.LINE_EVERY", 0.01)
    task = FitTask(NET, MSE(), DATA, budget=Budget(max_epochs=100))
    fit_fleet([task] * 2, progress=True)
    *_, line = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d+ of 200 epochs after \d+ s", line)


def test_interrupting_one_fit_stops_the_fleet():
    def interrupt(done, total):
        raise KeyboardInterrupt

    endless = Budget(max_epochs=10**8)
    tasks = [FitTask(NET, MSE(), DATA, budget=endless, seed=s) for s in range(3)]
    with pytest.raises(KeyboardInterrupt):
        fit_fleet(tasks, n_jobs=2, progress=interrupt)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": X[:0], "y": Y[:0]}, "training data is empty"),
        ({"x": X[:1], "y": Y[:1]}, "at least 2 rows, got 1"),
        ({"y": Y[:-1]}, "equally many rows, got 120 and 119"),
        ({"x": X * np.nan}, "inputs must be finite"),
        ({"batch_size": 121}, "batch_size is larger than the training data: 121 > 120"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"max_epochs": 0}, "max_epochs must be at least 1, got 0"),
        ({"patience": 0, "validation": (X, Y)}, "patience must be at least 1"),
        ({"patience": 5}, "patience needs validation data"),
        ({"validate_every": 0}, "validate_every must be at least 1"),
        ({"validation": (X[:, :1], Y)}, "validation inputs .* got 2 and 1"),
        ({"validation": (X, np.hstack([Y, Y]))}, "validation targets .* got 1 and 2"),
        ({"validation": (X[:3], Y[:3] * np.inf)}, "validation data targets"),
        ({"batch_size": 5.5}, "batch_size must be an integer, got 5.5"),
        ({"max_epochs": 2**31}, "max_epochs must be at most 2147483647"),
        ({"seed": 2**32}, "seed must be at most 4294967295"),
        ({"validation": (X,)}, r"validation must be \(x, y\) or .* got 1 elements"),
        ({"optimizer": "adam"}, "optimizer must be an Optimizer such as .* got 'adam'"),
        ({"net": MLP(3)}, "network expects 3 inputs, the training data has 2"),
        ({"objective": "gauss"}, "objective must be one of"),
    ],
)
def test_bad_input_is_refused_before_compilation(changes, message):
    before = _loop.n_traces
    arguments = {"net": NET, "objective": "nll", "x": X, "y": Y, **changes}
    with pytest.raises(ValueError, match=message):
        fit(**arguments)
    assert _loop.n_traces == before


@pytest.mark.parametrize("value", [-1e-3, float("nan"), float("inf")])
def test_bad_learning_rates_are_refused(value):
    with pytest.raises(ValueError, match="learning_rate must be finite"):
        optimizer(learning_rate=value)


def test_prediction_checks_its_input():
    result = fit(NET, MSE(), X, Y, max_epochs=1)
    with pytest.raises(ValueError, match=r"shape \(n, 2\), got \(5, 3\)"):
        result.predict(np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"inputs must be finite .* row 1, column 0"):
        result.predict([[0.0, 0.0], [np.nan, 0.0]])


def test_n_jobs_must_be_positive():
    with pytest.raises(ValueError, match="n_jobs must be at least 1, got 0"):
        fit_fleet([], n_jobs=0)


@pytest.mark.parametrize("first", [0, 40, 100])
def test_any_rows_of_shared_data_can_be_for_validation(first, same_bits):
    """From row 100 on, the validation rows wrap around the end."""
    ring = np.roll(np.arange(120), -first)
    validation, train = ring[:50], ring[50:]
    # Their mean is not one, in contrast to those that a task is given.
    weight = np.ones((120, 1), np.float32)
    weight[validation] = 2 + np.arange(50)[:, None] % 3
    whole = Data.from_blocks([(X, Y, weight)], n_train=120, n_inputs=2, n_targets=1)
    options = {"max_epochs": 5, "batch_size": 32, "patience": 2, "seed": 4}
    shared = fit(NET, BetaNLL(0.5), whole.with_validation(first, 50), **options)
    alone = fit(
        NET,
        BetaNLL(0.5),
        X[train],
        Y[train],
        validation=(X[validation], Y[validation], weight[validation]),
        **options,
    )
    assert same_bits(shared.params, alone.params)
    for name, column in alone.history.items():
        np.testing.assert_allclose(shared.history[name], column, rtol=1e-6)
