"""How large the errors are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from betanll.distributions import Distribution
from betanll.metrics import rmse
from betanll.reports._display import Display, observed_rows, plain_legend
from betanll.reports.style import BLUE, format_number, log_edges, use_log_scale


class ResidualDisplay(Display):
    """Histogram of absolute errors on a log axis, with the RMSE as a dashed line.

    Any regressor works, because only the mean counts. The legend counts residuals of
    exactly zero, which a log axis cannot show.

    Parameters
    ----------
    residuals : array of shape (n,)
        Truth minus prediction.
    rmse : float
        Root of the mean squared residual.
    name : str, optional
        For the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : matplotlib BarContainer or None
    rmse_line_ : matplotlib Line2D or None

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ResidualDisplay.from_predictions(
    ...     [0.0, 0.0], [3.0, 1.0], ax=Figure().subplots()
    ... )
    >>> display.rmse**2
    5.0
    """

    bars_: BarContainer | None
    rmse_line_: Line2D | None

    def __init__(
        self, *, residuals: ArrayLike, rmse: float, name: str | None = None
    ) -> None:
        self.residuals = np.asarray(residuals, np.float64)
        self.rmse = rmse
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: Any,
        *,
        y_std: ArrayLike | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        target: int = 0,
        bins: int = 30,
        **kwargs: Any,
    ) -> Self:
        """Draw the residuals of given predictions.

        `y_true` has the shape (n,) or (n, n_targets), with NaN where it is missing.
        `y_pred` is a Distribution, or an array of means of that shape; `y_std` is
        ignored, so that all displays are called alike.

        Parameters
        ----------
        target : int, default=0
            Which of several targets.
        bins : int, default=30
        **kwargs
            Passed to ``Axes.hist``.
        """
        del y_std
        mean = y_pred.mean if isinstance(y_pred, Distribution) else y_pred
        mean = np.asarray(mean, np.float64)
        truth = observed_rows(y_true, mean.shape, target)
        rows = ~np.isnan(truth)
        truth = truth[rows]
        mean = (mean if mean.ndim == 1 else mean[:, target])[rows]
        display = cls(residuals=truth - mean, rmse=rmse(mean, truth), name=name)
        return display.plot(ax, bins=bins, **kwargs)

    @staticmethod
    def _predict(estimator: Any, X: Any) -> tuple[Any, Any]:
        return estimator.predict(X), None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        bins: int = 30,
        **kwargs: Any,
    ) -> Self:
        """Draw, into `ax` or a new figure; `kwargs` go to ``Axes.hist``."""
        ax = self._open(ax)
        ax.set(xlabel="size of the error", ylabel="rows")
        name = self.name if name is None else name
        sizes = np.abs(self.residuals)
        n_exact = int(np.count_nonzero(sizes == 0))
        sizes = sizes[sizes > 0]
        self.bars_ = self.rmse_line_ = None
        if not sizes.size:
            ax.text(
                0.5, 0.5, "all errors are zero", transform=ax.transAxes, ha="center"
            )
            ax.set(xticks=[], yticks=[])
            return self
        style: dict[str, Any] = {"color": BLUE, "alpha": 0.7, "label": name} | kwargs
        edges = log_edges(sizes, bins)
        self.bars_ = ax.hist(sizes, bins=edges, **style)[2]  # type: ignore[assignment]
        ends = [edges[0], edges[-1]]
        if ax.get_xscale() == "log":
            ends.extend(ax.get_xlim())
        # The square of a tiny residual may vanish, that of a huge one overflow.
        if 0 < self.rmse < np.inf:
            ends.append(self.rmse)
            label = f"RMSE {format_number(self.rmse)}"
            self.rmse_line_ = ax.axvline(
                self.rmse, linestyle="--", color="black", linewidth=1.2, label=label
            )
        if n_exact:
            ax.plot([], [], " ", label=f"{n_exact} without error")
        ax.set_xlim(min(ends), max(ends))
        use_log_scale(ax)
        if ax.get_legend_handles_labels()[0]:
            plain_legend(ax, loc="upper left")
        return self
