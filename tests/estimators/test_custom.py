"""Custom networks and optimisers of the estimator, also of flax and equinox."""

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.base import clone

from betanll import HeteroscedasticRegressor
from betanll.networks import MLP, Network, network
from betanll.training import cosine_adamw, optimizer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1, 10, 100]
Y = X[:, 0] + 0.1 * X[:, 1] + 0.1 * RNG.normal(size=80)
SMALL = {"max_updates": 60, "n_members": 2, "random_state": 0, "n_jobs": 1}


@network("test-flax")
@dataclass(frozen=True)
class FlaxNetwork:
    """A module of flax."""

    n_inputs: int
    n_units: int = 4

    def module(self, n_outputs):
        layers = [flax.linen.Dense(self.n_units), jnp.tanh, flax.linen.Dense(n_outputs)]
        return flax.linen.Sequential(layers)

    def init(self, head_sizes, *, key):
        return self.module(sum(head_sizes)).init(key, jnp.zeros(self.n_inputs))

    def apply(self, params, inputs, *, n_detached=0):
        n_outputs = params["params"]["layers_2"]["bias"].size
        return self.module(n_outputs).apply(params, inputs.T).T


class Layers(eqx.Module):
    hidden: eqx.nn.Linear
    head: eqx.nn.Linear

    def __call__(self, x):
        return self.head(jnp.tanh(self.hidden(x)))


@network("test-equinox")
@dataclass(frozen=True)
class EquinoxNetwork:
    """A module of equinox, which is its own pytree of parameters."""

    n_inputs: int
    n_units: int = 4

    def init(self, head_sizes, *, key):
        hidden, head = jax.random.split(key)
        return Layers(
            eqx.nn.Linear(self.n_inputs, self.n_units, key=hidden),
            eqx.nn.Linear(self.n_units, sum(head_sizes), key=head),
        )

    def apply(self, params, inputs, *, n_detached=0):
        return jax.vmap(params, in_axes=1, out_axes=1)(inputs)


@dataclass(frozen=True)
class Unnamed:
    """A linear network that is not registered."""

    n_inputs: int
    is_transposed: bool = False

    def init(self, head_sizes, *, key):
        return 0.1 * jax.random.normal(key, (sum(head_sizes), self.n_inputs))

    def apply(self, params, inputs, *, n_detached=0):
        outputs = params @ inputs
        return outputs.T if self.is_transposed else outputs


def model(**parameters):
    return HeteroscedasticRegressor(**SMALL, **parameters)


@pytest.mark.parametrize("kind", [FlaxNetwork, EquinoxNetwork])
def test_modules_train_predict_and_survive_saving(kind, tmp_path):
    fast = optimizer(learning_rate=0.05)
    chosen = model(network=partial(kind, n_units=5), optimizer=fast)
    fitted = clone(chosen).fit(X, Y)
    assert fitted.net_ == kind(3, 5)
    mean, std = fitted.predict(X, return_std=True)
    assert mean.shape == std.shape == (80,)
    assert np.corrcoef(mean, Y)[0, 1] > 0.9
    fitted.save(tmp_path / "model")
    again = HeteroscedasticRegressor.load(tmp_path / "model")
    assert again.net_ == fitted.net_
    assert again.network is None
    np.testing.assert_array_equal(again.predict(X), mean)


def test_the_protocol_is_that_of_our_perceptron(tmp_path):
    net: Network = MLP(3)
    assert net.n_inputs == 3
    usual = model(hidden_layer_sizes=(8,), activation="tanh", n_bins=0).fit(X, Y)
    same = model(network=lambda n: MLP(n, (8,), "tanh")).fit(X, Y)
    np.testing.assert_array_equal(usual.predict(X), same.predict(X))


def test_refits_take_custom_networks_and_optimisers():
    fitted = model(
        preset="paper",
        network=Unnamed,
        optimizer=optimizer(optax.sgd, learning_rate=0.05),
    ).fit(X, Y)
    assert fitted.best_learning_rate_ == 0.05
    assert np.corrcoef(fitted.predict(X), Y)[0, 1] > 0.9


def fixed_sgd():
    return optax.sgd(0.05)


def test_optimisers_may_be_without_a_learning_rate(tmp_path):
    fitted = model(network=FlaxNetwork, optimizer=optimizer(fixed_sgd)).fit(X, Y)
    assert fitted.best_learning_rate_ is None
    assert fitted.search_results_["learning_rate"] == [None, None]
    fitted.save(tmp_path / "model")
    again = HeteroscedasticRegressor.load(tmp_path / "model")
    assert again.best_learning_rate_ is None
    assert again.optimizer is None


def test_a_schedule_has_the_length_of_the_run():
    chosen = model(optimizer=optimizer(cosine_adamw, learning_rate=0.01))
    tasks = next(chosen.fit_steps(X, Y))
    (n_updates,) = {task.optimizer.hyperparameters["n_updates"] for task in tasks}
    assert n_updates == 60


@dataclass
class Mutable:
    """A network that is no key of a dictionary, since it can change."""

    n_inputs: int

    def init(self, head_sizes, *, key):
        return jax.numpy.zeros((sum(head_sizes), self.n_inputs))

    def apply(self, params, inputs, *, n_detached=0):
        return params @ inputs


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"network": MLP(3)}, "network must be a class or function .* got MLP"),
        ({"network": "mlp"}, "network must be a class or function .* got 'mlp'"),
        ({"network": MLP, "n_bins": 3}, "n_bins belongs to the default network: leave"),
        ({"network": lambda n: MLP(n + 1)}, "the network expects 4 inputs"),
        (
            {"network": partial(Unnamed, is_transposed=True)},
            r"Unnamed must return outputs of shape \(2, n\) for n samples",
        ),
        (
            {"network": Mutable},
            "the network Mutable must be hashable, such as a frozen",
        ),
        ({"network": lambda n: None}, "the network NoneType must have n_inputs"),
        ({"optimizer": "adam"}, "optimizer must be an Optimizer .* got 'adam'"),
        ({"optimizer": optax.adam(0.1)}, "optimizer must be an Optimizer such as"),
        (
            {"optimizer": optimizer(), "weight_decay": 0.1},
            "weight_decay belongs to the default optimiser: leave it out, or leave out",
        ),
    ],
)
def test_what_cannot_be_trained_is_told_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(X, Y)


def test_models_that_cannot_be_saved_or_exported(tmp_path):
    fitted = model(network=Unnamed).fit(X, Y)
    with pytest.raises(ValueError, match="Unnamed cannot be saved: register its class"):
        fitted.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(ValueError, match="exports the default network only, not Unn"):
        fitted.to_torch()
