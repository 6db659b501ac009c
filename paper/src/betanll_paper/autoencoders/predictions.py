"""The predictions of a fitted autoencoder for images and codes."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from betanll.distributions import Distribution
from betanll.objectives import Objective
from betanll.typing import Array, Seed
from betanll_paper.autoencoders import posterior
from betanll_paper.autoencoders.images import Images, checked_images, pixels_of
from betanll_paper.autoencoders.network import Autoencoder

#: From this ratio of errors on, reconstructions count as no better than one image.
COLLAPSE_RATIO = 0.98


class Evaluation(NamedTuple):
    """Mean log-likelihood of an image, and RMSE of a pixel."""

    log_likelihood: float
    rmse: float


class Predictions:
    """The predictions of :class:`VAE`.

    Methods that average over random codes have a fixed seed by default: the same images
    always give the same numbers.
    """

    # Only annotated: scikit-learn takes an estimator that has them for fitted.
    net_: Autoencoder
    objective_: Objective
    params_: dict[str, list[dict[str, npt.NDArray[np.float32]]]]
    image_shape_: tuple[int, ...]
    mean_image_: Array

    def encode(self, X: Any) -> tuple[Array, Array]:
        """Return the Gaussian posterior of each image's code.

        Returns
        -------
        mean, std : array of shape (n, n_latent)
        """
        return posterior.encode(self._trained(), self._images(X))

    def decode(self, codes: Any) -> tuple[Array, Array]:
        """Return the images that codes stand for.

        Parameters
        ----------
        codes : array of shape (n, n_latent)

        Returns
        -------
        mean, std : array of shape (n, ...)
            Mean and standard deviation of every pixel.
        """
        parts = posterior.decode(self._trained(), self._codes(codes))
        mean, std = zip(*((part.mean, part.std) for part in parts), strict=True)
        return self._joined(mean), self._joined(std)

    def reconstruct(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> tuple[Array, Array]:
        """Return mean and standard deviation of every pixel, given the image's code.

        Parameters
        ----------
        X : array of shape (n, ...)
        n_samples : int, default=20
            Codes drawn for each image.
        random_state : int, Generator or None, default=0

        Returns
        -------
        mean, std : array of shape (n, ...)
            Moments of the mixture over codes: the standard deviation covers the noise
            of the pixels and the spread of the code.
        """
        parts = self._predictions(X, n_samples, np.random.default_rng(random_state))
        moments = (posterior.mixture_moments(predictive) for _, predictive in parts)
        mean, std = zip(*moments, strict=True)
        return self._joined(mean), self._joined(std)

    def sample(
        self, n_samples: int = 1, *, noise: bool = False, random_state: Seed = None
    ) -> Array:
        """Return new images: the decoder's means at codes from N(0, I).

        Parameters
        ----------
        n_samples : int, default=1
        noise : bool, default=False
            Draw the pixels from their distributions instead.
        random_state : int, Generator or None, default=None

        Returns
        -------
        array of shape (n_samples, ...)
        """
        trained = self._trained()
        random = np.random.default_rng(random_state)
        codes = random.standard_normal((_count(n_samples), trained.net.n_latent))
        parts = posterior.decode(trained, codes)
        return self._joined(_drawn(predictive, noise, random) for predictive in parts)

    def sample_posterior(
        self, X: Any, *, noise: bool = True, random_state: Seed = None
    ) -> Array:
        """Return one draw for each image from the posterior of its pixels.

        Parameters
        ----------
        X : array of shape (n, ...)
        noise : bool, default=True
            Draw the pixels from their distributions, given a drawn code; otherwise
            return their means.
        random_state : int, Generator or None, default=None

        Returns
        -------
        array of shape (n, ...)
        """
        random = np.random.default_rng(random_state)
        parts = self._predictions(X, 1, random)
        return self._joined(
            _drawn(predictive, noise, random)[:, 0] for _, predictive in parts
        )

    def score_samples(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> Array:
        """Return the log-likelihood of each image, summed over pixels.

        The density of an image is averaged over codes from its posterior. It measures
        reconstruction and is not a bound on the likelihood of new images.
        """
        return self._errors(X, n_samples, random_state).log_likelihood

    def log_likelihood(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> float:
        """Return the mean of ``score_samples``."""
        return self.evaluate(X, n_samples, random_state).log_likelihood

    def rmse(self, X: Any, n_samples: int = 20, random_state: Seed = 0) -> float:
        """Return the root mean squared error of the reconstructed means, by pixel."""
        return self.evaluate(X, n_samples, random_state).rmse

    def evaluate(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> Evaluation:
        """Return ``log_likelihood`` and ``rmse`` from the same codes.

        Parameters
        ----------
        X : array of shape (n, ...)
        n_samples : int, default=20
            Codes drawn for each image.
        random_state : int, Generator or None, default=0
        """
        log_likelihood, square = self._errors(X, n_samples, random_state)
        return Evaluation(float(log_likelihood.mean()), float(np.sqrt(square.mean())))

    def score(self, X: Any, y: Any = None) -> float:
        """Return ``log_likelihood(X)``, as model selection in scikit-learn expects."""
        return self.log_likelihood(X)

    def collapse_ratio(self, X: Any) -> float:
        """Return RMSE of the reconstructions over RMSE of the training mean image.

        The ratio is about one for a decoder that ignores the codes. It may be one for a
        Student t as well, whose location is not the mean.
        """
        images = self._images(X)
        residual = pixels_of(images) - self.mean_image_.reshape(1, -1)
        baseline = float(np.sqrt(np.mean(residual**2)))
        # Equal images leave nothing for a code to explain.
        return self.rmse(images) / baseline if baseline else np.inf

    def _trained(self) -> posterior.TrainedNet:
        check_is_fitted(self)
        return posterior.TrainedNet(self.net_, self.objective_, self.params_)

    def _images(self, X: Any) -> Images:
        check_is_fitted(self)
        return checked_images(X, shape=self.image_shape_)

    def _codes(self, codes: Any) -> Array:
        codes = np.asarray(codes, np.float64)
        if codes.ndim != 2 or codes.shape[1] != self.net_.n_latent or not len(codes):
            raise ValueError(
                f"codes must have the shape (n, {self.net_.n_latent}), "
                f"got {codes.shape}"
            )
        if not np.isfinite(codes).all():
            raise ValueError("codes must be finite")
        return codes

    def _predictions(
        self, X: Any, n_samples: int, random: np.random.Generator
    ) -> Iterable[tuple[Any, Distribution]]:
        images = self._images(X)
        return posterior.predictions(self._trained(), images, _count(n_samples), random)

    def _errors(self, X: Any, n_samples: int, random_state: Seed) -> posterior.Errors:
        random = np.random.default_rng(random_state)
        n_codes = _count(n_samples)
        return posterior.errors(self._trained(), self._images(X), n_codes, random)

    def _joined(self, parts: Iterable[Array]) -> Array:
        """Return rows of pixels as images of the shape that was fitted."""
        return np.concatenate(list(parts)).reshape(-1, *self.image_shape_)


def _drawn(predictive: Distribution, noise: bool, random: np.random.Generator) -> Array:
    return predictive.sample(1, rng=random)[0] if noise else predictive.mean


def _count(n_samples: int) -> int:
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(
            f"n_samples must be an integer of at least 1, got {n_samples!r}"
        )
    return int(n_samples)
