"""Objectives whose predictive distribution is a Student t."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betanll import losses
from betanll.losses.arrays import Array
from betanll.objectives._base import Objective, Parameters
from betanll.objectives._registry import objective
from betanll.objectives.heads import gamma_heads

if TYPE_CHECKING:
    from betanll.distributions import Distribution


class GammaPrecision(Objective):
    """Gaussian with a Gamma(shape, rate) precision; averaged, a Student t."""

    n_parameters = 3
    predictive_family = "student-t"

    def head_sizes(self, n_targets: int) -> tuple[int, ...]:
        return (3 * n_targets,)

    def parameters(self, raw: Array) -> Parameters:
        mean, raw_shape, raw_rate = raw
        return mean, *gamma_heads(raw_shape, raw_rate)

    def nll(self, parameters: Parameters, target: Array) -> Array:
        mean, shape, rate, *_ = parameters
        return losses.student_t_nll(mean, shape, rate, target)

    def moments(self, parameters: Parameters) -> tuple[Array, Array]:
        mean, shape, rate, *_ = parameters
        return mean, rate / (shape - 1)

    def predictive(self, parameters: Parameters) -> Distribution:
        from betanll.distributions import StudentT

        mean, shape, rate, *_ = parameters
        return StudentT.from_gamma(mean, shape, rate)


@objective("student-t")
class StudentT(GammaPrecision):
    """Student-t NLL.

    The floor of the squared scale is 1e-14 in standardised units, far below the floor
    1e-8 of Gaussian variances. This flatters the log-likelihood on nearly noise-free
    data.
    """

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        return self.nll(parameters, target)
