"""Exported modules with drawn or given parameters."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def whitening():
    """A function that returns constants far from those that would change nothing."""

    def constants(n_targets, seed=0):
        rng = np.random.default_rng(seed)
        return {
            "input_mean": rng.normal(size=4),
            "input_scale": rng.uniform(0.5, 2, 4),
            "target_mean": 1e3 * rng.normal(size=n_targets),
            "target_scale": rng.uniform(0.1, 10, n_targets),
            "spread": rng.uniform(0.5, 2, n_targets),
        }

    return constants


@pytest.fixture(scope="session")
def drawn():
    """A function that draws parameters of a network.

    Outputs, those of the second head too, vary by several units.
    """
    import jax

    def members(net, trained, n_targets, keys):
        def member(key):
            init_key, bias_key = jax.random.split(key)
            params = net.init(trained.head_sizes(n_targets), key=init_key)
            for layer in params:
                bias_key, key = jax.random.split(bias_key)
                layer["weight"] = 2 * layer["weight"]
                layer["bias"] = jax.random.normal(key, layer["bias"].shape)
            return params

        return [member(key) for key in keys]

    return members


@pytest.fixture
def exported(whitening, drawn, getkey):
    """A function that returns a module, and what its prediction is compared with."""
    from betanll.networks import MLP
    from betanll.objectives import get
    from betanll.torch import RegressorModule

    def module_and_parts(
        objective, *, activation="tanh", n_targets=1, n_members=1, **other
    ):
        trained = get(objective)
        net = MLP(4, (16, 8), activation=activation)
        members = drawn(net, trained, n_targets, [getkey() for _ in range(n_members)])
        constants = whitening(n_targets)
        arguments = {"squeeze": False, **constants, **other}
        module = RegressorModule(
            members=members, activation=activation, objective=trained, **arguments
        )
        return module, net, trained, members, constants

    return module_and_parts


@pytest.fixture(scope="session")
def by_hand():
    """A function that exports members without hidden layers: biases are outputs.

    There are two, with one input that does not count, unless others are given.
    """
    from betanll.objectives import MSE
    from betanll.torch import RegressorModule

    def member(mean):
        return [{"weight": np.zeros((1, 1)), "bias": np.full((1, 1), mean)}]

    arguments = {
        "members": [member(-1.0), member(3.0)],
        "activation": "relu",
        "objective": MSE(),
        "input_mean": [0.0],
        "input_scale": [1.0],
        "target_mean": [10.0],
        "target_scale": [2.0],
        "spread": [3.0],
        "squeeze": True,
    }
    return lambda **other: RegressorModule(**{**arguments, **other})
