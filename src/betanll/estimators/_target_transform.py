"""From the parameter `target_transform` to one transform for each target, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from betanll import objectives
from betanll.distributions import (
    Distribution,
    Identity,
    Transform,
    Transformed,
    transforms,
)
from betanll.estimators._presets import AUTO, is_auto
from betanll.estimators._transform_pilot import pilot
from betanll.model_selection import FitPlan, Steps, TrainingData
from betanll.typing import Array

if TYPE_CHECKING:
    from betanll.estimators._regressor import HeteroscedasticRegressor

#: One for each target; the identity leaves a target as it is.
Transforms = tuple[Transform, ...]


def requested_transform(given: Any) -> Transform | str:
    """Return the transform that was asked for, or "auto"."""
    if given is None:
        return Identity()
    if isinstance(given, Transform) or is_auto(given):
        return given
    if isinstance(given, str):
        return transforms.get(given)
    raise ValueError(f"expected None, a name or a transform, got {given!r}")


def check_target_transform(given: Any) -> None:
    """Raise a ``ValueError`` if the parameter has an unusable value."""
    for one in _listed(given):
        try:
            requested_transform(one)
        except ValueError as error:
            raise ValueError(
                f'target_transform must be None, "auto", the name of a transform or '
                f"a transform, or a list of these: {error}"
            ) from None


def chosen_transforms(
    estimator: HeteroscedasticRegressor, plan: FitPlan, data: TrainingData
) -> Steps[Transforms]:
    """Return one transform for each target; "auto" may train pilots."""
    n_targets = data.targets.shape[1]
    given = _listed(estimator.target_transform)
    if len(given) == 1:
        given = [*given] * n_targets
    if len(given) != n_targets:
        raise ValueError(
            f"target_transform has {len(given)} entries for {n_targets} targets"
        )
    wanted = [requested_transform(one) for one in given]
    for i, (one, column) in enumerate(zip(wanted, data.targets.T, strict=True)):
        if isinstance(one, Transform):
            _check_support(
                one, column, f"target {i}" if n_targets > 1 else "the target"
            )
    has_tails = _family(estimator) == "student-t"
    if has_tails and any(not _is_plain(one) for one in wanted if one != AUTO):
        raise ValueError(
            f"objective {estimator.objective!r} predicts Student t distributions, "
            "whose exponential has no mean: choose another objective, or "
            "target_transform=None"
        )
    is_plain = has_tails or estimator.calibration == "student-t"
    if is_plain or estimator.preset == "paper":
        wanted = [Identity() if one == AUTO else one for one in wanted]
    return (yield from pilot(plan, data, wanted))


def planned_with(
    plan: FitPlan, estimator: HeteroscedasticRegressor, chosen: Transforms
) -> FitPlan:
    """Return the plan with a calibration that leaves transformed targets a mean."""
    if all(map(_is_plain, chosen)) or plan.calibration != "student-t":
        return plan
    if estimator.calibration == "student-t":
        raise ValueError(
            'calibration="student-t" is not for transformed targets, because the '
            'exponential of a Student t has no mean: choose "scale", "conformal" or '
            '"auto"'
        )
    return replace(plan, calibration="scale")


def to_images(targets: Array, chosen: Transforms) -> Array:
    """Return targets of shape (n, n_targets) on the transformed scale."""
    if all(map(_is_plain, chosen)):
        return targets
    columns = [one(column) for one, column in zip(chosen, targets.T, strict=True)]
    return np.column_stack(columns)


def in_units(images: Distribution, chosen: Transforms) -> Distribution:
    """Return distributions of images as distributions of targets."""
    if all(map(_is_plain, chosen)):
        return images
    return Transformed(images, chosen)


def _listed(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) and given else [given]


def _is_plain(one: Any) -> bool:
    return type(one) is Identity


def _family(estimator: HeteroscedasticRegressor) -> str:
    return objectives.get(estimator.objective).predictive_family


def _check_support(one: Transform, column: Array, name: str) -> None:
    low, high = one.support
    seen = column[~np.isnan(column)]
    beyond = seen[(seen <= low) | (seen >= high)]
    if beyond.size:
        where = f"above {low:g}" if np.isinf(high) else f"between {low:g} and {high:g}"
        hint = ': zeros need "log1p"' if one == transforms.get("log") else ""
        if beyond.min() < 0 and one.name == "log":
            hint = ""
        raise ValueError(
            f"target_transform={one.name!r} takes values {where} alone, but "
            f"{beyond.size} of {seen.size} values of {name} are not, such as "
            f"{beyond[0]:g}{hint}"
        )
