"""Objectives whose predictive distribution is a Gaussian."""

from __future__ import annotations

import math
from numbers import Real

import jax.numpy as jnp
import numpy as np

from betanll import losses
from betanll._limits import MAX_VARIANCE, MIN_VARIANCE
from betanll.distributions import Distribution, Normal
from betanll.objectives._base import (
    Array,
    Objective,
    Parameters,
    Schedule,
    at,
    endpoints,
    objective,
    traced,
)
from betanll.objectives._heads import unit_head

#: Of the Student t that stands for a Gaussian where tails are wanted.
_TAIL_DF = 5.0


def _is_exponent(value: object) -> bool:
    return isinstance(value, Real) and 0 <= float(value) < math.inf


class _MeanVariance(Objective):
    """Mean and variance, one linear head each."""

    n_parameters = 2
    max_variance: float = MAX_VARIANCE

    def __post_init__(self) -> None:
        if not self.max_variance > 1:
            raise ValueError(
                "max_variance must exceed the initial variance 1, "
                f"got {self.max_variance!r}"
            )

    def parameters(self, raw: Array) -> Parameters:
        mean, raw_variance = raw
        return mean, unit_head(raw_variance, ceiling=self.max_variance)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        mean, variance = parameters
        return losses.gaussian_nll(mean, variance, target, full=True)

    def nll_with_tails(self, parameters: Parameters, target: Array) -> Array:
        mean, variance = parameters
        shape = jnp.full_like(variance, _TAIL_DF / 2)
        return losses.student_t_nll(mean, shape, shape * variance, target)

    def predictive(self, parameters: Parameters) -> Distribution:
        mean, variance = parameters
        return Normal.from_variance(mean, variance)


@objective
class GaussianNLL(_MeanVariance):
    """Plain Gaussian likelihood: the trap that this library is about.

    Parameters
    ----------
    max_variance : float, default=1000
        Ceiling of the whitened variance.
    """

    name = "nll"
    max_variance: float = MAX_VARIANCE

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.gaussian_nll(mean, variance, target)


@objective
class BetaNLL(_MeanVariance):
    """Gaussian likelihood with every point weighted by its variance to the power beta.

    Parameters
    ----------
    beta : float or (start, end), default=0.5
        0 is the likelihood, 1 gives the mean the gradient of the squared error. A pair
        moves linearly from `start` to `end` over the training budget.
    max_variance : float, default=1000
        Ceiling of the whitened variance.

    Examples
    --------
    >>> BetaNLL(beta=0.5)
    BetaNLL(beta=0.5, max_variance=1000.0)
    >>> BetaNLL(beta=(1.0, 0.0))  # anneal from squared error to likelihood
    BetaNLL(beta=(1.0, 0.0), max_variance=1000.0)
    """

    name = "beta-nll"
    beta: Schedule = traced(default=0.5)
    max_variance: float = MAX_VARIANCE

    def __post_init__(self) -> None:
        super().__post_init__()
        values = endpoints(self.beta)
        if len(values) != 2 or not all(_is_exponent(value) for value in values):
            raise ValueError(
                "beta must be a finite number of at least 0 or a pair (start, end) of "
                f"them, got {self.beta!r}"
            )

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.beta_nll(mean, variance, target, beta=at(self.beta, progress))


@objective
class Faithful(_MeanVariance):
    """Squared error for mean and features; the variance is fitted on the side."""

    name = "faithful"
    n_detached = 1
    max_variance: float = MAX_VARIANCE

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.faithful_nll(mean, variance, target)


@objective
class CRPS(_MeanVariance):
    """Continuous ranked probability score of a Gaussian."""

    name = "crps"
    max_variance: float = MAX_VARIANCE

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        mean, variance = parameters
        return losses.crps_gaussian(mean, variance, target)


@objective
class MomentMatching(Objective):
    """Squared error for the mean; the spread follows the absolute residual.

    The second head is a standard deviation: floor and ceiling apply to it, not to the
    variance. For Gaussian noise it settles at 0.80 of the true one.
    """

    name = "mm"
    n_parameters = 2
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
        return 0.5 * z * z + jnp.log(std) + 0.5 * math.log(2 * math.pi)

    def predictive(self, parameters: Parameters) -> Distribution:
        mean, std = parameters
        return Normal(mean, std)


@objective
class NaturalGaussian(Objective):
    """Gaussian likelihood in natural parameters, convex in the network's outputs."""

    name = "natural"
    n_parameters = 2

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

    def predictive(self, parameters: Parameters) -> Distribution:
        eta1, eta2 = (np.asarray(p, np.float64) for p in parameters)
        return Normal.from_variance(-0.5 * eta1 / eta2, -0.5 / eta2)


class _UnitVariance(Objective):
    """Mean alone; the predictive variance is one in whitened units."""

    n_parameters = 1

    def parameters(self, raw: Array) -> Parameters:
        (mean,) = raw
        return (mean,)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        (mean,) = parameters
        return losses.gaussian_nll(mean, 1.0, target, full=True)

    def predictive(self, parameters: Parameters) -> Distribution:
        (mean,) = parameters
        return Normal.from_variance(mean, np.ones_like(mean))


@objective
class MSE(_UnitVariance):
    """Squared error. There is no likelihood, so validation selects by it too."""

    name = "mse"
    reduction = "mean"
    selection = "squared-error"

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        (mean,) = parameters
        return losses.squared_error(mean, target)


@objective
class FixedVariance(_UnitVariance):
    """Gaussian likelihood with variance one."""

    name = "fixed-variance"

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        return self.nll(parameters, target)
