"""The report of an assessment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from betanll import __version__
from betanll.estimators import HeteroscedasticRegressor
from betanll.evaluation import Assessment
from betanll.networks import MLP, Network
from betanll.reports._findings import findings_of
from betanll.reports._report import FitReport, Panel


def report_of(
    assessment: Assessment,
    *,
    title: str,
    configuration: Mapping[str, str],
    command: str,
    introduction: Sequence[Panel] = (),
) -> FitReport:
    """Return the report of a model; what training found joins the configuration."""
    model = assessment.model
    chosen = {
        "objective": model.objective_.name,
        "beta": "none" if model.beta_ is None else f"{model.beta_}",
        **_optimizer(model),
        "epochs": f"{model.n_iter_}",
        "updates": f"{model.n_updates_}",
        **_network(model.net_),
        "ensemble members": f"{len(model.members_)}",
        "calibration": _calibration(model),
        "random seed": f"{model.random_state}",
        "betanll": __version__,
    }
    return FitReport(
        title=title,
        target_names=[target.name for target in assessment.targets],
        target=assessment.target,
        predictive=assessment.predictive,
        interval=assessment.interval,
        scores=[target.scores for target in assessment.targets],
        findings=findings_of(assessment),
        history=model.history_,
        sample_fractions=assessment.sample_fractions,
        configuration={**configuration, **chosen},
        command=command,
        introduction=introduction,
    )


def _optimizer(model: HeteroscedasticRegressor) -> dict[str, str]:
    if model.best_learning_rate_ is None:
        return {"learning rate": "none"}
    return {"learning rate": f"{model.best_learning_rate_:g}"}


def _network(net: Network) -> dict[str, str]:
    if not isinstance(net, MLP):
        return {"network": repr(net)}
    sizes = ", ".join(map(str, net.hidden_sizes)) or "none"
    return {"hidden layers": sizes, "activation": net.activation}


def _calibration(model: HeteroscedasticRegressor) -> str:
    if model.conformal_scores_ is not None:
        return "conformal"
    spread = ", ".join(f"{factor:.3g}" for factor in model.spread_)
    if model.df_ is not None:
        degrees = ", ".join(f"{df:.3g}" for df in model.df_)
        return f"spread x {spread}, Student t with {degrees} degrees of freedom"
    is_scaled = model.objective_.n_parameters > 1 and np.any(model.spread_ != 1)
    return f"spread x {spread}" if is_scaled else "none"
