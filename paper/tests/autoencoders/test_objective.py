"""The loss of a batch, beside formulas written down once more for each decoder.

Images are rows here, and nothing of the library's losses or networks is used but its
Gamma samples, so that an error would have to be made twice.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.scipy.special import digamma, erf, gammaln, logsumexp

from betanll.objectives import OBJECTIVES, BetaNLL, _expected_prior, get
from betanll.objectives._gamma_sampler import log_gamma_samples
from betanll.training import (
    Budget,
    Data,
    FitTask,
    _loop,
    _shuffle,
    fit,
    fit_fleet,
    optimizer,
)
from betanll.training._run import prepare
from betanll_paper.autoencoders import Autoencoder, Autoencoding

N, N_PIXELS, N_LATENT = 100, 6, 2
NET = Autoencoder(N_PIXELS, N_LATENT, (5, 4))
LOG_2PI = math.log(2 * math.pi)
sg = jax.lax.stop_gradient


def positive(raw, offset, floor, ceiling):
    return jnp.minimum(jnp.log1p(jnp.exp(raw + offset)) + floor, ceiling)


def variance(raw):
    return positive(raw, math.log(math.expm1(1 - 1e-8)), 1e-8, 1000.0)


def shape_and_rate(raw_shape, raw_rate):
    rate_offset = math.log(math.expm1(math.log(2) + 0.001 - 1e-11))
    return (
        positive(raw_shape, 0.0, 1.001, 1000.0),
        positive(raw_rate, rate_offset, 1e-11, 999000.0),
    )


def perceptron(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.relu(x @ layer["weight"].T + layer["bias"].T)
    return x


def head(layers, x):
    return x @ layers[-1]["weight"].T + layers[-1]["bias"].T


def reconstruction(params, x, noise, n_parameters, is_faithful=False):
    """Mean and variance of codes, and the decoder's outputs, one array for each."""
    code = head(params["encoder"], perceptron(params["encoder"], x))
    mean, v = code[:, :N_LATENT], variance(code[:, N_LATENT:])
    features = perceptron(params["decoder"], mean + jnp.sqrt(v) * noise)
    outputs = head(params["decoder"], features)
    if is_faithful:
        outputs = jnp.concatenate(
            [
                outputs[:, :N_PIXELS],
                head(params["decoder"], sg(features))[:, N_PIXELS:],
            ],
            axis=1,
        )
    raw = outputs.reshape(len(x), n_parameters, N_PIXELS)
    return mean, v, [raw[:, i] for i in range(n_parameters)]


def pixel_loss(name, raw, x):
    """The elementwise loss of objectives without random numbers."""
    square = (x - raw[0]) ** 2
    if name == "mse":
        return square
    if name == "fixed-variance":
        return 0.5 * (square + LOG_2PI)
    if name == "student-t":
        a, b = shape_and_rate(raw[1], raw[2])
        log_prob = gammaln(a + 0.5) - gammaln(a) - 0.5 * jnp.log(2 * math.pi * b)
        return (a + 0.5) * jnp.log1p(square / (2 * b)) - log_prob
    v = variance(raw[1])
    if name == "mm":
        return square + (jnp.abs(x - sg(raw[0])) - v) ** 2
    if name == "natural":
        return 0.5 * (v * (x - raw[0] / v) ** 2 - jnp.log(v))
    if name == "faithful":
        return 0.5 * square + 0.5 * (jnp.log(v) + sg(square) / v)
    if name == "crps":
        z = (x - raw[0]) / jnp.sqrt(v)
        density = jnp.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        inner = z * erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi)
        return jnp.sqrt(v) * inner
    weight = {"nll": 1.0, "beta-nll": sg(jnp.sqrt(v))}[name]
    return weight * 0.5 * (jnp.log(v) + square / v)


def variational_loss(name, raw, x, state, key):
    """Minus the evidence lower bound with 20 samples of the precision."""
    n = len(x)
    a, b = shape_and_rate(raw[1], raw[2])
    if name.startswith("xvamp"):  # (n_pixels, n_components), from the pseudo-inputs
        prior_a, prior_b = a[n:].T, b[n:].T
    elif name == "vbem":
        grid = [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4]
        pairs = np.array([(p, q) for p in grid for q in grid], np.float32)
        prior_a, prior_b = (
            jnp.broadcast_to(part[None], (N_PIXELS, 144)) for part in pairs.T
        )
    else:
        prior_a, prior_b = jnp.log1p(jnp.exp(state))
    a, b, mean = a[:n], b[:n], raw[0][:n]
    logits = jnp.stack([part[:n] for part in raw[3:]])
    log_weights = logits - logsumexp(logits, axis=0)[None]
    log_precision = jnp.swapaxes(log_gamma_samples(key, a.T, 20), 1, 2) - jnp.log(b)
    prior_a, prior_b = prior_a.T[:, None, None], prior_b.T[:, None, None]
    terms = (
        log_weights[:, None]
        + prior_a * jnp.log(prior_b)
        - gammaln(prior_a)
        + (prior_a - 1) * log_precision[None]
        - prior_b * jnp.exp(log_precision)[None]
    )
    log_prior = jnp.mean(logsumexp(terms, axis=0), axis=0)
    entropy = a - jnp.log(b) + gammaln(a) + (1 - a) * digamma(a)
    fit = 0.5 * (digamma(a) - jnp.log(b) - LOG_2PI - a / b * (x - mean) ** 2)
    return -entropy - log_prior - fit


def reference_loss(name, params, state, x, key):
    """Mean over images of summed reconstruction and divergence, images as rows."""
    n_parameters = get(name).n_parameters
    noise_key, loss_key = jax.random.split(key)
    seen = x
    if name.startswith("xvamp"):
        pseudo_inputs = state if name == "xvamp-star" else sg(state)
        seen = jnp.concatenate([x, pseudo_inputs.T])
    noise = jax.random.normal(noise_key, (N_LATENT, len(seen))).T
    with jax.numpy_rank_promotion("allow"):
        mean, v, raw = reconstruction(
            params, seen, noise, n_parameters, is_faithful=name == "faithful"
        )
        if n_parameters > 3:
            loss = variational_loss(name, raw, x, state, loss_key)
        else:
            loss = pixel_loss(name, raw, x)
    mean, v = mean[: len(x)], v[: len(x)]
    divergence = -0.5 * jnp.sum(1 + jnp.log(v) - mean**2 - v)
    return (jnp.sum(loss) + divergence) / len(x)


def our_loss(name, params, state, x, key, **options):
    objective = Autoencoding(get(name), **options)

    def forward(inputs):
        n_detached = objective.n_detached * N_PIXELS
        return objective.split_outputs(NET.apply(params, inputs, n_detached=n_detached))

    elementwise = objective.training_loss(
        forward, x.T, x.T, state, progress=jnp.float32(0), key=key
    )
    return jnp.sum(elementwise) / len(x)


@pytest.fixture
def batch(getkey):
    return jax.random.uniform(getkey(), (N, N_PIXELS))


def start(name, batch, getkey):
    decoder = get(name)
    params = NET.init(decoder.head_sizes(N_PIXELS), key=getkey())
    return params, decoder.init_state(batch.T, N_PIXELS, key=getkey())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_loss_and_gradient_are_those_of_the_formulas(name, batch, getkey, compiled):
    params, state = start(name, batch, getkey)
    key = getkey()
    found, expected = (
        compiled(jax.value_and_grad(loss, (1, 2)), static_argnums=0)(
            name, params, state, batch, key
        )
        for loss in (our_loss, reference_loss)
    )
    for ours, theirs in zip(
        jax.tree.leaves(found), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def divergence_of_codes(params, x):
    """Mean over images of the divergence from N(0, I)."""
    mean, v = NET.encode(params, x.T)
    return jnp.sum(mean**2 + v - 1 - jnp.log(v)) / 2 / N


def test_averages_over_pixels_leave_the_divergence_alone(batch, getkey, compiled):
    params, state = start("mm", batch, getkey)
    key = getkey()
    summed, averaged = (
        compiled(partial(our_loss, "mm", averages_pixels=averages_pixels))(
            params, state, batch, key
        )
        for averages_pixels in (False, True)
    )
    divergence = float(compiled(divergence_of_codes)(params, batch))
    assert float(averaged) == pytest.approx(
        (float(summed) - divergence) / N_PIXELS + divergence, rel=1e-5
    )


def test_beta_weights_leave_the_divergence_alone(batch, getkey, compiled):
    # A decoder of zeros sends nothing back to the encoder, whose gradient is then that
    # of the divergence, unweighted.
    params, state = start("beta-nll", batch, getkey)
    params["decoder"] = jax.tree.map(jnp.zeros_like, params["decoder"])
    gradient = compiled(jax.grad(our_loss, 1), static_argnums=0)(
        "beta-nll", params, state, batch, getkey()
    )
    expected = compiled(jax.grad(divergence_of_codes))(params, batch)
    for ours, theirs in zip(
        jax.tree.leaves(gradient["encoder"]),
        jax.tree.leaves(expected["encoder"]),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["xvamp", "xvamp-star"])
def test_pseudo_inputs_pass_through_the_whole_autoencoder(
    name, batch, getkey, compiled
):
    params, state = start(name, batch, getkey)
    assert state.shape == (N_PIXELS, 100)
    to_state = compiled(jax.grad(our_loss, 2), static_argnums=0)(
        name, params, state, batch, getkey()
    )
    # All but those few for which every unit of a layer is off.
    moved = float(jnp.mean(jnp.any(to_state != 0, axis=0)))
    assert moved > 0.9 if name == "xvamp-star" else moved == 0


def packed(x, n_validation=0):
    n = len(x) - n_validation
    block = (x, x[:, :0], np.ones((len(x), 1), np.float32))
    return Data.from_blocks(
        [block],
        n_train=n,
        n_validation=n_validation,
        n_inputs=x.shape[1],
        n_targets=0,
    )


def test_the_compiled_loop_descends_this_loss(batch):
    # One update of plain gradient descent with rate one, on all images in the order of
    # the first epoch.
    task = FitTask(
        NET,
        Autoencoding(BetaNLL(0.5)),
        packed(np.asarray(batch)),
        optimizer=optimizer(optax.sgd, learning_rate=1.0),
        budget=Budget(N, 1),
        seed=5,
    )
    prepared = prepare(task)
    state = prepared.start().carried
    before = _loop.unpack(prepared.program, prepared.objective, state.params)["net"]
    _, run_key = jax.random.split(jax.random.key(5))
    shuffle_key, loss_key = jax.random.split(run_key)
    grid = _shuffle.grid_for(N)
    order = _shuffle.permuted(
        _shuffle.round_keys(jax.random.fold_in(shuffle_key, 0)),
        grid,
        _shuffle.lattice_for(grid, N),
    )
    # The program pads the batch, and draws codes for the padding too.
    capacity = prepared.program.batch_capacity
    assert capacity >= N
    rows = jnp.concatenate([batch[order], jnp.zeros((capacity - N, N_PIXELS))])

    def loss(params):
        key = jax.random.fold_in(loss_key, 0)
        noise_key, _ = jax.random.split(key)
        noise = jax.random.normal(noise_key, (N_LATENT, capacity)).T
        mean, v, raw = reconstruction(params, rows, noise, 2)
        mean, v, raw = jax.tree.map(lambda part: part[:N], (mean, v, raw))
        divergence = -0.5 * jnp.sum(1 + jnp.log(v) - mean**2 - v)
        return (jnp.sum(pixel_loss("beta-nll", raw, rows[:N])) + divergence) / N

    with jax.numpy_rank_promotion("allow"):
        value, gradient = jax.jit(jax.value_and_grad(loss))(before)
    (result,) = fit_fleet([task])
    assert result.history["train_loss"][0] == pytest.approx(float(value), rel=1e-5)
    for ours, start, slope in zip(
        *map(jax.tree.leaves, (result.last_params, before, gradient)), strict=True
    ):
        np.testing.assert_allclose(ours, start - slope, rtol=1e-4, atol=1e-5)


def test_validation_scores_one_code_of_each_image(batch):
    x = np.asarray(batch)
    result = fit(
        NET, Autoencoding(BetaNLL(0.5)), packed(x, 30), max_epochs=2, batch_size=35
    )
    # The same noise as in training: that of the first chunk, which holds all 30.
    predictive = result.predict(x[70:])
    assert result.history["validation_nll"].shape == (2,)
    noise_size = 256
    noise = jax.random.normal(jax.random.key(0), (N_LATENT, noise_size)).T[:30]
    with jax.numpy_rank_promotion("allow"):
        _, _, (mean, raw) = reconstruction(result.params, x[70:], noise, 2)
    np.testing.assert_allclose(predictive.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(predictive.variance, variance(raw), rtol=1e-4)


def test_betas_share_a_compilation(batch):
    data = packed(np.asarray(batch))
    before = None
    for seed, beta in enumerate((0.5, 0.0, (1.0, 0.25))):
        objective = Autoencoding(BetaNLL(beta))
        fit(NET, objective, data, max_epochs=3, batch_size=40, seed=seed)
        before = before or _loop.n_traces
    assert _loop.n_traces == before


def test_losses_of_several_models_may_be_vectorised(
    batch, getkey, compiled, monkeypatch
):
    # As for fleets on an accelerator; the prior in groups of one pixel, as for large
    # images.
    monkeypatch.setattr(_expected_prior, "MAX_GROUP", 1)
    models = [(*start("vbem", batch, getkey), getkey()) for _ in range(2)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)

    def loss(params, state, key):
        return our_loss("vbem", params, state, batch, key)

    gradient = jax.value_and_grad(loss, (0, 1))
    together = compiled(jax.vmap(gradient))(*stacked)
    alone = compiled(gradient)
    for index, model in enumerate(models):
        for one, both in zip(
            *map(jax.tree.leaves, (alone(*model), together)), strict=True
        ):
            np.testing.assert_allclose(one, both[index], rtol=1e-4, atol=1e-5)
