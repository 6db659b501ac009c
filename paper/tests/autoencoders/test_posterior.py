"""What codes predict, against SciPy and closed forms, on networks without training."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from betanll.objectives import OBJECTIVES
from betanll_paper.autoencoders import posterior as _posterior

N_PIXELS = 6


def decoded(model, images, n_samples, seed=0):
    """Mean and std of every pixel for each code, which is drawn here once more."""
    mean, std = model.encode(images)
    noise = np.random.default_rng(seed).standard_normal((len(mean), n_samples, 2))
    codes = mean[:, None] + std[:, None] * noise
    return [
        part.reshape(len(images), n_samples, *images.shape[1:])
        for part in model.decode(codes.reshape(-1, 2))
    ]


@pytest.mark.parametrize("n_pixels_at_a_time", [1, 100, 2**21])
def test_log_likelihood_is_that_of_the_mixture_of_products(
    n_pixels_at_a_time, untrained, images, monkeypatch
):
    # Oracle 26: log of the mean over codes of the product over pixels.
    monkeypatch.setattr(_posterior, "_MAX_PIXELS", n_pixels_at_a_time)
    model = untrained("nll")
    mean, std = decoded(model, images, 20)
    log_prob = scipy.stats.norm.logpdf(images[:, None], mean, std).sum(axis=(2, 3))
    expected = np.log(np.exp(log_prob).mean(axis=1))
    np.testing.assert_allclose(model.score_samples(images), expected, rtol=1e-5)
    found = model.evaluate(images)
    assert found.log_likelihood == pytest.approx(expected.mean(), rel=1e-5)
    square = (mean.mean(axis=1) - images) ** 2
    assert found.rmse == pytest.approx(np.sqrt(square.mean()), rel=1e-5)
    assert found == (model.log_likelihood(images), model.rmse(images))
    assert model.score(images) == found.log_likelihood


def test_fixed_variance_ties_likelihood_and_error(untrained, images):
    # Oracle 27 with 6 pixels: under one code LL = -3 log(2 pi) - 3 RMSE^2.
    found = untrained("fixed-variance").evaluate(images, n_samples=1)
    expected = -N_PIXELS / 2 * (math.log(2 * math.pi) + found.rmse**2)
    assert found.log_likelihood == pytest.approx(expected, rel=1e-14)


def test_the_tables_fixed_variance_rows_follow_from_their_errors():
    # With 784 pixels: RMSE 0.153 and 0.143 mean -729.6 and -728.5.
    for rmse, expected in [(0.153, -729.6), (0.143, -728.5)]:
        assert -392 * (math.log(2 * math.pi) + rmse**2) == pytest.approx(
            expected, abs=0.1
        )


def test_student_t_has_its_own_tails(untrained, images):
    model = untrained("student-t")
    mean, std = model.encode(images)
    noise = np.random.default_rng(0).standard_normal((len(images), 1, 2))
    codes = mean + std * noise[:, 0]
    predictive, *rest = _posterior.decode(model._trained(), codes)
    assert not rest
    log_prob = scipy.stats.t.logpdf(
        images.reshape(-1, N_PIXELS),
        predictive.df,
        predictive.loc,
        predictive.scale,
    )
    np.testing.assert_allclose(
        model.score_samples(images, n_samples=1), log_prob.sum(axis=1), rtol=1e-6
    )


def test_moment_matching_predicts_a_standard_deviation(untrained):
    # The same raw output is a variance for the likelihood.
    codes = np.random.default_rng(1).normal(size=(4, 2))
    _, std = untrained("mm").decode(codes)
    _, root = untrained("nll").decode(codes)
    np.testing.assert_allclose(std, root**2, rtol=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_decodes(name, untrained, images):
    model = untrained(name)
    mean, std = model.reconstruct(images)
    assert mean.shape == std.shape == images.shape
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert np.isfinite(model.evaluate(images)).all()
    assert model.sample(3, noise=True).shape == (3, 2, 3)


def test_reconstructions_have_the_moments_of_the_mixture(untrained, images):
    model = untrained("nll")
    means, stds = decoded(model, images, 20)
    mean, std = model.reconstruct(images)
    np.testing.assert_allclose(mean, means.mean(axis=1), rtol=1e-5)
    second = (stds**2 + means**2).mean(axis=1)
    np.testing.assert_allclose(std**2, second - means.mean(axis=1) ** 2, rtol=1e-4)


def test_scores_do_not_depend_on_other_images(untrained, images):
    model = untrained("nll")
    np.testing.assert_allclose(
        model.score_samples(images)[:4], model.score_samples(images[:4]), rtol=1e-5
    )


def test_new_images_are_decoded_from_the_prior(untrained):
    model = untrained("nll")
    codes = np.random.default_rng(7).standard_normal((5, 2))
    mean, std = model.decode(codes)
    np.testing.assert_array_equal(model.sample(5, random_state=7), mean)
    noisy = np.stack(
        [model.sample(5, noise=True, random_state=seed) for seed in range(30)]
    )
    assert noisy.shape == (30, 5, 2, 3)
    assert std.min() / 2 < noisy.std() < 5
    assert not np.array_equal(model.sample(5), model.sample(5))


def test_posterior_draws_have_the_moments_of_the_reconstruction(untrained, images):
    # 400 draws of 54 pixels: means within five standard errors.
    model = untrained("nll")
    random = np.random.default_rng(0)
    draws = np.stack(
        [model.sample_posterior(images, random_state=random) for _ in range(400)]
    )
    mean, std = model.reconstruct(images, n_samples=400)
    assert np.abs((draws.mean(axis=0) - mean) / std).max() < 5 / math.sqrt(200)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.25)
    means = model.sample_posterior(images, noise=False, random_state=0)
    assert means.std() < draws.std()
