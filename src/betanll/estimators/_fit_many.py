"""Several estimators as one fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from betanll.estimators._parameters import n_threads
from betanll.estimators._regressor import HeteroscedasticRegressor
from betanll.model_selection import run


def fit_many(
    jobs: Sequence[
        tuple[HeteroscedasticRegressor, Any, Any]
        | tuple[HeteroscedasticRegressor, Any, Any, Mapping[str, Any]]
    ],
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[HeteroscedasticRegressor]:
    """Fit several estimators, each on data of its own, as one fleet of trainings.

    The results are those of fitting them one after the other.

    Parameters
    ----------
    jobs : sequence of (estimator, X, y) or (estimator, X, y, options)
        Options are further arguments of ``fit``, such as ``{"groups": labels}``.
    n_jobs : int, optional
        Trainings at a time, by default one for each core.
    progress : bool, default=False
        Show a progress bar.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll import HeteroscedasticRegressor
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> models = [
    ...     HeteroscedasticRegressor(preset="fast", objective=name, random_state=0)
    ...     for name in ("nll", "beta-nll")
    ... ]
    >>> fitted = fit_many([(model, X, X[:, 0] ** 2) for model in models])
    >>> [model.predict(X).shape for model in fitted]
    [(100,), (100,)]
    """
    return run(
        [
            estimator.fit_steps(X, y, **(options[0] if options else {}))
            for estimator, X, y, *options in jobs
        ],
        n_jobs=n_threads(n_jobs),
        progress=progress,
    )
