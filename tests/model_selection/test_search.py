"""The protocol of a fit, driven by hand: what is trained on which rows, how long."""

import itertools
from dataclasses import replace

import jax
import numpy as np
import optax
import pytest

from betanll import HeteroscedasticRegressor
from betanll.model_selection import (
    BETAS,
    LEARNING_RATES,
    FitPlan,
    TrainingData,
    _run,
    run,
    search_and_refit,
)
from betanll.networks import MLP
from betanll.objectives import MSE, BetaNLL, GaussianNLL
from betanll.preprocessing import QuantilePositions
from betanll.training import Budget, FitResult, cosine_adamw, optimizer

NETS, OBJECTIVES = (MLP(2, ()),), (BetaNLL(0.5),)
RATES = (1e-3, 3e-3, 9e-3)


def candidates(nets=NETS, objectives=OBJECTIVES, rates=RATES, factory=optax.adam):
    """All combinations."""
    optimizers = [optimizer(factory, learning_rate=rate) for rate in rates]
    return list(itertools.product(nets, objectives, optimizers))


PLAN = FitPlan(
    candidates=candidates(),
    batch_size=16,
    n_updates=101,
    patience=7,
    validation_fraction=0.2,
    seeds=(11, 12, 13),
)


def rows(n=40, seed=0, n_targets=1):
    rng = np.random.default_rng(seed)
    X = rng.normal([0.0, 50.0], [1.0, 9.0], (n, 2))
    data = TrainingData(X, rng.normal(7.0, 3.0, (n, n_targets)))
    return data, rng.permutation(n)


def answer(task, **changes):
    """The result of a training that did nothing: all outputs of the network are 0."""
    head_sizes = task.objective.head_sizes(task.data.n_targets)
    params = jax.tree.map(
        np.zeros_like, task.network.init(head_sizes, key=jax.random.key(0))
    )
    result = FitResult(
        network=task.network,
        objective=task.objective,
        optimizer=task.optimizer,
        params=params,
        last_params=params,
        status="stopped",
        n_epochs=9,
        n_updates=18,
        best_epoch=5,
        best_score=1.0,
        history={"train_loss": np.ones(9)},
    )
    return replace(result, **changes)


def finish(steps, tasks, **changes):
    """Answer until the protocol returns."""
    try:
        while True:
            tasks = steps.send([answer(task, **changes) for task in tasks])
    except StopIteration as stop:
        return stop.value


def rates(tasks):
    return [task.optimizer.learning_rate for task in tasks]


def whitened(values, part):
    return (values - part.mean(axis=0)) / part.std(axis=0)


# Splits


@pytest.mark.parametrize(
    ("n", "fraction", "n_train", "n_validation"),
    [
        (40, 0.2, 32, 8),
        (41, 0.2, 33, 8),
        (3, 0.2, 2, 1),
        (5, 0.01, 4, 1),
        # At least two rows are left to train on.
        (10, 0.9, 2, 8),
        (10, 0.99, 2, 8),
        (3, 0.9, 2, 1),
    ],
)
def test_sizes_of_the_parts(n, fraction, n_train, n_validation):
    data, order = rows(n)
    task = next(
        search_and_refit(replace(PLAN, validation_fraction=fraction), data, order)
    )[0]
    assert (task.data.n_train, task.data.n_validation) == (n_train, n_validation)
    assert task.budget.batch_size == min(16, n_train)


def test_search_whitens_by_its_training_rows_and_refit_by_all():
    data, order = rows(n_targets=2)
    steps = search_and_refit(PLAN, data, order)
    search = next(steps)
    train, validation = order[:32], order[32:]
    for task in search:
        x, y, weights = task.data.samples(range(40))
        for found, values in ((x, data.inputs), (y, data.targets)):
            expected = whitened(values, values[train])
            np.testing.assert_allclose(found[:32], expected[train], atol=1e-5)
            np.testing.assert_allclose(found[32:], expected[validation], atol=1e-5)
        np.testing.assert_array_equal(weights, 1)
    refit = steps.send([answer(task) for task in search])
    for task in refit:
        assert (task.data.n_train, task.data.n_validation) == (40, 0)
        x, y, _ = task.data.samples(range(40))
        np.testing.assert_allclose(x, whitened(data.inputs, data.inputs), atol=1e-5)
        np.testing.assert_allclose(y, whitened(data.targets, data.targets), atol=1e-5)
    fitted = finish(steps, refit)
    np.testing.assert_allclose(fitted.inputs.mean, data.inputs.mean(axis=0))
    np.testing.assert_allclose(fitted.targets.scale, data.targets.std(axis=0))


def test_weights_and_missing_targets_reach_the_trainings():
    data, order = rows(n_targets=2)
    weights = np.random.default_rng(1).uniform(0.5, 2, (40, 1))
    targets = data.targets.copy()
    is_missing = np.random.default_rng(2).uniform(size=(40, 2)) < 0.3
    targets[is_missing] = np.nan
    task = next(
        search_and_refit(PLAN, TrainingData(data.inputs, targets, weights), order)
    )[0]
    _, y, found = task.data.samples(range(40))
    expected = (weights * ~is_missing)[order]
    # Each part has mean weight one.
    for part in (slice(0, 32), slice(32, 40)):
        scaled = expected[part] / expected[part].mean()
        np.testing.assert_allclose(found[part], scaled, rtol=1e-6)
    assert np.all(y[is_missing[order]] == 0)


# Budgets


def test_search_stops_early_and_refit_trains_for_exactly_the_best_epochs():
    data, order = rows()
    steps = search_and_refit(PLAN, data, order)
    search = next(steps)
    max_epochs = Budget.of_updates(101, 32, 16).max_epochs
    assert max_epochs == 51
    for task in search:
        assert (task.budget.max_epochs, task.budget.patience, task.seed) == (
            max_epochs,
            7,
            11,
        )
        assert task.budget.validate_every == 1
    refit = steps.send([answer(task, best_epoch=17) for task in search])
    assert [task.seed for task in refit] == [11, 12, 13]
    for task in refit:
        assert (
            task.budget.max_epochs,
            task.budget.patience,
            task.budget.batch_size,
        ) == (17, None, 16)
        # A beta that moves does so at the pace of the search.
        assert task.budget.schedule_epochs == max_epochs


def test_a_batch_is_no_larger_than_its_rows():
    data, order = rows()
    steps = search_and_refit(replace(PLAN, batch_size=256), data, order)
    search = next(steps)
    assert {(task.budget.batch_size, task.budget.max_epochs) for task in search} == {
        (32, 101)
    }
    refit = steps.send([answer(task) for task in search])
    assert {task.budget.batch_size for task in refit} == {40}


# Candidates


def test_every_objective_meets_every_rate():
    data, order = rows()
    objectives = (BetaNLL(0.0), BetaNLL(1.0))
    tasks = next(
        search_and_refit(
            replace(PLAN, candidates=candidates(objectives=objectives)), data, order
        )
    )
    found = [(task.objective, task.optimizer.learning_rate) for task in tasks]
    assert found == list(itertools.product(objectives, RATES))


def test_estimator_searches_six_rates_and_five_betas():
    data, _ = rows()
    assert LEARNING_RATES == (1e-4, 3e-4, 7e-4, 1e-3, 3e-3, 7e-3)
    assert BETAS == (0, 0.25, 0.5, 0.75, 1)

    def tasks(**parameters):
        model = HeteroscedasticRegressor(preset="paper", **parameters)
        return next(model.fit_steps(data.inputs, data.targets))

    assert rates(tasks()) == list(LEARNING_RATES)
    assert {task.objective for task in tasks()} == {BetaNLL(0.5)}
    automatic = tasks(beta="auto")
    found = [(task.objective.beta, task.optimizer.learning_rate) for task in automatic]
    assert found == list(itertools.product(BETAS, LEARNING_RATES))
    (alone,) = tasks(learning_rate_init=0.1, beta=[1, 0])
    assert alone.optimizer.learning_rate == 0.1
    assert alone.objective == BetaNLL((1, 0))
    # Others have no beta; an object brings its own.
    assert {task.objective for task in tasks(objective="nll", beta="auto")} == {
        GaussianNLL()
    }
    assert {t.objective for t in tasks(objective=BetaNLL(0.1), beta=0.9)} == {
        BetaNLL(0.1)
    }


def test_the_lowest_score_wins():
    data, order = rows()
    plan = replace(PLAN, candidates=candidates(objectives=(BetaNLL(0.0), BetaNLL(1.0))))
    steps = search_and_refit(plan, data, order)
    search = next(steps)
    scores = [2.0, 1.5, np.inf, 1.0, -0.5, 0.0]
    results = [answer(t, best_score=s) for t, s in zip(search, scores, strict=True)]
    # One that diverged before its first good epoch has no score.
    results[2] = replace(results[2], best_epoch=0, status="diverged")
    results[4] = replace(results[4], best_epoch=21, history={"train_loss": [0.0]})
    refit = steps.send(results)
    assert rates(refit) == [3e-3] * 3
    assert {(task.objective, task.budget.max_epochs) for task in refit} == {
        (BetaNLL(1.0), 21)
    }
    fitted = finish(steps, refit)
    assert (fitted.learning_rate, fitted.objective) == (3e-3, BetaNLL(1.0))
    assert fitted.best_score == 0.5
    assert fitted.history == {"train_loss": [0.0]}
    assert fitted.search == {
        "learning_rate": [1e-3, 3e-3, 9e-3] * 2,
        "beta": [0.0] * 3 + [1.0] * 3,
        "n_bins": [0] * 6,
        "best_score": [-score for score in scores],
        "best_epoch": [5, 5, 0, 5, 21, 5],
        "n_updates": [18] * 6,
        "status": ["stopped"] * 2 + ["diverged"] + ["stopped"] * 3,
    }


def test_the_best_network_is_refitted_on_inputs_of_its_kind():
    data, order = rows()
    nets = [MLP(2, ()), MLP(2, (), n_bins=3)]
    plan = replace(PLAN, candidates=candidates(nets, rates=(1e-3,)))
    steps = search_and_refit(plan, data, order)
    search = next(steps)
    assert [task.network for task in search] == nets
    scores = (2.0, 1.0)
    refit = steps.send(
        [answer(t, best_score=s) for t, s in zip(search, scores, strict=True)]
    )
    for task in (search[1], *refit):
        positions = task.data.samples(range(40))[0]
        assert (positions.min(), positions.max()) == (0, 3)
    fitted = finish(steps, refit)
    assert fitted.net == nets[1]
    assert isinstance(fitted.inputs, QuantilePositions)


# Divergence


def test_a_refit_that_diverges_is_repeated_with_a_third_of_the_rate():
    data, order = rows()
    steps = search_and_refit(
        replace(PLAN, candidates=candidates(rates=(9e-3,))), data, order
    )
    tasks = steps.send([answer(task) for task in next(steps)])
    found = []
    for _ in range(2):
        found.append(rates(tasks))
        # One member is enough: an ensemble is of one kind.
        results = [answer(task) for task in tasks]
        results[1] = replace(results[1], status="diverged")
        tasks = steps.send(results)
    found.append(rates(tasks))
    np.testing.assert_allclose(found, [[9e-3] * 3, [3e-3] * 3, [1e-3] * 3], rtol=1e-12)
    assert [task.seed for task in tasks] == [11, 12, 13]
    assert finish(steps, tasks).learning_rate == pytest.approx(1e-3)


def test_a_refit_that_diverges_again_and_again_is_an_error():
    data, order = rows()
    steps = search_and_refit(
        replace(PLAN, candidates=candidates(rates=(9e-3,))), data, order
    )
    tasks = steps.send([answer(task) for task in next(steps)])
    # The rate in the message is one that was tried.
    message = r"diverged, last with learning rate 0\.001: .*learning_rate_init"
    with pytest.raises(ValueError, match=message):
        finish(steps, tasks, status="diverged")


def test_a_search_in_which_all_diverge_is_an_error():
    data, order = rows()
    steps = search_and_refit(PLAN, data, order)
    results = [answer(t, status="diverged", best_epoch=0) for t in next(steps)]
    message = r"every learning rate \(0.001, 0.003, 0.009\).*learning_rate_init"
    with pytest.raises(ValueError, match=message):
        steps.send(results)


# Residuals of objectives without a variance


def test_residual_scale_is_the_error_on_validation_rows_in_target_units():
    data, order = rows(n_targets=3)
    weights = np.random.default_rng(1).uniform(0.5, 2, (40, 1))
    targets = data.targets.copy()
    train, validation = order[:32], order[32:]
    targets[validation[:3], 1] = np.nan
    targets[validation, 2] = np.nan
    data = TrainingData(data.inputs, targets, weights)
    steps = search_and_refit(
        replace(PLAN, candidates=candidates(objectives=(MSE(),))), data, order
    )
    fitted = finish(steps, next(steps))

    def average(values, share):
        share = np.broadcast_to(share, values.shape) * ~np.isnan(values)
        return np.nansum(share * values, axis=0) / share.sum(axis=0)

    # The networks of this test predict the mean of the training rows.
    mean = average(targets[train], weights[train])
    square = average((targets[validation, :2] - mean[:2]) ** 2, weights[validation])
    found = fitted.residual_scale * fitted.targets.scale
    np.testing.assert_allclose(found[:2], np.sqrt(square), rtol=1e-5)
    # Without validation values there is only the spread of the training rows.
    spread = np.sqrt(average((targets[train] - mean) ** 2, weights[train]))
    assert found[2] == pytest.approx(spread[2], rel=1e-5)


# Several fits in one fleet


def test_each_protocol_gets_its_own_results(monkeypatch):
    fleets = []

    def fit_fleet(tasks, *, n_jobs, progress):
        fleets.append((list(tasks), n_jobs, progress))
        return [task * 10 for task in tasks]

    def script(*stages):
        received = []
        for stage in stages:
            received.append((yield stage))
        return received

    monkeypatch.setattr(_run, "fit_fleet", fit_fleet)
    scripts = [script([1, 2], [3]), script([4]), script([5, 6], [], [7, 8])]
    assert run(scripts, n_jobs=3, progress=True) == [
        [[10, 20], [30]],
        [[40]],
        [[50, 60], [], [70, 80]],
    ]
    assert fleets == [
        ([1, 2, 4, 5, 6], 3, True),
        ([3], 3, True),
        ([7, 8], 3, True),
    ]
    assert run([]) == []


def test_refit_goes_through_the_same_schedule_in_its_own_updates():
    plan = replace(PLAN, candidates=candidates(factory=cosine_adamw))
    data, order = rows()
    steps = search_and_refit(plan, data, order)
    tasks = next(steps)
    # 32 and 40 rows in batches of 16: both two updates an epoch.
    assert (
        tasks[0].optimizer.hyperparameters["n_updates"]
        == 2 * tasks[0].budget.max_epochs
    )
    data, order = rows(n=60)
    steps = search_and_refit(plan, data, order)
    tasks = next(steps)
    assert (
        tasks[0].optimizer.hyperparameters["n_updates"]
        == 3 * tasks[0].budget.max_epochs
    )
    refits = steps.send([answer(task) for task in tasks])
    assert (
        refits[0].optimizer.hyperparameters["n_updates"]
        == 3 * refits[0].budget.schedule_epochs
    )
    data, order = rows(n=72)  # 58 rows give three updates, 72 give four
    steps = search_and_refit(plan, data, order)
    tasks = next(steps)
    refits = steps.send([answer(task) for task in tasks])
    assert (
        tasks[0].optimizer.hyperparameters["n_updates"]
        == 3 * tasks[0].budget.max_epochs
    )
    assert (
        refits[0].optimizer.hyperparameters["n_updates"]
        == 4 * refits[0].budget.schedule_epochs
    )
