"""The estimator: images in, codes and images with uncertainty out."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from betanll.estimators import read_model, write_model
from betanll.estimators.stored import restored
from betanll.objectives import Objective, Schedule, warn_of_unusual_beta
from betanll_paper.autoencoders.predictions import COLLAPSE_RATIO, Predictions
from betanll_paper.autoencoders.state import restore, to_state
from betanll_paper.autoencoders.training import decoder_objective, train


class CollapseWarning(UserWarning):
    """Reconstructions are no better than the mean image."""


class VAE(Predictions, BaseEstimator):
    """Variational autoencoder that predicts a distribution for every pixel.

    An encoder maps an image to a Gaussian over a short code. A decoder maps a code to
    a distribution of each pixel. Both are fully connected networks. Any objective of
    betanll trains the decoder.

    Pixels are used as they are, except that bytes (``uint8``) are divided by 255. All
    predictions have these units.

    Parameters
    ----------
    objective : str or Objective, default="beta-nll"
        Training objective of the decoder: ``"beta-nll"``, ``"nll"``, ``"mm"``,
        ``"student-t"``, ``"fixed-variance"``, ``"xvamp"``, ``"vbem"``, ... or an object
        such as ``BetaNLL(0.5, max_variance=100.0)``. Its loss is summed over pixels;
        the divergence of the code is added, unweighted.
    beta : float or (start, end), default=0.5
        Exponent of ``"beta-nll"``; other objectives ignore it.
    n_latent : int, default=10
        Length of the code.
    hidden_layer_sizes : int or sequence of int, default=(512, 256, 128)
        Units of each hidden layer of the encoder; the decoder has them in reverse.
    activation : {"relu", "tanh", "elu", "gelu", "silu"}, default="relu"
        Nonlinearity of the hidden layers.
    reduction : {"sum", "mean"}, default="sum"
        ``"mean"`` averages the objective's loss over pixels, as in the published
        results for moment matching. The code then often collapses.
    learning_rate_init : float, default=3e-4
        Learning rate of Adam.
    batch_size : int, default=256
        Images in an update, or all if there are fewer.
    max_iter : int, default=1000
        Largest number of epochs.
    n_iter_no_change : int, default=50
        Patience: epochs without a better validation log-likelihood, computed with one
        code for each image, before training stops.
    validate_every : int, default=5
        Epochs between validation checks.
    validation_fraction : float, default=0.2
        Share of the images for validation, unless ``fit`` gets validation images.
    random_state : int, RandomState or None, default=None
        Seed of split, initialisation, shuffling and codes. An integer gives the same
        bits each time.
    verbose : int, default=0
        Above 0, show a progress bar.

    Attributes
    ----------
    image_shape_ : tuple of int
        Shape of one image.
    n_iter_, n_updates_ : int
        Epochs and updates of the run.
    best_iter_ : int
        Epoch whose parameters are kept.
    best_validation_score_ : float
        Validation log-likelihood of an image at that epoch (for ``"mse"`` minus the
        squared error), with one code.
    history_ : dict of str to array
        ``epoch``, ``train_loss``, ``validation_nll``, ``validation_mse`` and
        ``validation_score``, which is least at the epoch that is kept.
    mean_image_ : array
        Mean of the training images.
    collapse_ratio_ : float
        RMSE of the reconstructions over RMSE of `mean_image_`, on up to 1000
        validation images.
    is_collapsed_ : bool
        Whether this ratio is at least 0.98: the decoder may then ignore the code.

    References
    ----------
    Kingma & Welling, "Auto-encoding variational Bayes", ICLR 2014.

    Seitzer et al., "On the pitfalls of heteroscedastic uncertainty estimation with
    probabilistic neural networks", ICLR 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll_paper.autoencoders import VAE
    >>> rng = np.random.default_rng(0)
    >>> images = rng.uniform(size=(200, 1, 1)) + 0.1 * rng.normal(size=(200, 6, 6))
    >>> model = VAE(
    ...     n_latent=1,
    ...     hidden_layer_sizes=(16,),
    ...     learning_rate_init=1e-2,
    ...     batch_size=32,
    ...     max_iter=100,
    ...     random_state=0,
    ... ).fit(images)
    >>> mean, std = model.reconstruct(images[:3])
    >>> mean.shape, bool(0.1 < std.mean() < 0.2), model.is_collapsed_
    ((3, 6, 6), True, False)
    """

    # Attributes that ``fit`` sets. They are only annotated here: scikit-learn takes an
    # estimator that has them for fitted.
    n_iter_: int
    n_updates_: int
    best_iter_: int
    best_validation_score_: float
    collapse_ratio_: float
    is_collapsed_: bool
    history_: dict[str, npt.NDArray[Any]]

    def __init__(
        self,
        *,
        objective: str | Objective = "beta-nll",
        beta: Schedule = 0.5,
        n_latent: int = 10,
        hidden_layer_sizes: int | Sequence[int] = (512, 256, 128),
        activation: str = "relu",
        reduction: str = "sum",
        learning_rate_init: float = 3e-4,
        batch_size: int = 256,
        max_iter: int = 1000,
        n_iter_no_change: int = 50,
        validate_every: int = 5,
        validation_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.objective = objective
        self.beta = beta
        self.n_latent = n_latent
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.reduction = reduction
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.validate_every = validate_every
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, validation: Any = None) -> Self:
        """Train on images; warn with :class:`CollapseWarning` if the code is unused.

        Parameters
        ----------
        X : array of shape (n, ...)
            Finite images of any shape, best scaled to [0, 1] or as ``uint8``.
        y : ignored
        validation : array of shape (m, ...), optional
            Images for early stopping; by default a share of `X`.

        Returns
        -------
        self
            A fit that fails or is interrupted leaves the model as it was.
        """
        warn_of_unusual_beta([decoder_objective(self)], stacklevel=2)
        model = copy.copy(self)
        held_out = train(model, X, validation)
        model.collapse_ratio_ = model.collapse_ratio(held_out)
        model.is_collapsed_ = model.collapse_ratio_ >= COLLAPSE_RATIO
        self.__dict__ = model.__dict__
        if self.is_collapsed_:
            warnings.warn(
                "reconstructions are no better than the mean image (ratio of the "
                f"errors {self.collapse_ratio_:.3f}): the decoder may ignore the code",
                CollapseWarning,
                stacklevel=2,
            )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into a folder, without pickle.

        The folder appears whole or not at all and replaces an older model.
        """
        check_is_fitted(self)
        write_model(path, *to_state(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; nothing in it is executed."""
        return restored(partial(restore, cls()), *read_model(path))
