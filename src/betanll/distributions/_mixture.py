"""Mixtures of any distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from betanll._arrays import as_array
from betanll.distributions._base import Distribution
from betanll.distributions._crps import normal_mixture_crps
from betanll.distributions._crps_quadrature import Part
from betanll.distributions._normal import Normal
from betanll.distributions._numerics import increasing_root
from betanll.typing import Array, Seed


@dataclass(frozen=True, eq=False)
class Mixture(Distribution):
    """Weighted mixture; with equal weights the prediction of a deep ensemble.

    The variance is the mean of the components' variances (aleatoric) plus the
    population variance of their means (epistemic). A mixture of one component gives
    exactly that component's results. Components of weight zero do not count.

    Parameters
    ----------
    components : non-empty list or tuple of K distributions of one shape
        Classes may differ.
    weights : array of shape (K,) or (n, K), optional
        Weights of the components, for all rows or for each of n rows; equal by default.
        For distributions of shape (n, d), (n, d, K) gives every element its own. They
        are divided by their sum.

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
    >>> Mixture(ensemble.components, weights=[[0.9, 0.1]]).mean
    array([-4.])
    """

    components: Sequence[Distribution]
    weights: ArrayLike | None = None

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
        if self.weights is not None:
            weights = _normalised(self.weights, shapes[0], len(components))
            object.__setattr__(self, "weights", weights)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.components[0].shape

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
        centre = self.mean
        return self._average(lambda c: (c.mean - centre) ** 2)

    @property
    def variance(self) -> Array:
        return self.aleatoric_variance + self.epistemic_variance

    @property
    def std(self) -> Array:
        # Squares may under- or overflow where the std does not.
        centre = self.mean
        sizes = [np.maximum(c.std, np.abs(c.mean - centre)) for c in self.components]
        unit = np.max(self._counted(sizes, 0.0), axis=0)
        unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
        square = self._average(
            lambda c: (c.std / unit) ** 2 + ((c.mean - centre) / unit) ** 2
        )
        return as_array(unit * np.sqrt(square))

    def _shares(self) -> Array:
        """Weights with the components first, whose sum may be their number."""
        if self.weights is None:
            return np.ones((len(self.components), *(1,) * len(self.shape)))
        return np.moveaxis(as_array(self.weights), -1, 0)

    def _counted(self, values: Sequence[Array], otherwise: float) -> Array:
        """Values of the components, those of weight zero replaced."""
        return np.where(self._shares() > 0, np.stack(values), otherwise)

    def _average(self, member: Callable[[Distribution], Array]) -> Array:
        values = [member(c) for c in self.components]
        if self.weights is None:
            return as_array(np.mean(values, axis=0))
        shares = self._shares()
        return as_array(np.sum(shares * self._counted(values, 0.0), axis=0))

    def _log_prob(self, value: Array) -> Array:
        log_probs = [c._log_prob(value) for c in self.components]
        if self.weights is None:
            return as_array(np.logaddexp.reduce(log_probs) - math.log(len(log_probs)))
        shares = self._shares()
        log_shares = np.log(np.where(shares > 0, shares, 1.0))
        counted = self._counted(log_probs, -np.inf)
        return as_array(np.logaddexp.reduce(log_shares + counted))

    def _cdf(self, value: Array) -> Array:
        return self._average(lambda c: c._cdf(value))

    def _survival(self, value: Array) -> Array:
        return self._average(lambda c: c._survival(value))

    def _quantile(self, level: Array) -> Array:
        self._check_custom_components()
        # The mixture's quantile lies between the extreme quantiles of its components.
        bounds = [c._quantile(level) for c in self.components]
        low = self._counted(bounds, np.inf).min(axis=0)
        high = self._counted(bounds, -np.inf).max(axis=0)
        quarter, three_quarters = (np.full(self.shape, p) for p in (0.25, 0.75))
        spreads = [
            c._quantile(three_quarters) - c._quantile(quarter) for c in self.components
        ]
        spread = self._counted(spreads, np.inf).min(axis=0)
        total = self._shares().sum(axis=0)

        def excess_and_slope(value: Array) -> tuple[Array, Array]:
            slope = total * np.exp(self._log_prob(value))
            return self._excess(value, level), slope

        root = increasing_root(excess_and_slope, low, high, spread)
        return root

    def _check_custom_components(self) -> None:
        """Refuse components whose cdf has no inverse, once: roots would be wrong."""
        if "_is_checked" not in vars(self):
            for _, distribution in self._parts():
                if not distribution._is_smooth:
                    distribution._check_inverse()
            vars(self)["_is_checked"] = True

    def _excess(self, value: Array, level: Array) -> Array:
        """cdf - level, times the sum of the shares, which is K for equal weights.

        It is accurate in the tails and on plateaus between components: each component
        contributes its smaller tail, and the shares and the level, which cancel there,
        are combined exactly if weights are equal.
        """
        below = np.stack([c._cdf(value) for c in self.components])
        above = np.stack([c._survival(value) for c in self.components])
        shares = self._shares()
        is_passed = below > 0.5
        passed = np.sum(np.where(is_passed, shares, 0.0), axis=0)
        ahead = np.sum(np.where(is_passed, 0.0, shares), axis=0)
        total = shares.sum(axis=0)
        whole = np.where(
            level <= 0.5, passed - total * level, total * (1 - level) - ahead
        )
        tails = self._counted(list(np.where(is_passed, -above, below)), 0.0)
        return as_array(whole + np.sum(shares * tails, axis=0))

    def _crps(self, target: Array) -> Array:
        parts = self._parts()
        if len(parts) == 1:
            return parts[0].distribution._crps(target)
        if all(isinstance(part.distribution, Normal) for part in parts):
            return normal_mixture_crps(parts, target)
        return super()._crps(target)

    def _parts(self) -> list[Part]:
        if self.weights is None:
            weights: Sequence[Any] = [1 / len(self.components)] * len(self.components)
        else:
            weights = list(self._shares())
        return [
            Part(weight * inner.weight, inner.distribution)
            for weight, component in zip(weights, self.components, strict=True)
            for inner in component._parts()
        ]

    def sample(self, n_samples: int, *, rng: Seed) -> Array:
        rng = np.random.default_rng(rng)
        rows = (*self.shape[:-1], 1) if len(self.shape) > 1 else self.shape
        if self.weights is None:
            chosen = rng.integers(len(self.components), size=(n_samples, *rows))
        else:
            # One level for the outputs of a row: equal weights choose one component.
            level = rng.random((n_samples, *rows))
            edges = np.cumsum(self._shares(), axis=0)[:-1]
            chosen = np.sum([level >= edge for edge in edges], axis=0, dtype=np.intp)
        samples = np.empty((n_samples, *self.shape))
        for k, component in enumerate(self.components):
            np.copyto(samples, component.sample(n_samples, rng=rng), where=chosen == k)
        return samples

    def affine(self, scale: ArrayLike, shift: ArrayLike) -> Self:
        mapped = [c.affine(scale, shift) for c in self.components]
        return type(self)(mapped, self.weights)

    def __getitem__(self, index: Any) -> Self:
        weights = self.weights
        if weights is not None:
            weights = np.stack([share[index] for share in self._shares()], axis=-1)
        return type(self)([c[index] for c in self.components], weights)


def _normalised(weights: ArrayLike, shape: tuple[int, ...], n_components: int) -> Array:
    """Return weights of shape ``(*shape, n_components)`` and sum one."""
    array = as_array(weights)
    by_row, by_element = (*shape[:-1], n_components), (*shape, n_components)
    if array.shape not in ((n_components,), by_row, by_element):
        needed = by_row if len(shape) > 1 else by_element
        raise ValueError(
            f"weights have shape {array.shape}, but {n_components} components of shape "
            f"{shape} need ({n_components},) or {needed}"
        )
    bad = ~((array >= 0) & np.isfinite(array))
    if bad.any():
        raise ValueError(
            f"weights must be finite and not negative, got {array[bad][0]}"
        )
    total = array.sum(axis=-1, keepdims=True)
    if not np.all(total > 0):
        raise ValueError("each row of weights needs at least one above zero")
    array = array / total
    if array.shape == by_row and len(shape) > 1:
        array = array[..., None, :]
    return np.broadcast_to(array, by_element)
