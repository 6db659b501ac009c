"""Which parameters weight decay shrinks: of our networks and of other people's."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from betanll.networks import MLP
from betanll.objectives import MSE, get
from betanll.training import Data, FitTask, _loop, adamw, fit, optimizer
from betanll.training._program import Program
from betanll.training._run import prepare
from betanll_paper.autoencoders import Autoencoder

_random = np.random.default_rng(0)
X = _random.normal(size=(16, 2)).astype(np.float32)
Y = _random.normal(size=(16, 1)).astype(np.float32)
RATE, DECAY = 0.1, 0.5


@dataclass(frozen=True)
class PlainNet:
    """A residual layer and a head, as a dictionary of w and b."""

    n_inputs: int = 2

    def init(self, head_sizes, *, key):
        first, second = jax.random.split(key)
        n = self.n_inputs
        return {
            "residual": {"w": jax.random.normal(first, (n, n)), "b": jnp.ones(n)},
            "head": {
                "w": jax.random.normal(second, (sum(head_sizes), n)),
                "b": jnp.ones(sum(head_sizes)),
            },
            "gain": jnp.float32(1.5),
        }

    def features(self, params, inputs):
        layer = params["residual"]
        return inputs + jnp.tanh(layer["w"] @ inputs + layer["b"][:, None])

    def apply(self, params, inputs, *, n_detached=0):
        hidden, head = self.features(params, inputs), params["head"]
        return params["gain"] * (head["w"] @ hidden + head["b"][:, None])


class HeadOnlyNet(PlainNet):
    """The same network, of which the head alone is to decay."""

    def decays(self, params):
        marks = jax.tree.map(lambda leaf: False, params)
        return marks | {"head": {"w": True, "b": False}}


@dataclass(frozen=True)
class FlaxNet:
    """A network of Flax between arrays with samples last."""

    n_inputs: int = 2

    def module(self, n_outputs=1):
        from flax import linen

        ones = linen.initializers.ones
        return linen.Sequential(
            [
                linen.Dense(3, bias_init=ones),
                linen.LayerNorm(bias_init=ones),
                jnp.tanh,
                linen.Dense(n_outputs, bias_init=ones),
            ]
        )

    def init(self, head_sizes, *, key):
        inputs = jnp.zeros((1, self.n_inputs))
        return self.module(sum(head_sizes)).init(key, inputs)

    def apply(self, params, inputs, *, n_detached=0):
        return self.module().apply(params, inputs.T).T


@dataclass(frozen=True)
class EquinoxNet:
    """A network of Equinox, whose parameters are a module without its functions."""

    n_inputs: int = 2

    def init(self, head_sizes, *, key):
        import equinox

        return equinox.filter(self.module(key, sum(head_sizes)), equinox.is_array)

    def module(self, key, n_outputs=1):
        import equinox

        return equinox.nn.MLP(self.n_inputs, n_outputs, 3, 1, jnp.tanh, key=key)

    def apply(self, params, inputs, *, n_detached=0):
        import equinox

        functions = equinox.filter(
            self.module(jax.random.key(0)), equinox.is_array, inverse=True
        )
        return jax.vmap(equinox.combine(params, functions), 1, 1)(inputs)


def by_name(params):
    """Return the arrays by their paths."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def after_one_update(net, decay):
    result = fit(
        net,
        MSE(),
        X,
        Y,
        optimizer=optimizer(adamw, learning_rate=RATE, weight_decay=decay),
        max_epochs=1,
    )
    return by_name(result.params)


@pytest.mark.parametrize(
    ("net", "decaying"),
    [
        (PlainNet(), {"['residual']['w']", "['head']['w']"}),
        (HeadOnlyNet(), {"['head']['w']"}),
        (
            FlaxNet(),
            {"['params']['layers_0']['kernel']", "['params']['layers_3']['kernel']"},
        ),
        (EquinoxNet(), {".layers[0].weight", ".layers[1].weight"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_weights_of_custom_networks_decay(net, decaying):
    start = prepare(FitTask(net, MSE(), Data.of(X, Y)))
    initial = by_name(
        _loop.unpack(start.program, start.objective, start.start().carried.params)[
            "net"
        ]
    )
    plain, decayed = (after_one_update(net, decay) for decay in (0.0, DECAY))
    assert decaying < set(initial)
    for name, array in initial.items():
        assert np.any(array != 0)
        if name in decaying:
            change = RATE * DECAY * array
            np.testing.assert_allclose(plain[name] - decayed[name], change, atol=1e-6)
        else:
            np.testing.assert_array_equal(plain[name], decayed[name])


def test_biases_of_our_network_do_not_decay():
    # Without inputs only the biases have a gradient, and the weights only decay.
    net, x, y = MLP(2, ()), np.zeros((16, 2)), np.full((16, 1), 3.0)
    plain, decayed = (
        fit(
            net,
            MSE(),
            x,
            y,
            optimizer=optimizer(adamw, learning_rate=RATE, weight_decay=decay),
            max_epochs=20,
        ).params[0]
        for decay in (0.0, DECAY)
    )
    assert plain["bias"][0, 0] > 1
    np.testing.assert_array_equal(plain["bias"], decayed["bias"])
    shrinkage = (1 - RATE * DECAY) ** 20
    np.testing.assert_allclose(
        decayed["weight"], shrinkage * plain["weight"], rtol=1e-5
    )


@pytest.mark.parametrize("objective", ["beta-nll", "xvamp-star", "vbem-star"])
@pytest.mark.parametrize(
    "net",
    [
        MLP(1, ()),
        MLP(1, (1, 3)),
        MLP(2, (4,), n_bins=3),
        Autoencoder(2, n_latent=1, hidden_sizes=(3,)),
    ],
    ids=repr,
)
def test_our_networks_decay_the_arrays_called_weight(net, objective):
    program = Program(net, n_targets=1, batch_capacity=8, validation_chunk=8)
    trainable = _loop.trainable_template(program, get(objective))
    names = by_name(trainable)
    expected = [
        np.full(array.size, name.startswith("['net']") and name.endswith("['weight']"))
        for name, array in names.items()
    ]
    mask = ravel_pytree(_loop.is_weight(program, trainable))[0]
    np.testing.assert_array_equal(mask, np.concatenate(expected))
