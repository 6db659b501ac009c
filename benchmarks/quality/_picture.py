"""The picture of the mean ranks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from benchmarks.quality._summary import RANKED
from matplotlib.figure import Figure

from betanll.files import written_atomically
from betanll.reports.style import BLUE, ORANGE, rendered, report_style


def write_pictures(
    overall: pd.DataFrame, folder: Path, *, ours: set[str], note: str
) -> list[Path]:
    """Write ``quality.png`` and ``quality.svg``; the same ranks have the same bytes."""
    figure = draw_ranks(overall, ours=ours, note=note)
    paths = [folder / "quality.png", folder / "quality.svg"]
    for path in paths:
        with written_atomically(path) as temporary:
            temporary.write_bytes(rendered(figure, path.suffix[1:]))
    return paths


def draw_ranks(overall: pd.DataFrame, *, ours: set[str], note: str) -> Figure:
    """Draw the mean rank of each method, a panel for each metric.

    Parameters
    ----------
    overall : DataFrame
        Of a summary, the best first.
    ours : set of str
        Methods to be told apart, by colour and by form.
    note : str
        What it is of, below.
    """
    with report_style():
        figure = Figure(
            figsize=(7.5, 1.5 + 0.28 * len(overall)),
            facecolor="white",
            layout="constrained",
        )
        panels = figure.subplots(1, len(RANKED), sharex=True, sharey=True)
        places = range(len(overall))
        is_ours = overall["method"].isin(ours)
        for ax, (metric, name) in zip(panels, RANKED.items(), strict=True):
            ranks = overall[f"rank_{metric}"]
            ax.hlines(places, 1, ranks, color="0.85", linewidth=1.2, zorder=1)
            for place, rank, mine in zip(places, ranks, is_ours, strict=True):
                ax.plot(
                    *(rank, place, "D" if mine else "o"),
                    color=ORANGE if mine else BLUE,
                    markersize=6,
                )
                ax.annotate(
                    f"{rank:.1f}",
                    (rank, place),
                    (6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8,
                    color="0.25",
                )
            ax.set_title(name, fontsize=11)
            ax.tick_params(axis="y", length=0)
        highest = float(overall[[f"rank_{metric}" for metric in RANKED]].max().max())
        # Room for the number beside the last dot.
        panels[0].set_xlim(0.6, 1.25 * highest)
        panels[0].set_xticks(range(1, int(highest) + 2, 1 if highest < 5 else 2))
        panels[0].set_yticks(places, overall["method"])
        panels[0].set_ylim(len(overall) - 0.5, -0.5)
        for label, mine in zip(panels[0].get_yticklabels(), is_ours, strict=True):
            label.set_fontweight("bold" if mine else "normal")
        figure.supxlabel(f"mean rank, 1 is best\n{note}", fontsize=9)
    return figure
