"""Runs step by step, and networks that cannot be trained."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from betanll.networks import MLP
from betanll.training import Budget, Data, FitTask, _loop, _program, fit, prepare

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)).astype(np.float32)
Y = X[:, :1] * X[:, 1:]
NET = MLP(2, (4,))


def test_steps_have_the_bits_of_the_whole(same_bits):
    options = {"max_epochs": 30, "validation": (X[:9], Y[:9]), "snapshots": [7, 30]}
    whole = fit(NET, "nll", X, Y, **options)
    data = Data.of(X, Y, validation=(X[:9], Y[:9]))
    budget, snapshots = Budget(max_epochs=30), [7, 30]
    run = prepare(FitTask(NET, "nll", data, budget=budget, snapshots=snapshots))
    state = run.start()
    assert (state.epoch, state.status) == (0, "running")
    assert run.result(state).n_epochs == 0
    for until in (1, 8, 8, 100):
        state = run.advance(state, until)
        assert state.epoch == min(until, 30)
    result = run.result(state)
    assert result.status == state.status == "completed"
    for name in ("params", "last_params", "snapshots", "history"):
        assert same_bits(getattr(result, name), getattr(whole, name))


def test_a_state_can_be_continued_twice(same_bits):
    run = prepare(FitTask(NET, "nll", Data.of(X, Y), budget=Budget(max_epochs=9)))
    half = run.advance(run.start(), 4)
    first, second = (run.result(run.advance(half, 9)) for _ in range(2))
    assert same_bits(first.params, second.params)
    assert first.history["epoch"].tolist() == list(range(1, 10))
    assert run.result(half).n_epochs == 4


def test_an_advance_may_be_longer_than_a_history():
    n = _program.HISTORY_CAPACITY + 5
    run = prepare(
        FitTask(NET, "nll", Data.of(X[:20], Y[:20]), budget=Budget(max_epochs=n))
    )
    history = run.result(run.advance(run.start(), n)).history
    np.testing.assert_array_equal(history["epoch"], np.arange(1, n + 1))


@dataclass(frozen=True)
class Linear:
    """A linear model with one fault at most."""

    n_inputs: int
    fault: str = ""

    def init(self, head_sizes, *, key):
        n_outputs = sum(head_sizes) + (self.fault == "one more")
        return jax.random.normal(key, (n_outputs, self.n_inputs))

    def apply(self, params, inputs, *, n_detached=0):
        outputs = params @ inputs
        if self.fault == "transposed":
            return outputs.T
        if self.fault in OTHER_KINDS:
            return OTHER_KINDS[self.fault](outputs)
        return outputs.sum(axis=1) if self.fault == "summed" else outputs


#: Outputs of the kinds that frameworks like to return.
OTHER_KINDS = {
    "tuple": lambda outputs: (outputs[:1], outputs[1:]),
    "list": lambda outputs: [outputs],
    "dict": lambda outputs: {"mean": outputs},
    "nothing": lambda outputs: None,
}


class Unhashable(Linear):
    __hash__ = None


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (
            Linear(2, "transposed"),
            r"Linear must return outputs of shape \(2, n\) for n samples, got \(3, 2\)",
        ),
        (
            Linear(2, "one more"),
            r"shape \(2, n\) for n samples, got \(3, 3\) for n = 3",
        ),
        (Linear(2, "summed"), r"shape \(2, n\) for n samples, got \(2,\) for n = 3"),
        (Unhashable(2), "the network Unhashable must be hashable, such as a frozen"),
        (jnp.tanh, "the network .* must have n_inputs"),
        *(
            (
                Linear(2, kind),
                rf"Linear must return one array of shape \(2, n\) for .*got {got}",
            )
            for kind, got in [
                *(("tuple", "tuple"), ("list", "list"), ("dict", "dict")),
                ("nothing", "NoneType"),
            ]
        ),
    ],
)
def test_networks_that_cannot_be_trained(net, message):
    before = _loop.n_traces
    with pytest.raises(ValueError, match=message):
        fit(net, "nll", X, Y, max_epochs=1)
    assert _loop.n_traces == before


def test_a_small_network_of_ones_own_trains():
    result = fit(Linear(2), "nll", X, X[:, :1], max_epochs=5)
    assert result.predict(X).mean.shape == (40, 1)


def test_what_a_task_must_hold():
    task = FitTask(NET, "nll", Data.of(X, Y))
    for change, message in [
        ({"data": X}, r"data must be Data, such as Data.of\(x, y\), got ndarray"),
        ({"budget": 100}, "budget must be a Budget, got 100"),
        ({"optimizer": optax.adam}, "optimizer must be an Optimizer such as"),
    ]:
        with pytest.raises(ValueError, match=message):
            prepare(replace(task, **change))
