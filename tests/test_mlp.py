import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll.networks import ACTIVATIONS, MLP


@pytest.mark.parametrize("n", [2, 7])  # fewer and more samples than units
def test_apply_is_the_textbook_forward_pass(n, getkey):
    net = MLP(3, (5, 4), activation="tanh")
    params = net.init([2, 1], key=getkey())
    x = np.asarray(jax.random.normal(getkey(), (3, n)))
    hidden = x
    for layer in params[:-1]:
        hidden = np.tanh(np.asarray(layer["weight"]) @ hidden + layer["bias"])
    expected = np.asarray(params[-1]["weight"]) @ hidden + params[-1]["bias"]
    np.testing.assert_allclose(net.apply(params, x), expected, atol=1e-6)
    np.testing.assert_allclose(net.features(params, x), hidden, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_has_finite_gradients(activation, getkey):
    net = MLP(2, (8,), activation=activation)
    params = net.init([1], key=getkey())
    x = jnp.array([[-100.0, 0.0, 100.0], [1.0, 0.0, -1.0]])
    gradient = jax.grad(lambda p: jnp.sum(net.apply(p, x)))(params)
    assert all(jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize(
    ("initialiser", "half_width"),
    [("xavier", np.sqrt(6 / (200 + 100))), ("lecun", np.sqrt(3 / 200))],
)
def test_initial_weights_fill_the_stated_range(initialiser, half_width, getkey):
    net = MLP(200, (100,), initialiser=initialiser)
    first = net.init([1], key=getkey())[0]
    assert first["weight"].shape == (100, 200)
    # 20 000 uniform draws come within 0.1 % of the ends and of the variance w^2/3
    assert half_width * 0.999 < jnp.abs(first["weight"]).max() <= half_width
    assert jnp.var(first["weight"]) == pytest.approx(half_width**2 / 3, rel=0.03)
    assert not jnp.any(first["bias"])


def test_heads_are_initialised_one_by_one(getkey):
    # Xavier's fan-out is that of the head, not of the joint matrix
    weight = MLP(1, (3,)).init([1000, 1], key=getkey())[-1]["weight"]
    wide, narrow = np.sqrt(6 / 1003), np.sqrt(6 / 4)
    assert wide * 0.99 < jnp.abs(weight[:1000]).max() <= wide
    assert wide < jnp.abs(weight[1000:]).max() <= narrow


def test_detached_outputs_train_their_head_only(getkey):
    net = MLP(2, (6,))
    params = net.init([1, 1], key=getkey())
    x = jax.random.normal(getkey(), (2, 9))

    def output(row, params):
        return jnp.sum(net.apply(params, x, n_detached=1)[row])

    np.testing.assert_allclose(
        net.apply(params, x, n_detached=1), net.apply(params, x), atol=1e-6
    )
    attached, detached = (jax.grad(output, 1)(row, params) for row in (0, 1))
    assert jnp.any(attached[0]["weight"] != 0)
    assert not jnp.any(detached[0]["weight"])
    assert jnp.any(detached[1]["weight"] != 0)


def test_no_hidden_layer_is_a_linear_model(getkey):
    net = MLP(2, ())
    params = net.init([1], key=getkey())
    np.testing.assert_allclose(
        net.apply(params, jnp.eye(2)), params[0]["weight"], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"n_inputs": 0}, "n_inputs"),
        ({"n_inputs": 1, "hidden_sizes": (4, 0)}, "hidden_sizes"),
        ({"n_inputs": 1, "activation": "sigmoid"}, "activation.*'sigmoid'"),
        ({"n_inputs": 1, "initialiser": "he"}, "initialiser.*'he'"),
        ({"n_inputs": 1, "n_bins": -1}, "n_bins"),
    ],
)
def test_bad_descriptions_name_the_parameter(arguments, named):
    with pytest.raises(ValueError, match=named):
        MLP(**arguments)


def test_bins_add_ramps_to_every_input(getkey):
    net = MLP(2, (), n_bins=3)
    params = net.init([1], key=getkey())
    assert params[0]["weight"].shape == (1, net.n_encoded) == (1, 8)
    x = np.array([[0.0, 1.25, 3.0], [3.0, 0.5, 2.0]], np.float32)
    ramps = [
        [-1, 1, 1],
        [-1, -0.5, 1],
        [-1, -1, 1],
        [1, 0, 1],
        [1, -1, 1],
        [1, -1, -1],
    ]
    seen = np.concatenate([(x / 3 - 0.5) * np.sqrt(12), ramps])
    expected = np.asarray(params[0]["weight"]) @ seen
    np.testing.assert_allclose(net.apply(params, x), expected, atol=1e-6)


@pytest.mark.parametrize("n", [3, 9])  # fewer and more samples than units
def test_a_network_with_bins_is_one_without_on_what_it_sees(n, getkey):
    net, plain = MLP(2, (5,), n_bins=4), MLP(10, (5,))
    params = net.init([1], key=getkey())
    x = 4 * np.asarray(jax.random.uniform(getkey(), (2, n)))
    ramps = [2 * np.clip(row - k, 0, 1) - 1 for row in x for k in range(4)]
    seen = np.concatenate([(x / 4 - 0.5) * np.sqrt(12), ramps])
    np.testing.assert_allclose(
        net.apply(params, x), plain.apply(params, seen), atol=1e-6
    )
