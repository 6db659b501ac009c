"""Objectives whose predictive distribution is a Gaussian."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from betanll import losses
from betanll._exponents import as_float, is_exponent, unusual_exponent
from betanll.losses.arrays import Array, namespace_of
from betanll.objectives._base import (
    Objective,
    Parameters,
    Schedule,
    start_and_end,
    traced,
    value_at,
)
from betanll.objectives._registry import objective
from betanll.objectives.heads import MAX_VARIANCE, MIN_VARIANCE, unit_head
from betanll.sentences import shown

if TYPE_CHECKING:
    from betanll.distributions import Distribution

#: Degrees of freedom of the Student t in `robust_nll`.
_TAIL_DF = 5.0


class _UnitVariance(Objective):
    """Mean alone; the predictive variance is 1 in standardised units."""

    n_parameters = 1
    predictive_family = "normal"

    def parameters(self, raw: Array) -> Parameters:
        (mean,) = raw
        return (mean,)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        (mean,) = parameters
        return losses.gaussian_nll(mean, 1.0, target, full=True)

    def moments(self, parameters: Parameters) -> tuple[Array, Array]:
        (mean,) = parameters
        return mean, namespace_of(mean).ones_like(mean)

    def predictive(self, parameters: Parameters) -> Distribution:
        from betanll.distributions import Normal

        (mean,) = parameters
        return Normal.from_variance(mean, np.ones_like(mean))


@objective("mse")
class MSE(_UnitVariance):
    """Squared error, in training and in validation."""

    reduction = "mean"
    validation_score = "squared_error"

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        (mean,) = parameters
        return losses.squared_error(mean, target)


@objective("fixed-variance")
class FixedVariance(_UnitVariance):
    """Gaussian NLL with variance 1."""

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        return self.nll(parameters, target)


class _MeanVariance(Objective):
    """Mean and variance, one linear head each."""

    n_parameters = 2
    predictive_family = "normal"
    max_variance: float = MAX_VARIANCE

    def __post_init__(self) -> None:
        if not as_float(self.max_variance) > 1:
            raise ValueError(
                "max_variance must be a number above the initial variance 1, "
                f"got {shown(self.max_variance)}"
            )

    def parameters(self, raw: Array) -> Parameters:
        mean, raw_variance = raw
        return mean, unit_head(raw_variance, ceiling=float(self.max_variance))

    def nll(self, parameters: Parameters, target: Array) -> Array:
        mean, variance = parameters
        return losses.gaussian_nll(mean, variance, target, full=True)

    def robust_nll(self, parameters: Parameters, target: Array) -> Array:
        mean, variance = parameters
        shape = namespace_of(variance).full_like(variance, _TAIL_DF / 2)
        return losses.student_t_nll(mean, shape, shape * variance, target)

    def moments(self, parameters: Parameters) -> tuple[Array, Array]:
        mean, variance = parameters
        return mean, variance

    def predictive(self, parameters: Parameters) -> Distribution:
        from betanll.distributions import Normal

        mean, variance = parameters
        return Normal.from_variance(mean, variance)


@objective("nll")
class GaussianNLL(_MeanVariance):
    """Plain Gaussian NLL, which may starve points of large predicted variance.

    Parameters
    ----------
    max_variance : float, default=1000
        Ceiling of the variance in standardised units.
    """

    max_variance: float = MAX_VARIANCE

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.gaussian_nll(mean, variance, target)


@objective("beta-nll")
class BetaNLL(_MeanVariance):
    """Gaussian NLL with every point weighted by its variance to the power beta.

    Parameters
    ----------
    beta : float or (start, end), default=0.5
        0 is plain NLL; 1 gives the mean the gradient of the squared error. A pair moves
        linearly from `start` to `end` over the training budget.
    max_variance : float, default=1000
        Ceiling of the variance in standardised units.

    Examples
    --------
    >>> BetaNLL(beta=0.5)
    BetaNLL(beta=0.5, max_variance=1000.0)
    >>> BetaNLL(beta=(1.0, 0.0))  # anneal from squared error to NLL
    BetaNLL(beta=(1.0, 0.0), max_variance=1000.0)
    """

    beta: Schedule = traced(default=0.5)
    max_variance: float = MAX_VARIANCE

    def __post_init__(self) -> None:
        super().__post_init__()
        values = start_and_end(self.beta)
        if len(values) != 2 or not all(is_exponent(value) for value in values):
            raise ValueError(
                "beta must be a finite number of at least 0 or a pair (start, end) of "
                f"them, got {shown(self.beta)}"
            )

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.beta_nll(
            mean, variance, target, beta=value_at(self.beta, progress)
        )


@objective("faithful")
class Faithful(_MeanVariance):
    """Squared error for mean and features; NLL fits the variance head alone."""

    n_detached = 1
    max_variance: float = MAX_VARIANCE

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.faithful_nll(mean, variance, target)


@objective("crps")
class CRPS(_MeanVariance):
    """Continuous ranked probability score of a Gaussian."""

    max_variance: float = MAX_VARIANCE

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.crps_gaussian(mean, variance, target)


@objective("mm")
class MomentMatching(Objective):
    """Squared error for the mean; the spread follows the absolute residual.

    The second head is a standard deviation: floor and ceiling apply to it, not to the
    variance. For Gaussian noise, it converges to 0.80 of the true standard deviation.
    """

    n_parameters = 2
    predictive_family = "normal"
    reduction = "mean"

    def parameters(self, raw: Array) -> Parameters:
        mean, raw_std = raw
        return mean, unit_head(raw_std)

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, std = parameters
        return losses.moment_matching(mean, std, target)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        mean, std = parameters
        # Not gaussian_nll(mean, std**2): in single precision the square of the floor
        # is still representable, but its inverse times a square residual may not be.
        z = (target - mean) / std
        return 0.5 * z * z + namespace_of(std).log(std) + 0.5 * math.log(2 * math.pi)

    def moments(self, parameters: Parameters) -> tuple[Array, Array]:
        mean, std = parameters
        return mean, std * std

    def predictive(self, parameters: Parameters) -> Distribution:
        from betanll.distributions import Normal

        mean, std = parameters
        return Normal(mean, std)


@objective("natural")
class NaturalGaussian(Objective):
    """Gaussian NLL in natural parameters, convex in the network's outputs."""

    n_parameters = 2
    predictive_family = "normal"

    def parameters(self, raw: Array) -> Parameters:
        eta1, raw_precision = raw
        precision = unit_head(raw_precision, floor=MIN_VARIANCE, ceiling=math.inf)
        return eta1, -0.5 * precision

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        eta1, eta2 = parameters
        return losses.natural_gaussian_nll(eta1, eta2, target)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        eta1, eta2 = parameters
        return losses.natural_gaussian_nll(eta1, eta2, target, full=True)

    def mean(self, parameters: Parameters) -> Array:
        eta1, eta2 = parameters
        return -0.5 * eta1 / eta2

    def moments(self, parameters: Parameters) -> tuple[Array, Array]:
        _, eta2 = parameters
        return self.mean(parameters), -0.5 / eta2

    def predictive(self, parameters: Parameters) -> Distribution:
        from betanll.distributions import Normal

        eta1, eta2 = (np.asarray(p, np.float64) for p in parameters)
        return Normal.from_variance(-0.5 * eta1 / eta2, -0.5 / eta2)


def warn_of_unusual_beta(candidates: Iterable[Objective], *, stacklevel: int) -> None:
    """Warn if an exponent of beta-NLL is above 1; `stacklevel` counts from here."""
    betas = [
        start_and_end(each.beta) for each in candidates if isinstance(each, BetaNLL)
    ]
    if betas and (note := unusual_exponent(*map(max, betas))):
        warnings.warn(note, stacklevel=stacklevel + 1)
