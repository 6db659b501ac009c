"""What a fit predicts: units, ensembles, objectives, and the same bits each time."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

from betanll import HeteroscedasticRegressor
from betanll.distributions import Mixture, Normal
from betanll.estimators import _search, _whitening, fit_many
from betanll.nets import MLP
from betanll.objectives import MSE, OBJECTIVES, BetaNLL, GaussianNLL, Objective
from betanll.objectives import StudentT as StudentTObjective
from betanll.training import fit_fleet

ROWS = np.random.default_rng(9).normal(size=(17, 2))


def same_bits(a, b, X=ROWS):
    """Whether two estimators predict the same to the last bit."""
    found = [model.predict(X, return_std=True) for model in (a, b)]
    return np.array_equal(found[0], found[1])


def bits(members):
    return [
        part.tobytes()
        for member in members
        for layer in member
        for part in layer.values()
    ]


# What it is for


def test_mean_noise_and_intervals_are_found():
    # The noise is 0.5 on the left and 3 on the right of a sine of height 10.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1000, 1))
    noise = np.where(X[:, 0] < 0, 0.5, 3.0)
    y = 200 + 10 * np.sin(3 * X[:, 0]) + noise * rng.normal(size=1000)
    model = HeteroscedasticRegressor(max_updates=2000, random_state=0).fit(X, y)
    x = np.linspace(-0.9, 0.9, 50)[:, None]
    mean, std = model.predict(x, return_std=True)
    truth, spread = 200 + 10 * np.sin(3 * x[:, 0]), np.where(x[:, 0] < 0, 0.5, 3.0)
    is_clear = np.abs(x[:, 0]) > 0.2
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.8
    assert np.all(np.abs(np.log(std / spread))[is_clear] < 0.5)
    assert model.score(X, y) == r2_score(y, model.predict(X)) > 0.9
    # A constant of the right spread would reach the entropy of N(0, 1.75^2) at best.
    assert model.log_likelihood(X, y) > -1.9
    assert model.best_learning_rate_ in _search.LEARNING_RATES
    assert model.beta_ == 0.5


# Units


def test_a_power_of_two_as_unit_gives_the_same_bits(regressor, table, fitted):
    X, y = table
    mean, std = fitted.predict(ROWS, return_std=True)
    for factor in (2.0**-100, 2.0**100):
        model = regressor().fit(X, factor * y)
        found = model.predict(ROWS, return_std=True)
        np.testing.assert_array_equal(found, (factor * mean, factor * std))
        np.testing.assert_array_equal(model.predict_var(ROWS), (factor * std) ** 2)
        np.testing.assert_array_equal(
            model.predict_interval(ROWS), factor * fitted.predict_interval(ROWS)
        )
        lost = fitted.log_likelihood(X, y) - model.log_likelihood(X, factor * y)
        assert lost == pytest.approx(np.log(factor), abs=1e-10)
    units = np.array([2.0**60, 2.0**-60])
    model = regressor().fit(X * units, y)
    np.testing.assert_array_equal(model.predict(ROWS * units, True), (mean, std))


@pytest.mark.parametrize(
    ("factor", "shift"), [(1e-30, 0.0), (1e30, 0.0), (1.0, 1e4), (1e30, -1e31)]
)
def test_any_unit_and_origin_give_the_same_fit(regressor, table, fitted, factor, shift):
    X, y = table
    model = regressor().fit(X, factor * y + shift)
    assert model.n_iter_ == fitted.n_iter_
    mean, std = model.predict(X, return_std=True)
    expected_mean, expected_std = fitted.predict(X, return_std=True)
    # Whitened data differs in the last bits; 200 updates let that grow a little.
    np.testing.assert_allclose((mean - shift) / factor, expected_mean, atol=1e-3)
    np.testing.assert_allclose(std / factor, expected_std, rtol=1e-3)
    lost = fitted.log_likelihood(X, y) - model.log_likelihood(X, factor * y + shift)
    assert lost == pytest.approx(np.log(factor), abs=1e-2)


def test_predictions_are_the_network_between_the_two_whitenings(fitted, table):
    # By hand, in double precision: relu(W x + b), softplus for the variance.
    X, _ = table
    hidden, head = fitted.members_[0]
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    features = np.maximum(z @ hidden["weight"].T + hidden["bias"].T, 0)
    raw = features @ head["weight"].T + head["bias"].T
    variance = np.logaddexp(0, raw[:, 1] + np.log(np.expm1(1 - 1e-8))) + 1e-8
    y = table[1]
    mean, std = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y.mean() + y.std() * raw[:, 0], rtol=1e-5)
    np.testing.assert_allclose(std, y.std() * np.sqrt(variance), rtol=1e-5)


def test_prediction_does_not_depend_on_how_many_rows_are_asked_for(fitted, monkeypatch):
    mean, std = fitted.predict(ROWS, return_std=True)
    monkeypatch.setattr(_whitening, "_CHUNK", 5)
    np.testing.assert_allclose(fitted.predict(ROWS), mean, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(ROWS[3:4], True)[1], std[3:4], rtol=1e-6)


# Members of the predict family


def test_all_predictions_come_from_one_distribution(fitted, table):
    X, y = table
    predictive = fitted.predict_dist(X)
    assert isinstance(predictive, Normal)
    assert predictive.shape == (40,)
    mean, std = fitted.predict(X, return_std=True)
    np.testing.assert_array_equal(fitted.predict(X), mean)
    np.testing.assert_array_equal(predictive.mean, mean)
    np.testing.assert_array_equal(predictive.std, std)
    np.testing.assert_array_equal(fitted.predict_var(X), std**2)
    np.testing.assert_array_equal(
        fitted.predict_interval(X, 0.7), predictive.interval(0.7)
    )
    np.testing.assert_array_equal(
        fitted.predict_interval(X), fitted.predict_interval(X, coverage=0.9)
    )
    levels = [0.1, 0.5]
    np.testing.assert_array_equal(
        fitted.predict_quantiles(X, levels), predictive.quantile(levels)
    )
    samples = fitted.sample(X, 5, random_state=1)
    np.testing.assert_array_equal(samples, predictive.sample(5, rng=1))
    log_prob = predictive.log_prob(y).mean()
    assert fitted.log_likelihood(X, y) == pytest.approx(log_prob, rel=1e-14)
    aleatoric, epistemic = fitted.predict_parts(X)
    np.testing.assert_array_equal(aleatoric, std**2)
    np.testing.assert_array_equal(epistemic, 0)


# Ensembles


@pytest.fixture(scope="module")
def ensemble(regressor, table):
    return regressor(n_members=3).fit(*table)


def test_an_ensemble_of_one_is_the_single_model(regressor, table, fitted):
    alone = regressor(n_members=1).fit(*table)
    assert bits(alone.members_) == bits(fitted.members_)
    assert same_bits(alone, fitted)


def test_the_first_member_is_the_single_model(ensemble, fitted):
    assert bits(ensemble.members_[:1]) == bits(fitted.members_)
    assert ensemble.n_iter_ == fitted.n_iter_
    assert ensemble.search_results_ == fitted.search_results_
    # The others are different networks.
    assert len({member[0]["weight"].tobytes() for member in ensemble.members_}) == 3


def test_the_first_member_is_the_single_model_with_a_calibration_too(regressor):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    alone, several = (
        regressor(n_members=n, calibration="scale").fit(X, y) for n in (1, 2)
    )
    assert bits(several.members_[:1]) == bits(alone.members_)


def test_ensemble_moments_are_those_of_the_mixture(ensemble):
    predictive = ensemble.predict_dist(ROWS)
    assert isinstance(predictive, Mixture)
    means = np.array([part.mean for part in predictive.components])
    variances = np.array([part.variance for part in predictive.components])
    assert means.shape == (3, 17)
    mean, std = ensemble.predict(ROWS, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-13)
    # E[v + m^2] - E[m]^2, the second moment of the mixture.
    variance = np.mean(variances + means**2, axis=0) - means.mean(axis=0) ** 2
    np.testing.assert_allclose(std**2, variance, rtol=1e-8)
    aleatoric, epistemic = ensemble.predict_parts(ROWS)
    np.testing.assert_allclose(aleatoric, variances.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(epistemic, means.var(axis=0, ddof=0), rtol=1e-10)
    np.testing.assert_array_equal(ensemble.predict_var(ROWS), aleatoric + epistemic)
    assert np.all(epistemic > 0)
    # Averaged standard deviations are smaller, always.
    assert np.all(std > np.sqrt(variances).mean(axis=0) * (1 + 1e-6))


def test_ensemble_density_is_the_mean_of_densities(ensemble, table):
    X, y = table
    parts = ensemble.predict_dist(X).components
    densities = np.mean([np.exp(part.log_prob(y)) for part in parts], axis=0)
    expected = np.log(densities).mean()
    assert ensemble.log_likelihood(X, y) == pytest.approx(expected, rel=1e-10)


def test_equal_members_do_not_disagree(untrained):
    model = untrained(n_members=2, n_outputs=2)
    model.members_[1] = model.members_[0]
    alone = untrained(n_members=2, n_outputs=2)
    alone.members_ = model.members_[:1]
    np.testing.assert_array_equal(model.predict_parts(ROWS).epistemic, 0)
    np.testing.assert_allclose(
        model.predict(ROWS, True), alone.predict(ROWS, True), rtol=1e-14
    )


# Objectives


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_fits_and_predicts(regressor, table, name):
    X, y = table
    model = regressor(objective=name, max_updates=40).fit(X, y)
    assert model.objective_.name == name
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (40,)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std) & (std > 0))
    # In the units of the target, which has mean 3 and std 1.3.
    assert abs(mean.mean() - y.mean()) < 2
    assert 0.02 < np.median(std) < 10
    assert np.isfinite(model.log_likelihood(X, y))
    assert np.all(np.isfinite(model.predict_interval(X)))
    assert (model.beta_ is None) == (name != "beta-nll")


@pytest.mark.parametrize("name", ["mse", "fixed-variance"])
def test_without_a_variance_the_spread_is_that_of_validation_residuals(
    regressor, table, name
):
    X, y = table
    model = regressor(objective=name)
    steps = model.fit_protocol(X, y)
    results = fit_fleet(next(steps), n_jobs=1)
    order = np.random.RandomState(0).permutation(40)
    train, validation = order[:32], order[32:]
    z = (X[validation] - X[train].mean(axis=0)) / X[train].std(axis=0)
    mean = y[train].mean() + y[train].std() * results[0].predict(z).mean[:, 0]
    expected = np.sqrt(np.mean((y[validation] - mean) ** 2))
    model.fit(X, y)
    np.testing.assert_allclose(model.predict(ROWS, True)[1], expected, rtol=1e-5)


def test_objectives_may_be_objects(regressor, table, fitted):
    assert same_bits(regressor(objective=BetaNLL(0.5)).fit(*table), fitted)
    # Their settings count, not the parameter beta.
    other = regressor(objective=BetaNLL(1.0), beta=0.0).fit(*table)
    assert other.beta_ == 1.0
    assert same_bits(other, regressor(beta=1.0).fit(*table))
    assert not same_bits(other, fitted)
    assert same_bits(
        regressor(objective=GaussianNLL()).fit(*table),
        regressor(objective="nll").fit(*table),
    )


def test_beta_zero_is_the_likelihood(regressor, table):
    zero, nll = regressor(beta=0.0).fit(*table), regressor(objective="nll").fit(*table)
    np.testing.assert_allclose(zero.predict(ROWS), nll.predict(ROWS), rtol=1e-4)


def test_beta_may_move(regressor, table, fitted):
    still = regressor(beta=(0.5, 0.5)).fit(*table)
    assert still.beta_ == (0.5, 0.5)
    assert same_bits(still, fitted)
    moving = regressor(beta=(1.0, 0.0)).fit(*table)
    assert moving.beta_ == (1.0, 0.0)
    assert not same_bits(moving, fitted)
    assert same_bits(moving, regressor(beta=[1, 0]).fit(*table))


def test_beta_may_be_chosen(regressor, table):
    model = regressor(beta="auto", learning_rate_init="search").fit(*table)
    search = model.search_results_
    assert len(search["beta"]) == 30
    best = int(np.argmax(search["best_score"]))
    assert model.beta_ == search["beta"][best] in _search.BETAS
    assert model.best_learning_rate_ == search["learning_rate"][best]
    assert model.best_validation_score_ == search["best_score"][best]
    assert model.n_iter_ == search["best_epoch"][best]
    chosen = {"beta": model.beta_, "learning_rate_init": model.best_learning_rate_}
    assert same_bits(model, regressor(**chosen).fit(*table))


# What is kept


def test_attributes_of_a_fit(fitted, table):
    assert (fitted.n_features_in_, fitted.n_outputs_) == (2, 1)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.n_updates_ == 2 * fitted.n_iter_  # 40 rows are 2 batches of 16
    assert len(fitted.loss_curve_) == fitted.n_iter_
    history = fitted.history_
    assert list(history) == ["epoch", "train_loss", "validation_nll", "validation_mse"]
    best = int(np.argmin(history["validation_nll"]))
    assert history["epoch"][best] == fitted.n_iter_
    assert -history["validation_nll"][best] == fitted.best_validation_score_
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


def test_same_random_state_same_bits(regressor, table, fitted):
    again = regressor().fit(*table)
    assert bits(again.members_) == bits(fitted.members_)
    assert not same_bits(regressor(random_state=1).fit(*table), fitted)
    # A generator is a stream: the first fit is that of its seed, the next is not.
    model = regressor(random_state=np.random.RandomState(0))
    assert same_bits(model.fit(*table), fitted)
    assert not same_bits(model.fit(*table), fitted)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_number_of_jobs_does_not_change_the_bits(regressor, table, ensemble, n_jobs):
    model = regressor(n_members=3, n_jobs=n_jobs).fit(*table)
    assert bits(model.members_) == bits(ensemble.members_)


def test_fit_many_equals_separate_fits(regressor, table):
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


def test_a_new_fit_replaces_the_old_one(regressor, untrained, table, fitted):
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
    regressor, table, fitted, monkeypatch, stage, error
):
    X, y = table
    new, old = regressor(), regressor().fit(X, y)
    stages = []

    def interrupted(tasks, **options):
        stages.append(len(tasks))
        if len(stages) == stage:
            raise error
        return fit_fleet(tasks, **options)

    monkeypatch.setattr(_search, "fit_fleet", interrupted)
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


# Bad parameters


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("objective", ["gaussian", 5, None, object()]),
        ("beta", [-0.1, np.nan, np.inf, None, "best", (1.0,), (0.0, 1.0, 0.5), ()]),
        ("hidden_layer_sizes", [0, (8, 0), (8.5,), "50", None, 2.5, {8}, (True,)]),
        ("activation", ["sigmoid", None, 3]),
        ("learning_rate_init", [0.0, -1e-3, np.nan, np.inf, "auto", None, True]),
        ("batch_size", [0, -1, 16.0, "auto", None, True]),
        ("max_updates", [0, 1e4, None, np.inf]),
        ("n_iter_no_change", [0, 1.5, None]),
        ("validation_fraction", [0, 1, 0.0, 1.0, -0.2, 1.5, np.nan, None, "0.2", True]),
        ("n_members", [0, -1, 2.0, None, True]),
        ("calibration", ["isotonic", True, 1]),
        ("n_jobs", [0, 1.5, "2", True]),
    ],
)
def test_bad_parameters_are_named(regressor, table, name, values):
    for value in values:
        with pytest.raises(ValueError, match=name):
            regressor(**{name: value}).fit(*table)


def test_parameters_may_be_numbers_of_numpy(regressor, table, fitted):
    model = regressor(
        beta=np.float32(0.5),
        hidden_layer_sizes=np.array([8]),
        batch_size=np.int64(16),
        max_updates=np.int32(200),
        n_iter_no_change=np.uint8(50),
        validation_fraction=np.float64(0.2),
        n_members=np.int16(1),
        n_jobs=np.int64(2),
    )
    assert same_bits(model.fit(*table), fitted)
    assert same_bits(regressor(hidden_layer_sizes=8).fit(*table), fitted)
    assert same_bits(regressor(hidden_layer_sizes=[8]).fit(*table), fitted)


def test_budgets_may_be_without_limit(regressor, table):
    tasks = next(
        regressor(max_updates=10**15, n_iter_no_change=10**15).fit_protocol(*table)
    )
    assert tasks[0].max_epochs > 10**8
    assert tasks[0].patience == 2**31 - 1


def test_networks_are_as_asked_for(regressor, table):
    def net(**parameters):
        return next(regressor(**parameters).fit_protocol(*table))[0].net

    assert net(hidden_layer_sizes=()) == MLP(2, ())
    deep = net(hidden_layer_sizes=(4, 3), activation="elu")
    assert deep == MLP(2, (4, 3), "elu")


def test_an_objective_of_ones_own(regressor, table):
    from betanll import losses
    from betanll.objectives import objective

    @objective
    class Absolute(MSE):
        name = "absolute"

        def loss(self, parameters, target, progress):
            (mean,) = parameters
            return losses.squared_error(mean, target) ** 0.5

    assert issubclass(Absolute, Objective)
    model = regressor(objective=Absolute(), max_updates=20).fit(*table)
    assert np.all(np.isfinite(model.predict(ROWS, return_std=True)))


@pytest.mark.torch
@pytest.mark.parametrize(
    "changes",
    [{}, {"objective": "mse"}, {"n_members": 3}, {"objective": StudentTObjective()}],
)
def test_the_torch_module_agrees(regressor, table, changes):
    import torch

    X, y = table
    model = regressor(**changes).fit(X, y)
    with torch.inference_mode():
        found = [part.numpy() for part in model.to_torch()(torch.from_numpy(X))]
    expected = model.predict(X, return_std=True)
    assert found[0].shape == (40,)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert model.fit(X, y[:, None]).to_torch()(torch.from_numpy(X))[1].shape == (40, 1)
