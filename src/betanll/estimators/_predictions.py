"""What a fitted estimator predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, check_is_fitted

from betanll import metrics
from betanll.columns import ColumnEncoder
from betanll.distributions import Distribution, Mixture
from betanll.estimators._calibration import conformal_factors, with_spread, with_tails
from betanll.estimators._data import checked_inputs
from betanll.networks import Network
from betanll.objectives import Objective
from betanll.preprocessing import QuantilePositions, Standardizer
from betanll.training import predict_parameters
from betanll.typing import Array


class VarianceParts(NamedTuple):
    """The two parts of the predictive variance, which add up to it."""

    aleatoric: Array
    epistemic: Array


class Predictions:
    """The predictions of :class:`HeteroscedasticRegressor`, which learns the rest."""

    # Without values here, so that an unfitted one has none of it.
    n_outputs_: int
    net_: Network
    objective_: Objective
    members_: list[Any]
    encoder_: ColumnEncoder | None
    inputs_: Standardizer | QuantilePositions
    input_range_: Array | None
    targets_: Standardizer
    spread_: Array
    df_: Array | None
    conformal_scores_: list[Array] | None
    _y_is_vector: bool

    def predict(
        self, X: Any, return_std: bool = False
    ) -> npt.NDArray[np.float64] | tuple[Array, Array]:
        """Return the predicted mean, and the total standard deviation if asked for.

        Parameters
        ----------
        X : array of shape (n, n_features) or data frame
        return_std : bool, default=False
            Also return the standard deviation: noise and, for an ensemble, the
            disagreement of its members.

        Returns
        -------
        array of shape (n,) or (n, n_outputs), or two of them
            As `y` was in ``fit``.
        """
        predictive = self.predict_dist(X)
        return (predictive.mean, predictive.std) if return_std else predictive.mean

    def predict_dist(self, X: Any) -> Distribution:
        """Return the predictive distribution of each row in the units of the target.

        This is the distribution of the objective, mapped to the units of the target, or
        a :class:`~betanll.distributions.Mixture` of these for an ensemble. Calibration
        to a Student t, which is for objectives that predict normals, makes it one
        :class:`~betanll.distributions.StudentT` of the same mean.
        """
        predictive = self._distribution(self._checked_inputs(X))
        return predictive[:, 0] if self._y_is_vector else predictive

    def predict_var(self, X: Any) -> Array:
        """Return the predictive variance, the sum of ``predict_parts``."""
        return self.predict_dist(X).variance

    def predict_parts(self, X: Any) -> VarianceParts:
        """Return the predictive variance in two parts.

        Returns
        -------
        aleatoric, epistemic : arrays as the mean
            Noise that the members see on average, and the variance of their means. The
            second is zero for a single network, which cannot disagree with itself.
        """
        mixture = with_spread(self._whitened(self._checked_inputs(X)), self.spread_)
        mixture = mixture.affine(self.targets_.scale, self.targets_.mean)
        mixture = mixture[:, 0] if self._y_is_vector else mixture
        # The mixture that a single network predicts is all noise.
        if isinstance(mixture, Mixture) and len(self.members_) > 1:
            return VarianceParts(mixture.aleatoric_variance, mixture.epistemic_variance)
        return VarianceParts(mixture.variance, np.zeros(mixture.shape))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Return central prediction intervals.

        Parameters
        ----------
        X : array of shape (n, n_features)
        coverage : float in (0, 1), default=0.9
            Probability with which a new observation lies inside. After conformal
            calibration that is guaranteed on average over rows like the calibration
            rows; intervals are infinite where there were too few of those.

        Returns
        -------
        array of shape (n, 2) or (n, 2, n_outputs)
            Lower and upper bounds.
        """
        predictive = self._distribution(self._checked_inputs(X))
        interval = self._interval(predictive, coverage)
        return interval[:, :, 0] if self._y_is_vector else interval

    def predict_quantiles(self, X: Any, alpha: float | Sequence[float]) -> Array:
        """Return quantiles of the predictive distribution.

        Parameters
        ----------
        X : array of shape (n, n_features)
        alpha : float or sequence of L floats in [0, 1]
            Levels. After conformal calibration these are the ends of the central
            intervals of ``predict_interval``.

        Returns
        -------
        array of shape (n,) or (n, n_outputs), with a last axis L for a sequence
        """
        check_is_fitted(self)
        if self.conformal_scores_ is None:
            return self.predict_dist(X).quantile(alpha)
        levels = np.asarray(alpha, np.float64)
        if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"alpha must hold numbers in [0, 1], got {alpha!r}")
        predictive = self._distribution(self._checked_inputs(X))
        quantiles = np.empty((*predictive.shape, levels.size))
        for i, level in enumerate(levels.ravel().tolist()):
            factors = conformal_factors(self.conformal_scores_, abs(2 * level - 1))
            half_width = _conformal_half_width(predictive, factors)
            quantiles[..., i] = predictive.mean + np.sign(level - 0.5) * half_width
        quantiles = quantiles if levels.ndim else quantiles[..., 0]
        return quantiles[:, 0] if self._y_is_vector else quantiles

    def sample(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.Generator | None = None,
    ) -> Array:
        """Draw targets from the predictive distributions.

        Several targets of a row come from the same member of an ensemble with
        ``calibration`` None, ``"scale"`` or ``"conformal"``. With ``"student-t"``, the
        default, they are drawn one by one.

        Returns
        -------
        array of shape (n_samples, n) or (n_samples, n, n_outputs)
        """
        return self.predict_dist(X).sample(n_samples, rng=random_state)

    def log_likelihood(self, X: Any, y: Any) -> float:
        """Return the log-density of `y`, summed over targets, averaged over rows."""
        predictive = self.predict_dist(X)
        target = self._checked_targets(y, len(predictive))
        return metrics.log_likelihood(
            predictive, target[:, 0] if self._y_is_vector else target
        )

    def encode(self, X: Any) -> npt.NDArray[np.floating]:
        """Return inputs as the matrix of numbers that is standardised for the network.

        Categories, dates and missing cells have become columns of numbers, named by
        ``encoder_.encoded_names``. A matrix without missing cells stays as it is.
        """
        return self._checked_inputs(X)

    def _checked_inputs(self, X: Any) -> npt.NDArray[np.floating]:
        check_is_fitted(self)
        return checked_inputs(self, X)

    def _checked_targets(self, y: Any, n: int) -> Array:
        y = check_array(
            y,
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite="allow-nan",
            input_name="y",
        )
        target = y[:, None] if y.ndim == 1 else y
        if target.shape != (n, self.n_outputs_):
            raise ValueError(
                f"y must have {n} rows and {self.n_outputs_} targets, "
                f"got shape {y.shape}"
            )
        return target

    def _interval(self, predictive: Distribution, coverage: float) -> Array:
        """Return the intervals of distributions of shape (n, n_outputs)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie in (0, 1), got {coverage}")
        if self.conformal_scores_ is None:
            return predictive.interval(coverage)
        half_width = _conformal_half_width(
            predictive, conformal_factors(self.conformal_scores_, coverage)
        )
        bounds = [predictive.mean - half_width, predictive.mean + half_width]
        return np.stack(bounds, axis=1)

    def _distribution(
        self, X: npt.NDArray[np.floating], *, in_blocks: bool = False
    ) -> Distribution:
        """Return the predictive distribution, always of shape (n, n_outputs)."""
        whitened = self._whitened(X, in_blocks=in_blocks)
        if self.df_ is None:
            whitened = with_spread(whitened, self.spread_)
        else:
            whitened = with_tails(whitened, self.spread_, self.df_)
        return whitened.affine(self.targets_.scale, self.targets_.mean)

    def _whitened(
        self, X: npt.NDArray[np.floating], *, in_blocks: bool = False
    ) -> Distribution:
        """Return what the networks predict, before any calibration.

        With `in_blocks`, a row has the same bits in any company.
        """
        blocks: list[list[tuple[Array, ...]]] = [[] for _ in self.members_]
        for block in self.inputs_.blocks(X):
            for parameters, params in zip(blocks, self.members_, strict=True):
                parameters.append(
                    predict_parameters(
                        self.net_,
                        self.objective_,
                        params,
                        block.astype(np.float32),
                        in_blocks=in_blocks,
                    )
                )
        components = [
            self.objective_.predictive(
                tuple(np.concatenate(part) for part in zip(*parameters, strict=True))
            )
            for parameters in blocks
        ]
        return components[0] if len(components) == 1 else Mixture(components)


def _conformal_half_width(predictive: Distribution, factors: Array) -> Array:
    # An infinite factor is infinite even where the std underflows to zero.
    return np.where(np.isinf(factors), np.inf, factors * predictive.std)
