"""The methods: raw training rows in, mean, interval and CRPS of the test rows out.

Each runs on one thread. Seconds are of the processor and include reading the columns.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from benchmarks.real_tables._columns import Reading
from threadpoolctl import threadpool_limits

from betanll.distributions import Distribution, Normal

Array = npt.NDArray[np.float64]


class Quantiles(NamedTuple):
    """A prediction without a density: its mean, and quantiles at middle levels.

    `values` has a column for each of n levels 1/(2n), 3/(2n), ...; with n = 10 the
    first and last are the bounds of the central 90% interval.
    """

    mean: Array
    values: Array


class Prediction(NamedTuple):
    """What a method says of the test rows, and what it took."""

    predictive: Distribution | Quantiles
    fit_seconds: float
    predict_seconds: float


class RefusalError(Exception):
    """The method cannot read the table; the message is its own."""


def predict_timed(
    fit: Callable[[], Any], predict: Callable[[Any], Distribution | Quantiles]
) -> Prediction:
    """Fit, predict and measure both."""
    # Here, and not before the adapter: only libraries that are loaded can be limited.
    with threadpool_limits(limits=1):
        started = time.process_time()
        model = fit()
        fitted = time.process_time()
        predictive = predict(model)
        predicted = time.process_time()
    return Prediction(predictive, fitted - started, predicted - fitted)


def betanll(
    train: pd.DataFrame, target: str, test: pd.DataFrame, seed: int, **settings: Any
) -> Prediction:
    """The estimator, on the data frame as it is."""
    from betanll import HeteroscedasticRegressor
    from betanll.tables import TableError

    def fit() -> Any:
        inputs, y = _inputs(train, target)
        model = HeteroscedasticRegressor(**settings, random_state=seed, n_jobs=1)
        return model.fit(inputs, y)

    def predict(model: Any) -> Distribution:
        return model.predict_dist(test.drop(columns=target))

    try:
        return predict_timed(fit, predict)
    except TableError as error:
        raise RefusalError(str(error)) from None


def catboost(
    train: pd.DataFrame,
    target: str,
    test: pd.DataFrame,
    seed: int,
    *,
    iterations: int,
    patience: int | None = None,
    validation_share: float = 0.0,
) -> Prediction:
    """CatBoost's Gaussian likelihood with its own categories and missing values.

    Without patience, all rows train all trees.
    """
    from catboost import CatBoostRegressor, Pool

    def fit() -> Any:
        inputs, y = _inputs(train, target)
        reading = Reading.learn(inputs)
        X, names = reading.apply(inputs), list(reading.categories)
        kept, held = _held_out(len(X), validation_share, seed)
        model = CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            iterations=iterations,
            early_stopping_rounds=patience,
            allow_writing_files=False,
            thread_count=1,
            random_seed=seed,
            verbose=False,
        )
        pools = [
            Pool(X.iloc[rows], y[rows], cat_features=names)
            for rows in (kept, held)
            if len(rows)
        ]
        return reading, model.fit(pools[0], eval_set=pools[1:] or None)

    def predict(fitted: Any) -> Distribution:
        reading, model = fitted
        X = reading.apply(test.drop(columns=target))
        pool = Pool(X, cat_features=list(reading.categories))
        mean, variance = model.predict(
            pool, prediction_type="RMSEWithUncertainty", thread_count=1
        ).T
        return Normal(mean, np.sqrt(variance))

    return predict_timed(fit, predict)


def hgb_quantile(
    train: pd.DataFrame,
    target: str,
    test: pd.DataFrame,
    seed: int,
    *,
    n_levels: int,
    **settings: Any,
) -> Prediction:
    """scikit-learn's boosting: a model of the mean, and one for each quantile level."""
    levels = (np.arange(n_levels) + 0.5) / n_levels
    losses = [{}, *({"loss": "quantile", "quantile": q} for q in levels)]

    def predictive(models: Sequence[Any], X: pd.DataFrame, _: Array) -> Quantiles:
        mean, *values = (model.predict(X) for model in models)
        # Models of their own may cross; sorted quantiles are never worse.
        return Quantiles(mean, np.sort(np.stack(values, axis=1), axis=1))

    return _hgb(train, target, test, seed, losses, predictive, **settings)


def hgb_residual(
    train: pd.DataFrame, target: str, test: pd.DataFrame, seed: int, **settings: Any
) -> Prediction:
    """scikit-learn's boosting of the mean; one spread, of the validation residuals."""

    def predictive(models: Sequence[Any], X: pd.DataFrame, residuals: Array) -> Normal:
        mean = models[0].predict(X)
        return Normal(mean, np.full_like(mean, np.sqrt(np.mean(residuals**2))))

    return _hgb(train, target, test, seed, [{}], predictive, **settings)


def _hgb(
    train: pd.DataFrame,
    target: str,
    test: pd.DataFrame,
    seed: int,
    losses: Sequence[Mapping[str, Any]],
    predictive: Callable[[Sequence[Any], pd.DataFrame, Array], Any],
    *,
    max_iter: int,
    patience: int,
    validation_share: float,
    max_categories: int,
) -> Prediction:
    from sklearn.ensemble import HistGradientBoostingRegressor

    def fit() -> Any:
        inputs, y = _inputs(train, target)
        reading = Reading.learn(inputs)
        texts = reading.apply(inputs)
        known = {
            name: texts[name].value_counts().index[:max_categories]
            for name in reading.categories
        }
        X = _categorical(texts, known)
        kept, held = _held_out(len(X), validation_share, seed)
        models = [
            HistGradientBoostingRegressor(
                categorical_features="from_dtype",
                early_stopping=True,
                max_iter=max_iter,
                n_iter_no_change=patience,
                random_state=seed,
                **loss,
            ).fit(X.iloc[kept], y[kept], X_val=X.iloc[held], y_val=y[held])
            for loss in losses
        ]
        residuals = y[held] - models[0].predict(X.iloc[held])
        return reading, known, models, residuals

    def predict(fitted: Any) -> Any:
        reading, known, models, residuals = fitted
        X = _categorical(reading.apply(test.drop(columns=target)), known)
        return predictive(models, X, residuals)

    return predict_timed(fit, predict)


def ridge(
    train: pd.DataFrame,
    target: str,
    test: pd.DataFrame,
    seed: int,
    *,
    max_categories: int,
) -> Prediction:
    """A linear model with one spread for all rows: the usual first pipeline."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    def fit() -> Any:
        inputs, y = _inputs(train, target)
        reading = Reading.learn(inputs)
        X = reading.apply(inputs)
        numbers = [name for name in X if name not in reading.categories]
        fill = SimpleImputer(
            strategy="median", add_indicator=True, keep_empty_features=True
        )
        one_hot = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=max_categories,
            sparse_output=False,
        )
        columns = make_column_transformer(
            (make_pipeline(fill, StandardScaler()), numbers),
            (one_hot, list(reading.categories)),
        )
        model = make_pipeline(columns, RidgeCV(np.logspace(-2, 4, 13)))
        return reading, model.fit(X, y)

    def predict(fitted: Any) -> Distribution:
        reading, model = fitted
        mean = model.predict(reading.apply(test.drop(columns=target)))
        # Of rows that were left out one at a time.
        std = np.sqrt(-model[-1].best_score_)
        return Normal(mean, np.full_like(mean, std))

    return predict_timed(fit, predict)


def _inputs(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, Array]:
    return frame.drop(columns=target), frame[target].to_numpy(np.float64)


def _held_out(n: int, share: float, seed: int) -> list[npt.NDArray[np.intp]]:
    """Return positions to train on, and those that end the training."""
    order = np.random.default_rng(seed).permutation(n)
    return np.split(order, [n - round(share * n)])


def _categorical(frame: pd.DataFrame, known: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame with pandas' categories; rare and new levels are missing."""
    return frame.assign(
        **{
            name: pd.Categorical(frame[name].where(frame[name].isin(levels)), levels)
            for name, levels in known.items()
        }
    )


@dataclass(frozen=True)
class Method:
    """An adapter, its settings and the package whose version is on record."""

    adapter: Callable[..., Prediction]
    package: str
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        """All settings as JSON: a method that is changed gets new results."""
        return json.dumps(dict(self.given), sort_keys=True)

    @property
    def is_installed(self) -> bool:
        return (
            find_spec({"scikit-learn": "sklearn"}.get(self.package, self.package))
            is not None
        )


_HGB = {
    "max_iter": 1000,
    "patience": 20,
    "validation_share": 0.2,
    # The library takes no more than 255.
    "max_categories": 254,
}

METHODS = {
    "betanll": Method(betanll, "betanll", {"preset": "default"}),
    "betanll-fast": Method(betanll, "betanll", {"preset": "fast"}),
    "catboost": Method(
        catboost,
        "catboost",
        {"iterations": 1000, "patience": 50, "validation_share": 0.2},
    ),
    "catboost-1000": Method(catboost, "catboost", {"iterations": 1000}),
    "hgb-quantile": Method(hgb_quantile, "scikit-learn", {"n_levels": 10, **_HGB}),
    "hgb-residual": Method(hgb_residual, "scikit-learn", _HGB),
    "ridge": Method(ridge, "scikit-learn", {"max_categories": 100}),
}


def predict(
    name: str,
    train: pd.DataFrame,
    target: str,
    test: pd.DataFrame,
    seed: int,
    *,
    settings: str | None = None,
) -> Prediction:
    """Fit a method to raw training rows and predict test rows, on one thread."""
    method = METHODS[name]
    values = json.loads(method.settings if settings is None else settings)
    return method.adapter(train, target, test, seed, **values)


def version_of(name: str) -> str:
    """Return package and installed version, such as ``"catboost 1.2.10"``."""
    package = METHODS[name].package
    if package == "betanll":
        import betanll

        return f"betanll {betanll.__version__}"
    return f"{package} {version(package)}"
