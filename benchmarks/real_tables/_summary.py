"""Means over the splits, ranks and ratios over the tables, and the page of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from betanll.reports.style import format_number
from betanll.sentences import markdown_table

#: Smaller is better, and their names on paper.
RANKED = {"crps": "CRPS", "interval_score_90": "interval score", "rmse": "RMSE"}
REFERENCE = "catboost"
_MEANS = (
    *("crps", "interval_score_90", "rmse", "nll", "coverage_90", "width_90"),
    *("fit_seconds", "predict_seconds"),
)
_KINDS = {
    "random": "Random splits",
    "time": "Later rows",
    "group": "Groups never seen",
}


@dataclass(frozen=True)
class Summary:
    """What the runs give.

    Attributes
    ----------
    tables : DataFrame
        A row for each table, kind of split and method: number of splits, refusals and
        means over the splits.
    overall : DataFrame
        A row for each kind of split and method, over the tables of which every method
        has scores: mean ranks, geometric means of ratios to CatBoost, mean coverage.
    counted : dict of str to list of str
        These tables, by kind of split.
    left_out : list of str
        The others, and why.
    """

    tables: pd.DataFrame
    overall: pd.DataFrame
    counted: dict[str, list[str]]
    left_out: list[str]


def summarise(runs: pd.DataFrame) -> Summary:
    """Average, rank and compare the runs.

    A comparison uses the splits that every method has; a table counts if there is one.
    A method that refuses a table everywhere is ranked last on it, and its ratios are
    over the tables that it took.
    """
    methods = list(dict.fromkeys(runs["method"]))
    parts, overall, counted, left_out = [], [], {}, []
    for kind in [kind for kind in _KINDS if kind in set(runs["kind"])]:
        of_kind = []
        for name, of_table in runs[runs["kind"] == kind].groupby("table", sort=False):
            common = _common_splits(of_table, methods)
            means = _means(of_table, common)
            means.insert(0, "table", name)
            means.insert(1, "kind", kind)
            parts.append(means)
            if common:
                of_kind.append(means)
            else:
                lacking = [m for m in methods if m not in set(of_table["method"])]
                why = f"{', '.join(lacking)} not run" if lacking else "no common split"
                left_out.append(f"{name}, {_KINDS[kind].lower()}: {why}")
        counted[kind] = [means["table"].iloc[0] for means in of_kind]
        if of_kind:
            overall.append(_overall(of_kind, methods, kind))
    return Summary(
        pd.concat(parts, ignore_index=True),
        pd.concat(overall, ignore_index=True) if overall else pd.DataFrame(),
        counted,
        left_out,
    )


def _common_splits(runs: pd.DataFrame, methods: Sequence[str]) -> list[int]:
    """Return the splits that all methods have, with scores or with a refusal."""
    splits = [set(runs.loc[runs["method"] == name, "split"]) for name in methods]
    return sorted(set.intersection(*splits))


def _means(runs: pd.DataFrame, common: Sequence[int]) -> pd.DataFrame:
    compared = runs[runs["split"].isin(common)] if common else runs
    groups = compared.groupby("method", sort=False)
    means = groups[list(_MEANS)].agg(lambda column: column.to_numpy().mean())
    means.insert(0, "n_splits", groups["split"].nunique())
    means.insert(1, "n_refused", groups["refusal"].agg(lambda c: int((c != "").sum())))
    return means.reset_index()


def _overall(parts: list[pd.DataFrame], methods: list[str], kind: str) -> pd.DataFrame:
    tables = [part.set_index("method") for part in parts]
    rows = []
    for method in methods:
        row: dict[str, object] = {
            "kind": kind,
            "method": method,
            "n_tables": len(tables),
        }
        row["n_refused"] = sum(
            int(table.loc[method, "n_refused"] > 0) for table in tables
        )
        for metric in RANKED:
            ranks = [table[metric].fillna(np.inf).rank() for table in tables]
            row[f"rank_{metric}"] = np.mean([rank[method] for rank in ranks])
        for metric in RANKED if REFERENCE in methods else ():
            ratios = [
                table.loc[method, metric] / table.loc[REFERENCE, metric]
                for table in tables
            ]
            row[f"ratio_{metric}"] = _geometric_mean(ratios)
        of_method = pd.DataFrame([table.loc[method] for table in tables])
        row["coverage_90"] = of_method["coverage_90"].mean()
        row["min_coverage_90"] = of_method["coverage_90"].min()
        row["fit_seconds"] = of_method["fit_seconds"].mean()
        row["predict_seconds"] = of_method["predict_seconds"].mean()
        rows.append(row)
    return pd.DataFrame(rows).sort_values("rank_crps", kind="stable")


def _geometric_mean(ratios: Sequence[float]) -> float:
    """Return the mean over the ratios that there are."""
    logs = np.log([ratio for ratio in ratios if not np.isnan(ratio)])
    return float(np.exp(np.mean(logs))) if len(logs) else np.nan


def render(summary: Summary) -> str:
    """Return the summary as Markdown."""
    lines = [
        "# Raw tables of public packages",
        "",
        "Means over the splits that all methods have. On a table the best mean has "
        "rank 1; ranks are averaged over the tables. A ratio is the geometric mean, "
        "over the tables, of a method's mean score divided by CatBoost's: below 1 is "
        "better.",
        "",
    ]
    for kind, tables in summary.counted.items():
        if not tables:
            continue
        of_kind = summary.overall[summary.overall["kind"] == kind].drop(columns="kind")
        lines += [f"## {_KINDS[kind]}: {len(tables)} tables", ""]
        lines += _markdown(of_kind.set_index("method").rename(columns=_title))
        cells = summary.tables[
            (summary.tables["kind"] == kind) & summary.tables["table"].isin(tables)
        ]
        for metric, title in {
            **{
                metric: f"{name}, in standard deviations"
                for metric, name in RANKED.items()
            },
            "coverage_90": "Coverage of 90% intervals",
        }.items():
            wide = cells.pivot(index="table", columns="method", values=metric)
            wide = wide.loc[tables, list(dict.fromkeys(cells["method"]))]
            wide.insert(
                0, "splits", cells.groupby("table")["n_splits"].max().loc[tables]
            )
            lines += [f"### {title}", "", *_markdown(wide)]
    if summary.left_out:
        lines += [
            "## Not compared",
            "",
            *(f"- {text}" for text in summary.left_out),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _title(column: str) -> str:
    return column.replace("_", " ")


def _markdown(table: pd.DataFrame) -> list[str]:
    texts = table.map(lambda cell: format_number(float(cell)))
    head = [str(table.index.name), *map(str, table.columns)]
    rows = [[str(line[0]), *line[1:]] for line in texts.itertuples()]
    return [markdown_table(head, rows, align="l" + "r" * len(table.columns)), ""]
