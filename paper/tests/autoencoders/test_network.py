import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll_paper.autoencoders import Autoencoder, WithNoise

NET = Autoencoder(6, n_latent=2, hidden_sizes=(5, 4), activation="tanh")


@pytest.fixture
def params(getkey):
    return NET.init((6, 6), key=getkey())


def perceptron(layers, x):
    for layer in layers[:-1]:
        x = np.tanh(np.asarray(layer["weight"]) @ x + layer["bias"])
    return np.asarray(layers[-1]["weight"]) @ x + layers[-1]["bias"]


def test_the_decoder_mirrors_the_encoder():
    net = Autoencoder(784)
    assert net.encoder.hidden_sizes == (512, 256, 128)
    assert net.decoder.hidden_sizes == (128, 256, 512)
    assert (net.encoder.n_inputs, net.decoder.n_inputs) == (784, 10)


def test_encode_and_decode_are_the_textbook_passes(params, getkey):
    x = np.asarray(jax.random.normal(getkey(), (6, 9)))
    mean, variance = NET.encode(params, x)
    expected = perceptron(params["encoder"], x)
    np.testing.assert_allclose(mean, expected[:2], atol=1e-5)
    offset = np.log(np.expm1(1 - 1e-8))
    expected_variance = np.log1p(np.exp(expected[2:] + offset)) + 1e-8
    np.testing.assert_allclose(variance, expected_variance, rtol=1e-5)
    np.testing.assert_allclose(NET.features(params, x), mean, atol=1e-6)
    raw = NET.decode(params, mean)
    expected = perceptron(params["decoder"], np.asarray(mean)).reshape(2, 6, 9)
    np.testing.assert_allclose(raw, expected, atol=1e-5)


def test_codes_are_means_or_drawn(params, getkey):
    x, key = jax.random.normal(getkey(), (6, 9)), getkey()
    raw, mean, variance = NET.apply(params, x)
    np.testing.assert_allclose(raw, NET.decode(params, mean), atol=1e-6)
    drawn = NET.apply(params, WithNoise(x, key))
    code = mean + jnp.sqrt(variance) * jax.random.normal(key, (2, 9))
    np.testing.assert_allclose(drawn.raw, NET.decode(params, code), atol=1e-6)
    np.testing.assert_allclose(drawn.mean, mean, atol=1e-6)
    assert not np.allclose(drawn.raw, raw, atol=1e-3)


def test_zero_weights_give_the_prior(params):
    nothing = jax.tree.map(jnp.zeros_like, params)
    mean, variance = NET.encode(nothing, jnp.ones((6, 3)))
    np.testing.assert_allclose(mean, 0, atol=0)
    np.testing.assert_allclose(variance, 1, rtol=1e-6)


def test_detached_outputs_shape_neither_decoder_nor_encoder(params, getkey):
    x, key = jax.random.normal(getkey(), (6, 9)), getkey()

    def output(params):
        raw = NET.apply(params, WithNoise(x, key), n_detached=6).raw
        return jnp.sum(raw[1] ** 2)

    gradient = jax.grad(output)(params)
    *hidden, head = gradient["decoder"]
    assert not any(jnp.any(leaf) for leaf in jax.tree.leaves(hidden))
    assert not any(jnp.any(leaf) for leaf in jax.tree.leaves(gradient["encoder"]))
    assert jnp.any(head["weight"] != 0)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"n_inputs": 0}, "n_inputs"),
        ({"n_inputs": 4, "n_latent": 0}, "n_latent"),
        ({"n_inputs": 4, "hidden_sizes": (4, 0)}, "hidden_sizes"),
        ({"n_inputs": 4, "activation": "sigmoid"}, "activation.*'sigmoid'"),
    ],
)
def test_bad_descriptions_name_the_parameter(arguments, named):
    with pytest.raises(ValueError, match=named):
        Autoencoder(**arguments)
