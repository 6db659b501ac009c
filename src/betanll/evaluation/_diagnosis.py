"""The doctor's visit: a trial, the rule, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from betanll import metrics
from betanll.blocks import RowBlocks
from betanll.columns import Column, as_pandas, fit_columns, is_frame
from betanll.diagnostics import BetaTradeoff, beta_tradeoff
from betanll.distributions import Distribution
from betanll.estimators import HeteroscedasticRegressor
from betanll.evaluation._advice import recommended_beta
from betanll.evaluation._regions import Region, find_regions
from betanll.evaluation._rule import RULE, Evidence, judge
from betanll.evaluation._trial import BETAS, SUBJECT, Trial, TrialSettings, run_trial
from betanll.evaluation._words import sentences
from betanll.networks import MLP
from betanll.typing import Array

#: Three parts are made of them.
MIN_ROWS = 30


class TargetScores(NamedTuple):
    """Held-out scores of one target by objective, in its own unit."""

    name: str
    rmse: dict[str, float]
    log_likelihood: dict[str, float]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the doctor found.

    Attributes
    ----------
    pitfall : bool
        Whether likelihood training starves points of this data that it could learn.
    recommended_beta : float
        Chosen by log-likelihood and errors on the validation rows. Without the
        pitfall it is 0 unless held-out rows confirm the choice.
    effective_sample_fraction, starved_fraction : float
        Of the training rows under the likelihood.
    rmse, log_likelihood : dict of str to float
        By objective, on held-out rows. The RMSE is in the unit of the target, or over
        several targets in units of their spreads. The log-likelihood is summed over
        targets; ``mse`` has a constant spread.
    targets : list of TargetScores
        The same for each target, in its unit.
    evidence : Evidence
        What the verdict rests on.
    regions : list of Region
        Where the ignored points are; empty without the pitfall.
    ignored_rows : array of int
        Held-out rows that gain most from the other objective, most first; empty
        without the pitfall.
    test_rows : array of int
        All held-out rows.
    test_inputs, target : arrays of shape (n, n_features) and (n, d)
        Their inputs and targets.
    predictions : dict of str to Distribution
        Of them, by objective.
    n_rows, n_training_rows, n_updates : int
    feature_names : list of str
    """

    pitfall: bool
    recommended_beta: float
    effective_sample_fraction: float
    starved_fraction: float
    rmse: dict[str, float]
    log_likelihood: dict[str, float]
    targets: list[TargetScores]
    evidence: Evidence
    regions: list[Region]
    ignored_rows: Any
    test_rows: Any
    test_inputs: Array
    target: Array
    predictions: dict[str, Distribution]
    n_rows: int
    n_training_rows: int
    n_updates: int
    feature_names: list[str]

    @property
    def tradeoff(self) -> BetaTradeoff:
        """What the recommended beta costs if all variance is misfit, or noise."""
        return beta_tradeoff(self.evidence.log_variance_spread, self.recommended_beta)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, plain and in JSON's types."""
        low = self.evidence.gain_low
        return {
            "pitfall": self.pitfall,
            "recommended_beta": self.recommended_beta,
            "effective_sample_fraction": self.effective_sample_fraction,
            "starved_fraction": self.starved_fraction,
            "rmse": self.rmse,
            "log_likelihood": self.log_likelihood,
            "targets": [target._asdict() for target in self.targets],
            "challenger": self.evidence.challenger,
            "gain": self.evidence.gain,
            # One held-out row says nothing about the uncertainty, and JSON has no inf.
            "gain_low": low if np.isfinite(low) else None,
            "ignored_share": self.evidence.ignored_share,
            "log_variance_spread": self.evidence.log_variance_spread,
            "regions": [region._asdict() for region in self.regions],
            "ignored_rows": [int(row) for row in self.ignored_rows],
            "n_rows": self.n_rows,
            "n_training_rows": self.n_training_rows,
            "n_test_rows": len(self.test_rows),
            "n_updates": self.n_updates,
            "rule": RULE,
        }

    def __str__(self) -> str:
        return "\n".join(sentences(self))


def diagnose(
    model: HeteroscedasticRegressor | TrialSettings | None,
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    columns: Mapping[str, str | Column] | None = None,
    blocks: RowBlocks | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Diagnosis:
    """Tell whether likelihood training starves points of this data.

    The same network is trained with the likelihood, two more betas and the squared
    error on three fifths of the rows, and compared on rows it has not seen.

    Parameters
    ----------
    model : HeteroscedasticRegressor, TrialSettings or None
        Whose network, learning rate (unless it is searched for), batch size and budget
        are put on trial; None stands for a network that learns wiggly functions fast.
        It is not changed, and need not be fitted.
    X : array of shape (n, n_features) or data frame
    y : array of shape (n,) or (n, n_targets)
        NaN marks missing entries.
    feature_names : sequence of str, optional
        By default the encoded columns of a data frame, else x0, x1, ...
    target_names : sequence of str, optional
        By default the columns of a data frame, else y0, y1, ...
    columns : mapping, optional
        How to read columns of a data frame, as for the estimator.
    blocks : RowBlocks, optional
        Rows of one group or time, which stay in one part.
    random_state : int, default=0
        Same number, same diagnosis.
    n_jobs : int, optional
        Trainings at a time, by default one for each core.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    Diagnosis
        Printing it gives the answer in plain words.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll import HeteroscedasticRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> y = rng.normal(size=200)  # nothing to learn, so nothing to starve
    >>> small = HeteroscedasticRegressor(hidden_layer_sizes=(8,), max_updates=500)
    >>> diagnose(small, X, y).pitfall
    False
    """
    target_names = _names(y, target_names, "y")
    given: Any = as_pandas(X) if is_frame(X) else None
    if given is None:
        given = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    if len(given) < MIN_ROWS:
        raise ValueError(f"X has {len(given)} rows; a diagnosis needs {MIN_ROWS}")
    targets = np.asarray(y, np.float64)
    targets = targets.reshape(len(targets), -1)
    if len(targets) != len(given):
        raise ValueError(f"X has {len(given)} rows and y {len(targets)}")
    if np.isinf(targets).any():
        raise ValueError("y has infinite entries")
    encoder, matrix = fit_columns(
        given,
        targets,
        kinds=columns,
        blocks=None if blocks is None else blocks.codes,
        random_state=random_state,
    )
    x: Array = matrix.astype(np.float64, copy=False)
    names = _names(x, feature_names, "x")
    if encoder is not None and feature_names is None:
        names = list(encoder.encoded_names)
    if len(names) != x.shape[1]:
        raise ValueError(f"{len(names)} feature_names for {x.shape[1]} columns")
    if len(target_names) != targets.shape[1]:
        raise ValueError(
            f"{len(target_names)} target_names for {targets.shape[1]} targets"
        )
    trial = run_trial(
        x,
        targets,
        _settings_of(model, *x.shape),
        blocks=blocks,
        seed=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    return conclude(trial, x, targets, names, target_names)


def conclude(
    trial: Trial, x: Array, y: Array, names: list[str], target_names: Sequence[str]
) -> Diagnosis:
    """Apply the rule to a trial."""
    target, inputs = y[trial.test], x[trial.test]
    scale = trial.targets.scale
    predictions = {name: trial.predict(name, inputs) for name in trial.fits}
    errors = {
        name: np.mean(((predictive.mean - target) / scale) ** 2, axis=1)
        for name, predictive in predictions.items()
    }
    rivals = [name for name in predictions if name != SUBJECT]
    challenger = min(rivals, key=trial.validation_errors.__getitem__)
    evidence = judge(
        errors,
        subject=SUBJECT,
        challenger=challenger,
        variance=(predictions[SUBJECT].std / scale) ** 2,
        training_variance=(trial.predict(SUBJECT, x[trial.train]).std / scale) ** 2,
    )
    regions: list[Region] = []
    ignored = np.empty(0, np.intp)
    if evidence.pitfall:
        regions = find_regions(inputs, names, errors[SUBJECT], errors[challenger])
        order = np.argsort(-evidence.reduction)
        helped = (evidence.weight < 1) & (evidence.reduction > 0)
        ignored = order[helped[order]]
    # Held-out rows must not choose what they are to judge.
    log_density = {
        name: np.nansum(
            trial.predict(name, x[trial.validation]).log_prob(y[trial.validation]),
            axis=1,
        )
        for name in BETAS
    }
    scores = [
        _target_scores(name, predictions, target, i)
        for i, name in enumerate(target_names)
    ]
    # Errors of several targets have no common unit but their spread.
    unit = scale if len(scores) > 1 else 1.0
    rmse = {
        n: metrics.rmse(p.mean / unit, target / unit) for n, p in predictions.items()
    }
    log_likelihood = {
        n: metrics.log_likelihood(p, target) for n, p in predictions.items()
    }
    return Diagnosis(
        pitfall=evidence.pitfall,
        recommended_beta=recommended_beta(
            log_density,
            trial.validation_errors,
            pitfall=evidence.pitfall,
            rmse=rmse,
            log_likelihood=log_likelihood,
        ),
        effective_sample_fraction=evidence.effective_sample_fraction,
        starved_fraction=evidence.starved_fraction,
        rmse=rmse,
        log_likelihood=log_likelihood,
        targets=scores,
        evidence=evidence,
        regions=regions,
        ignored_rows=trial.test[ignored],
        test_rows=trial.test,
        test_inputs=inputs,
        target=target,
        predictions=predictions,
        n_rows=len(x),
        n_training_rows=len(trial.train),
        n_updates=sum(fit.n_updates for fit in trial.fits.values()),
        feature_names=names,
    )


def _settings_of(model: Any, n_rows: int, n_inputs: int) -> TrialSettings:
    if model is None:
        return TrialSettings()
    if isinstance(model, TrialSettings):
        return model
    if not isinstance(model, HeteroscedasticRegressor):
        raise TypeError(
            "model must be a HeteroscedasticRegressor or None, "
            f"got {type(model).__name__}"
        )
    plan = model.plan_for(n_rows, n_inputs)
    network, _, optimizer = plan.candidates[0]
    trial = TrialSettings(batch_size=plan.batch_size, max_updates=plan.n_updates)
    # Adam with a constant rate would not stand the rates of a falling one.
    if model.optimizer is None and not optimizer.takes("n_updates"):
        rates = {optimizer.learning_rate for _, _, optimizer in plan.candidates}
        rate = getattr(model, "best_learning_rate_", None)
        if rate is None and len(rates) == 1:
            (rate,) = rates
        trial = replace(trial, learning_rate=rate or trial.learning_rate)
    if isinstance(network, MLP):
        trial = replace(
            trial,
            hidden_sizes=network.hidden_sizes,
            activation=network.activation,
            n_bins=getattr(getattr(model, "net_", network), "n_bins", 0),
        )
    return trial


def _names(array: Any, given: Sequence[str] | None, letter: str) -> list[str]:
    """Return the names of columns: those given, those of a data frame, or made up."""
    if given is not None:
        return [str(name) for name in given]
    columns = getattr(array, "columns", None)
    if columns is None:
        n = np.shape(array)[1] if np.ndim(array) == 2 else 1
        return [f"{letter}{i}" for i in range(n)]
    return [str(name) for name in columns]


def _target_scores(
    name: str, predictions: Mapping[str, Distribution], target: Array, i: int
) -> TargetScores:
    columns = {n: predictive[:, i] for n, predictive in predictions.items()}
    truth = target[:, i]
    return TargetScores(
        name,
        rmse={n: metrics.rmse(p.mean, truth) for n, p in columns.items()},
        log_likelihood={
            n: metrics.log_likelihood(p, truth) for n, p in columns.items()
        },
    )
