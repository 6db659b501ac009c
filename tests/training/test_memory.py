"""Fits that cannot fit into memory are refused before anything is compiled."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from betanll import HeteroscedasticRegressor, _machine
from betanll.networks import MLP
from betanll.training import Budget, Data, FitTask, _loop, fit, fit_fleet, optimizer
from betanll.training._memory import _needs, naming_failed_allocations
from betanll.training._run import prepare

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


DATA = Data.of(X, X[:, :1])


def task(*sizes, **options):
    return FitTask(MLP(3, sizes), "nll", DATA, **options)


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    """Training is an error in these tests."""

    def fail(*args, **kwargs):
        raise AssertionError("the fit was not refused")

    monkeypatch.setattr(_loop, "run", fail)


@pytest.fixture
def available(monkeypatch):
    """A function that sets the memory of the machine in MiB."""

    def change(mib):
        size = None if mib is None else int(mib * 2**20)
        monkeypatch.setattr(_machine, "available_memory", lambda: size)

    return change


def refusal(tasks, **options):
    with pytest.raises(MemoryError) as caught:
        fit_fleet(tasks, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_estimate_is_exact_for_a_small_network():
    (need,) = _needs([prepare(task(5, 7, budget=Budget(16), snapshots=(1, 2, 3)))])
    n = 5 * (3 + 1) + 7 * (5 + 1) + 2 * (7 + 1)
    assert need.n_parameters == n
    # parameters, best parameters, two moments of Adam, three snapshots; few scalars
    assert 4 * n * 7 <= need.state < 4 * n * 7 + 64
    assert need.activations == 4 * 16 * (5 + 7)
    assert need.running == 2 * need.state + 4 * n + need.activations


def test_estimate_knows_the_optimiser_and_measures_a_kind_once():
    fits = [prepare(task(5, seed=seed)) for seed in range(3)]
    fits.append(prepare(task(5, optimizer=optimizer(optax.sgd, learning_rate=0.01))))
    adam, again, third, sgd = _needs(fits)
    assert adam is again is third
    # two moments instead of one momentum
    assert adam.state - sgd.state >= 4 * adam.n_parameters


def test_estimate_is_what_training_allocates():
    prepared = prepare(task(20, 20))
    leaves = jax.tree.leaves(prepared.start().carried)
    assert _needs([prepared])[0].state == sum(leaf.nbytes for leaf in leaves)


def test_network_too_large(available):
    available(20_000)
    message = refusal([task(100_000, 100_000)])
    assert message == (
        "training needs at least 335 GiB of memory but only 19.5 GiB are free; a "
        "network with hidden layers of 100000, 100000 units has 10,000,700,002 "
        "parameters: choose smaller layers"
    )
    for callback in (None, print):
        with pytest.raises(MemoryError, match="choose smaller layers"):
            fit(MLP(3, (100_000, 100_000)), "nll", X, X[:, :1], callback=callback)
    # the largest layers, many of them
    n = 2**24
    n_parameters = n * (3 + 1) + 39 * n * (n + 1) + 2 * (n + 1)
    assert f"has {n_parameters:,} parameters" in refusal([task(*[n] * 40)])


def test_batch_too_large(available):
    available(400)
    n = 100_000
    x = np.zeros((n, 3), np.float32)
    wide = FitTask(MLP(3, (1000, 1000)), "nll", Data.of(x, x[:, :1]), budget=Budget(n))
    message = refusal([wide])
    assert "rows at a time pass through a network" in message
    assert message.endswith("choose a smaller batch_size or smaller layers")


def test_too_many_networks(available):
    available(100)
    tasks = [task(1000, 1000, seed=seed) for seed in range(50)]
    message = refusal(tasks, n_jobs=1)
    assert "50 networks are trained in this step: train fewer" in message
    message = refusal(tasks[:4], n_jobs=4)
    assert message.endswith("4 networks are trained at a time: choose a smaller n_jobs")


def test_networks_that_fit_are_not_refused(available):
    for mib in (2000, None):
        available(mib)
        with pytest.raises(AssertionError, match="was not refused"):
            fit_fleet([task(1000, 1000)])


def test_small_fits_do_not_ask_the_machine(available):
    available(0)
    with pytest.raises(AssertionError, match="was not refused"):
        fit_fleet([task(5, 5)])


def test_accelerators_are_not_judged_by_the_memory_of_the_machine(
    available, monkeypatch
):
    available(1)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with pytest.raises(AssertionError, match="was not refused"):
        fit_fleet([task(1000, 1000)], vectorize=False)


@dataclass(frozen=True)
class Linear:
    """A custom network without hidden sizes."""

    n_inputs: int = 3
    n_copies: int = 10**9

    def init(self, head_sizes, *, key):
        return jnp.zeros((self.n_copies, sum(head_sizes), self.n_inputs))

    def apply(self, params, inputs, *, n_detached=0):
        return params[0] @ inputs

    def features(self, params, inputs):
        return inputs


def test_custom_network(available):
    available(1000)
    message = refusal([FitTask(Linear(), "nll", DATA)])
    assert "the network has 6,000,000,000 parameters" in message


def test_estimator(available):
    available(1000)
    model = HeteroscedasticRegressor(preset="fast", hidden_layer_sizes=(90_000, 90_000))
    with pytest.raises(MemoryError, match="choose smaller layers"):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "members_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layer_sizes": 10**20}, "hidden_layer_sizes must hold integers of at"),
        ({"hidden_layer_sizes": (5, 2**24 + 1)}, "hidden_layer_sizes must hold intege"),
        ({"hidden_layer_sizes": (1,) * 5000}, "at most 100 layers, got 5000"),
        ({"n_members": 10**7}, "n_members must be at most 10000, got 10000000"),
        ({"n_members": 10**30}, "n_members must be at most 10000"),
    ],
)
def test_absurd_parameters_of_the_estimator(parameters, message):
    with pytest.raises(ValueError, match=message):
        HeteroscedasticRegressor(**parameters).fit(X, X[:, 0])


def test_absurd_numbers_of_a_task():
    for name in ("batch_size", "max_epochs", "patience", "validate_every"):
        with pytest.raises(ValueError, match=f"{name} must be at most"):
            fit_fleet([task(5, budget=Budget(**{name: 10**30}))])
    with pytest.raises(ValueError, match="hidden_sizes must be at most 16777216"):
        task(10**20)
    with pytest.raises(ValueError, match="at most 100 layers, got 5000"):
        task(*[1] * 5000)


def test_failed_allocations_are_named():
    exhausted = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory\nmore")
    with (
        pytest.raises(MemoryError, match=r"^JAX ran out of memory: choose a smaller"),
        naming_failed_allocations(),
    ):
        raise exhausted
    other = jax.errors.JaxRuntimeError("INTERNAL: broken")
    with (
        pytest.raises(jax.errors.JaxRuntimeError, match="broken"),
        naming_failed_allocations(),
    ):
        raise other


def test_allocation_that_fails_in_a_thread(monkeypatch, available):
    available(None)

    def fail(*args):
        *_, until, _ = args
        if until > 0:  # not yet when programs are compiled, before threads start
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")

    monkeypatch.setattr(_loop, "run", fail)
    for n_jobs in (1, 2):
        message = refusal([task(5, seed=0), task(5, seed=1)], n_jobs=n_jobs)
        assert message.startswith("JAX ran out of memory")
