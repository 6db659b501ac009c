"""The doctor's visit: a trial, the rule, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array

from betanll import metrics
from betanll.diagnostics import BetaTradeoff, beta_tradeoff
from betanll.distributions import Distribution
from betanll.distributions._base import Array
from betanll.doctor._regions import Region, find_regions
from betanll.doctor._rule import RULE, Evidence, judge
from betanll.doctor._trial import (
    BETAS,
    SUBJECT,
    Trial,
    TrialSettings,
    run_trial,
)
from betanll.doctor._words import sentences
from betanll.estimators import HeteroscedasticRegressor

#: Three parts are made of them.
MIN_ROWS = 30


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the doctor found.

    Attributes
    ----------
    pitfall : bool
        Whether likelihood training starves points of this data that it could learn.
    recommended_beta : float
        Chosen by log-likelihood and errors on the validation rows.
    effective_sample_fraction, starved_fraction : float
        Of the training rows under the likelihood.
    rmse, log_likelihood : dict of str to float
        By objective, on held-out rows in the unit of the target. The log-likelihood of
        ``mse`` is that of a constant spread.
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
    X : array of shape (n, n_features)
    y : array of shape (n,) or (n, n_targets)
        NaN marks missing entries.
    feature_names : sequence of str, optional
        By default the columns of a data frame, else x0, x1, ...
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
    names = _feature_names(X, feature_names)
    x = check_array(X, dtype=np.float64, ensure_min_samples=MIN_ROWS)
    targets = np.asarray(y, np.float64)
    targets = targets.reshape(len(targets), -1)
    if len(targets) != len(x):
        raise ValueError(f"X has {len(x)} rows and y {len(targets)}")
    if np.isinf(targets).any():
        raise ValueError("y has infinite entries")
    if len(names) != x.shape[1]:
        raise ValueError(f"{len(names)} feature_names for {x.shape[1]} columns")
    trial = run_trial(
        x,
        targets,
        _settings_of(model, *x.shape),
        seed=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    return conclude(trial, x, targets, names)


def conclude(trial: Trial, x: Array, y: Array, names: list[str]) -> Diagnosis:
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
    return Diagnosis(
        pitfall=evidence.pitfall,
        recommended_beta=recommended_beta(
            log_density, trial.validation_errors, pitfall=evidence.pitfall
        ),
        effective_sample_fraction=evidence.effective_sample_fraction,
        starved_fraction=evidence.starved_fraction,
        rmse={n: metrics.rmse(p.mean, target) for n, p in predictions.items()},
        log_likelihood={
            n: metrics.log_likelihood(p, target) for n, p in predictions.items()
        },
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


def recommended_beta(
    log_density: Mapping[str, Array], errors: Mapping[str, float], *, pitfall: bool
) -> float:
    """Return the beta of the best likelihood, or one as good with smaller errors.

    The plain likelihood is no advice where it starves points.
    """
    names = [name for name in BETAS if not (pitfall and name == SUBJECT)]
    best = max(names, key=lambda name: float(np.mean(log_density[name])))

    def is_as_good(name: str) -> bool:
        loss = log_density[best] - log_density[name]
        return bool(np.mean(loss) <= np.std(loss) / np.sqrt(len(loss)))

    return BETAS[min(filter(is_as_good, names), key=errors.__getitem__)]


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
    settings = model.settings_for(n_rows, n_inputs)
    rate = TrialSettings.learning_rate
    # Adam with a constant rate would not stand the rates of a falling one.
    if settings.learning_rate == "constant":
        if hasattr(model, "best_learning_rate_"):
            rate = model.best_learning_rate_
        elif settings.learning_rate_init != "search":
            rates = np.ravel(np.asarray(settings.learning_rate_init, np.float64))
            rate = float(rates[0]) if len(rates) == 1 else rate
    n_bins = int(settings.n_bins[0])
    if hasattr(model, "net_"):
        n_bins = model.net_.n_bins
    return TrialSettings(
        hidden_sizes=tuple(settings.hidden_layer_sizes),
        activation=settings.activation,
        learning_rate=rate,
        batch_size=int(settings.batch_size),
        max_updates=settings.max_updates,
        n_bins=n_bins,
    )


def _feature_names(X: Any, given: Sequence[str] | None) -> list[str]:
    if given is not None:
        return [str(name) for name in given]
    columns = getattr(X, "columns", None)
    if columns is None:
        return [f"x{i}" for i in range(np.shape(X)[1] if np.ndim(X) == 2 else 1)]
    return [str(name) for name in columns]
