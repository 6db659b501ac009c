"""Every method behind one call: training rows in, a predictive distribution out.

An adapter is a function of ``(X_train, y_train, X_test, seed)`` and settings by name.
It imports what it needs itself, before the clock starts. All run on one thread, and
targets are 2-D; methods that take one target get a model for each.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from betanll.distributions import Distribution, Normal

Array = npt.NDArray[np.float64]
Model = TypeVar("Model")


class Prediction(NamedTuple):
    """A distribution of the shape of the test targets, and what it took.

    Seconds are of the processor, so that other work on the machine does not count.
    """

    distribution: Distribution
    fit_seconds: float
    predict_seconds: float


def predict_timed(
    fit: Callable[[], Model], predict: Callable[[Model], Distribution]
) -> Prediction:
    """Fit, predict and measure both."""
    started = time.process_time()
    model = fit()
    fitted = time.process_time()
    distribution = predict(model)
    return Prediction(distribution, fitted - started, time.process_time() - fitted)


def _of_each_target(
    y_train: Array,
    fit: Callable[[Array], Any],
    predict: Callable[[Any], tuple[Array, Array]],
) -> Prediction:
    """Fit a model to each column and put their means and deviations together."""

    def together(models: list[Any]) -> Distribution:
        columns = [predict(model) for model in models]
        mean, std = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        return Normal(mean, std)

    return predict_timed(
        lambda: [fit(np.ascontiguousarray(y)) for y in y_train.T], together
    )


def betanll(
    X_train: Array, y_train: Array, X_test: Array, seed: int, **settings: Any
) -> Prediction:
    """Our own regressor; what "auto" means is only there to be on record."""
    from betanll import HeteroscedasticRegressor

    settings.pop("meaning_of_auto", None)
    model = HeteroscedasticRegressor(**settings, random_state=seed, n_jobs=1)
    return predict_timed(
        lambda: model.fit(X_train, y_train), lambda fitted: fitted.predict_dist(X_test)
    )


def forest(
    X_train: Array, y_train: Array, X_test: Array, seed: int, *, n_estimators: int
) -> Prediction:
    """Mean and standard deviation over the trees of a random forest.

    Where trees agree, their deviation says nothing about the noise: it is at least a
    tenth of the error on rows that a tree has not seen.
    """
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(
        n_estimators, oob_score=True, n_jobs=1, random_state=seed
    )
    is_single = y_train.shape[1] == 1

    def predict(fitted: Any) -> Distribution:
        residuals = fitted.oob_prediction_.reshape(y_train.shape) - y_train
        floor = 0.1 * np.sqrt(np.mean(residuals**2, axis=0))
        trees = np.stack([tree.predict(X_test) for tree in fitted.estimators_])
        trees = trees.reshape(n_estimators, len(X_test), -1)
        return Normal(trees.mean(axis=0), np.maximum(trees.std(axis=0), floor))

    return predict_timed(
        lambda: model.fit(X_train, y_train[:, 0] if is_single else y_train), predict
    )


def catboost(X_train: Array, y_train: Array, X_test: Array, seed: int) -> Prediction:
    """CatBoost with a Gaussian likelihood."""
    from catboost import CatBoostRegressor

    def fit(y: Array) -> Any:
        model = CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            allow_writing_files=False,
            thread_count=1,
            random_seed=seed,
            verbose=False,
        )
        return model.fit(X_train, y)

    def predict(model: Any) -> tuple[Array, Array]:
        mean, variance = model.predict(
            X_test, prediction_type="RMSEWithUncertainty", thread_count=1
        ).T
        return mean, np.sqrt(variance)

    return _of_each_target(y_train, fit, predict)


def ngboost(X_train: Array, y_train: Array, X_test: Array, seed: int) -> Prediction:
    """Natural gradient boosting of a normal distribution."""
    from ngboost import NGBRegressor

    def fit(y: Array) -> Any:
        return NGBRegressor(verbose=False, random_state=seed).fit(X_train, y)

    def predict(model: Any) -> tuple[Array, Array]:
        distribution = model.pred_dist(X_test)
        return distribution.loc, distribution.scale

    return _of_each_target(y_train, fit, predict)


def gp(
    X_train: Array,
    y_train: Array,
    X_test: Array,
    seed: int,
    *,
    max_rows: int,
    max_rows_of_kernel: int,
) -> Prediction:
    """A Gaussian process with a length scale for each standardised input, and noise.

    Of a larger table it sees `max_rows` rows, drawn by the seed. The kernel is chosen
    with the first `max_rows_of_kernel` of them: scikit-learn's derivative takes memory
    for rows x rows x inputs, 6 GB for 3000 rows of superconductivity.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.preprocessing import StandardScaler

    rows = np.random.default_rng(seed).permutation(len(X_train))[:max_rows]
    scaler = StandardScaler().fit(X_train[rows])
    X, X_new = scaler.transform(X_train[rows]), scaler.transform(X_test)
    n_inputs = X.shape[1]
    # About the distance of two rows: with less, many inputs look like noise at first.
    scales = np.full(n_inputs, np.sqrt(n_inputs))

    def fit(y: Array) -> Any:
        model = GaussianProcessRegressor(
            ConstantKernel() * RBF(scales) + WhiteKernel(), normalize_y=True
        )
        with warnings.catch_warnings():
            # Inputs without influence get the longest scale there is.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[:max_rows_of_kernel], y[:max_rows_of_kernel])
        if len(y) <= max_rows_of_kernel:
            return model
        return GaussianProcessRegressor(
            model.kernel_, optimizer=None, normalize_y=True
        ).fit(X, y)

    return _of_each_target(
        y_train[rows], fit, lambda model: model.predict(X_new, return_std=True)
    )


def bayesian_ridge(
    X_train: Array, y_train: Array, X_test: Array, seed: int
) -> Prediction:
    """Bayesian linear regression on standardised inputs; it draws no numbers."""
    from sklearn.linear_model import BayesianRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return _of_each_target(
        y_train,
        lambda y: make_pipeline(StandardScaler(), BayesianRidge()).fit(X_train, y),
        lambda model: model.predict(X_test, return_std=True),
    )
