"""The content of a fit report, and the report of an assessment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from betanll import __version__
from betanll.distributions import Distribution, transforms
from betanll.estimators import HeteroscedasticRegressor
from betanll.evaluation import Assessment, Explanation
from betanll.metrics import Scores
from betanll.networks import MLP, Network
from betanll.reports._findings import findings_of
from betanll.reports._fit_page import fit_page
from betanll.reports.page import Finding, Page, Picture
from betanll.typing import Array


@dataclass(frozen=True, eq=False)
class FitReport:
    """Predictions, scores and findings on held-out rows, in Python or as a page.

    Parameters
    ----------
    title : str
    target_names : sequence of d str
    target : array of shape (n, d)
        Held-out truth, NaN where it is missing.
    predictive : Distribution of shape (n, d)
        Predictions for the held-out rows.
    interval : array of shape (n, 2, d)
        90% intervals of the model for the held-out rows, perhaps infinite.
    scores : sequence of d mappings of str to Scores
        Scores of each target by readable names, the model first, then the baselines. A
        single target may have a single mapping.
    findings : sequence of Finding
    history : mapping of str to array
        ``epoch``, ``train_loss``, ``validation_nll`` and ``validation_mse``, each
        perhaps empty or missing.
    sample_fractions : mapping of str to float
        Effective sample fraction of the loss weights, by the label of the objective.
    configuration : mapping of str to str
    command : str
        Command that made the report.
    introduction : sequence of Picture, optional
        Shown first.
    explanation : Explanation, optional
        What predictions depend on, and odd rows.

    Examples
    --------
    >>> from betanll.distributions import Normal
    >>> from betanll.metrics import evaluate
    >>> y = np.random.default_rng(0).normal(size=(200, 1))
    >>> predictive = Normal(np.zeros_like(y), np.ones_like(y))
    >>> report = FitReport(
    ...     title="Noise",
    ...     target_names=["noise"],
    ...     target=y,
    ...     predictive=predictive,
    ...     interval=predictive.interval(0.9),
    ...     scores={"model": evaluate(predictive, y)},
    ...     findings=[],
    ...     history={},
    ...     sample_fractions={},
    ...     configuration={"objective": "nll"},
    ...     command="betanll fit noise.csv",
    ... )
    >>> report.html().splitlines()[0]
    '<!doctype html>'
    """

    title: str
    target_names: Sequence[str]
    target: Array
    predictive: Distribution
    interval: Array
    scores: Sequence[Mapping[str, Scores]]
    findings: Sequence[Finding]
    history: Mapping[str, Any]
    sample_fractions: Mapping[str, float]
    configuration: Mapping[str, str]
    command: str
    introduction: Sequence[Picture] = ()
    explanation: Explanation | None = None

    def __post_init__(self) -> None:
        for name in ("target", "interval"):
            array = np.asarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, array)
        if isinstance(self.scores, Mapping):
            object.__setattr__(self, "scores", [self.scores])
        shape = self.target.shape
        if len(shape) != 2 or self.predictive.shape != shape:
            raise ValueError(
                "target and predictive must both have the shape (n, d), "
                f"got {shape} and {self.predictive.shape}"
            )
        if not np.isfinite(self.predictive.mean).all():
            raise ValueError("predictive has means that are not finite")
        if self.interval.shape != (shape[0], 2, shape[1]):
            raise ValueError(
                f"interval must have shape {(shape[0], 2, shape[1])}, "
                f"got {self.interval.shape}"
            )
        if len(self.target_names) != shape[1]:
            raise ValueError(
                f"{len(self.target_names)} names were given for {shape[1]} targets"
            )
        if len(self.scores) != shape[1]:
            raise ValueError(
                f"scores of {len(self.scores)} targets were given for {shape[1]}"
            )

    def page(self) -> Page:
        """Return the report as a page of blocks."""
        return fit_page(self)

    def html(self) -> str:
        """Return the report as one HTML page without links to other files."""
        return self.page().html()


def report_of(
    assessment: Assessment,
    *,
    title: str,
    configuration: Mapping[str, str],
    command: str,
    introduction: Sequence[Picture] = (),
    explanation: Explanation | None = None,
) -> FitReport:
    """Return the report of a model; the results of training join `configuration`."""
    model = assessment.model
    rate = model.best_learning_rate_
    chosen = {
        **_rows(assessment),
        "objective": model.objective_.name,
        "beta": "none" if model.beta_ is None else f"{model.beta_}",
        "learning rate": "none" if rate is None else f"{rate:g}",
        "epochs": f"{model.n_iter_}",
        "updates": f"{model.n_updates_}",
        **_network(model.net_),
        "ensemble members": f"{len(model.members_)}",
        "learnt of the target": ", ".join(
            map(transforms.text, model.target_transform_)
        ),
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
        explanation=explanation,
    )


def _rows(assessment: Assessment) -> dict[str, str]:
    """Return which rows scored the model, and which trained it."""
    n, n_splits = len(assessment.target), assessment.n_splits
    how = "drawn at random"
    if assessment.times is not None:
        how = "the latest"
    elif assessment.is_grouped:
        how = "whole groups"
    folds = f" in {n_splits} folds" if n_splits > 1 else ""
    return {
        "held-out rows": f"{n:,}{folds}, {how}",
        "rows the model trained on": f"{assessment.n_rows:,}",
    }


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
