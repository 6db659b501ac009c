"""The doctor on small tables, and what it says."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from betanll import HeteroscedasticRegressor, datasets
from betanll.evaluation import TrialSettings, diagnose
from betanll.evaluation._diagnosis import _settings_of
from betanll.networks import MLP
from betanll.reports import diagnosis_page

QUICK = TrialSettings(hidden_sizes=(16,), max_updates=300)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = X[:, 0] + 0.1 * RNG.normal(size=120)


@pytest.fixture(scope="module")
def benign():
    return diagnose(QUICK, X, Y, random_state=1)


@pytest.fixture(scope="module")
def stuck():
    """Fast waves that a small network learns only if it looks at all of them."""
    x = np.linspace(0, 1, 600)[:, None]
    y = np.where(x < 0.5, x, np.sin(30 * x))[:, 0]
    y = y + 0.003 * np.random.default_rng(0).normal(size=600)
    settings = TrialSettings(hidden_sizes=(64, 64), max_updates=6000)
    return diagnose(settings, pd.DataFrame({"time": x[:, 0]}), y)


def test_nothing_to_starve(benign):
    assert not benign.pitfall
    assert str(benign).startswith("No: training with NLL")
    assert benign.regions == []
    assert benign.ignored_rows.size == 0
    assert len(benign.test_rows) == 24
    assert benign.n_training_rows == 72


def test_numbers_are_those_of_held_out_rows(benign):
    y_test = Y[benign.test_rows][:, None]
    np.testing.assert_array_equal(benign.target, y_test)
    np.testing.assert_array_equal(benign.test_inputs, X[benign.test_rows])
    for name, predictive in benign.predictions.items():
        error = predictive.mean - y_test
        assert benign.rmse[name] == pytest.approx(np.sqrt(np.mean(error**2)))
        likelihood = np.mean(predictive.log_prob(y_test))
        assert benign.log_likelihood[name] == pytest.approx(likelihood)
    # In units of the target's spread, like the errors of the rule.
    challenger = benign.rmse[benign.evidence.challenger]
    assert benign.evidence.gain == pytest.approx(
        1 - (challenger / benign.rmse["nll"]) ** 2
    )


def test_the_mse_has_the_spread_of_its_validation_errors(benign):
    std = benign.predictions["mse"].std
    assert np.ptp(std) == pytest.approx(0, abs=1e-12)
    assert 0.05 < std[0, 0] < 1


def test_numbers_for_machines(benign, stuck):
    for diagnosis in (benign, stuck):
        numbers = json.loads(json.dumps(diagnosis.to_dict()))
        assert numbers["pitfall"] is diagnosis.pitfall
        objectives = {"nll", "beta-nll:0.5", "beta-nll:1", "mse"}
        assert set(numbers["rmse"]) == set(numbers["log_likelihood"]) == objectives
        assert 0 < numbers["effective_sample_fraction"] <= 1
        assert 0 <= numbers["starved_fraction"] <= 1
        assert numbers["recommended_beta"] in (0, 0.5, 1)
        assert 0 <= diagnosis.tradeoff.efficiency <= 1


def test_same_seed_same_diagnosis(benign):
    again = diagnose(QUICK, X, Y, random_state=1, n_jobs=1)
    assert again.to_dict() == benign.to_dict()
    other = diagnose(QUICK, X, Y, random_state=2)
    assert other.to_dict() != benign.to_dict()


def test_points_that_are_given_up_are_found(stuck):
    assert stuck.pitfall
    assert str(stuck).startswith("Yes: training with NLL")
    assert stuck.rmse["nll"] > 1.3 * stuck.rmse[stuck.evidence.challenger]
    assert stuck.starved_fraction > 0.1
    # They lie among the waves.
    suffering = stuck.ignored_rows[:5] / 599
    assert np.all(suffering > 0.45)
    assert "time" in stuck.regions[0].description
    assert stuck.recommended_beta > 0


def test_it_is_found_at_the_top():
    import betanll

    assert betanll.diagnose is diagnose


def test_large_tables_are_thinned(monkeypatch):
    monkeypatch.setattr("betanll.evaluation._trial.MAX_ROWS", 100)
    monkeypatch.setattr("betanll.evaluation._words.MAX_ROWS", 100)
    found = diagnose(QUICK, X, Y)
    assert (found.n_rows, found.n_training_rows, len(found.test_rows)) == (120, 60, 20)
    assert str(found).endswith("Of 120 rows, 100 drawn at random were used.")


def test_settings_come_from_a_model():
    model = HeteroscedasticRegressor(
        hidden_layer_sizes=8,
        activation="tanh",
        learning_rate_init=1e-2,
        batch_size=20,
        max_updates=60,
    )
    found = diagnose(model, X, Y)
    assert found.n_updates == 4 * 60
    assert not hasattr(model, "members_")


def test_several_targets_and_missing_ones():
    y = np.column_stack([Y, 100 * Y])
    y[::7, 0] = np.nan
    found = diagnose(QUICK, X, y, target_names=["grams", "metres"])
    assert found.target.shape == (24, 2)
    assert np.isfinite(found.evidence.gain)
    # Each target has scores in its own unit ...
    assert [scores.name for scores in found.targets] == ["grams", "metres"]
    for i, scores in enumerate(found.targets):
        for name, predictive in found.predictions.items():
            errors = (predictive.mean - found.target)[:, i]
            rmse = np.sqrt(np.nanmean(errors**2))
            assert scores.rmse[name] == pytest.approx(rmse)
            density = predictive.log_prob(found.target)[:, i]
            assert scores.log_likelihood[name] == pytest.approx(np.nanmean(density))
    # ... and the joint error that of neither: the second is a hundred times larger.
    assert 0 < found.rmse["nll"] < 2
    assert found.targets[1].rmse["nll"] > 10 * found.rmse["nll"]
    words = str(found)
    assert f"error is {found.rmse['nll']:.4g} (over all targets, in units of" in words
    targets = json.loads(json.dumps(found.to_dict()))["targets"]
    assert [target["name"] for target in targets] == ["grams", "metres"]
    assert targets[1]["rmse"] == found.targets[1].rmse
    page = diagnosis_page(found, title="T", configuration={}, command="c").html()
    assert "<h3>grams</h3>" in page
    assert page.count('aria-label="Scores of the objectives, ') == 2


@pytest.mark.parametrize(
    ("model", "x", "y", "fault", "message"),
    [
        ("svm", X, Y, TypeError, "HeteroscedasticRegressor or None, got str"),
        (None, X, Y[:-1], ValueError, "X has 120 rows and y 119"),
        (None, X[:20], Y[:20], ValueError, "X has 20 rows; a diagnosis needs 30"),
        (None, X, np.where(Y > 1, np.inf, Y), ValueError, "y has infinite entries"),
        (None, np.where(X > 1, np.inf, X), Y, ValueError, "infinity"),
    ],
)
def test_bad_input(model, x, y, fault, message):
    with pytest.raises(fault, match=message):
        diagnose(model, x, y)


def test_wrong_names():
    with pytest.raises(ValueError, match="3 names were given for 2 columns"):
        diagnose(QUICK, X, Y, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="2 names were given for 1 columns"):
        diagnose(QUICK, X, Y, target_names=["a", "b"])


@pytest.mark.slow
def test_the_three_cases_of_the_paper():
    x, y = datasets.sine()
    assert diagnose(None, x, y).pitfall
    x, y = datasets.heteroscedastic_sine()
    assert not diagnose(None, x, y).pitfall
    rng = np.random.default_rng(0)
    assert not diagnose(None, rng.normal(size=(1000, 3)), rng.normal(size=1000)).pitfall


def test_one_held_out_row_gives_no_interval_and_valid_json(benign):
    evidence = dataclasses.replace(benign.evidence, gain_low=-np.inf)
    numbers = dataclasses.replace(benign, evidence=evidence).to_dict()
    assert numbers["gain_low"] is None
    json.dumps(numbers, allow_nan=False)


@pytest.mark.parametrize("n_bins", [0, 8])
def test_a_fitted_model_is_tried_with_the_bins_that_it_has_chosen(n_bins):
    model = HeteroscedasticRegressor(n_bins=(8, 0))
    assert _settings_of(model, 100, 2).n_bins == 8
    model.net_ = MLP(2, n_bins=n_bins)
    assert _settings_of(model, 100, 2).n_bins == n_bins
