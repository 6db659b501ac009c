"""What a fitted estimator predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_array, check_is_fitted

from betanll import metrics
from betanll.columns import ColumnEncoder, as_pandas, is_frame
from betanll.distributions import Distribution, Mixture, Transformed
from betanll.estimators._calibration import with_spread, with_tails
from betanll.estimators._data import checked_inputs
from betanll.estimators._intervals import interval_of, quantiles_of
from betanll.estimators._target_transform import Transforms, in_units
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
    target_transform_: Transforms
    _y_is_vector: bool

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_interval: float | None = None,
        return_quantiles: float | Sequence[float] | None = None,
    ) -> Any:
        """Return the predicted mean, and what else is asked for.

        Options reach the estimator through a pipeline:
        ``pipeline.predict(X, return_interval=0.9)``.

        Parameters
        ----------
        X : array of shape (n, n_features) or data frame
        return_std : bool, default=False
            Also return the standard deviation: noise and, for an ensemble, the
            disagreement of its members.
        return_interval : float in (0, 1), optional
            Also return the intervals of ``predict_interval`` with this coverage.
        return_quantiles : float or sequence of L floats in [0, 1], optional
            Also return the quantiles of ``predict_quantiles`` at these levels.

        Returns
        -------
        array of shape (n,) or (n, n_outputs), or a tuple
            The mean, as `y` was in ``fit``; with options, mean, std, interval and
            quantiles in this order, without those that were not asked for.

        Examples
        --------
        >>> from betanll import HeteroscedasticRegressor
        >>> X = np.linspace(-1, 1, 100)[:, None]
        >>> model = HeteroscedasticRegressor(preset="fast", max_updates=50)
        >>> mean, interval = model.fit(X, X[:, 0]).predict(X, return_interval=0.9)
        >>> mean.shape, interval.shape
        ((100,), (100, 2))
        """
        predictive = self._distribution(self._checked_inputs(X))
        found = [self._as_fitted(predictive).mean]
        if return_std:
            found.append(self._as_fitted(predictive).std)
        if return_interval is not None:
            interval = self._interval(predictive, return_interval)
            found.append(interval[:, :, 0] if self._y_is_vector else interval)
        if return_quantiles is not None:
            found.append(self._quantiles(predictive, return_quantiles))
        return found[0] if len(found) == 1 else tuple(found)

    def predict_frame(self, X: Any, coverage: float = 0.9) -> pd.DataFrame:
        """Return mean, std, lower and upper bound of each target as a data frame.

        Parameters
        ----------
        X : array of shape (n, n_features) or data frame
        coverage : float in (0, 1), default=0.9
            Of the bounds, as in ``predict_interval``.

        Returns
        -------
        DataFrame of pandas
            Its index is the index of `X`. Columns are ``mean``, ``std``, ``lower`` and
            ``upper``. If `y` was a matrix, the name of the target stands before them,
            as in ``price_mean``: from the data frame in ``fit``, else ``y0``, ``y1``.
        """
        predictive = self._distribution(self._checked_inputs(X))
        interval = self._interval(predictive, coverage)
        parts = np.stack([predictive.mean, predictive.std, *interval.swapaxes(0, 1)])
        prefixes = [""]
        if not self._y_is_vector:
            names = getattr(self, "target_names_", None)
            names = (
                [f"y{i}" for i in range(self.n_outputs_)] if names is None else names
            )
            prefixes = [f"{name}_" for name in names]
        columns = [
            f"{prefix}{part}"
            for prefix in prefixes
            for part in ("mean", "std", "lower", "upper")
        ]
        values = parts.transpose(1, 2, 0).reshape(len(predictive), len(columns))
        index = as_pandas(X).index if is_frame(X) else None
        return pd.DataFrame(values, columns=columns, index=index)

    def predict_dist(self, X: Any) -> Distribution:
        """Return the predictive distribution of each row in the units of the target.

        This is the distribution of the objective, mapped to the units of the target, or
        a :class:`~betanll.distributions.Mixture` of these for an ensemble. Calibration
        to a Student t, which is for objectives that predict normals, makes it one
        :class:`~betanll.distributions.StudentT` of the same mean.
        """
        return self._as_fitted(self._distribution(self._checked_inputs(X)))

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
        found = in_units(mixture, self.target_transform_)
        mixture = found.members if isinstance(found, Transformed) else found
        mixture = self._as_fitted(mixture)
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
        predictive = self._distribution(self._checked_inputs(X))
        return self._quantiles(predictive, alpha)

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

    def _as_fitted(self, predictive: Distribution) -> Distribution:
        """Return a distribution of shape (n, n_outputs) as `y` was in ``fit``."""
        return predictive[:, 0] if self._y_is_vector else predictive

    def _interval(self, predictive: Distribution, coverage: float) -> Array:
        """Return the intervals of distributions of shape (n, n_outputs)."""
        return interval_of(predictive, self.conformal_scores_, coverage)

    def _quantiles(
        self, predictive: Distribution, alpha: float | Sequence[float]
    ) -> Array:
        quantiles = quantiles_of(predictive, self.conformal_scores_, alpha)
        return quantiles[:, 0] if self._y_is_vector else quantiles

    def _distribution(
        self, X: npt.NDArray[np.floating], *, in_blocks: bool = False
    ) -> Distribution:
        """Return the predictive distribution, always of shape (n, n_outputs)."""
        return in_units(self._images(X, in_blocks=in_blocks), self.target_transform_)

    def _images(
        self, X: npt.NDArray[np.floating], *, in_blocks: bool = False
    ) -> Distribution:
        """Return the distribution of transformed targets."""
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
