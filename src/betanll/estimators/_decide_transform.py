"""The choice of a transform, once for several models of one table."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from sklearn.utils import check_random_state

from betanll.distributions import Transform
from betanll.estimators._data import checked_data
from betanll.estimators._parameters import check_parameters, n_threads
from betanll.estimators._plan import plan_of
from betanll.estimators._target_transform import chosen_transforms
from betanll.model_selection import run

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor


def decide_transforms(
    estimator: HeteroscedasticRegressor, X: Any, y: Any, *, n_jobs: int | None = None
) -> tuple[Transform, ...]:
    """Return what ``fit`` would learn of each target, without fitting.

    Models that are compared, or whose predictions are joined, should decide alike.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll import HeteroscedasticRegressor
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> model = HeteroscedasticRegressor(target_transform=["log", "auto"])
    >>> decide_transforms(model, X, np.hstack([np.exp(X), X]))
    (Log(low=0.0), Identity())
    """
    check_parameters(estimator)
    model = copy.copy(estimator)
    # The random numbers of the fit stay where they are.
    random = check_random_state(copy.deepcopy(estimator.random_state))
    data = checked_data(model, X, y, None, random)
    plan = plan_of(model, n_rows=len(data), n_inputs=data.inputs.shape[1])
    return run([chosen_transforms(model, plan, data)], n_jobs=n_threads(n_jobs))[0]
