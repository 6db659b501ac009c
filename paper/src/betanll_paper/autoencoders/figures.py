"""Figure S5: images, their reconstructions, and generated images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure, SubFigure

from betanll_paper.autoencoders.protocol import (
    AVERAGED,
    PICTURES,
    PRESETS,
    decoded,
    examples,
)
from betanll_paper.datasets import load_images
from betanll_paper.drawing.marks import (
    Drawing,
    NothingToDraw,
    Rows,
    add_note,
    of_kind,
)
from betanll_paper.published.autoencoders import DATASETS, NAMES, ROWS
from betanll_paper.published.methods import Method

_LABELS = dict(
    zip(
        PICTURES,
        ("mean", "standard\ndeviation", "posterior\nsample", "prior\nsample"),
        strict=True,
    )
)
#: Pixels between images, and their grey: white ones would hide where a picture ends.
_GAP = 2
_GAP_GREY = 170


def figS5(rows: Rows, preset: str) -> Drawing:
    """Draw images of both sets, and their reconstructions by each method.

    Pixels are cut to [0, 1], standard deviations as well. Samples of the prior are
    means of the decoder; those of the posterior have the noise of the pixels.
    """
    datasets = [name for name in DATASETS if of_kind(rows, "pictures", dataset=name)]
    if not datasets:
        raise NothingToDraw("no run has pictures")
    heights = [len(_drawn(rows, name)) for name in datasets]
    size = 5.4 * len(datasets), 1.0 + 2.4 * max(heights)
    figure = Figure(figsize=size, layout="constrained")
    parts = figure.subfigures(1, len(datasets), squeeze=False)[0]
    results = []
    for part, dataset in zip(parts, datasets, strict=True):
        results += _draw_dataset(part, rows, dataset)
    # One seed of each method, and none of the slow ones.
    done, paper = (
        replace(one, repeats=1, length={"": one.length[""]})
        for one in (PRESETS[preset], PRESETS["paper"])
    )
    add_note(figure, preset, done, paper)
    return Drawing(figure, {"": pd.DataFrame(results)})


def _draw_dataset(part: SubFigure, rows: Rows, dataset: str) -> list[dict[str, Any]]:
    methods = _drawn(rows, dataset)
    part.suptitle(NAMES[dataset])
    heights = [1, *(len(PICTURES) for _ in methods)]
    axes = part.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    inputs = examples(load_images(dataset))
    _show(axes[0], [inputs], ["input"])
    results = []
    for ax, (method, row) in zip(axes[1:], methods, strict=True):
        _show(ax, [decoded(row[name]) for name in PICTURES], list(_LABELS.values()))
        (result,) = of_kind(rows, "result", **_values(dataset, method))
        scores = (
            f"RMSE {_score(result['rmse'], '.3f')}, "
            f"log-likelihood {_score(result['log_likelihood'], ',.0f')}"
        )
        ax.set_title(f"{method.label}: {scores}", fontsize=9, loc="left")
        names = ("dataset", "method", "beta", "seed", "rmse", "log_likelihood")
        results.append({name: result[name] for name in names})
    return results


def _drawn(rows: Rows, dataset: str) -> list[tuple[Method, dict[str, Any]]]:
    """Return the methods that have pictures, in the order of the table."""
    return [
        (method, found[0])
        for method in (*ROWS, AVERAGED)
        if (found := of_kind(rows, "pictures", **_values(dataset, method)))
    ]


def _score(value: float | None, form: str) -> str:
    return "not finite" if value is None else format(value, form).replace("-", "−")


def _values(dataset: str, method: Method) -> dict[str, Any]:
    return {"dataset": dataset, **method.settings, "seed": 0}


def _show(ax: Any, lines: list[npt.NDArray[np.uint8]], labels: list[str]) -> None:
    """Draw lines of images as one picture, with a name before each line."""
    height, width = lines[0].shape[1:]
    grid = np.full(
        (
            len(lines) * (height + _GAP) - _GAP,
            len(lines[0]) * (width + _GAP) - _GAP,
        ),
        _GAP_GREY,
        np.uint8,
    )
    for i, images in enumerate(lines):
        for j, image in enumerate(images):
            y, x = i * (height + _GAP), j * (width + _GAP)
            grid[y : y + height, x : x + width] = image
    ax.imshow(grid, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    centres = [i * (height + _GAP) + (height - 1) / 2 for i in range(len(lines))]
    ax.set_yticks(centres, labels, fontsize=7)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
