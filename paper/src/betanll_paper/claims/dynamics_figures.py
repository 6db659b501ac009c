"""Claims of figures 6, 9 and S4 and tables S6 and S7 about the dynamics models."""

from __future__ import annotations

import numpy as np

from betanll_paper.claims.claim import (
    Claim,
    Evidence,
    Table,
    confirmed_if,
    listed,
    number,
    scores,
)
from betanll_paper.claims.dynamics import (
    EPOCHS,
    RUN,
    SLIDE,
    SUBSTITUTE,
    name_of,
    scale_of,
)
from betanll_paper.published.dynamics import DATASETS, FETCH, GRID

#: Residuals on ObjectSlide from here on are as large as the jumps at contacts.
_IGNORED = 0.05
#: Updates of an epoch of Fetch: 588,000 rows in batches of 256.
_FETCH_EPOCH = 2296


def claims(evidence: Evidence) -> list[Claim]:
    """Return the claims with what the results say."""
    return [
        _ignored(evidence),
        _log_normal(evidence),
        _interactions(evidence),
        *_configurations(evidence),
        _weights(evidence),
        _grid(),
        _best(evidence),
    ]


def _ignored(evidence: Evidence) -> Claim:
    counts = evidence.table("dynamics/fig6")
    large = counts[counts["log10_lower"] > np.log10(_IGNORED) - 0.01]
    nll, half, mse = (
        int(scores(large, "count", *m).mean * scores(large, "count", *m).n)
        for m in (("beta-nll", 0.0), ("beta-nll", 0.5), ("mse", None))
    )
    return Claim(
        "Figure 6",
        "NLL ignores a part of the data: a second hump of large residuals, which "
        "neither MSE nor β = 0.5 has",
        scale_of(SLIDE, seeds=1, of=1),
        f"{nll}, {half}, {mse} of 60,000 residuals above 0.05 (NLL, β = 0.5, MSE)",
        "a picture",
        confirmed_if(nll > 2 * max(half, mse)),
        "The hump stands apart from the other residuals of NLL.",
    )


def _log_normal(evidence: Evidence) -> Claim:
    counts = evidence.table("dynamics/fig6")
    mse = counts[counts["method"] == "mse"]
    middle = (mse["log10_lower"] + mse["log10_upper"]) / 2
    weight = mse["count"] / mse["count"].sum()
    mean = (weight * middle).sum()
    std = float(np.sqrt((weight * (middle - mean) ** 2).sum()))
    skew = float((weight * ((middle - mean) / std) ** 3).sum())
    excess = float((weight * ((middle - mean) / std) ** 4).sum()) - 3
    return Claim(
        "Figure 6",
        "the residuals of MSE are roughly log-normal",
        scale_of(SLIDE, seeds=1, of=1),
        f"skewness {skew:.1f}, excess kurtosis {excess:.1f} of their logarithms",
        "0 and 0 for a log-normal",
        confirmed_if(abs(skew) < 1 and excess < 3),
        "They have one hump, but with far longer tails than a log-normal.",
    )


def _interactions(evidence: Evidence) -> Claim:
    points = evidence.table("dynamics/object-slide-ignored").set_index("method")
    nll = points.loc["nll"]
    share = nll["contacts_among_ignored"] / nll["ignored"]
    missed = points["contacts_among_ignored"] / points["contacts"]
    return Claim(
        "Section 4.2",
        "the points that NLL ignores are the interactions of agent and object",
        scale_of(SLIDE, seeds=1, of=1),
        f"{number(100 * share)}% of {nll['ignored']:.0f} ignored points are contacts, "
        f"{number(100 * nll['contacts'] / nll['points'], 2)}% of all points",
        "no numbers",
        confirmed_if(share > 0.5),
        f"NLL ignores {number(100 * missed['nll'], 2)}% of all contacts, β = 0.5 "
        f"{number(100 * missed['beta-nll:0.5'], 2)}%, by the simulator, point by "
        "point.",
    )


def _configurations(evidence: Evidence) -> list[Claim]:
    runs = evidence.table("dynamics/fig9")
    found = []
    for dataset in DATASETS:
        here = runs[runs["dataset"] == dataset].assign(
            beta=lambda t: t["beta"].fillna(-1)
        )
        errors = here.groupby(["method", "beta"])["validation_rmse"]
        ratio = (errors.max() / errors.min()).to_dict()
        nll, half, one = (ratio["beta-nll", beta] for beta in (0.0, 0.5, 1.0))
        worst = max(ratio, key=lambda key: ratio[key])
        n = int(errors.count().max())
        is_most = worst == ("beta-nll", 0.0)
        found.append(
            Claim(
                "Figure 9",
                f"{name_of(dataset)}: RMSE depends strongly on the configuration with "
                "NLL, little with β-NLL",
                f"{RUN[dataset]} epochs, {n} configurations / {EPOCHS[dataset]:,}, "
                f"{len(GRID)}",
                f"largest over smallest RMSE {listed([nll, half, one])} for β = 0, 0.5 "
                f"and 1; {number(ratio['student-t', -1])} for Student-t",
                "a picture",
                confirmed_if(is_most and nll > 1.5 * max(half, one)),
                "The tanh networks of NLL have several times the error."
                if is_most
                else "Student-t and moment matching depend more on it than NLL.",
            )
        )
    return found


def _weights(evidence: Evidence) -> Claim:
    _, counts = evidence.longest("dynamics", "figS4")
    nll = counts[counts["series"] == "nll"]
    last = int(nll["update"].max())
    ours = _quartiles(nll[nll["update"] == last])
    oracle = _quartiles(counts[counts["series"] == "mse-oracle"])
    epochs = round(last / _FETCH_EPOCH)
    return Claim(
        "Figure S4",
        "the sampling probabilities of NLL lie far to the left of the MSE oracle",
        f"{epochs} epochs, 1 seed / {EPOCHS[FETCH]}, 1",
        f"median 10^{ours[1]:.1f} against 10^{oracle[1]:.1f}; lower quartile "
        f"10^{ours[0]:.1f} against 10^{oracle[0]:.1f}".replace("-", "−"),
        "a picture",
        confirmed_if(
            ours[1] < oracle[1] - 1,
            "contradicted" if epochs >= EPOCHS[FETCH] else "not confirmed",
        ),
        f"{SUBSTITUTE}"
        + (
            ", and here NLL does not lie to the left of the oracle."
            if ours[1] >= oracle[1] - 1
            else "."
        ),
    )


def _quartiles(counts: Table) -> tuple[float, float]:
    """Return the lower quartile and the median of decades of a histogram."""
    share = (counts["count"].cumsum() / counts["count"].sum()).to_numpy()
    middle = ((counts["log10_lower"] + counts["log10_upper"]) / 2).to_numpy()
    low, median = (float(middle[np.searchsorted(share, q)]) for q in (0.25, 0.5))
    return low, median


def _grid() -> Claim:
    return Claim(
        "Table S6",
        "the grid of 96 configurations",
        f"{len(GRID)} / {len(GRID)}",
        "the same grid",
        "the grid",
        "confirmed",
        "It is what `--preset paper` searches; shorter presets search a part.",
    )


def _best(evidence: Evidence) -> Claim:
    best = evidence.table("dynamics/tableS7").dropna(subset="paper_n_layers")
    names = ("learning_rate", "n_layers", "n_units", "activation")
    same = np.logical_and.reduce([best[n] == best[f"paper_{n}"] for n in names])
    return Claim(
        "Table S7",
        "the best configuration of each method",
        f"4 or 5 configurations / {len(GRID)}",
        f"{same.sum()} of {len(best)} are the paper's",
        "the table",
        "cannot be judged here",
        "Four or five configurations are no search of the grid.",
    )
