"""A fitted estimator for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from betanll.distributions import Identity
from betanll.networks import MLP
from betanll.preprocessing import QuantilePositions

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor


def torch_module(estimator: HeteroscedasticRegressor) -> Any:
    """Return a ``torch.nn.Module`` that maps inputs to mean and std."""
    from betanll.torch import RegressorModule

    if not isinstance(estimator.net_, MLP):
        raise ValueError(
            "to_torch exports the default network only, not "
            f"{type(estimator.net_).__name__}"
        )
    for transform in estimator.target_transform_:
        if not isinstance(transform, Identity):
            raise ValueError(
                "to_torch exports models of the targets themselves, but this one "
                f"learnt {transform!r} of one: fit with target_transform=None"
            )
    inputs: Any = {}
    if isinstance(estimator.inputs_, QuantilePositions):
        inputs["knots"] = estimator.inputs_.knots
    else:
        inputs["input_mean"] = estimator.inputs_.mean
        inputs["input_scale"] = estimator.inputs_.scale
    return RegressorModule(
        members=estimator.members_,
        activation=estimator.net_.activation,
        objective=estimator.objective_,
        target_mean=estimator.targets_.mean,
        target_scale=estimator.targets_.scale,
        spread=estimator.spread_,
        squeeze=estimator._y_is_vector,
        **inputs,
    )
