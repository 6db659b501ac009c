"""Figure S6: images, their depth, and predictions of the networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from betanll_paper.depth.protocol import PAPER, chosen_preset, unpacked
from betanll_paper.depth.tables import NAMES
from betanll_paper.drawing.marks import Drawing, NothingToDraw, Rows, of_kind
from betanll_paper.published.depth import SHOWN
from betanll_paper.published.methods import Method

#: Black is where nothing was measured.
_DEPTH = colormaps["viridis"].with_extremes(bad="black")
_STD = colormaps["magma"]
_WIDTH = 1.7
_Pictures = Sequence[tuple[Method, dict[str, Any]]]


def figS6(rows: Rows, preset: str, data: str) -> Drawing:
    """Draw test images with predicted depth, its deviation, and a part enlarged.

    The colours of depth span the measurements of each image, or of its enlarged part;
    those of standard deviations are the same in all pictures.
    """
    found = [
        (method, some[0])
        for method in SHOWN
        if (some := of_kind(rows, "pictures", **method.settings))
    ]
    if not found:
        raise NothingToDraw("no run has pictures")
    first = found[0][1]
    n_images = len(first["image"])
    height = _WIDTH * first["height"] / first["width"]
    figure = Figure(figsize=(_WIDTH * (len(found) + 1), 3 * n_images * height + 1.2))
    figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02)
    axes = figure.subplots(3 * n_images, len(found) + 1, squeeze=False)
    limit = _largest_std(found)
    for index in range(n_images):
        _draw_image(axes[3 * index : 3 * index + 2], found, index, limit)
        _draw_part(axes[3 * index : 3 * index + 3], found, index)
    for ax, title in zip(
        axes[0], ["test image", *(m.label for m, _ in found)], strict=True
    ):
        ax.set_title(title, fontsize=8)
    mesh = figure.colorbar(
        _scalar_map(limit), ax=axes, location="bottom", shrink=0.4, aspect=40, pad=0.01
    )
    mesh.set_label("standard deviation in metres", fontsize=8)
    figure.supxlabel(_note(preset, data), fontsize=8, color="0.35")
    return Drawing(figure, {"": _summary(found)})


def _draw_image(
    axes: npt.NDArray[Any], found: _Pictures, index: int, limit: float
) -> None:
    """Draw an image above its depth, and each mean above its standard deviation."""
    first = found[0][1]
    depth = _picture(first, "depth", index)
    colors = _depth_colors(depth)
    image = unpacked(
        first["image"][index], np.uint8, (first["height"], first["width"], 3)
    )
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    axes[0, 0].imshow(image)
    axes[1, 0].imshow(np.ma.masked_equal(depth, 0), **colors)
    for ax, label in zip(
        axes[:, :2].flat, ("image", "mean", "depth", "std"), strict=True
    ):
        ax.set_ylabel(label, fontsize=7)
    for (_, row), (above, below) in zip(found, axes[:, 1:].T, strict=True):
        above.imshow(_picture(row, "mean", index), **colors)
        if row["std"]:
            below.imshow(_picture(row, "std", index), cmap=_STD, vmin=0, vmax=limit)
        else:
            _say(below, "predicts none")


def _draw_part(axes: npt.NDArray[Any], found: _Pictures, index: int) -> None:
    """Draw a part of the depth and of each mean, and mark it in the rows above."""
    depth = _picture(found[0][1], "depth", index)
    part = contrasting_part(depth)
    rows, columns = part
    for ax in axes[:2, 0]:
        place = columns.start - 0.5, rows.start - 0.5
        size = columns.stop - columns.start, rows.stop - rows.start
        ax.add_patch(Rectangle(place, *size, fill=False, color="white", linewidth=1))
    colors = _depth_colors(depth[part])
    pictures = [depth, *(_picture(row, "mean", index) for _, row in found)]
    for ax, picture in zip(axes[2], pictures, strict=True):
        ax.imshow(np.ma.masked_equal(picture[part], 0), **colors)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    for ax, label in zip(axes[2], ("depth, part", "mean, part"), strict=False):
        ax.set_ylabel(label, fontsize=7)


def contrasting_part(depth: npt.NDArray[np.float64]) -> tuple[slice, slice]:
    """Return a third of the rows and columns, where measured depths differ most.

    Examples
    --------
    >>> depth = np.ones((9, 12))
    >>> depth[6:, 8:10] = 3
    >>> contrasting_part(depth)
    (slice(6, 9, None), slice(6, 10, None))
    """
    height, width = (max(1, side // 3) for side in depth.shape)

    def sums(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the sums over all parts of this size."""
        total = np.pad(values.cumsum(0, float).cumsum(1), ((1, 0), (1, 0)))
        rows = total[height:] - total[:-height]
        return rows[:, width:] - rows[:, :-width]

    n_known = sums(depth > 0)
    # Not divided by the number of measurements, which are better many than few.
    spread = sums(depth**2) - sums(depth) ** 2 / np.maximum(n_known, 1)
    spread[n_known == 0] = -np.inf
    top, left = map(int, np.unravel_index(spread.argmax(), spread.shape))
    return slice(top, top + height), slice(left, left + width)


def _depth_colors(depth: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return colours that span the measurements."""
    known = depth[depth > 0]
    return {"cmap": _DEPTH, "vmin": known.min(), "vmax": known.max()}


def _say(ax: Axes, text: str) -> None:
    ax.text(
        *(0.5, 0.5, text),
        ha="center",
        va="center",
        fontsize=7,
        color="0.35",
        transform=ax.transAxes,
    )


def _picture(row: dict[str, Any], name: str, index: int) -> npt.NDArray[np.float64]:
    shape = row["height"], row["width"]
    return unpacked(row[name][index], np.float16, shape).astype(np.float64)


def _largest_std(found: _Pictures) -> float:
    """Return a standard deviation that few pixels exceed."""
    pictures = [
        _picture(row, "std", index)
        for _, row in found
        for index in range(len(row["std"]))
    ]
    return float(np.quantile(pictures, 0.99)) if pictures else 1.0


def _scalar_map(limit: float) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(0, limit), _STD)


def _note(preset: str, data: str) -> str:
    chosen = chosen_preset(preset, data)
    # The rest is said beside the tables.
    shown = replace(chosen, options={"encoder": chosen.options["encoder"]})
    return f"Test images of {NAMES[data]}. {shown.note(preset, PAPER)}"


def _summary(found: _Pictures) -> pd.DataFrame:
    """Return the error and the mean standard deviation of each picture."""
    lines = []
    for method, row in found:
        for index in range(len(row["mean"])):
            depth, mean = _picture(row, "depth", index), _picture(row, "mean", index)
            known = depth > 0
            std = _picture(row, "std", index)[known].mean() if row["std"] else None
            lines.append(
                {
                    "method": method.name,
                    "beta": method.beta,
                    "image": index,
                    "rmse": float(np.sqrt(np.mean((mean - depth)[known] ** 2))),
                    "mean_std": std,
                }
            )
    return pd.DataFrame(lines)
