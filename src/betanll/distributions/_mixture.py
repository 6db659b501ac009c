"""Mixtures, and the root search that their quantiles need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from betanll.distributions._base import Array, Distribution, Seed, as_array


@dataclass(frozen=True, eq=False)
class Mixture(Distribution):
    """Equally weighted mixture, the predictive distribution of a deep ensemble.

    The variance is the mean of the components' variances (aleatoric) plus the
    population variance of their means (epistemic). A mixture of one component gives
    exactly that component's results.

    Parameters
    ----------
    components : non-empty list or tuple of distributions of one shape
        Classes may differ.

    Notes
    -----
    ``sample`` draws one component per sample and row, not per element, so that the
    outputs of a row (the last axis of two or more) come from one ensemble member.

    References
    ----------
    Lakshminarayanan et al., "Simple and scalable predictive uncertainty estimation
    using deep ensembles", NeurIPS 2017.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> ensemble = Mixture([Normal([-5.0], [0.1]), Normal([5.0], [0.1])])
    >>> ensemble.std.round(3), ensemble.epistemic_variance
    (array([5.001]), array([25.]))
    >>> ensemble.quantile([0.25, 0.5, 0.75]).round(6)
    array([[-5.,  0.,  5.]])
    """

    components: Sequence[Distribution]

    def __post_init__(self) -> None:
        components = tuple(self.components)
        if not components:
            raise ValueError("a mixture needs at least one component")
        for component in components:
            if not isinstance(component, Distribution):
                raise TypeError(f"{type(component).__name__} is not a distribution")
        shapes = [component.shape for component in components]
        if len(set(shapes)) > 1:
            raise ValueError(f"components must have equal shapes, got {shapes}")
        object.__setattr__(self, "components", components)

    @property
    def mean(self) -> Array:
        return self._average(lambda c: c.mean)

    @property
    def aleatoric_variance(self) -> Array:
        """Mean of the components' variances: noise that more data would not remove."""
        return self._average(lambda c: c.variance)

    @property
    def epistemic_variance(self) -> Array:
        """Population variance of the components' means: their disagreement."""
        return as_array(np.var([c.mean for c in self.components], axis=0))

    @property
    def variance(self) -> Array:
        return self.aleatoric_variance + self.epistemic_variance

    @property
    def std(self) -> Array:
        # Squares may under- or overflow where the std does not.
        stds = np.stack([c.std for c in self.components])
        distances = np.stack([c.mean - self.mean for c in self.components])
        unit = np.max(np.maximum(stds, np.abs(distances)), axis=0)
        unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
        squares = (stds / unit) ** 2 + (distances / unit) ** 2
        return as_array(unit * np.sqrt(np.mean(squares, axis=0)))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.components[0].shape

    def _average(self, member: Callable[[Distribution], Array]) -> Array:
        return as_array(np.mean([member(c) for c in self.components], axis=0))

    def _log_prob(self, value: Array) -> Array:
        log_probs = [c._log_prob(value) for c in self.components]
        return as_array(np.logaddexp.reduce(log_probs) - math.log(len(log_probs)))

    def _tail(self, value: Array, sign: int) -> Array:
        return self._average(lambda c: c._tail(value, sign))

    def _quantile(self, level: float) -> Array:
        # The mixture's quantile lies between the extreme quantiles of its components.
        bounds = np.stack([c._quantile(level) for c in self.components])
        spreads = [c._quantile(0.75) - c._quantile(0.25) for c in self.components]

        def excess_and_slope(value: Array) -> tuple[Array, Array]:
            slope = len(self.components) * np.exp(self._log_prob(value))
            return self._excess(value, level), slope

        low, high = bounds.min(axis=0), bounds.max(axis=0)
        return _increasing_root(excess_and_slope, low, high, np.min(spreads, axis=0))

    def _excess(self, value: Array, level: float) -> Array:
        """K (cdf - level), accurate in the tails and on plateaus between components.

        Each component contributes its smaller tail; the integers and the level, which
        cancel there, are combined exactly.
        """
        below = np.stack([c._tail(value, 1) for c in self.components])
        above = np.stack([c._tail(value, -1) for c in self.components])
        is_passed = below > 0.5
        n_passed, n_all = is_passed.sum(axis=0), len(self.components)
        if level <= 0.5:
            whole = n_passed - n_all * level
        else:
            whole = n_all * (1 - level) - (n_all - n_passed)
        return as_array(whole + np.where(is_passed, -above, below).sum(axis=0))

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        rng = np.random.default_rng(rng)
        rows = (*self.shape[:-1], 1) if len(self.shape) > 1 else self.shape
        chosen = rng.integers(len(self.components), size=(n_samples, *rows))
        samples = np.empty((n_samples, *self.shape))
        for k, component in enumerate(self.components):
            np.copyto(samples, component.sample(n_samples, rng=rng), where=chosen == k)
        return samples

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        return type(self)([c.affine(scale, shift) for c in self.components])

    def __getitem__(self, index: Any) -> Self:
        return type(self)([c[index] for c in self.components])


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _increasing_root(
    function: Callable[[Array], tuple[Array, Array]],
    low: Array,
    high: Array,
    unit: Array,
) -> Array:
    """Elementwise root in [low, high] of an increasing function, to 1e-12 of `unit`.

    `function` returns its value and its derivative. A Newton step that leaves the
    bracket, or is not half as long as the step before, is replaced by bisection.
    """
    root, last_step = 0.5 * (low + high), high - low
    relative = 4 * np.finfo(np.float64).eps
    active = last_step > 1e-12 * unit + relative * np.abs(root)
    for _ in range(200):
        if not active.any():
            break
        value, slope = function(root)
        newton = root - value / slope
        low = np.where(value <= 0, root, low)
        high = np.where(value >= 0, root, high)
        is_short = np.abs(newton - root) <= 0.5 * last_step
        is_inside = (low <= newton) & (newton <= high)
        proposal = np.where(is_short & is_inside, newton, 0.5 * (low + high))
        last_step = np.abs(proposal - root)
        root = np.where(active, proposal, root)
        active &= last_step > 1e-12 * unit + relative * np.abs(root)
    return root
