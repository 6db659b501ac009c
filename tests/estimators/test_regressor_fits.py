"""Fits: what they keep, the same bits each time, interruptions and failures."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from betanll.estimators import fit_many
from betanll.model_selection import _run
from betanll.training import fit_fleet

# What is kept


def test_attributes_of_a_fit(fitted, table):
    assert (fitted.n_features_in_, fitted.n_outputs_) == (2, 1)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.n_updates_ == 2 * fitted.n_iter_  # 40 rows are 2 batches of 16
    assert len(fitted.loss_curve_) == fitted.n_iter_
    history = fitted.history_
    validation = [f"validation_{name}" for name in ("nll", "mse", "score")]
    assert list(history) == ["epoch", "train_loss", *validation]
    best = int(np.argmin(history["validation_score"]))
    assert history["epoch"][best] == fitted.n_iter_
    assert -history["validation_score"][best] == fitted.best_validation_score_
    assert fitted.best_learning_rate_ == 3e-3
    np.testing.assert_array_equal(fitted.spread_, [1.0])
    assert all(
        type(part) is np.ndarray
        for member in fitted.members_
        for layer in member
        for part in layer.values()
    )


def test_early_stopping_by_the_squared_error_for_mse(regressor, table):
    model = regressor(objective="mse").fit(*table)
    best = int(np.argmin(model.history_["validation_mse"]))
    assert model.history_["epoch"][best] == model.n_iter_
    assert -model.history_["validation_mse"][best] == model.best_validation_score_


# The same bits


def test_same_random_state_same_bits(same_bits, bits, regressor, table, fitted):
    again = regressor().fit(*table)
    assert bits(again.members_) == bits(fitted.members_)
    assert not same_bits(regressor(random_state=1).fit(*table), fitted)
    # A generator is a stream: the first fit is that of its seed, the next is not.
    model = regressor(random_state=np.random.RandomState(0))
    assert same_bits(model.fit(*table), fitted)
    assert not same_bits(model.fit(*table), fitted)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_number_of_jobs_does_not_change_the_bits(
    bits, regressor, table, ensemble, n_jobs
):
    model = regressor(n_members=3, n_jobs=n_jobs).fit(*table)
    assert bits(model.members_) == bits(ensemble.members_)


def test_fit_many_equals_separate_fits(same_bits, bits, regressor, table):
    X, y = table
    jobs = [
        ({"learning_rate_init": "search"}, X, y),
        ({"beta": "auto", "n_members": 2}, X[::-1], 2 * y),
        ({"calibration": "scale"}, np.vstack([X, X[:10]]), np.append(y, y[:10])),
        ({"objective": "mse"}, X, y[:, None]),
    ]
    models = [regressor(**changes) for changes, *_ in jobs]
    data = [(X, y) for _, X, y in jobs]
    fitted = fit_many([(m, *d) for m, d in zip(models, data, strict=True)], n_jobs=2)
    assert all(a is b for a, b in zip(fitted, models, strict=True))
    for model, (changes, X, y) in zip(models, jobs, strict=True):
        alone = regressor(**changes).fit(X, y)
        assert bits(model.members_) == bits(alone.members_)
        assert model.search_results_ == alone.search_results_
        assert same_bits(model, alone, X)
    assert fit_many([]) == []


def test_a_new_fit_replaces_the_old_one(same_bits, regressor, untrained, table, fitted):
    model = untrained(
        n_inputs=3, n_outputs=2, n_members=2, feature_names=["a", "b", "c"], n_scores=9
    )
    model.set_params(**regressor().get_params()).fit(*table)
    assert same_bits(model, fitted)
    assert vars(model).keys() == vars(fitted).keys()


# Interruptions and failures


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(
    same_bits, regressor, table, fitted, monkeypatch, stage, error
):
    X, y = table
    new, old = regressor(), regressor().fit(X, y)
    stages = []

    def interrupted(tasks, **options):
        stages.append(len(tasks))
        if len(stages) == stage:
            raise error
        return fit_fleet(tasks, **options)

    monkeypatch.setattr(_run, "fit_fleet", interrupted)
    before = dict(vars(new))
    with pytest.raises(error):
        new.fit(X, y)
    assert vars(new) == before
    with pytest.raises(NotFittedError):
        new.predict(X)
    stages.clear()
    # The new data has names and its target is a column; the old had and was neither.
    with pytest.raises(error):
        old.fit(pd.DataFrame(X, columns=["a", "b"]), y[:, None])
    assert same_bits(old, fitted)
    assert not hasattr(old, "feature_names_in_")


def test_a_fit_that_diverges_says_so_and_leaves_nothing(regressor, table):
    model = regressor(learning_rate_init=1e30)
    with pytest.raises(ValueError, match=r"diverged.*learning_rate_init"):
        model.fit(*table)
    with pytest.raises(NotFittedError):
        model.predict(table[0])


def test_unfitted_use_is_refused(regressor, table, tmp_path):
    X, y = table
    model = regressor()
    for use in (
        model.predict,
        model.predict_dist,
        model.predict_var,
        model.predict_parts,
        model.predict_interval,
        model.sample,
        lambda X: model.predict_quantiles(X, 0.5),
        lambda X: model.score(X, y),
        lambda X: model.log_likelihood(X, y),
        lambda X: model.conformalize(X, y),
        lambda X: model.save(tmp_path / "model"),
        lambda X: model.to_torch(),
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            use(X)
    assert not (tmp_path / "model").exists()
