"""What a fitted autoencoder makes of images and codes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from betanll.objectives import Objective
from betanll.typing import Array, Seed
from betanll_paper.autoencoders import posterior as _posterior
from betanll_paper.autoencoders.images import checked_images, pixels_of
from betanll_paper.autoencoders.network import Autoencoder
from betanll_paper.autoencoders.posterior import TrainedNet, mixture_moments

#: From this ratio of errors on, reconstructions count as no better than one image.
COLLAPSE_RATIO = 0.98


class Evaluation(NamedTuple):
    """How well images are predicted: mean log-likelihood of an image, and RMSE."""

    log_likelihood: float
    rmse: float


class Predictions:
    """The predictions of :class:`VAE`, which learns the rest.

    Where codes are drawn to average over, the seed is fixed unless one is given: the
    same images always give the same numbers.
    """

    # Without values here, so that an unfitted one has none of it.
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
        return _posterior.encode(self._trained(), self._images(X))

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
        trained = self._trained()
        codes = self._codes(codes)
        mean, std = np.empty((2, len(codes), trained.net.n_inputs))
        for places, predictive in _posterior.decode(trained, codes):
            mean[places], std[places] = predictive.mean, predictive.std
        return self._shaped(mean), self._shaped(std)

    def reconstruct(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> tuple[Array, Array]:
        """Return what the codes of images tell about their pixels.

        Parameters
        ----------
        X : array of shape (n, ...)
        n_samples : int, default=20
            Codes drawn for each image.
        random_state : int, Generator or None, default=0

        Returns
        -------
        mean, std : array of shape (n, ...)
            Of the mixture over codes: the standard deviation holds the noise of the
            pixels and what the code leaves open.
        """
        trained, images = self._trained(), self._images(X)
        mean, std = np.empty((2, len(images), trained.net.n_inputs))
        for places, _, predictive in _posterior.predictions(
            trained, images, _count(n_samples), np.random.default_rng(random_state)
        ):
            mean[places], std[places] = mixture_moments(predictive)
        return self._shaped(mean), self._shaped(std)

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
        pixels = np.empty((len(codes), trained.net.n_inputs))
        for places, predictive in _posterior.decode(trained, codes):
            pixels[places] = (
                predictive.sample(1, rng=random)[0] if noise else predictive.mean
            )
        return self._shaped(pixels)

    def sample_posterior(
        self, X: Any, *, noise: bool = True, random_state: Seed = None
    ) -> Array:
        """Return one draw for each image from what its code tells about its pixels.

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
        trained, images = self._trained(), self._images(X)
        random = np.random.default_rng(random_state)
        pixels = np.empty((len(images), trained.net.n_inputs))
        for places, _, predictive in _posterior.predictions(trained, images, 1, random):
            drawn = predictive.sample(1, rng=random)[0] if noise else predictive.mean
            pixels[places] = drawn[:, 0]
        return self._shaped(pixels)

    def score_samples(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> Array:
        """Return the log-likelihood of each image, summed over pixels.

        The density of an image is averaged over codes from its posterior: the
        log-likelihood of what can be reconstructed, no bound on that of new images.
        """
        return self._errors(X, n_samples, random_state).log_likelihood

    def log_likelihood(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> float:
        """Return the mean of ``score_samples``."""
        return self.evaluate(X, n_samples, random_state).log_likelihood

    def rmse(self, X: Any, n_samples: int = 20, random_state: Seed = 0) -> float:
        """Return the root mean square error of the reconstructed means, by pixel."""
        return self.evaluate(X, n_samples, random_state).rmse

    def evaluate(
        self, X: Any, n_samples: int = 20, random_state: Seed = 0
    ) -> Evaluation:
        """Return ``log_likelihood`` and ``rmse`` in one go.

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
        """Return the RMSE of reconstructions over that of the training mean image.

        A decoder that ignores the codes has about one. So may have a Student t, whose
        location is not the mean. `is_collapsed_` is true from 0.98 on.
        """
        images = self._images(X)
        residual = pixels_of(images) - self.mean_image_.reshape(1, -1)
        baseline = float(np.sqrt(np.mean(residual**2)))
        # Images that are all the same leave nothing to be told by a code.
        return self.rmse(images) / baseline if baseline else np.inf

    def _trained(self) -> TrainedNet:
        check_is_fitted(self)
        return TrainedNet(self.net_, self.objective_, self.params_)

    def _images(self, X: Any) -> npt.NDArray[Any]:
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

    def _errors(self, X: Any, n_samples: int, random_state: Seed) -> _posterior.Errors:
        random = np.random.default_rng(random_state)
        n_codes = _count(n_samples)
        return _posterior.errors(self._trained(), self._images(X), n_codes, random)

    def _shaped(self, pixels: Array) -> Array:
        return pixels.reshape(len(pixels), *self.image_shape_)


def _count(n_samples: int) -> int:
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(
            f"n_samples must be an integer of at least 1, got {n_samples!r}"
        )
    return int(n_samples)
