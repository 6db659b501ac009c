"""Evidential regression (Amini et al. 2020): four parameters predict a Student t."""

import numpy as np

from betanll.distributions import StudentT
from betanll.losses.arrays import lgamma_half_step, namespace_of, softplus
from betanll.objectives import Objective, Schedule, objective, traced, value_at


@objective("evidential")
class Evidential(Objective):
    """Normal-inverse-Gamma evidence about mean and variance."""

    n_parameters, predictive_family = 4, "student-t"
    penalty: Schedule = traced(default=0.01)

    def parameters(self, raw):
        mean, nu, alpha, beta = raw
        return mean, softplus(nu) + 0.1, softplus(alpha) + 1.1, softplus(beta) + 1e-6

    def nll(self, parameters, target):
        mean, nu, alpha, beta = parameters
        xp, width = namespace_of(mean), 2 * beta * (1 + nu)
        z = nu * (target - mean) ** 2 / width
        density = lgamma_half_step(alpha) + 0.5 * xp.log(nu / (np.pi * width))
        return (alpha + 0.5) * xp.log1p(z) - density

    def loss(self, parameters, target, progress):
        mean, nu, alpha, _ = parameters
        penalty = abs(target - mean) * (2 * nu + alpha)
        return self.nll(parameters, target) + value_at(self.penalty, progress) * penalty

    def predictive(self, parameters):
        mean, nu, alpha, beta = parameters
        return StudentT(2 * alpha, mean, np.sqrt(beta * (1 + nu) / (nu * alpha)))

    def moments(self, parameters):
        mean, nu, alpha, beta = parameters
        return mean, beta * (1 + nu) / (nu * (alpha - 1))
