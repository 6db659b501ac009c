"""Claims about the UCI sets: tables 1, S1 and S2."""

from __future__ import annotations

from collections import Counter

from betanll_paper.claims.claim import (
    Claim,
    Evidence,
    Table,
    Verdict,
    confirmed_if,
)
from betanll_paper.published.methods import paper_rows

_BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SCALE = "all splits / all splits"
_OTHERS = "our ties are among 8 methods on most sets, the paper's among 12"


def claims(evidence: Evidence) -> list[Claim]:
    """Return the claims with what the results say."""
    tables = {name: evidence.table(f"uci/{name}") for name in ("tableS1", "tableS2")}
    ties = evidence.table("uci/table1").drop_duplicates(["metric", "method", "beta"])
    return [
        _cells("Table S1", "the log-likelihoods of 12 methods", tables["tableS1"]),
        _cells("Table S2", "the RMSEs of 12 methods", tables["tableS2"]),
        _beta_ties(ties, "ll"),
        _beta_ties(ties, "rmse"),
        _fixed(ties, "mse", "rmse", "MSE is the best or tied in RMSE on all sets"),
        _fixed(ties, "student-t", "ll", "Student-t ties in likelihood on most sets"),
        _fixed(ties, "mm", "ll", "moment matching never ties in likelihood"),
        _variational(ties),
        _recommended(ties),
    ]


def _cells(artefact: str, text: str, table: Table) -> Claim:
    counts = Counter(table["verdict"])
    n_run = len(table) - counts["not run"]
    differ = [verdict for verdict in ("better", "worse") if counts[verdict]]
    words = "; ".join(f"{counts[verdict]} {verdict}" for verdict in differ)
    return Claim(
        artefact,
        f"{text}, mean over the splits",
        f"{n_run} of {len(table)} cells, {_SCALE}",
        f"{counts['agrees']} of {n_run} agree within two standard errors"
        + (f"; {words}" if words else ""),
        "the table",
        confirmed_if(counts["agrees"] > 0.9 * n_run),
        "Cells that were not run are of variational methods.",
    )


def _ties(ties: Table, metric: str, method: str, beta: float | None) -> int:
    chosen = ties[(ties["metric"] == metric) & (ties["method"] == method)]
    if beta is not None:
        chosen = chosen[chosen["beta"] == beta]
    return int(chosen["ties"].iloc[0])


def _paper_ties(metric: str, method: str, beta: float | None) -> int:
    for row in paper_rows("table1.csv"):
        if (row["metric"], row["method"]) == (metric, method) and (
            beta is None or float(row["beta"]) == beta
        ):
            return int(row["ties_of_12"])
    raise KeyError(method)


def _beta_ties(ties: Table, metric: str) -> Claim:
    ours = [_ties(ties, metric, "beta-nll", beta) for beta in _BETAS]
    paper = [_paper_ties(metric, "beta-nll", beta) for beta in _BETAS]
    if metric == "ll":
        text = "β from 0.25 to 0.75 ties in likelihood on more sets than β = 0 and 1"
        holds = min(ours[1:4]) > max(ours[0], ours[4])
    else:
        text = "RMSE improves with β: more ties the larger it is"
        holds = ours == sorted(ours) and ours[-1] > ours[0]
    return Claim(
        "Table 1",
        text,
        _SCALE,
        f"{', '.join(map(str, ours))} of 12 for β = 0 to 1",
        ", ".join(map(str, paper)),
        confirmed_if(holds),
        f"The order is the same; {_OTHERS}.",
    )


def _fixed(ties: Table, method: str, metric: str, text: str) -> Claim:
    ours, paper = _ties(ties, metric, method, None), _paper_ties(metric, method, None)
    return Claim(
        "Table 1",
        text,
        _SCALE,
        f"{ours} of 12",
        f"{paper} of 12",
        confirmed_if(abs(ours - paper) <= 1),
        f"The count agrees; {_OTHERS}.",
    )


def _variational(ties: Table) -> Claim:
    names = ("xvamp", "xvamp-star", "vbem", "vbem-star")
    lines = ties[(ties["metric"] == "ll") & ties["method"].isin(names)]
    ours = [f"{line.ties:.0f} of {line.ties_datasets}" for line in lines.itertuples()]
    n = int(lines["ties_datasets"].min())
    verdict: Verdict = "cannot be judged here"
    if n == 12:
        verdict = confirmed_if(_ties(ties, "ll", "vbem-star", None) >= 7)
    return Claim(
        "Table 1",
        "VBEM\\* is the best variational method in likelihood, VBEM the worst",
        f"{n} sets / 12",
        f"{', '.join(ours)} (xVAMP, xVAMP\\*, VBEM, VBEM\\*)",
        ", ".join(str(_paper_ties("ll", name, None)) for name in names) + " of 12",
        verdict,
        f"The order holds on the {n} sets that were run; the others were not run.",
    )


def _recommended(ties: Table) -> Claim:
    def both(find: str, beta: float) -> int:
        if find == "ours":
            return sum(_ties(ties, m, "beta-nll", beta) for m in ("ll", "rmse"))
        return sum(_paper_ties(m, "beta-nll", beta) for m in ("ll", "rmse"))

    ours = [both("ours", beta) for beta in _BETAS]
    paper = [both("paper", beta) for beta in _BETAS]
    return Claim(
        "Text",
        "β = 0.5 is a good starting point",
        _SCALE,
        f"ties in both metrics: {', '.join(map(str, ours))} for β = 0 to 1",
        ", ".join(map(str, paper)),
        confirmed_if(ours[2] > ours[0] and ours[2] > ours[4]),
        "0.5 is ahead of both ends, and 0.75 is slightly ahead of it, as in the paper.",
    )
