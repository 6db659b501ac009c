"""A diagnosis in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from betanll.doctor._trial import MAX_ROWS

if TYPE_CHECKING:
    from betanll.doctor._diagnosis import Diagnosis

_N_ROWS_NAMED = 8


def sentences(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the answer, then what it rests on, then what to do."""
    evidence = diagnosis.evidence
    nll = diagnosis.rmse["nll"]
    other = diagnosis.rmse[evidence.challenger]
    if diagnosis.pitfall:
        yield (
            "Yes: likelihood training (NLL) starves points here. It takes what it has "
            "not learnt for noise."
        )
        yield (
            f"On held-out rows its typical error is {nll:.4g}; {evidence.challenger}, "
            f"the same network on the same rows, has {other:.4g}. "
            f"{_share(evidence.ignored_share)} of the difference lies in rows to which "
            "the likelihood gives less than average weight, so their high variance is "
            "misfit, not noise."
        )
    else:
        yield "No: likelihood training (NLL) does not starve points here."
        yield (
            f"On held-out rows its typical error is {nll:.4g}; the best of the other "
            f"objectives, {evidence.challenger}, has {other:.4g}. {_why_not(diagnosis)}"
        )
    yield (
        "The likelihood trains the mean as if on "
        f"{diagnosis.effective_sample_fraction:.0%} of the rows; "
        f"{diagnosis.starved_fraction:.0%} of them have less than a twentieth of the "
        "average weight."
    )
    for region in diagnosis.regions[:2]:
        yield (
            f"Ignored: {region.description} ({region.n_rows} held-out rows, "
            f"{_share(region.gain_share).lower()} of the difference; error "
            f"{region.rmse:.3g} against {region.challenger_rmse:.3g}, in units of the "
            "target's spread)."
        )
    if len(diagnosis.ignored_rows):
        rows = ", ".join(str(row) for row in diagnosis.ignored_rows[:_N_ROWS_NAMED])
        yield f"Rows that suffer most (counted from 0, of those held out): {rows}."
    yield _advice(diagnosis)
    if diagnosis.n_rows > MAX_ROWS:
        yield f"Of {diagnosis.n_rows} rows, {MAX_ROWS} drawn at random were used."


def _share(share: float) -> str:
    """Return a share; elsewhere the challenger may be worse, so it can exceed one."""
    return "All" if share >= 0.995 else f"{share:.0%}"


def _why_not(diagnosis: Diagnosis) -> str:
    evidence = diagnosis.evidence
    if evidence.gain < 0.05:
        return "What it calls noise, the others cannot predict either."
    return (
        "That is too little, too uncertain, or not in rows that the likelihood gives "
        "hardly any weight, to blame it."
    )


def _advice(diagnosis: Diagnosis) -> str:
    beta = diagnosis.recommended_beta
    name = "nll" if beta == 0 else f"beta-nll:{beta:g}"
    if beta == 0:
        return (
            "Recommended: beta 0, the plain likelihood. Beta 0.5 is the safe choice if "
            "data or network may change."
        )
    return (
        f"Recommended: beta {beta:g}. Against the plain likelihood it changes the "
        f"typical error from {diagnosis.rmse['nll']:.4g} to "
        f"{diagnosis.rmse[name]:.4g} and the log-likelihood from "
        f"{diagnosis.log_likelihood['nll']:.4g} to "
        f"{diagnosis.log_likelihood[name]:.4g}."
    )
