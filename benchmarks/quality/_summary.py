"""Means over the splits, ranks over the datasets, and the page that shows both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from benchmarks.quality._names import list_of

from betanll.evaluation import ranks_with_ties
from betanll.reports.style import format_number
from betanll.sentences import markdown_table

#: Metrics that are ranked, smaller being better, and their names on paper.
RANKED = {"nll": "NLL", "crps_scaled": "CRPS", "rmse": "RMSE"}
AVERAGED = (
    *("nll", "crps", "crps_scaled", "rmse", "coverage_90", "width_90"),
    *("fit_seconds", "predict_seconds"),
)
_TITLES = {
    "nll": "Negative log-likelihood of a row, summed over the targets",
    "crps_scaled": "CRPS, in standard deviations of the training target",
    "rmse": "RMSE, in the unit of the target",
    "coverage_90": "Coverage of 90 % intervals",
    "width_90": "Width of 90 % intervals, in standard deviations",
    "fit_seconds": "Seconds of one core to fit",
}
_OVERALL = {
    **{f"rank_{metric}": f"rank by {name}" for metric, name in RANKED.items()},
    "crps_scaled": "CRPS",
    "coverage_90": "coverage",
    "min_coverage_90": "least coverage",
    "width_90": "width",
    "fit_seconds": "fit (s)",
    "predict_seconds": "predict (s)",
}


@dataclass(frozen=True)
class Summary:
    """What the runs give.

    Attributes
    ----------
    datasets : DataFrame
        A row for each dataset and method: number of splits, means over them, and ranks
        if the dataset is ranked.
    overall : DataFrame
        A row for each method, means over the ranked datasets; the best ranks first.
        Empty if there is no such dataset.
    ranked : tuple of str
        Datasets of which every method has every split that was asked for.
    left_out : dict of str to str
        The others, and why.
    n_wanted : dict of str to int
        Splits of each dataset that were asked for.
    """

    datasets: pd.DataFrame
    overall: pd.DataFrame
    ranked: tuple[str, ...]
    left_out: dict[str, str]
    n_wanted: dict[str, int]


def summarise(runs: pd.DataFrame, wanted: Mapping[str, Sequence[int]]) -> Summary:
    """Average and rank the runs.

    Methods are ranked only on datasets where all of them have results of all splits
    that were asked for, so that every mean rank is over the same comparisons. On a
    dataset, `ranks_with_ties` ranks them by their means over the splits; a result that
    is no number is the worst.

    Parameters
    ----------
    runs : DataFrame
        Rows of the tasks.
    wanted : mapping of str to sequence of int
        The splits that were asked for by dataset.
    """
    methods = list(dict.fromkeys(runs["method"]))
    parts, left_out = [], {}
    for dataset, splits in wanted.items():
        of_dataset = runs[(runs["dataset"] == dataset) & runs["split"].isin(splits)]
        if lacking := _lacking(of_dataset, methods, splits):
            left_out[dataset] = lacking
        if not of_dataset.empty:
            parts.append(_of_dataset(of_dataset, is_ranked=not lacking))
    datasets = pd.concat(parts, ignore_index=True)
    ranked = tuple(name for name in wanted if name not in left_out)
    n_wanted = {name: len(splits) for name, splits in wanted.items()}
    return Summary(datasets, _overall(datasets, ranked), ranked, left_out, n_wanted)


def _lacking(runs: pd.DataFrame, methods: Sequence[str], splits: Sequence[int]) -> str:
    """Return which methods have not all of the splits, empty if none."""
    counts = runs.groupby("method")["split"].nunique()
    return list_of(
        f"{method} has {counts.get(method, 0)} of {len(splits)} splits"
        for method in methods
        if counts.get(method, 0) < len(splits)
    )


def _of_dataset(runs: pd.DataFrame, *, is_ranked: bool) -> pd.DataFrame:
    groups = runs.groupby("method", sort=False)
    table = groups[list(AVERAGED)].agg(_mean)
    table.insert(0, "n_splits", groups.size())
    for metric in RANKED:
        table[f"rank_{metric}"] = np.nan
        if is_ranked:
            losses = {
                str(method): np.nan_to_num(
                    group.sort_values("split")[metric].to_numpy(np.float64),
                    nan=np.inf,
                    posinf=np.inf,
                    neginf=-np.inf,
                )
                for method, group in groups
            }
            table[f"rank_{metric}"] = pd.Series(ranks_with_ties(losses))
    table = table.reset_index()
    table.insert(0, "dataset", runs["dataset"].iloc[0])
    return table


def _mean(values: pd.Series[float]) -> float:
    # That of pandas would pass over a result that is no number.
    return float(np.mean(values.to_numpy(np.float64)))


def _overall(datasets: pd.DataFrame, ranked: Sequence[str]) -> pd.DataFrame:
    groups = datasets[datasets["dataset"].isin(ranked)].groupby("method", sort=False)
    ranks = [f"rank_{metric}" for metric in RANKED]
    others = ["crps_scaled", "coverage_90", "width_90", "fit_seconds"]
    table = groups[[*ranks, *others, "predict_seconds"]].mean()
    table["min_coverage_90"] = groups["coverage_90"].min()
    order = table[ranks].mean(axis=1).sort_values(kind="stable").index
    return table.loc[order, list(_OVERALL)].reset_index()


def splits_note(splits: Sequence[int], report: Sequence[int]) -> str:
    """Say which splits a summary is of, and whether they are the report's.

    Examples
    --------
    >>> splits_note([0, 1], [0, 1])
    'Splits 0, 1, those of the report.'
    >>> splits_note([5], [0, 1])
    'Split 5. This is not the report, which is of splits 0, 1.'
    """
    these = f"{'Split' if len(splits) == 1 else 'Splits'} {list_of(splits)}"
    if set(splits) == set(report):
        return f"{these}, those of the report."
    return f"{these}. This is not the report, which is of splits {list_of(report)}."


def render(summary: Summary, note: str) -> str:
    """Return the summary as Markdown."""
    lines = ["# Quality beside other libraries", "", note, ""]
    if summary.ranked:
        lines += [
            f"Ranks and means are over the {len(summary.ranked)} datasets of which all "
            f"methods have all splits: {list_of(summary.ranked)}. On each, the best "
            "mean over the splits has rank 1. Methods that a paired t test at 5 % does "
            "not tell from it share the rank, the best of the rest leads the next "
            "group, and a rank counts the methods before it. CRPS and width are in "
            "standard deviations of the training target.",
            "",
            *_markdown(
                summary.overall.set_index("method").rename(columns=_OVERALL).map(_plain)
            ),
        ]
    else:
        lines += ["No dataset has results of all methods, so there are no ranks.", ""]
    if summary.left_out:
        lines += ["Without ranks:", ""]
        lines += [f"- {name}: {why}" for name, why in summary.left_out.items()] + [""]
    lines += [
        "Below, bold is rank 1, and a number in brackets counts the splits of a mean "
        "that is not over all of them.",
        "",
    ]
    for metric, title in _TITLES.items():
        lines += [f"## {title}", "", *_markdown(_cells(summary, metric))]
    return "\n".join(lines).rstrip() + "\n"


def _cells(summary: Summary, metric: str) -> pd.DataFrame:
    table = summary.datasets
    text = table[metric].map(_plain)
    is_whole = table["n_splits"] == table["dataset"].map(summary.n_wanted)
    text = text.where(is_whole, text + table["n_splits"].map(" ({})".format))
    if metric in RANKED:
        text = text.where(table[f"rank_{metric}"] != 1, "**" + text + "**")
    wide = table.assign(text=text).pivot(
        index="dataset", columns="method", values="text"
    )
    rows, columns = dict.fromkeys(table["dataset"]), dict.fromkeys(table["method"])
    return wide.loc[list(rows), list(columns)].fillna("")


def _markdown(table: pd.DataFrame) -> list[str]:
    """Return the lines of a table of texts, with an empty one at the end."""
    head = [str(table.index.name), *map(str, table.columns)]
    rows = [[str(line[0]), *line[1:]] for line in table.itertuples()]
    return [markdown_table(head, rows, align="l" + "r" * len(table.columns)), ""]


def _plain(value: float) -> str:
    return format_number(float(value))
