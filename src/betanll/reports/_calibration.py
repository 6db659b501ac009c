"""Nominal against observed coverage."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike
from scipy import stats

from betanll.diagnostics import calibration_curve
from betanll.reports._display import Display, plain_legend, select
from betanll.reports.style import BLUE


class CalibrationDisplay(Display):
    """Observed coverage of central intervals against their nominal coverage.

    A calibrated model follows the diagonal. Intervals are too narrow below it and too
    wide above. At each level, the grey band contains nine of ten calibrated models; few
    points make it wide.

    Parameters
    ----------
    levels : array of shape (n_levels,)
        Nominal coverages.
    fractions : array of shape (n_levels,)
        Observed coverages.
    n_samples : int
        Number of points behind the fractions, for the band.
    name : str, optional
        For the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D
        The curve.
    reference_line_ : matplotlib Line2D
        The diagonal.
    band_ : matplotlib PolyCollection or None

    See Also
    --------
    betanll.diagnostics.calibration_curve : the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> display = CalibrationDisplay.from_predictions(
    ...     y, np.zeros(500), y_std=np.ones(500), ax=Figure().subplots()
    ... )
    >>> display.ax_.get_xlabel()
    'nominal coverage'
    """

    line_: Line2D
    reference_line_: Line2D
    band_: PolyCollection | None

    def __init__(
        self,
        *,
        levels: ArrayLike,
        fractions: ArrayLike,
        n_samples: int,
        name: str | None = None,
    ) -> None:
        self.levels = np.asarray(levels, np.float64)
        self.fractions = np.asarray(fractions, np.float64)
        self.n_samples = n_samples
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
        levels: ArrayLike | None = None,
        band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the calibration of given predictions.

        `y_true` has the shape (n,) or (n, n_targets), with NaN where it is missing.
        `y_pred` is a Distribution, or an array of means of that shape whose standard
        deviations are `y_std`.

        Parameters
        ----------
        target : int, default=0
            Which of several targets.
        levels : array of floats in (0, 1), optional
            Nominal coverages.
        band : bool, default=True
            Draw what chance allows a calibrated model.
        **kwargs
            Passed to ``Axes.plot``.
        """
        truth, predictive = select(y_true, y_pred, y_std, target)
        nominal, fractions = calibration_curve(predictive, truth, levels)
        display = cls(
            levels=nominal, fractions=fractions, n_samples=len(truth), name=name
        )
        return display.plot(ax, band=band, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        band: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw, into `ax` or a new figure; `kwargs` go to ``Axes.plot``."""
        ax = self._open(ax)
        (self.reference_line_,) = ax.plot(
            [0, 1], [0, 1], "--", color="black", linewidth=1, label="ideal"
        )
        self.band_ = self._draw_band(ax) if band else None
        name = self.name if name is None else name
        style: dict[str, Any] = {
            "color": BLUE,
            "marker": "o",
            "markersize": 4,
            "label": "observed" if name is None else name,
        }
        (self.line_,) = ax.plot(self.levels, self.fractions, **(style | kwargs))
        ax.set(
            xlabel="nominal coverage",
            ylabel="observed coverage",
            xlim=(0, 1),
            ylim=(-0.02, 1.02),
        )
        plain_legend(ax, loc="upper left")
        return self

    def _draw_band(self, ax: Axes) -> PolyCollection:
        levels = np.linspace(0.005, 0.995, 100)
        low, high = stats.binom.interval(0.9, self.n_samples, levels)
        return ax.fill_between(
            levels,
            low / self.n_samples,
            high / self.n_samples,
            color="0.5",
            alpha=0.25,
            linewidth=0,
            label="chance",
        )
