"""Small images, models that need no training, and a trained one."""

import jax
import numpy as np
import pytest

from betanll import objectives
from betanll_paper.autoencoders import VAE, Autoencoder

SHAPE = (2, 3)
N_PIXELS = 6


@pytest.fixture(scope="session")
def bars():
    """300 images with a bright bar: two numbers, place and height, tell all of it."""
    rng = np.random.default_rng(0)
    row = np.arange(6)
    place = rng.uniform(0, 5, (300, 1, 1))
    height = rng.uniform(0.3, 1, (300, 1, 1))
    profile = height * np.exp(-((row[None, :, None] - place) ** 2))
    images = np.broadcast_to(profile, (300, 6, 4))
    return images + 0.02 * rng.normal(size=images.shape)


@pytest.fixture(scope="session")
def vae():
    """Build an unfitted model whose training takes a moment."""
    settings = {
        "n_latent": 2,
        "hidden_layer_sizes": (32,),
        "learning_rate_init": 1e-2,
        "batch_size": 32,
        "max_iter": 60,
        "n_iter_no_change": 20,
        "random_state": 0,
    }
    return lambda **changes: VAE(**{**settings, **changes})


@pytest.fixture(scope="session")
def fitted(vae, bars):
    """A model of the bars; do not change it."""
    return vae().fit(bars)


@pytest.fixture(scope="session")
def untrained():
    """Build a model that counts as fitted, with random weights."""

    def build(objective="beta-nll", *, n_latent=2, hidden_sizes=(5, 4), seed=0):
        decoder = objectives.get(objective)
        net = Autoencoder(N_PIXELS, n_latent, hidden_sizes)
        head_sizes = (decoder.n_predictive * N_PIXELS,)
        params = net.init(head_sizes, key=jax.random.key(seed))
        model = VAE(
            objective=objective, n_latent=n_latent, hidden_layer_sizes=hidden_sizes
        )
        model.net_, model.objective_ = net, decoder
        model.params_ = jax.tree.map(np.asarray, params)
        model.image_shape_ = SHAPE
        model.mean_image_ = np.random.default_rng(seed).uniform(size=SHAPE)
        model.n_iter_, model.n_updates_, model.best_iter_ = 5, 20, 5
        model.best_validation_score_, model.collapse_ratio_ = -1.5, 0.5
        model.history_ = {"epoch": np.array([5], np.int32)}
        return model

    return build


@pytest.fixture(scope="session")
def images():
    """Nine images of the shape that untrained models know."""
    return np.random.default_rng(3).uniform(size=(9, *SHAPE))
