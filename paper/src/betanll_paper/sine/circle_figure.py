"""Figure 2: why a bad fit persists, drawn from a run on the sine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import ConnectionPatch

from betanll.datasets import sine
from betanll.reports.style import BLUE, ORANGE
from betanll.typing import Array
from betanll_paper.drawing.marks import (
    LINES,
    Drawing,
    NothingToDraw,
    Rows,
    add_note,
    numbers,
    of_kind,
)
from betanll_paper.presets import counted
from betanll_paper.published.methods import Method
from betanll_paper.sine.figures import draw_sine_fit, one_run, recorded
from betanll_paper.sine.training import (
    FIT_UPDATES,
    FIT_X,
    JACOBIAN_X,
    PROBABILITY_STEP,
    RADII,
    TRAIN_SEED,
    fit_updates_of,
)

#: Errors and spreads are averaged over half a period to each side.
_HALF_WINDOW = 0.5
_BETA = 0.5
#: Where the error of the mean is larger, the sine counts as not learnt.
_MISFIT = 0.1


def fig2(rows: Rows, preset: str) -> Drawing:
    """Error, predicted spread, weight and features of one network."""
    # The last time that figure 3 shows, before the network diverged, if it did.
    updates = {row["update"] for row in recorded(rows, "jacobian")}
    shown = updates.intersection(fit_updates_of(rows[0]["updates"]))
    if not shown:
        raise NothingToDraw(f"the run diverged after {max(updates)} updates")
    update = max(shown)
    fit = of_kind(rows, "fit", update=update)[0]
    weights = of_kind(rows, "probability", update=update)[0]
    bends = of_kind(rows, "jacobian", update=update, radius=RADII[0])[0]
    x, y = (column[:, 0] for column in sine(seed=TRAIN_SEED))

    room = ConstrainedLayoutEngine(wspace=0.13, hspace=0.1)
    figure = Figure(figsize=(10, 5.6), layout=room)
    (top_left, top_right), (bottom_left, bottom_right) = figure.subplots(2, 2)
    draw_sine_fit(top_left, fit)
    top_left.set_title(f"1  the mean does not fit here ({counted(update, 'update')})")
    top_left.legend(loc="upper right", ncols=3, columnspacing=0.8)

    error = _moving(x, np.abs(y - np.interp(x, FIT_X, numbers(fit["mean"]))), FIT_X)
    spread = _moving(FIT_X, numbers(fit["std"]), FIT_X)
    top_right.plot(FIT_X, error, color=BLUE, linewidth=1.6, label="error (RMS)")
    top_right.plot(
        *(FIT_X, spread, "--"), color=ORANGE, linewidth=1.6, label="predicted std (RMS)"
    )
    top_right.set(yscale="log", ylabel="unit of y")
    top_right.set_title("2  so the error counts as noise")

    # The same network under beta-NLL: weights are variance ** (beta - 1).
    probability = numbers(weights["values"])
    with_beta = probability ** (1 - _BETA)
    with_beta /= PROBABILITY_STEP * with_beta.sum()
    shown_x = x[::PROBABILITY_STEP]
    bottom_right.plot(shown_x, probability, color=ORANGE, linewidth=1.6, label="NLL")
    color, dashes = LINES[Method(f"beta-nll:{_BETA}")]
    bottom_right.plot(
        *(shown_x, with_beta, dashes),
        color=color,
        linewidth=1.6,
        label=f"with β = {_BETA:g}",
    )
    bottom_right.legend(loc="upper right")
    bottom_right.axhline(1 / len(x), color="black", linewidth=1, linestyle=(0, (1, 1)))
    bottom_right.annotate(
        *("uniform", (0.6, 1 / len(x))),
        xytext=(0, -3),
        textcoords="offset points",
        xycoords=("axes fraction", "data"),
        va="top",
        fontsize=8,
    )
    bottom_right.set(yscale="log", ylabel="sampling probability")
    bottom_right.set_title("3  so the likelihood looks elsewhere")

    bend = numbers(bends["values"])
    bottom_left.plot(JACOBIAN_X, bend, color=ORANGE, linewidth=1.6)
    bottom_left.set(yscale="log", ylabel="Jacobian variance (x⁻²)")
    bottom_left.set_title("4  so no features grow here")

    misfit = error > _MISFIT
    for ax in (top_left, top_right, bottom_left, bottom_right):
        _shade(ax, FIT_X, misfit)
        ax.set(xlabel="x", xlim=(0, 12))
    top_right.legend(loc="lower right")
    for start, end, at in (
        (top_left, top_right, ((1.02, 0.5), (-0.18, 0.5))),
        (top_right, bottom_right, ((0.5, -0.24), (0.5, 1.13))),
        (bottom_right, bottom_left, ((-0.18, 0.5), (1.02, 0.5))),
        (bottom_left, top_left, ((0.5, 1.13), (0.5, -0.24))),
    ):
        _draw_arrow(figure, start, end, *at)
    add_note(figure, preset, one_run(update), one_run(FIT_UPDATES[-1]))
    tables = {
        "": pd.DataFrame({"x": FIT_X, "error_rms": error, "std_rms": spread}),
        "-probability": pd.DataFrame(
            {"x": shown_x, "nll": probability, f"beta-nll {_BETA:g}": with_beta}
        ),
        "-jacobian": pd.DataFrame({"x": JACOBIAN_X, "jacobian_variance": bend}),
    }
    return Drawing(figure, tables)


def _moving(x: Array, values: Array, centres: Array) -> Array:
    """Return the root mean square of the values around each centre."""
    near = np.abs(centres[:, None] - x) <= _HALF_WINDOW
    return np.sqrt(near @ values**2 / near.sum(axis=1))


def _shade(ax: Axes, x: Array, where: npt.NDArray[np.bool_]) -> None:
    ax.fill_between(
        *(x, 0, 1),
        where=where,
        transform=ax.get_xaxis_transform(),
        color="0.5",
        alpha=0.13,
        linewidth=0,
        zorder=0,
        label=f"error above {_MISFIT:g}",
    )


def _draw_arrow(
    figure: Figure,
    start: Axes,
    end: Axes,
    leaves: tuple[float, float],
    arrives: tuple[float, float],
) -> None:
    arrow = ConnectionPatch(
        *(leaves, arrives, "axes fraction", "axes fraction"),
        axesA=start,
        axesB=end,
        arrowstyle="-|>",
        mutation_scale=18,
        linewidth=2,
        color="0.35",
    )
    arrow.set_in_layout(False)
    figure.add_artist(arrow)
