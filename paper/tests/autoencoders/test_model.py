"""Training on small images: what is learnt, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from betanll.objectives import BetaNLL
from betanll.training import _loop
from betanll_paper.autoencoders import VAE, CollapseWarning


def test_it_learns_the_images(fitted, bars):
    assert fitted.image_shape_ == (6, 4)
    mean, std = fitted.reconstruct(bars)
    assert mean.shape == std.shape == bars.shape
    assert fitted.collapse_ratio_ < 0.4
    assert not fitted.is_collapsed_
    baseline = np.sqrt(np.mean((bars - bars.mean(axis=0)) ** 2))
    assert fitted.rmse(bars) < 0.4 * baseline
    # Wide rather than narrow: the noise that the decoder sees includes that of codes.
    assert np.mean(np.abs(bars - mean) < 2 * std) > 0.95
    assert np.sqrt(np.mean(std**2)) < 0.7 * baseline


def test_codes_determine_place_and_height(fitted, bars):
    mean, std = fitted.encode(bars)
    assert mean.shape == std.shape == (300, 2)
    assert (std > 0).all()
    again, _ = fitted.decode(mean)
    assert np.sqrt(np.mean((again - bars) ** 2)) < 0.1
    assert fitted.sample(7).shape == (7, 6, 4)
    assert fitted.sample_posterior(bars[:3]).shape == (3, 6, 4)


def test_training_is_recorded(fitted):
    assert fitted.history_["epoch"][0] == 5
    assert fitted.history_["epoch"][-1] == fitted.n_iter_ <= 60
    assert fitted.n_updates_ == fitted.n_iter_ * (240 // 32)
    assert fitted.best_iter_ % 5 == 0
    best = fitted.history_["validation_nll"].min()
    assert fitted.best_validation_score_ == pytest.approx(-best)


def test_same_seed_same_bits(fitted, vae, bars):
    before = _loop.n_traces
    again = vae().fit(bars)
    other = vae(random_state=1, beta=0.25, learning_rate_init=3e-3).fit(bars)
    assert _loop.n_traces == before  # the same program
    for name in ("encode", "reconstruct"):
        np.testing.assert_array_equal(
            getattr(again, name)(bars), getattr(fitted, name)(bars)
        )
    assert not np.array_equal(other.encode(bars), fitted.encode(bars))


def test_patience_is_counted_in_epochs(vae, bars):
    model = vae(n_iter_no_change=12, validate_every=3, max_iter=500).fit(bars)
    assert model.n_iter_ == model.best_iter_ + 12 < 500


def test_averaging_over_pixels_makes_the_code_collapse(vae, bars):
    # The published moment matching: the divergence weighs 24 times as much.
    model = vae(objective="mm", reduction="mean")
    with pytest.warns(CollapseWarning, match=r"no better than the mean image \(ratio"):
        model.fit(bars)
    assert model.is_collapsed_
    assert model.collapse_ratio_ == pytest.approx(1, abs=0.02)
    summed = vae(objective="mm").fit(bars)
    assert not summed.is_collapsed_


def test_pure_noise_collapses(vae):
    noise = np.random.default_rng(0).normal(0.5, 0.1, (100, 3, 3))
    with pytest.warns(CollapseWarning):
        model = vae(max_iter=20).fit(noise)
    assert model.is_collapsed_
    assert model.collapse_ratio(np.repeat(model.mean_image_[None], 2, 0)) > 1


@pytest.mark.parametrize("objective", ["xvamp-star", BetaNLL((1.0, 0.5))])
def test_other_objectives_train(objective, vae, bars):
    model = vae(objective=objective, max_iter=10).fit(bars)
    assert model.rmse(bars) < 0.25
    n_outputs = model.params_["decoder"][-1]["weight"].shape[0]
    assert n_outputs == model.objective_.n_predictive * 24


def test_validation_images_may_be_given(vae, bars):
    model = vae(max_iter=5).fit(bars[:200], validation=bars[200:])
    np.testing.assert_allclose(model.mean_image_, bars[:200].mean(axis=0), atol=1e-6)
    assert model.n_updates_ == 5 * (200 // 32)


def test_bytes_are_scaled_to_one(vae, bars):
    images = np.clip(255 * bars, 0, 255).astype(np.uint8)
    scaled = images.astype(np.float32) / np.float32(255)
    models = [vae(max_iter=5).fit(part) for part in (images, scaled)]
    np.testing.assert_array_equal(*(model.encode(images) for model in models))
    assert models[0].evaluate(images) == models[1].evaluate(scaled)
    assert models[0].reconstruct(images)[0].max() < 2


@pytest.mark.filterwarnings("ignore::betanll_paper.autoencoders.CollapseWarning")
def test_few_flat_images_suffice(vae, bars):
    model = vae(max_iter=5).fit(bars[:5].reshape(5, -1))
    assert model.image_shape_ == (24,)
    assert model.n_updates_ == 5


@pytest.mark.filterwarnings("ignore::betanll_paper.autoencoders.CollapseWarning")
def test_large_values_bring_a_warning(vae, bars):
    with pytest.warns(UserWarning, match="pixel values reach 2") as caught:
        vae(max_iter=5).fit(255 * bars)
    assert caught[0].filename == __file__


def with_nan(images):
    images = images.copy()
    images[7, 1, 2] = np.nan
    return images


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_nan, "X must be finite in single precision, image 7 is not"),
        (lambda x: x[0, 0], r"X must have the shape \(n, \.\.\.\), got \(4,\)"),
        (lambda x: x[:0], r"X must hold images with pixels, got \(0, 6, 4\)"),
        (lambda x: x[:, :0], r"X must hold images with pixels, got \(300, 0, 4\)"),
        (lambda x: x[:2], "X must leave at least 2 images for training, got 2"),
        (lambda x: x.astype(str), "X must hold real numbers, got type <U"),
        (lambda x: x.astype(complex), "X must hold real numbers, got type complex"),
        (lambda x: [x[0], x[0, :3]], "X must be an array of images: "),
        (lambda x: 1e300 * x, "X must be finite in single precision, image 0 is not"),
    ],
)
def test_wrong_images_are_refused_in_one_sentence(change, message, vae, bars):
    with pytest.raises(ValueError, match=message) as caught:
        vae().fit(change(bars))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_latent": 0}, "n_latent must be an integer of at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer"),
        ({"max_iter": True}, "max_iter must be an integer"),
        ({"n_iter_no_change": -1}, "n_iter_no_change must be"),
        ({"validate_every": None}, "validate_every must be"),
        ({"hidden_layer_sizes": (8, 0)}, "hidden_layer_sizes must hold"),
        ({"hidden_layer_sizes": "big"}, "hidden_layer_sizes must hold"),
        ({"activation": "sigmoid"}, "activation must be one of"),
        ({"reduction": "max"}, 'reduction must be "sum" or "mean", got \'max\''),
        ({"learning_rate_init": 0}, "learning_rate_init must be positive"),
        ({"validation_fraction": 1}, "validation_fraction must lie between"),
        ({"objective": "gauss"}, "objective must be one of"),
        ({"beta": -1}, "beta must be"),
        ({"beta": "0.5"}, "beta must be"),
    ],
)
def test_wrong_parameters_are_named(changes, message, vae, bars):
    with pytest.raises(ValueError, match=message):
        vae(**changes).fit(bars)


def test_exponents_above_one_bring_a_warning(vae, bars):
    # A parameter that is refused, so that nothing is trained.
    with (
        pytest.warns(UserWarning, match="beta = 2 is unusual"),
        pytest.raises(ValueError, match="n_latent must be"),
    ):
        vae(beta=2, n_latent=0).fit(bars)


def test_images_of_another_shape_than_in_fit_are_refused(fitted, bars, vae):
    message = r"X must have the shape \(n, 6, 4\), got \(300, 24\)"
    for method in (fitted.encode, fitted.reconstruct, fitted.evaluate):
        with pytest.raises(ValueError, match=message):
            method(bars.reshape(300, 24))
    with pytest.raises(ValueError, match=r"codes must have the shape \(n, 2\)"):
        fitted.decode(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="codes must be finite"):
        fitted.decode([[np.nan, 0.0]])
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        fitted.reconstruct(bars, n_samples=0)
    with pytest.raises(ValueError, match="validation must have the shape"):
        vae().fit(bars, validation=bars[:, :3])


def test_a_failed_fit_changes_nothing(fitted, bars):
    model = clone(fitted).set_params(max_iter=5)
    with pytest.raises(NotFittedError):
        model.encode(bars)
    model.fit(bars)
    before = model.encode(bars)
    with pytest.raises(ValueError, match="finite"):
        model.fit(with_nan(bars))
    np.testing.assert_array_equal(model.encode(bars), before)


def test_divergence_is_an_error_with_advice(vae, bars):
    with pytest.raises(ValueError, match=r"training diverged in epoch \d+: scale"):
        vae(learning_rate_init=1e30, objective="nll").fit(bars)


def test_scikit_learn_can_clone_and_print_it():
    model = VAE(n_latent=25, objective="student-t")
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == "VAE(n_latent=25, objective='student-t')"
