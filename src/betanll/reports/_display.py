"""What the displays have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from numpy.typing import ArrayLike

from betanll.reports._data import predict_uncertain


class Display(ABC):
    """A plot that is computed once and drawn as often as wanted.

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
        return predict_uncertain(estimator, X)

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
