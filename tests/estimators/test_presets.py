"""What "auto" means, and the ensemble of the default preset."""

import numpy as np
import pytest

from betanll import HeteroscedasticRegressor
from betanll.distributions import Mixture, StudentT
from betanll.estimators._presets import AUTO, PRESETS
from betanll.model_selection import FitPlan
from betanll.networks import MLP
from betanll.objectives import OBJECTIVES, BetaNLL
from betanll.preprocessing import QuantilePositions, Standardizer
from betanll.training import adamw, optimizer

# Everything is as by default but smaller.
SMALL = {
    "hidden_layer_sizes": 8,
    "n_bins": 8,
    "batch_size": 16,
    "max_updates": 200,
    "n_members": 2,
    "random_state": 0,
}
ROWS = np.random.default_rng(9).normal(size=(17, 2))


def small(**changes):
    return HeteroscedasticRegressor(**{**SMALL, **changes})


@pytest.fixture(scope="module")
def model(table):
    return small(n_members="auto").fit(*table)


# Settings


def plan(n_rows=1000, n_inputs=8, **parameters):
    return HeteroscedasticRegressor(**parameters).plan_for(n_rows, n_inputs)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_parameter_with_auto_has_a_value(preset):
    automatic = {
        name
        for name, value in HeteroscedasticRegressor().get_params().items()
        if value == AUTO
    }
    others = {"max_evaluations", "robust_selection"}
    assert automatic == PRESETS[preset].keys() - others


def test_what_is_given_wins_over_the_preset():
    given = {
        "hidden_layer_sizes": (3,),
        "activation": "tanh",
        "n_bins": (7, 0, 9),
        "learning_rate_init": 0.5,
        "learning_rate": "constant",
        "weight_decay": 0.25,
        "batch_size": 11,
        "max_updates": 13,
        "n_iter_no_change": 2,
        "n_members": 3,
        "refit": True,
        "calibration": None,
    }
    for preset in PRESETS:
        found = plan(preset=preset, **given)
        assert found.networks == [MLP(8, (3,), "tanh", n_bins=n) for n in (7, 0, 9)]
        assert {chosen for _, _, chosen in found.candidates} == {
            optimizer(adamw, learning_rate=0.5, weight_decay=0.25)
        }
        assert (found.batch_size, found.n_updates, found.patience) == (11, 13, 2)
        assert (len(found.seeds), found.refit, found.calibration) == (3, True, None)


def test_batches_grow_with_the_table_and_bins_shrink_with_its_columns():
    def of(n_rows, n_inputs):
        found = plan(n_rows, n_inputs)
        return found.batch_size, found.networks[0].n_bins

    sizes, _ = zip(*(of(n, 8) for n in (100, 1000, 10_000, 100_000)), strict=True)
    assert list(sizes) == sorted(set(sizes))
    _, bins = zip(*(of(1000, n) for n in (1, 40, 90, 10_000)), strict=True)
    assert list(bins) == sorted(set(bins), reverse=True)
    assert bins[-1] >= 1


def test_the_paper_keeps_its_protocol():
    found = plan(10**6, 81, preset="paper")
    assert found == FitPlan(
        candidates=tuple(
            (MLP(81, (50,), "relu"), BetaNLL(0.5), optimizer(learning_rate=rate))
            for rate in (1e-4, 3e-4, 7e-4, 1e-3, 3e-3, 7e-3)
        ),
        seeds=(0,),
        n_updates=20_000,
        batch_size=256,
        patience=50,
        refit=True,
    )


@pytest.mark.parametrize(
    ("given", "n_rows", "expected"),
    [
        ({}, 3999, (32, 0)),
        ({}, 4000, (32,)),
        ({"n_members": 1}, 100, (32,)),
        ({"preset": "fast"}, 100, (32,)),
        ({"n_bins": 8}, 100, (8,)),
    ],
)
def test_ensembles_for_small_tables_are_tried_without_bins(given, n_rows, expected):
    found = plan(n_rows, 8, **given)
    assert tuple(network.n_bins for network in found.networks) == expected


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"preset": "auto"}, "preset must be"),
        ({"preset": None}, "preset must be"),
        ({"n_bins": -1}, "n_bins must be"),
        ({"n_bins": 2.5}, "n_bins must be"),
        ({"n_bins": "many"}, "n_bins must be"),
        ({"n_bins": ()}, "n_bins must be"),
        ({"n_bins": np.array(8)}, "n_bins must be"),
        ({"n_bins": (8, -1)}, "n_bins must be"),
        ({"learning_rate": 0.1}, 'learning_rate must be "auto", "constant" or'),
        ({"learning_rate_init": "fast"}, "learning_rate_init must be"),
        ({"learning_rate_init": ()}, "learning_rate_init must be"),
        ({"learning_rate_init": (1e-3, 0)}, "learning_rate_init must be"),
        ({"learning_rate_init": (1e-3, "a")}, "learning_rate_init must be"),
        ({"weight_decay": -0.1}, "weight_decay must be"),
        ({"weight_decay": np.inf}, "weight_decay must be"),
        ({"refit": "no"}, "refit must be"),
        ({"refit": np.array([True])}, "refit must be"),
        ({"calibration": "tails"}, "calibration must be"),
        ({"n_members": "many"}, "n_members must be"),
        ({"hidden_layer_sizes": "wide"}, "hidden_layer_sizes must hold"),
        ({"objective": "student-t", "calibration": "student-t"}, "is for Gaussian"),
    ],
)
def test_bad_values_are_named(changes, named, table):
    with pytest.raises(ValueError, match=named):
        HeteroscedasticRegressor(**changes).fit(*table)


# The ensemble


def test_default_is_a_calibrated_ensemble_on_positions(model):
    assert len(model.members_) == 10
    assert isinstance(model.inputs_, QuantilePositions)
    assert model.df_.shape == model.spread_.shape == (1,)
    predictive = model.predict_dist(ROWS)
    assert isinstance(predictive, StudentT)
    assert np.all(predictive.df == model.df_)


def test_parts_add_up_to_the_variance(model):
    aleatoric, epistemic = model.predict_parts(ROWS)
    assert np.all(epistemic > 0)
    np.testing.assert_allclose(aleatoric + epistemic, model.predict_var(ROWS))


def test_spread_is_that_of_the_networks_times_the_factor(model, table):
    plain = small(n_members="auto", calibration=None).fit(*table)
    mixture = plain.predict_dist(ROWS)
    assert isinstance(mixture, Mixture)
    mean, std = model.predict(ROWS, return_std=True)
    np.testing.assert_allclose(mean, mixture.mean, rtol=1e-14)
    np.testing.assert_allclose(std, model.spread_ * mixture.std, rtol=1e-12)


def test_scale_makes_unseen_residuals_as_large_as_predicted(table):
    X, y = table
    model = small(n_members=1, calibration="scale").fit(X, y)
    assert model.df_ is None
    own = np.random.RandomState(0).permutation(len(X))[: len(X) // 5]
    mean, std = model.predict(X[own], return_std=True)
    assert np.mean((y[own] - mean) ** 2 / std**2) == pytest.approx(1, rel=1e-4)


def test_bins_are_chosen_by_validation(table, tmp_path):
    model = small(n_bins=[8, 0, 8]).fit(*table)
    tried = model.search_results_
    assert tried["n_bins"] == [8, 8, 0, 0]
    scores = np.reshape(tried["best_score"], (2, 2)).mean(axis=1)
    assert model.net_.n_bins == [8, 0][int(np.argmax(scores))]
    assert isinstance(
        model.inputs_, QuantilePositions if model.net_.n_bins else Standardizer
    )
    model.set_params(n_bins=range(0, 9, 8)).save(tmp_path / "model")
    loaded = HeteroscedasticRegressor.load(tmp_path / "model")
    assert loaded.n_bins == (0, 8)
    np.testing.assert_array_equal(loaded.predict(ROWS), model.predict(ROWS))


def test_refit_and_whitening_can_be_had_with_it(table):
    model = small(refit=True, n_bins=0).fit(*table)
    assert isinstance(model.inputs_, Standardizer)
    assert isinstance(model.predict_dist(ROWS), StudentT)


def test_coverage_of_an_ensemble_on_new_rows():
    """Members overfit; their ensemble does so less, and its intervals know."""
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (1200, 3))
    y = X[:, 0] + (0.3 + 0.2 * X[:, 1]) * rng.standard_t(5, 1200)
    model = HeteroscedasticRegressor(
        max_updates=1500, hidden_layer_sizes=32, random_state=0
    ).fit(X[:200], y[:200])
    lower, upper = model.predict_interval(X[200:], 0.9).T
    covered = np.mean((lower <= y[200:]) & (y[200:] <= upper))
    # 200 rows tell a 90 % quantile of residuals to two percent.
    assert 0.84 < covered < 0.96


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_with_tails_of_their_own_keep_them(objective):
    found = small(objective=objective).plan_for(99, 2).calibration
    has_tails = objective.startswith(("student-t", "vbem", "xvamp"))
    assert found == (None if has_tails else "student-t")


def test_student_t_objective_predicts_as_it_was_trained(table):
    model = small(objective="student-t").fit(*table)
    assert model.df_ is None
    assert np.all(model.spread_ == 1)


def test_squared_error_has_the_spread_of_unseen_residuals(table):
    model = small(objective="mse", n_members=1).fit(*table)
    std = model.predict(ROWS, return_std=True)[1]
    assert np.ptp(std) == 0
    assert 0.2 < std[0] / np.std(table[1]) < 2


def test_several_targets_and_missing_ones(table):
    X, y = table
    y = np.column_stack([y, 1000 * X[:, 1] ** 2])
    y[::5, 1] = np.nan
    model = small().fit(X, y)
    assert model.df_.shape == (2,)
    assert model.predict_dist(ROWS).shape == (17, 2)


def test_several_learning_rates_are_tried(table):
    model = small(learning_rate_init=[1e-3, 1e-2]).fit(*table)
    rates = model.search_results_["learning_rate"]
    assert rates == pytest.approx([1e-3, 1e-3, 1e-2, 1e-2])
    assert model.best_learning_rate_ == pytest.approx(1e-2)


def test_beta_is_chosen_by_all_members(table):
    model = small(beta="auto", n_members=2).fit(*table)
    scores = np.reshape(model.search_results_["best_score"], (5, 2)).mean(axis=1)
    assert model.beta_ == model.search_results_["beta"][2 * int(np.argmax(scores))]
    assert model.best_validation_score_ == pytest.approx(scores.max())


def test_conformal_sets_rows_aside_and_keeps_densities_gaussian(table):
    model = small(calibration="conformal").fit(*table)
    assert model.df_ is None
    assert [len(scores) for scores in model.conformal_scores_] == [8]


def test_saved_and_loaded_with_the_same_bits(model, same_bits, tmp_path):
    model.save(tmp_path / "model")
    loaded = HeteroscedasticRegressor.load(tmp_path / "model")
    assert same_bits(loaded, model)
    np.testing.assert_array_equal(
        loaded.predict_quantiles(ROWS, 0.99), model.predict_quantiles(ROWS, 0.99)
    )
    assert loaded.get_params() == model.get_params()


def test_bits_do_not_depend_on_the_number_of_jobs(model, same_bits, table):
    other = small(n_members="auto", n_jobs=2).fit(*table)
    assert same_bits(other, model)


def test_columns_of_few_values_survive_the_disk(same_bits, table, tmp_path):
    X = np.column_stack([table[0][:, 0], table[0][:, 1] > 0])
    model = small(n_members=2).fit(X, table[1])
    model.save(tmp_path / "model")
    assert same_bits(HeteroscedasticRegressor.load(tmp_path / "model"), model)


@pytest.mark.parametrize("unit", [1e-200, 1e200, 1e300])
@pytest.mark.parametrize("calibration", ["student-t", "scale", "conformal"])
def test_the_unit_of_the_target_does_not_matter(unit, calibration, table):
    X, y = table
    expected = small(calibration=calibration).fit(X, y)
    found = small(calibration=calibration).fit(X, unit * y)
    for name in ("predict", "predict_interval"):
        values, scaled = (getattr(model, name)(ROWS) for model in (expected, found))
        np.testing.assert_allclose(scaled / unit, values, rtol=1e-3)
    std, scaled = (m.predict(ROWS, return_std=True)[1] for m in (expected, found))
    np.testing.assert_allclose(scaled / unit, std, rtol=1e-3)


def test_one_wild_value_does_not_spoil_the_fit():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (200, 2))
    y = np.sign(X[:, 0]) + 0.1 * rng.normal(size=200)
    X[0, 0] = 1e12
    model = small(max_updates=600).fit(X, y)
    assert model.score(X[1:], y[1:]) > 0.9


def test_presets_order_by_work():
    work = [
        preset["n_members"] * preset["max_updates"]
        for name, preset in PRESETS.items()
        if name != "paper"
    ]
    assert work == sorted(set(work))
    assert PRESETS["fast"]["n_members"] == 1
