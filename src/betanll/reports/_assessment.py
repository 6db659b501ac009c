"""The report of an assessment, with sentences for people who decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.stats import binomtest

from betanll._version import __version__
from betanll.assessment._assess import CONSTANT, MODEL, PLAIN_NLL, RIDGE, Assessment
from betanll.assessment._ranks import differs
from betanll.estimators import HeteroscedasticRegressor
from betanll.objectives import BetaNLL
from betanll.reports._report import Finding, FitReport, Panel

#: Differences below this are not worth a warning even where they are significant.
_COVERAGE_MARGIN = 0.03
_ERROR_MARGIN = 0.03
_FEW_ROWS = 50


def report_of(
    assessment: Assessment,
    *,
    title: str,
    target_names: Sequence[str],
    configuration: Mapping[str, str],
    command: str,
    introduction: Sequence[Panel] = (),
) -> FitReport:
    """Return the report of a model; what training found joins the configuration."""
    model = assessment.model
    chosen = {
        "objective": model.objective_.name,
        "beta": "none" if model.beta_ is None else f"{model.beta_}",
        "learning rate": f"{model.best_learning_rate_:g}",
        "epochs": f"{model.n_iter_}",
        "updates": f"{model.n_updates_}",
        "hidden layers": ", ".join(map(str, model.net_.hidden_sizes)) or "none",
        "activation": model.net_.activation,
        "ensemble members": f"{len(model.members_)}",
        "calibration": _calibration(model),
        "random seed": f"{model.random_state}",
        "betanll": __version__,
    }
    return FitReport(
        title=title,
        target_names=target_names,
        target=assessment.target,
        predictive=assessment.predictive,
        interval=assessment.interval,
        scores=assessment.scores,
        findings=findings_of(assessment),
        history=model.history_,
        sample_fractions=assessment.sample_fractions,
        configuration={**configuration, **chosen},
        command=command,
        introduction=introduction,
    )


def _calibration(model: HeteroscedasticRegressor) -> str:
    if model.conformal_scores_ is not None:
        return "conformal"
    spread = ", ".join(f"{factor:.3g}" for factor in model.spread_)
    if model.df_ is not None:
        degrees = ", ".join(f"{df:.3g}" for df in model.df_)
        return f"spread x {spread}, Student t with {degrees} degrees of freedom"
    is_scaled = model.objective_.n_parameters > 1 and np.any(model.spread_ != 1)
    return f"spread x {spread}" if is_scaled else "none"


def findings_of(assessment: Assessment) -> list[Finding]:
    """Return the findings, warnings first."""
    found = [
        *_on_coverage(assessment),
        *_on_the_mean(assessment),
        *_on_plain_nll(assessment),
        *_on_baselines(assessment),
        *_on_size(assessment),
    ]
    return sorted(found, key=lambda f: ("warning", "good", "note").index(f.kind))


def _on_coverage(assessment: Assessment) -> Iterator[Finding]:
    lower, upper = assessment.interval[:, 0], assessment.interval[:, 1]
    if not np.all(np.isfinite(assessment.interval)):
        yield Finding(
            "warning",
            "The calibration part has too few rows to promise 90 % intervals, so some "
            "of them are infinite: use more data, or no conformal calibration.",
        )
        return
    is_seen = ~np.isnan(assessment.target)
    is_inside = (lower <= assessment.target) & (assessment.target <= upper)
    n, n_inside = int(is_seen.sum()), int((is_inside & is_seen).sum())
    share = n_inside / n
    is_chance = binomtest(n_inside, n, 0.9).pvalue > 0.01
    observed = (
        f"Of the {n} held-out values, {100 * share:.0f} % lie in their 90 % intervals"
    )
    if abs(share - 0.9) < _COVERAGE_MARGIN:
        yield Finding("good", f"{observed}, as they should.")
    elif is_chance:
        yield Finding("note", f"{observed}, which among so few may be chance.")
    elif share < 0.9:
        yield Finding(
            "warning",
            f"{observed}: the intervals are too narrow. Conformal calibration "
            "(--calibration conformal) widens them.",
        )
    else:
        yield Finding(
            "warning",
            f"{observed}: the intervals are too wide. Conformal calibration "
            "(--calibration conformal) narrows them.",
        )


def _on_the_mean(assessment: Assessment) -> Iterator[Finding]:
    objective = assessment.model.objective_
    if objective.n_parameters == 1:  # it has learnt the mean alone
        return
    rmse, mse_rmse = assessment.scores[MODEL].rmse, assessment.mse_rmse
    advice = (
        "A larger beta (--beta 1) or --beta auto"
        if isinstance(objective, BetaNLL)
        else "Beta-NLL (--objective beta-nll)"
    )
    errors = (
        f"the typical error is {rmse:.4g}, and {mse_rmse:.4g} for the same network "
        "trained for the mean alone"
    )
    if rmse <= (1 + _ERROR_MARGIN) * mse_rmse:
        yield Finding("good", f"Learning a spread did not harm the mean: {errors}.")
    elif differs(assessment.mse_squared_errors, assessment.squared_errors):
        yield Finding(
            "warning",
            f"Learning a spread made the mean worse: {errors}. {advice} may help.",
        )
    else:
        yield Finding(
            "note",
            f"Learning a spread may have harmed the mean, or it is chance: {errors}.",
        )


def _on_plain_nll(assessment: Assessment) -> Iterator[Finding]:
    if PLAIN_NLL not in assessment.scores:
        return
    rmse, nll_rmse = (assessment.scores[name].rmse for name in (MODEL, PLAIN_NLL))
    if nll_rmse > 1.1 * rmse:
        yield Finding(
            "note",
            "Plain likelihood training falls into its trap here: its typical error "
            f"is {nll_rmse / rmse - 1:.0%} larger ({nll_rmse:.4g}).",
        )


def _on_baselines(assessment: Assessment) -> Iterator[Finding]:
    own = assessment.scores[MODEL]
    rivals = {
        CONSTANT: (
            "Guessing the average",
            "the inputs may say little about the target",
        ),
        RIDGE: (
            "A straight-line model",
            "the relation may be close to linear, or the rows too few for a network",
        ),
    }
    for name, (rival, reason) in rivals.items():
        crps = assessment.scores[name].crps
        if crps <= own.crps:
            yield Finding(
                "warning",
                f"{rival} with a constant spread predicts as well as the network or "
                f"better (CRPS {crps:.4g} against {own.crps:.4g}): {reason}.",
            )
            return
    gain = 1 - own.crps / assessment.scores[CONSTANT].crps
    yield Finding(
        "good",
        f"The predictions are {gain:.0%} better (CRPS) than always guessing the "
        "average with a constant spread.",
    )


def _on_size(assessment: Assessment) -> Iterator[Finding]:
    n = len(assessment.target)
    if n < _FEW_ROWS:
        yield Finding(
            "note",
            f"Only {n} rows were held out, so all these numbers are rough.",
        )
