"""Members with validation rows of their own: which rows, what is kept, residuals."""

import itertools
from dataclasses import replace

import jax
import numpy as np
import pytest

from betanll.model_selection import FitPlan, TrainingData, crossfit
from betanll.networks import MLP
from betanll.objectives import BetaNLL, GaussianNLL
from betanll.preprocessing import Standardizer
from betanll.training import FitResult, cosine_adamw, optimizer

NETS, OBJECTIVES = (MLP(2, (), n_bins=3),), (BetaNLL(0.5),)


def candidates(nets=NETS, objectives=OBJECTIVES, rates=(1e-3,)):
    """All combinations."""
    optimizers = [
        optimizer(cosine_adamw, learning_rate=rate, weight_decay=0.1) for rate in rates
    ]
    return list(itertools.product(nets, objectives, optimizers))


PLAN = FitPlan(
    candidates=candidates(),
    batch_size=8,
    n_updates=100,
    patience=7,
    validation_fraction=0.2,
    seeds=(11, 12, 13, 14, 15),
    max_evaluations=5,
    robust_selection=True,
)


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal([0.0, 50.0], [1.0, 9.0], (n, 2))
    return TrainingData(X, np.arange(float(n))[:, None]), rng.permutation(n)


def answer(task, *, mean=0.0, **changes):
    """A training after which the network predicts a constant, with variance one."""
    params = jax.tree.map(
        np.zeros_like, task.network.init([1, 1], key=jax.random.key(0))
    )
    params[-1]["bias"] = np.array([[mean], [0.0]], np.float32)
    result = FitResult(
        network=task.network,
        objective=task.objective,
        optimizer=task.optimizer,
        params=params,
        last_params=params,
        status="stopped",
        n_epochs=9,
        n_updates=36,
        best_epoch=5,
        best_score=1.0,
        history={"train_loss": np.ones(9)},
    )
    return replace(result, **changes)


def finished(steps, results):
    with pytest.raises(StopIteration) as stop:
        steps.send(results)
    return stop.value.value


def original(data, values):
    """The targets, which are numbers of rows, behind whitened ones."""
    targets = data.targets
    return np.rint(values * targets.std() + targets.mean()).astype(int)[:, 0].tolist()


def test_validation_parts_are_disjoint_and_together_all_rows():
    data, order = rows()
    tasks = next(crossfit(PLAN, data, order))
    assert len(tasks) == 5
    seen = []
    for task in tasks:
        assert (task.data.n_train, task.data.n_validation) == (32, 8)
        train = original(data, task.data.samples(range(32))[1])
        validation = original(data, task.data.samples(range(32, 40))[1])
        assert sorted(train + validation) == list(range(40))
        seen += validation
    assert sorted(seen) == list(range(40))


def test_budget_rate_and_seeds_are_those_of_the_recipe():
    tasks = next(crossfit(PLAN, *rows()))
    assert [task.seed for task in tasks] == [11, 12, 13, 14, 15]
    for task in tasks:
        # Four updates an epoch; five looks at the validation rows in 25 epochs.
        assert (
            task.budget.batch_size,
            task.budget.max_epochs,
            task.budget.validate_every,
        ) == (8, 25, 5)
        assert task.budget.patience == 7
        assert task.optimizer == optimizer(
            cosine_adamw, learning_rate=1e-3, weight_decay=0.1, n_updates=100.0
        )
        assert task.robust_selection


def test_one_member_keeps_the_stated_share_for_validation():
    (task,) = next(crossfit(replace(PLAN, seeds=(3,)), *rows()))
    assert (task.data.n_train, task.data.n_validation) == (32, 8)


def test_inputs_are_positions_if_the_network_has_bins():
    data, order = rows()
    (task, *_) = next(crossfit(PLAN, data, order))
    positions = task.data.samples(range(40))[0]
    assert positions.min() == 0
    assert positions.max() == 3
    (task, *_) = next(
        crossfit(replace(PLAN, candidates=candidates([MLP(2, ())])), data, order)
    )
    whitened = task.data.samples(range(40))[0]
    assert whitened.std(axis=0) == pytest.approx(1, rel=1e-5)


def test_candidates_are_compared_by_the_mean_of_their_members():
    plan = replace(
        PLAN,
        candidates=candidates(objectives=(GaussianNLL(), BetaNLL(0.5))),
        seeds=(1, 2),
        n_updates=20,
    )
    steps = crossfit(plan, *rows())
    tasks = next(steps)
    assert [task.objective.name for task in tasks] == ["nll"] * 2 + ["beta-nll"] * 2
    # One member of the first is best of all, but its sibling is worst.
    scores = [0.0, 9.0, 2.0, 3.0]
    fitted = finished(
        steps, [answer(t, best_score=s) for t, s in zip(tasks, scores, strict=True)]
    )
    assert fitted.objective == BetaNLL(0.5)
    assert fitted.best_score == -2.5
    assert [member.best_score for member in fitted.members] == [2.0, 3.0]
    assert fitted.search["best_score"] == [-0.0, -9.0, -2.0, -3.0]


def test_networks_are_candidates_with_inputs_of_their_own():
    data, order = rows()
    nets = [MLP(2, (), n_bins=3), MLP(2, ())]
    steps = crossfit(
        replace(PLAN, candidates=candidates(nets), seeds=(1, 2)), data, order
    )
    tasks = next(steps)
    assert [task.network for task in tasks] == [nets[0]] * 2 + [nets[1]] * 2
    lowest = [task.data.samples(range(40))[0].min() for task in tasks]
    assert lowest[:2] == [0, 0]
    assert max(lowest[2:]) < -1
    scores = [2.0, 2.0, 1.0, 1.0]
    fitted = finished(
        steps, [answer(t, best_score=s) for t, s in zip(tasks, scores, strict=True)]
    )
    assert fitted.net == nets[1]
    assert isinstance(fitted.inputs, Standardizer)
    assert fitted.search["n_bins"] == [3, 3, 0, 0]


def test_few_members_try_the_candidates_and_the_others_follow():
    plan = replace(PLAN, candidates=candidates(rates=(1e-3, 1e-2)), seeds=range(10))
    data, order = rows()
    steps = crossfit(plan, data, order)
    tasks = next(steps)
    assert [task.seed for task in tasks] == [0, 2, 4, 6, 8] * 2
    scores = [2.0] * 5 + [1.0] * 5
    answers = [answer(t, best_score=s) for t, s in zip(tasks, scores, strict=True)]
    others = steps.send(answers)
    assert [task.seed for task in others] == [1, 3, 5, 7, 9]
    assert {task.optimizer.learning_rate for task in others} == {1e-2}
    # Each has the validation rows of its own place.
    for task in tasks[:5] + others:
        validation = task.data.samples(range(32, 40))[1]
        expected = order[(4 * task.seed + np.arange(8)) % 40]
        assert original(data, validation) == expected.tolist()
    fitted = finished(steps, [answer(t, best_score=3.0) for t in others])
    assert [member.best_score for member in fitted.members] == [1.0, 3.0] * 5
    assert fitted.best_score == -2.0
    assert fitted.search["learning_rate"] == [1e-3] * 5 + [1e-2] * 10


def test_residuals_are_of_the_rows_a_member_has_not_seen():
    """Of five members and few rows no two leave out the same one."""
    data, order = rows()
    steps = crossfit(PLAN, data, order)
    tasks = next(steps)
    means = [0.0, 0.5, -0.5, 1.0, -1.0]
    fitted = finished(
        steps, [answer(t, mean=m) for t, m in zip(tasks, means, strict=True)]
    )
    whitened = (np.arange(40) - 19.5) / np.arange(40).std()
    own = np.concatenate(
        [whitened[order[8 * m : 8 * m + 8]] - mean for m, mean in enumerate(means)]
    )
    # The variance of a member is one, that of the five means 0.5.
    found = fitted.held_out.residuals[:, 0]
    np.testing.assert_allclose(found, own / np.sqrt(1.5), rtol=1e-5, atol=1e-6)
    assert np.all(fitted.held_out.weights == 1)
    assert fitted.residual_scale == pytest.approx(np.sqrt(np.mean(own**2)), rel=1e-5)


def test_residuals_are_of_the_rows_that_two_members_have_not_seen():
    data, order = rows(200)
    steps = crossfit(PLAN, data, order)
    tasks = next(steps)
    for m, task in enumerate(tasks):
        validation = original(data, task.data.samples(range(160, 200))[1])
        assert validation == order[20 * m : 20 * m + 40].tolist()
    means = [0.0, 1.0, 0.0, 1.0, 0.0]
    fitted = finished(
        steps, [answer(t, mean=m) for t, m in zip(tasks, means, strict=True)]
    )
    whitened = (np.arange(200) - 99.5) / np.arange(200).std()
    pairs = whitened[order[20:100]] - 0.5
    # Half the squared difference of two is 0.5: the mean of five has 1/2 - 1/5 of it
    # less in its squared error than that of two.
    assert fitted.residual_scale**2 == pytest.approx(np.mean(pairs**2) - 0.15, rel=1e-5)
    ratios = fitted.held_out.residuals[:, 0] / pairs
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-4)
    assert np.all(fitted.held_out.weights == 1)


def test_a_diverged_member_is_trained_again_more_slowly():
    steps = crossfit(replace(PLAN, seeds=(1, 2)), *rows())
    first = next(steps)
    bad = answer(first[1], status="diverged", best_epoch=0, best_score=np.inf)
    second = steps.send([answer(first[0]), bad])
    assert [t.optimizer.learning_rate for t in second] == pytest.approx([1e-3 / 3] * 2)
    fitted = finished(steps, [answer(task) for task in second])
    assert fitted.learning_rate == pytest.approx(1e-3 / 3)


def test_a_follower_that_diverges_starts_a_slower_search():
    plan = replace(PLAN, candidates=candidates(rates=(1e-3, 1e-2)), seeds=range(6))
    steps = crossfit(plan, *rows())
    (follower,) = steps.send([answer(task) for task in next(steps)])
    bad = answer(follower, status="diverged", best_epoch=0, best_score=np.inf)
    again = steps.send([bad])
    rates = [task.optimizer.learning_rate for task in again]
    assert rates == pytest.approx([1e-3 / 3] * 5 + [1e-2 / 3] * 5)
    (follower,) = steps.send([answer(task) for task in again])
    fitted = finished(steps, [answer(follower)])
    assert fitted.learning_rate == pytest.approx(1e-3 / 3)
    assert len(fitted.members) == 6


def test_divergence_at_every_rate_is_an_error():
    steps = crossfit(replace(PLAN, seeds=(1,)), *rows())
    (task,) = next(steps)
    bad = answer(task, status="diverged", best_epoch=0, best_score=np.inf)
    steps.send([bad])
    steps.send([bad])
    with pytest.raises(ValueError, match="diverged with every learning rate"):
        steps.send([bad])


def test_missing_targets_have_no_weight():
    data, order = rows()
    targets = np.column_stack([data.targets[:, 0], data.targets[:, 0] ** 2])
    targets[::4, 1] = np.nan
    steps = crossfit(PLAN, TrainingData(data.inputs, targets), order)
    tasks = next(steps)
    results = []
    for task in tasks:
        zeros = jax.tree.map(
            np.zeros_like, task.network.init([2, 2], key=jax.random.key(0))
        )
        results.append(replace(answer(task), params=zeros))
    fitted = finished(steps, results)
    assert np.sum(fitted.held_out.weights[:, 1] == 0) == 10
    assert np.all(fitted.held_out.weights[:, 0] > 0)


@pytest.mark.parametrize(
    ("n_train", "every", "patience"),
    [(32, 5, 3), (8, 20, 3), (3200, 1, 3)],
)
def test_evaluations_are_never_more_than_asked_for(n_train, every, patience):
    budget = replace(PLAN, patience=None).budget(n_train)
    assert budget.max_epochs / budget.validate_every <= 5
    assert (budget.validate_every, budget.patience) == (every, patience)


def test_patience_is_a_tenth_of_the_budget_unless_given():
    plan = replace(PLAN, max_evaluations=400, n_updates=6000, patience=None)
    for n_train in (80, 800, 8000, 80_000):
        budget = plan.budget(n_train)
        epochs = budget.patience * budget.validate_every
        expected = max(budget.max_epochs / 10, 3 * budget.validate_every)
        assert epochs == pytest.approx(expected, rel=0.05, abs=1)
