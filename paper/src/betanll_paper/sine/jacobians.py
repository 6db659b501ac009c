"""How much the features of a network bend around a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from betanll.typing import Array

#: Takes rows ``(n, n_inputs)`` and returns their features ``(n, n_features)``.
Features = Callable[[Any], Any]


def feature_jacobians(
    features: Features,
    points: ArrayLike,
    *,
    method: Literal["jax", "differences"] = "jax",
    step: float | None = None,
) -> Array:
    """Return the derivatives of features by inputs at each point.

    Parameters
    ----------
    features : callable
        From rows of shape (n, n_inputs) to their features, (n, n_features). Each row
        must be treated by itself, so without batch normalisation in training mode.
    points : array of shape (n, n_inputs), or (n,) for a single input
    method : {"jax", "differences"}, default="jax"
        Automatic differentiation of a JAX function, or central differences of any
        function of NumPy arrays (wrap a PyTorch module accordingly).
    step : float, optional
        Step of the differences, by default 1e-3 of the standard deviation of each
        input over the points: right for features in single precision.

    Returns
    -------
    array of shape (n, n_features, n_inputs)

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> weight = jnp.array([[1.0, -2.0]])
    >>> jacobians = feature_jacobians(lambda x: jnp.tanh(x @ weight), [0.0, 1.0])
    >>> jacobians[0, :, 0]
    array([ 1., -2.])
    """
    rows = _double(points)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"points has shape {rows.shape}, expected (n, n_inputs)")
    if method == "jax":
        return _by_jax(features, rows)
    if method == "differences":
        return _by_differences(features, rows, step)
    raise ValueError(f"method must be 'jax' or 'differences', got {method!r}")


def jacobian_variance(jacobians: ArrayLike, points: ArrayLike, radius: float) -> Array:
    """Return how much the Jacobian varies around each point.

    At a point it is the population variance of each entry of the Jacobian over the
    points within `radius` (Euclidean), averaged over entries. Features that are linear
    around a point give zero: nothing has been learned there beyond a slope.

    Parameters
    ----------
    jacobians : array of shape (n, n_features, n_inputs)
        From `feature_jacobians`.
    points : array of shape (n, n_inputs), or (n,) for a single input
    radius : float

    Returns
    -------
    array of shape (n,)

    References
    ----------
    Seitzer et al., ICLR 2022, section 3 and figure 4. The paper gives no radius.

    Examples
    --------
    >>> jacobian_variance([[[1.0]], [[3.0]], [[3.0]]], [0.0, 1.0, 9.0], radius=2.0)
    array([1., 1., 0.])
    """
    slopes, rows = _double(jacobians), _double(points)
    if rows.ndim == 1:
        rows = rows[:, None]
    if slopes.ndim != 3 or rows.ndim != 2 or len(slopes) != len(rows):
        raise ValueError(
            f"jacobians has shape {slopes.shape} and points {rows.shape}, expected "
            "(n, n_features, n_inputs) and (n, n_inputs)"
        )
    if not radius >= 0:
        raise ValueError(f"radius must not be negative, got {radius}")
    neighbours = cKDTree(rows).query_ball_point(rows, radius)
    return np.array([slopes[near].var(axis=0).mean() for near in neighbours])


def _by_jax(features: Features, rows: Array) -> Array:
    import jax
    import jax.numpy as jnp

    def of_one(point: Any) -> Any:
        return jnp.asarray(features(point[None]))[0]

    return _double(jax.vmap(jax.jacfwd(of_one))(jnp.asarray(rows, jnp.float32)))


def _by_differences(features: Features, rows: Array, step: float | None) -> Array:
    if step is None:
        spread = rows.std(axis=0)
        steps = 1e-3 * np.where(spread > 0, spread, 1.0)
    elif step > 0:
        steps = np.full(rows.shape[1], step)
    else:
        raise ValueError(f"step must be positive, got {step}")
    columns = []
    for i, width in enumerate(steps):
        shift = np.zeros(rows.shape[1])
        shift[i] = width
        above, below = (
            _double(features(rows + shift)),
            _double(features(rows - shift)),
        )
        if above.ndim != 2 or len(above) != len(rows):
            raise ValueError(
                f"features returned shape {above.shape} for {len(rows)} rows, "
                "expected (n, n_features)"
            )
        columns.append((above - below) / (2 * width))
    return np.stack(columns, axis=-1)


def _double(values: ArrayLike) -> Array:
    return np.asarray(values, np.float64)
