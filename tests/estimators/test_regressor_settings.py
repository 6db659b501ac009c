"""Objectives, beta and the other parameters, good and bad ones."""

import numpy as np
import pytest

from betanll import model_selection
from betanll.networks import MLP
from betanll.objectives import MSE, OBJECTIVES, BetaNLL, GaussianNLL, Objective
from betanll.objectives import StudentT as StudentTObjective
from betanll.training import fit_fleet

ROWS = np.random.default_rng(9).normal(size=(17, 2))


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
    steps = model.fit_steps(X, y)
    results = fit_fleet(next(steps), n_jobs=1)
    order = np.random.RandomState(0).permutation(40)
    train, validation = order[:32], order[32:]
    z = (X[validation] - X[train].mean(axis=0)) / X[train].std(axis=0)
    mean = y[train].mean() + y[train].std() * results[0].predict(z).mean[:, 0]
    expected = np.sqrt(np.mean((y[validation] - mean) ** 2))
    model.fit(X, y)
    np.testing.assert_allclose(model.predict(ROWS, True)[1], expected, rtol=1e-5)


def test_objectives_may_be_objects(same_bits, regressor, table, fitted):
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


def test_beta_may_move(same_bits, regressor, table, fitted):
    still = regressor(beta=(0.5, 0.5)).fit(*table)
    assert still.beta_ == (0.5, 0.5)
    assert same_bits(still, fitted)
    moving = regressor(beta=(1.0, 0.0)).fit(*table)
    assert moving.beta_ == (1.0, 0.0)
    assert not same_bits(moving, fitted)
    assert same_bits(moving, regressor(beta=[1, 0]).fit(*table))


def test_beta_may_be_chosen(same_bits, regressor, table):
    model = regressor(beta="auto", learning_rate_init="search").fit(*table)
    search = model.search_results_
    assert len(search["beta"]) == 30
    best = int(np.argmax(search["best_score"]))
    assert model.beta_ == search["beta"][best] in model_selection.BETAS
    assert model.best_learning_rate_ == search["learning_rate"][best]
    assert model.best_validation_score_ == search["best_score"][best]
    assert model.n_iter_ == search["best_epoch"][best]
    chosen = {"beta": model.beta_, "learning_rate_init": model.best_learning_rate_}
    assert same_bits(model, regressor(**chosen).fit(*table))


# Bad parameters


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("objective", ["gaussian", 5, None, object()]),
        ("beta", [-0.1, np.nan, np.inf, None, "0.5", True, (1.0,), (0.0, 1.0, 0.5)]),
        ("hidden_layer_sizes", [0, (8, 0), (8.5,), "50", None, 2.5, {8}, (True,)]),
        ("activation", ["sigmoid", None, 3]),
        ("learning_rate_init", [0.0, -1e-3, np.nan, np.inf, "best", None, True]),
        ("batch_size", [0, -1, 16.0, "all", None, True]),
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


@pytest.mark.parametrize(
    ("parameters", "beta"),
    [
        ({"beta": 2}, "2"),
        ({"beta": (0.0, 1.5)}, "1.5"),
        ({"objective": BetaNLL(3.0)}, "3"),
    ],
)
def test_exponents_above_one_bring_one_warning(regressor, table, parameters, beta):
    # The labels do not fit, so that nothing is trained.
    X, y = table
    with (
        pytest.warns(UserWarning, match=f"beta = {beta} is unusual") as caught,
        pytest.raises(ValueError, match="inconsistent numbers of samples"),
    ):
        regressor(**parameters).fit(X, y[:-1])
    (warning,) = caught
    assert warning.filename == __file__


def test_usual_exponents_bring_no_warning(regressor, table):
    X, y = table
    for parameters in (
        {"beta": 1},
        {"beta": "auto"},
        {"objective": "mse", "beta": 2.0},  # which has no exponent
    ):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            regressor(**parameters).fit(X, y[:-1])


def test_parameters_may_be_numbers_of_numpy(same_bits, regressor, table, fitted):
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
        regressor(max_updates=10**15, n_iter_no_change=10**15).fit_steps(*table)
    )
    assert tasks[0].budget.max_epochs > 10**8
    assert tasks[0].budget.patience == 2**31 - 1


def test_networks_are_as_asked_for(regressor, table):
    def net(**parameters):
        return next(regressor(**parameters).fit_steps(*table))[0].network

    assert net(hidden_layer_sizes=()) == MLP(2, ())
    deep = net(hidden_layer_sizes=(4, 3), activation="elu")
    assert deep == MLP(2, (4, 3), "elu")


def test_an_objective_of_ones_own(regressor, table):
    from betanll import losses
    from betanll.objectives import objective

    @objective(None)
    class Absolute(MSE):
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
