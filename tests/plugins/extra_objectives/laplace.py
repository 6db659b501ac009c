"""Laplace likelihood: the absolute error, with a scale for every row."""

from dataclasses import dataclass

import numpy as np

from betanll.distributions import Distribution
from betanll.losses.arrays import namespace_of
from betanll.objectives import Objective, heads, objective


@dataclass(frozen=True)
class Laplace(Distribution):
    loc: np.ndarray
    scale: np.ndarray

    def _log_prob(self, value):
        return -np.abs(value - self.loc) / self.scale - np.log(2 * self.scale)

    def _cdf(self, value):
        z = (value - self.loc) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def _quantile(self, level):
        u = level - 0.5
        return self.loc - self.scale * np.sign(u) * np.log1p(-2 * np.abs(u))


@objective("laplace")
class LaplaceNLL(Objective):
    """Laplace likelihood: the absolute error, with a scale for every row."""

    n_parameters = 2

    def parameters(self, raw):
        return raw[0], heads.unit_head(raw[1])

    def nll(self, parameters, target):
        (mean, scale), xp = parameters, namespace_of(parameters[0])
        return xp.abs(target - mean) / scale + xp.log(2 * scale)

    def loss(self, parameters, target, progress):
        return self.nll(parameters, target)

    def predictive(self, parameters):
        return Laplace(*parameters)

    def moments(self, parameters):
        return parameters[0], 2 * parameters[1] ** 2
