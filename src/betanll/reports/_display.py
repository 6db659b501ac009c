"""The base class of displays, which accept any predictions with uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from numpy.typing import ArrayLike

from betanll.distributions import Distribution, Normal
from betanll.typing import Array


class Display(ABC):
    """A plot that is computed once and can be drawn repeatedly.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure
    name: str | None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Predict with a fitted estimator and draw.

        Parameters
        ----------
        estimator : fitted regressor
            With ``predict_dist(X)`` or ``predict(X, return_std=True)``.
        X : array of shape (n, n_features)
        y : array of shape (n,) or (n, n_targets)
            Truth; NaN where it is missing.
        ax : matplotlib Axes, optional
            Drawn into; by default a new figure.
        name : str, optional
            For the legend; by default the class of the estimator.
        **kwargs
            Passed to ``from_predictions``.
        """
        y_pred, y_std = cls._predict(estimator, X)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, y_pred, y_std=y_std, ax=ax, name=name, **kwargs)

    @classmethod
    @abstractmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: Any,
        *,
        y_std: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw given predictions."""

    @staticmethod
    def _predict(estimator: Any, X: Any) -> tuple[Any, Any]:
        """Return `y_pred` and `y_std` for `from_predictions`."""
        if hasattr(estimator, "predict_dist"):
            return estimator.predict_dist(X), None
        try:
            mean, std = estimator.predict(X, return_std=True)
        except TypeError as error:
            raise TypeError(
                f"{type(estimator).__name__} gives no uncertainty: it has neither "
                "predict_dist(X) nor predict(X, return_std=True)"
            ) from error
        return mean, std

    def _open(self, ax: Axes | None) -> Axes:
        if ax is None:
            # A figure of pyplot, which a notebook shows by itself.
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        self.ax_ = ax
        figure = ax.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        return ax


def plain_legend(ax: Axes, **kwargs: Any) -> Legend:
    """Add a legend in which a dollar sign is a dollar sign."""
    legend = ax.legend(**kwargs)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def predictive_of(y_pred: Any, y_std: ArrayLike | None) -> Distribution:
    """Return a distribution, or the Gaussian of means and standard deviations."""
    if isinstance(y_pred, Distribution):
        if y_std is not None:
            raise ValueError("y_std must not be given where y_pred is a distribution")
        return y_pred
    if y_std is None:
        raise ValueError("y_std is needed where y_pred is an array of means")
    return Normal(np.asarray(y_pred, np.float64), np.asarray(y_std, np.float64))


def observed_rows(y_true: ArrayLike, shape: tuple[int, ...], target: int) -> Array:
    """Return the column `target` of the truth, for predictions of the given shape."""
    truth = np.asarray(y_true, np.float64)
    if truth.ndim not in (1, 2) or len(shape) not in (1, 2):
        raise ValueError(
            "truth and prediction must have one or two axes, "
            f"got the shapes {truth.shape} and {shape}"
        )
    n_targets = [s[1] if len(s) == 2 else 1 for s in (truth.shape, shape)]
    if len(truth) != shape[0] or n_targets[0] != n_targets[1]:
        raise ValueError(
            f"truth has shape {truth.shape} but the prediction has shape {shape}"
        )
    if not -n_targets[0] <= target < n_targets[0]:
        raise IndexError(f"there is no target {target} among {n_targets[0]}")
    column = truth if truth.ndim == 1 else truth[:, target]
    if np.isnan(column).all():
        raise ValueError(f"target {target} has no observed value")
    return column


def select(
    y_true: ArrayLike, y_pred: Any, y_std: ArrayLike | None, target: int
) -> tuple[Array, Distribution]:
    """Return the observed values of one target and their predictions, both (n,)."""
    predictive = predictive_of(y_pred, y_std)
    truth = observed_rows(y_true, predictive.shape, target)
    rows = ~np.isnan(truth)
    index = rows if len(predictive.shape) == 1 else (rows, target)
    return truth[rows], predictive[index]
