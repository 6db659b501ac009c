"""Draw the picture at the top of the README: a fan chart, and the CRPS of all methods.

    python -m benchmarks.overview

The fan chart shows the default estimator on the paper's sine with growing noise. The
bars are means over twelve UCI sets, from ``results/quality/overall.csv``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from betanll import HeteroscedasticRegressor
from betanll.datasets import heteroscedastic_sine
from betanll.files import written_atomically
from betanll.reports.style import BLUE, ORANGE, rendered, report_style

ROOT = Path(__file__).parents[1]
NAMES = {
    "betanll": "betanll",
    "forest": "random forest",
    "catboost": "CatBoost",
    "gp": "Gaussian process",
    "skpro-mdn": "mixture density network",
    "ngboost": "NGBoost",
    "torch-ensemble": "ensemble in PyTorch",
    "bayesian-ridge": "Bayesian ridge",
}


def main() -> None:
    with report_style():
        figure = Figure(figsize=(9, 3.3), facecolor="white", layout="constrained")
        fan, bars = figure.subplots(1, 2, width_ratios=(1.2, 1))
        draw_fan(fan)
        draw_bars(bars)
        path = ROOT / "docs" / "images" / "overview.png"
        with written_atomically(path) as temporary:
            temporary.write_bytes(rendered(figure, "png"))
    print(path.relative_to(ROOT))


def draw_fan(ax: Axes) -> None:
    x, y = heteroscedastic_sine(1000, seed=0)
    model = HeteroscedasticRegressor(random_state=0).fit(x, y.ravel())
    grid = np.linspace(x.min(), x.max(), 400)[:, None]
    ax.scatter(x, y, s=3, color="0.6", linewidths=0, label="data")
    ax.plot(grid, model.predict(grid), color=ORANGE, label="predicted mean")
    for coverage, alpha in ((0.9, 0.2), (0.5, 0.3)):
        lower, upper = model.predict_interval(grid, coverage).T
        label = f"{coverage:.0%} interval"
        ax.fill_between(
            grid[:, 0], lower, upper, color=ORANGE, alpha=alpha, lw=0, label=label
        )
    ax.set(xlabel="x", ylabel="y", title="Every prediction has its own uncertainty")
    ax.legend(loc="upper left")


def draw_bars(ax: Axes) -> None:
    table = pd.read_csv(ROOT / "results" / "quality" / "overall.csv")
    table = table.sort_values("crps_scaled", ascending=False)
    colors = [ORANGE if name == "betanll" else BLUE for name in table["method"]]
    bars = ax.barh(table["method"].map(NAMES), table["crps_scaled"], color=colors)
    ax.bar_label(bars, fmt="%.3f", padding=3)
    ax.set(xlim=(0, 1.18 * table["crps_scaled"].max()), xticks=[])
    ax.set_title("Mean CRPS (lower is better)")
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(left=False)


if __name__ == "__main__":
    main()
