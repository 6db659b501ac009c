"""A diagnosis as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from betanll.evaluation._rule import MIN_GAIN, MIN_LOW_GAIN
from betanll.evaluation._trial import BETAS, MAX_ROWS, SUBJECT

if TYPE_CHECKING:
    from betanll.evaluation._diagnosis import Diagnosis

_N_ROWS_NAMED = 8


def sentences(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the answer, then the evidence, then the advice."""
    evidence = diagnosis.evidence
    nll = diagnosis.rmse["nll"]
    other = diagnosis.rmse[evidence.challenger]
    unit = ""
    if len(diagnosis.targets) > 1:
        unit = " (over all targets, in units of their spreads)"
    if diagnosis.pitfall:
        yield (
            "Yes: training with NLL starves points here. It treats unlearned structure "
            "as noise."
        )
        yield (
            f"On held-out rows its typical error is {nll:.4g}{unit}; "
            f"{evidence.challenger}, the same network on the same rows, has "
            f"{other:.4g}. "
            f"{_share(evidence.ignored_share)} of the difference lies in rows to which "
            "NLL gives less than average weight, so their high variance is misfit, not "
            "noise."
        )
    else:
        yield "No: training with NLL does not starve points here."
        yield (
            f"On held-out rows its typical error is {nll:.4g}{unit}; the best of the "
            f"other objectives, {evidence.challenger}, has {other:.4g}. "
            f"{_why_not(diagnosis)}"
        )
    yield (
        "NLL trains the mean as if on "
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
        yield f"Most neglected held-out rows, counted from 0: {rows}."
    yield _advice(diagnosis)
    if diagnosis.n_rows > MAX_ROWS:
        yield f"Of {diagnosis.n_rows} rows, {MAX_ROWS} drawn at random were used."


def _share(share: float) -> str:
    """Return a share as text; it exceeds 1 if the challenger is worse elsewhere."""
    return "All" if share >= 0.995 else f"{share:.0%}"


def _why_not(diagnosis: Diagnosis) -> str:
    """Name the condition of the rule that fails."""
    evidence = diagnosis.evidence
    if evidence.gain < 0.05:
        return "The other objectives predict the rows that NLL calls noisy no better."
    gain = f"{evidence.challenger} lowers the squared error by {evidence.gain:.0%}"
    if evidence.gain < MIN_GAIN:
        return f"{gain}, less than the {MIN_GAIN:.0%} that would show the pitfall."
    if evidence.gain_low < MIN_LOW_GAIN:
        return f"{gain}, which may be chance on so few rows."
    return (
        f"{gain}, but only {_share(evidence.ignored_share)} of that gain lies in rows "
        "that NLL downweights."
    )


def _advice(diagnosis: Diagnosis) -> str:
    """Return the recommended beta and its held-out scores as a sentence."""
    beta = diagnosis.recommended_beta
    if beta == 0:
        return (
            "Recommended: keep beta 0, plain NLL. "
            f"{_on_better_betas(diagnosis)}Beta 0.5 is the safe choice if data or "
            f"network may change.{_on_constant_spread(diagnosis)}"
        )
    name = f"beta-nll:{beta:g}"
    rmse, likelihood = diagnosis.rmse, diagnosis.log_likelihood
    has_better_mean = rmse[name] <= rmse[SUBJECT]
    has_better_density = likelihood[name] >= likelihood[SUBJECT]
    error = f"the typical error from {rmse[SUBJECT]:.4g} to {rmse[name]:.4g}"
    density = (
        f"the log-likelihood from {likelihood[SUBJECT]:.4g} to {likelihood[name]:.4g}"
    )
    advice = f"Recommended: beta {beta:g}. On held-out rows it"
    if has_better_mean and has_better_density:
        if not diagnosis.pitfall:
            advice = f"Recommended: beta {beta:g}, better even so. On held-out rows it"
        return f"{advice} lowers {error} and raises {density}."
    if has_better_mean:
        return (
            f"{advice} lowers {error}, but also {density}: the mean is better and the "
            "spread is not yet. Correct the spread with --calibration scale."
        )
    if has_better_density:
        return f"{advice} raises {density}, but also {error}."
    return (
        f"{advice} raises {error} and lowers {density}, so beta alone is not the cure. "
        f"Compare with {diagnosis.evidence.challenger}, more updates or a larger "
        "network."
    )


def _on_better_betas(diagnosis: Diagnosis) -> str:
    """Return a sentence if another beta has better held-out scores, else nothing."""
    rmse, likelihood = diagnosis.rmse, diagnosis.log_likelihood
    better = [
        f"{beta:g}"
        for name, beta in BETAS.items()
        if rmse[name] < rmse[SUBJECT] and likelihood[name] > likelihood[SUBJECT]
    ]
    if not better:
        return ""
    return (
        f"The held-out scores of beta {' and '.join(better)} are better, but "
        "validation rows did not choose it: the difference may be chance. "
    )


def _on_constant_spread(diagnosis: Diagnosis) -> str:
    """Return a sentence if a constant spread predicts better than a learned spread."""
    likelihood = diagnosis.log_likelihood
    constant = likelihood.get("mse", -math.inf)
    if constant <= max(likelihood[name] for name in BETAS):
        return ""
    return (
        f" A constant spread (mse) has the highest log-likelihood, {constant:.4g}: the "
        "noise may be the same everywhere."
    )
