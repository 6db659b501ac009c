"""The verdict on a model as sentences.

Scores give a good finding only if they are finite and clearly better than the baseline.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import binomtest

from betanll.distributions import Transformed
from betanll.evaluation import (
    CONSTANT,
    MAX_ERROR,
    MODEL,
    MSE,
    PLAIN_NLL,
    RIDGE,
    Assessment,
    TargetAssessment,
    differs,
)
from betanll.objectives import BetaNLL, Objective, start_and_end
from betanll.reports._support import on_negative_bounds
from betanll.reports.page import Finding
from betanll.typing import Array

#: Smaller differences get no warning, even if they are significant.
_COVERAGE_MARGIN = 0.03
_ERROR_MARGIN = 0.03
_FEW_ROWS = 50
#: Fewest held-out rows in each half, and least relative growth of the CRPS, to warn.
_MIN_HALF, _DRIFT_MARGIN = 10, 0.1
#: Most columns that are named; of more, only the number is given.
_MAX_NAMED = 5


def findings_of(assessment: Assessment) -> list[Finding]:
    """Return the findings, warnings first; with several targets, each names its own."""
    found = []
    is_one = len(assessment.targets) == 1
    for i, target in enumerate(assessment.targets):
        for finding in _on_target(assessment, target, i):
            text = finding.text if is_one else f"{target.name}: {finding.text}"
            found.append(replace(finding, text=text))
    found.extend(_on_size(assessment))
    found.extend(_on_rows(assessment))
    return sorted(found, key=lambda f: ("warning", "good", "note").index(f.kind))


def _on_target(
    assessment: Assessment, target: TargetAssessment, i: int
) -> Iterator[Finding]:
    if not target.scores:
        yield Finding("warning", "No held-out value is known, so nothing can be said.")
        return
    yield from _on_revealing_columns(target)
    yield from _on_baselines(target)
    yield from _on_coverage(assessment.target[:, i], assessment.interval[:, :, i])
    if not isinstance(assessment.predictive, Transformed):
        truth, interval = assessment.target[:, i], assessment.interval[:, :, i]
        yield from on_negative_bounds(truth, interval)
    if assessment.times is not None:
        yield from _on_drift(assessment.target[:, i], assessment.times, target)
    yield from _on_the_mean(target, assessment.model.objective_)
    yield from _on_plain_nll(target)


def _on_coverage(target: Array, interval: Array) -> Iterator[Finding]:
    if not np.all(np.isfinite(interval)):
        yield Finding(
            "warning",
            "The calibration part has too few rows to promise 90% intervals, so some "
            "of them are infinite: use more data, or no conformal calibration.",
        )
        return
    is_seen = ~np.isnan(target)
    is_inside = (interval[:, 0] <= target) & (target <= interval[:, 1])
    n, n_inside = int(is_seen.sum()), int((is_inside & is_seen).sum())
    share = n_inside / n
    is_chance = binomtest(n_inside, n, 0.9).pvalue > 0.01
    observed = (
        f"Of the {n} held-out values, {100 * share:.0f}% lie in their 90% intervals"
    )
    if abs(share - 0.9) < _COVERAGE_MARGIN:
        yield Finding("good", f"{observed}, as they should.")
    elif is_chance:
        yield Finding("note", f"{observed}, which among so few may be chance.")
    else:
        fault, cure = ("narrow", "widens") if share < 0.9 else ("wide", "narrows")
        yield Finding(
            "warning",
            f"{observed}: the intervals are too {fault}. Conformal calibration "
            f"(--calibration conformal) {cure} them.",
        )


def _on_drift(
    truth: Array, times: Array, target: TargetAssessment
) -> Iterator[Finding]:
    """Warn where later rows are predicted worse than earlier ones."""
    place = np.argsort(np.argsort(times[~np.isnan(truth)], kind="stable"))
    is_late = 2 * place >= len(place)
    crps = target.crps[MODEL]
    early, late = crps[~is_late], crps[is_late]
    if min(len(early), len(late)) < _MIN_HALF:
        return
    gap = np.mean(late) - np.mean(early)
    error = np.sqrt(np.var(early) / len(early) + np.var(late) / len(late))
    if gap > max(2 * error, _DRIFT_MARGIN * np.mean(early)):
        yield Finding(
            "warning",
            "Predictions get worse with time: in the later half of the held-out rows "
            f"the CRPS is {np.mean(late):.4g}, in the earlier half "
            f"{np.mean(early):.4g}. Expect worse scores for rows that are later still: "
            "train again often, or predict changes instead of levels.",
        )


def _on_the_mean(target: TargetAssessment, objective: Objective) -> Iterator[Finding]:
    if objective.n_parameters == 1:  # it has learnt the mean alone
        return
    own, alone = (target.squared_errors[name] for name in (MODEL, MSE))
    rmse, mse_rmse = target.scores[MODEL].rmse, float(np.sqrt(np.mean(alone)))
    if not isinstance(objective, BetaNLL):
        advice = "Beta-NLL (--objective beta-nll)"
    elif max(start_and_end(objective.beta)) < 1:
        advice = "A larger beta (--beta 1) or --beta auto"
    else:
        advice = "A smaller beta (--beta 0.5) or --beta auto"
    errors = (
        f"the typical error is {rmse:.4g}, and {mse_rmse:.4g} for the same network "
        "trained for the mean alone"
    )
    if rmse <= (1 + _ERROR_MARGIN) * mse_rmse:
        # Not if both means are worse than the average, or a column reveals the target.
        if rmse < target.scores[CONSTANT].rmse and not target.revealing:
            yield Finding("good", f"Learning a spread did not harm the mean: {errors}.")
    elif differs(alone, own):
        yield Finding(
            "warning",
            f"Learning a spread made the mean worse: {errors}. {advice} may help.",
        )
    else:
        yield Finding(
            "note",
            f"Learning a spread may have harmed the mean, or it is chance: {errors}.",
        )


def _on_plain_nll(target: TargetAssessment) -> Iterator[Finding]:
    if PLAIN_NLL not in target.scores:
        return
    own, nll, constant = (target.scores[n] for n in (MODEL, PLAIN_NLL, CONSTANT))
    is_better = not own.crps <= (1 + _ERROR_MARGIN) * nll.crps
    if is_better and differs(target.crps[PLAIN_NLL], target.crps[MODEL]):
        if not nll.crps < constant.crps:  # a cure that is not one
            return
        yield Finding(
            "warning",
            "The same network trained with plain NLL predicts better (CRPS "
            f"{nll.crps:.4g} against {own.crps:.4g}). Use --objective nll.",
        )
    elif own.rmse < constant.rmse and nll.rmse > 1.1 * own.rmse:
        yield Finding(
            "note",
            "Plain NLL falls into its trap here: its typical error "
            f"is {nll.rmse / own.rmse - 1:.0%} larger ({nll.rmse:.4g}).",
        )


def _on_revealing_columns(target: TargetAssessment) -> Iterator[Finding]:
    names = target.revealing
    if not names:
        return
    columns = ", ".join(map(repr, names))
    if len(names) > _MAX_NAMED:
        subject = f"{len(names)} columns together explain"
        check = "Check whether all would be {known}, and leave out others with --drop"
    elif len(names) > 1:
        subject = f"Columns {columns} explain"
        check = "Check whether they would be {known}; if not, they give the target "
        check += "away: leave them out with {drop}"
    else:
        subject = f"Column {columns} explains"
        check = "Check whether it would be {known}; if not, it gives the target away: "
        check += "leave it out with {drop}"
    drop = " ".join(f"--drop {shlex.quote(name)}" for name in names)
    check = check.format(known="known at prediction time", drop=drop)
    ridge, own, constant = (
        target.scores[name].rmse for name in (RIDGE, MODEL, CONSTANT)
    )
    line = ""
    if ridge < MAX_ERROR * constant and ridge < own:
        line = (
            f" A straight-line model (ridge) has a typical error of {ridge:.3g}, the "
            f"network {own:.3g}."
        )
    yield Finding(
        "warning",
        f"{subject} the target almost exactly: the error is below {MAX_ERROR:.1%} of "
        f"its spread. {check}.{line}",
    )


def _on_baselines(target: TargetAssessment) -> Iterator[Finding]:
    own, constant = target.scores[MODEL], target.scores[CONSTANT]
    against = f"(CRPS {own.crps:.4g} against {constant.crps:.4g})"
    if not own.crps < constant.crps:
        yield Finding(
            "warning",
            "The model predicts no better than always guessing the average "
            f"{against}, so do not rely on it. {_what_inputs_say(target)}",
        )
        return
    if not differs(target.crps[MODEL], target.crps[CONSTANT]):
        yield Finding(
            "warning",
            "The model is not clearly better than always guessing the average "
            f"{against}: on {_values(target)} the difference may be chance. "
            f"{_what_inputs_say(target)}",
        )
        return
    flaws = [*_on_far_predictions(target), *_on_ridge(target)]
    yield from flaws
    if flaws or target.revealing:
        return
    gain = 1 - own.crps / constant.crps
    if gain < _ERROR_MARGIN:
        yield Finding(
            "note",
            f"The predictions are only {gain:.1%} better (CRPS) than always guessing "
            "the average: the inputs say little about the target.",
        )
    else:
        yield Finding(
            "good",
            f"The predictions are {gain:.0%} better (CRPS) than always guessing the "
            "average with a constant spread.",
        )


def _what_inputs_say(target: TargetAssessment) -> str:
    """Return advice for a model that does not beat the average."""
    ridge, constant = target.scores[RIDGE].crps, target.scores[CONSTANT].crps
    if ridge < constant and differs(target.crps[RIDGE], target.crps[CONSTANT]):
        return (
            f"A straight-line model (ridge) does better (CRPS {ridge:.4g}), so the "
            "inputs do say something: use ridge, or train longer (--preset best)."
        )
    return "The inputs may say little about the target: add inputs or rows."


def _on_far_predictions(target: TargetAssessment) -> Iterator[Finding]:
    """Warn of a few rows with large errors that the CRPS hardly shows."""
    own, constant = target.scores[MODEL], target.scores[CONSTANT]
    if not own.rmse < constant.rmse:
        yield Finding(
            "warning",
            f"The mean is no better than the average: the typical error is "
            f"{own.rmse:.4g}, and {constant.rmse:.4g} for always guessing the average. "
            "Some predictions are far off: check the rows with the largest errors for "
            "outliers.",
        )
    if not own.log_likelihood > constant.log_likelihood:
        yield Finding(
            "warning",
            "The log-likelihood is no better than with always guessing the average "
            f"({own.log_likelihood:.4g} against {constant.log_likelihood:.4g}): some "
            "values lie far outside their predicted spread. Look for outliers, or try "
            "--calibration student-t.",
        )


def _on_ridge(target: TargetAssessment) -> Iterator[Finding]:
    if target.revealing:  # another finding explains why ridge is exact
        return
    own, ridge = target.scores[MODEL], target.scores[RIDGE]
    if not own.crps < ridge.crps:
        yield Finding(
            "warning",
            "A straight-line model (ridge) with a constant spread predicts as well as "
            f"the network or better (CRPS {ridge.crps:.4g} against {own.crps:.4g}): "
            "the relation may be close to linear, or the rows too few for a network. "
            "Use ridge, add rows, or train longer (--preset best).",
        )
    elif not own.rmse <= (1 + _ERROR_MARGIN) * ridge.rmse and differs(
        target.squared_errors[RIDGE], target.squared_errors[MODEL]
    ):
        yield Finding(
            "warning",
            "The mean of a straight-line model (ridge) is better: its typical error is "
            f"{ridge.rmse:.4g}, and {own.rmse:.4g} for the network. Train longer "
            "(--preset best) or add rows.",
        )


def _values(target: TargetAssessment) -> str:
    n = len(target.crps[MODEL])
    return "1 held-out value" if n == 1 else f"{n} held-out values"


def _on_size(assessment: Assessment) -> Iterator[Finding]:
    n = len(assessment.target)
    if n < _FEW_ROWS:
        yield Finding(
            "note",
            f"Only {n} rows were held out, so all these numbers are rough.",
        )


def _on_rows(assessment: Assessment) -> Iterator[Finding]:
    """Note which models the scores are of, if the final model saw all rows."""
    if not assessment.is_of_all_rows:
        return
    n, n_splits = len(assessment.target), assessment.n_splits
    models = f"{n_splits} models" if n_splits > 1 else "a model"
    had = "that had not seen them" if n_splits == 1 else "that had not seen their rows"
    yield Finding(
        "note",
        f"Scores and pictures come from {models} on {n:,} held-out rows {had}. The "
        f"delivered model was then trained on all {assessment.n_rows:,} rows and "
        "should be at least as good.",
    )
