"""Fits of the one-dimensional sine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from betanll.distributions import Distribution
from betanll.metrics import rmse


def sine_figure(
    x: Any, y: Any, predictions: Mapping[str, Distribution], *, width: float = 9
) -> Figure:
    """Draw data, mean and a band of two standard deviations, a panel for each fit.

    A figure of 5 inches `width` stays legible on a phone.

    Examples
    --------
    >>> from betanll import datasets
    >>> from betanll.distributions import Normal
    >>> x, y = datasets.sine()
    >>> figure = sine_figure(x, y, {"exact": Normal(y, 0 * y + 0.01)})
    >>> figure.axes[0].get_title(loc="left")
    'exact: RMSE 0.000'
    """
    figure = Figure(figsize=(width, 2.4 * len(predictions)), layout="constrained")
    axes = figure.subplots(len(predictions), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, predictive) in zip(axes, predictions.items(), strict=True):
        mean, std = predictive.mean[:, 0], predictive.std[:, 0]
        axis.plot(x[:, 0], y[:, 0], ".", color="0.65", markersize=2, label="data")
        axis.fill_between(
            x[:, 0],
            mean - 2 * std,
            mean + 2 * std,
            color="tab:blue",
            alpha=0.25,
            linewidth=0,
            label="±2 std",
        )
        axis.plot(x[:, 0], mean, color="tab:blue", linewidth=1.2, label="mean")
        axis.set_title(f"{label}: RMSE {rmse(predictive.mean, y):.3f}", loc="left")
        axis.set_ylabel("y")
        axis.set_ylim(-1.1, 1.1)
    axes[0].legend(loc="upper right", ncols=3, frameon=False)
    axes[-1].set_xlabel("x")
    return figure
