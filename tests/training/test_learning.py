"""What a training learns: history, early stopping, weights, optimizers, divergence."""

import jax
import numpy as np
import optax
import pytest
from scipy import stats

from betanll.networks import MLP
from betanll.objectives import MSE, BetaNLL, GaussianNLL
from betanll.training import _program, adamw, cosine_adamw, fit, optimizer

_random = np.random.default_rng(0)
X = _random.normal(size=(120, 2))
Y = np.sin(X[:, :1]) + 0.1 * _random.normal(size=(120, 1))
X, Y = X.astype(np.float32), Y.astype(np.float32)
NET = MLP(2, (8,), activation="tanh")


def test_history_is_the_validation_score_of_the_current_parameters():
    arguments = (NET, BetaNLL(0.5), X[:80], Y[:80])
    validation = (X[80:], Y[80:])
    long = fit(*arguments, validation=validation, batch_size=40, max_epochs=6)
    np.testing.assert_array_equal(long.history["epoch"], np.arange(1, 7))
    for epochs in (2, 6):
        short = fit(*arguments, batch_size=40, max_epochs=epochs)
        predictive = short.predict(X[80:])
        nll = -predictive.log_prob(Y[80:]).mean()
        mse = np.mean((predictive.mean - Y[80:]) ** 2)
        row = long.history["epoch"] == epochs
        np.testing.assert_allclose(long.history["validation_nll"][row], nll, rtol=1e-4)
        np.testing.assert_allclose(long.history["validation_mse"][row], mse, rtol=1e-4)


@pytest.mark.parametrize("validate_every", [1, 3])
def test_early_stopping_follows_its_history(same_bits, validate_every):
    # Pure noise: validation soon gets worse.
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    result = fit(
        MLP(2, (50,)),
        GaussianNLL(),
        x[:30],
        y[:30],
        validation=(x[30:], y[30:]),
        optimizer=optimizer(learning_rate=0.02),
        max_epochs=500,
        patience=5,
        validate_every=validate_every,
    )
    scores = result.history["validation_nll"]
    best = int(np.argmin(scores))
    assert result.status == "stopped"
    assert (
        result.best_epoch
        == result.history["epoch"][best]
        == (best + 1) * validate_every
    )
    assert result.best_score == scores[best]
    assert len(scores) == best + 1 + 5
    # The selected parameters are those of the best epoch, not of the last one.
    refit = fit(
        MLP(2, (50,)),
        GaussianNLL(),
        x[:30],
        y[:30],
        optimizer=optimizer(learning_rate=0.02),
        max_epochs=result.best_epoch,
    )
    assert same_bits(result.params, refit.params)
    assert not same_bits(result.params, result.last_params)


def test_the_last_epoch_is_evaluated():
    options = {"validation": (X[80:], Y[80:]), "batch_size": 40, "max_epochs": 7}
    arguments = (NET, BetaNLL(0.5), X[:80], Y[:80])
    often = fit(*arguments, **options)
    seldom = fit(*arguments, **options, validate_every=3)
    np.testing.assert_array_equal(seldom.history["epoch"], [3, 6, 7])
    for name, column in seldom.history.items():
        np.testing.assert_array_equal(column, often.history[name][[2, 5, 6]])


def untrained(objective, y, weight):
    """Return the history of an epoch without a change, and its prediction."""
    result = fit(
        *(NET, objective, X[:90], y[:90]),
        validation=(X[90:], y[90:], weight),
        optimizer=optimizer(learning_rate=0.0),
        batch_size=30,
        max_epochs=1,
    )
    history = {name: column.item() for name, column in result.history.items()}
    return history, result.predict(X)


def test_likelihoods_are_summed_over_targets_and_squares_averaged():
    y = np.hstack([Y, 3 * Y + 1])
    weight = 1 + np.arange(60.0).reshape(30, 2) % 7
    history, predictive = untrained(BetaNLL(0.0), y, weight)
    nll = -predictive.log_prob(y)
    square = (predictive.mean - y) ** 2
    constant = 0.5 * np.log(2 * np.pi)
    # Weights have mean one over rows and targets.
    share = weight / weight.mean()
    expected = {
        "epoch": 1,
        "train_loss": (nll[:90] - constant).sum(axis=1).mean(),
        "validation_nll": (share * nll[90:]).sum(axis=1).mean(),
        "validation_mse": (share * square[90:]).mean(),
        "validation_score": (share * nll[90:]).sum(axis=1).mean(),
    }
    assert history == pytest.approx(expected, rel=1e-5)


def test_the_squared_error_is_averaged_over_targets():
    y = np.hstack([Y, 3 * Y + 1])
    history, predictive = untrained(MSE(), y, None)
    square = (predictive.mean - y) ** 2
    assert history["train_loss"] == pytest.approx(square[:90].mean(), rel=1e-5)
    assert history["validation_score"] == pytest.approx(square[90:].mean(), rel=1e-5)


def test_rows_far_off_do_not_decide_a_selection_with_tails():
    far_off = Y[80:].copy()
    far_off[:2] += 30
    options = {"validation": (X[80:], far_off), "max_epochs": 60, "batch_size": 40}
    arguments = (NET, BetaNLL(0.5), X[:80], Y[:80])
    gaussian = fit(*arguments, **options)
    result = fit(*arguments, **options, robust_selection=True)
    # The Gaussian likelihood wants the spread of the first epochs.
    assert gaussian.best_epoch < 10 < result.best_epoch
    np.testing.assert_array_equal(
        result.history["validation_nll"], gaussian.history["validation_nll"]
    )
    scores = result.history["validation_score"]
    assert result.history["epoch"][np.argmin(scores)] == result.best_epoch
    assert result.best_score == scores.min()
    predictive = result.predict(X[80:])
    density = stats.t.logpdf(far_off, 5, predictive.mean, predictive.std)
    np.testing.assert_allclose(result.best_score, -density.mean(), rtol=1e-4)


def test_squared_error_selects_by_squared_error():
    for is_robust in (False, True):
        options = {"validation": (X[90:], Y[90:]), "robust_selection": is_robust}
        result = fit(NET, MSE(), X[:90], Y[:90], **options, max_epochs=30)
        assert result.best_score == result.history["validation_mse"].min()
        np.testing.assert_array_equal(
            result.history["validation_score"], result.history["validation_mse"]
        )


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_constant_features_converge_to_the_mean_square_residual(beta):
    # With inputs of zero the network can only learn constants: v = mean r^2.
    y = np.random.default_rng(0).normal(2.0, 0.5, size=(64, 1))
    result = fit(
        MLP(1, (4,)),
        BetaNLL(beta),
        np.zeros((64, 1)),
        y,
        optimizer=optimizer(learning_rate=0.02),
        max_epochs=2500,
    )
    predictive = result.predict(np.zeros((1, 1)))
    np.testing.assert_allclose(predictive.mean, y.mean(), rtol=1e-3)
    np.testing.assert_allclose(predictive.variance, y.var(), rtol=1e-3)


def test_weights_count_like_repeated_rows():
    weight = np.ones(60)
    weight[:20] = 2
    repeated = np.r_[0:60, 0:20]
    options = {"max_epochs": 30, "optimizer": optimizer(optax.sgd, learning_rate=0.05)}
    weighted = fit(NET, BetaNLL(), X[:60], Y[:60], sample_weight=weight, **options)
    doubled = fit(NET, BetaNLL(), X[repeated], Y[repeated], **options)
    np.testing.assert_allclose(
        weighted.predict(X).mean, doubled.predict(X).mean, atol=1e-4
    )


def test_weight_zero_masks_single_targets(same_bits):
    y = np.hstack([Y, -Y])
    broken, weight = y.copy(), np.ones_like(y)
    broken[::3, 1], weight[::3, 1] = 1e37, 0
    options = {"max_epochs": 5, "batch_size": 30}
    masked = [
        fit(NET, BetaNLL(), X, targets, sample_weight=weight, **options)
        for targets in (y, broken)
    ]
    assert same_bits(masked[0].params, masked[1].params)


@pytest.mark.parametrize(
    "chosen",
    [
        optimizer(learning_rate=0.01),
        optimizer(adamw, learning_rate=0.01, weight_decay=1e-3),
        optimizer(cosine_adamw, learning_rate=0.02, n_updates=600),
        optimizer(optax.sgd, learning_rate=0.05, momentum=0.9),
        optimizer(optax.rmsprop, learning_rate=0.003, decay=0.9),
    ],
)
def test_every_optimizer_learns(chosen):
    result = fit(NET, MSE(), X, Y, optimizer=chosen, max_epochs=150, batch_size=30)
    losses_ = result.history["train_loss"]
    assert losses_[-1] < 0.3 * losses_[0]


def test_predictions_are_made_with_averaged_parameters():
    arguments = (NET, BetaNLL(0.5), X, Y)
    options = {"max_epochs": 10, "batch_size": 30, "snapshots": range(1, 41)}

    def trained(averaging, **more):
        cosine = optimizer(
            cosine_adamw,
            learning_rate=0.05,
            n_updates=40,
            n_warmup=1,
            averaging=averaging,
        )
        return fit(*arguments, optimizer=cosine, **options, **more)

    plain, result = trained(0.0), trained(0.8)
    steps = [plain.snapshots[k] for k in range(1, 41)]
    # The first parameters, from which training starts, count as well.
    start = fit(
        *arguments, optimizer=optimizer(optax.sgd, learning_rate=0.0), max_epochs=1
    ).params
    expected = start
    for k, step in enumerate(steps):
        share = 1 - min(0.8, (k + 1) / (k + 10))
        expected = jax.tree.map(
            lambda old, new, share=share: old + share * (new - old), expected, step
        )
        for ours, theirs in zip(
            jax.tree.leaves(result.snapshots[k + 1]),
            jax.tree.leaves(expected),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
    jax.tree.map(np.testing.assert_array_equal, result.params, result.snapshots[40])
    validated = trained(0.8, validation=(X, Y))
    at_best = result.snapshots[4 * validated.best_epoch]
    jax.tree.map(np.testing.assert_array_equal, validated.params, at_best)


def test_weight_decay_leaves_what_the_data_ask_for():
    x, y = np.zeros((32, 2)), np.ones((32, 1))
    options = {"max_epochs": 400, "seed": 1}
    result = fit(
        NET,
        MSE(),
        x,
        y,
        optimizer=optimizer(adamw, learning_rate=0.01, weight_decay=1.0),
        **options,
    )
    assert np.abs(result.params[0]["weight"]).max() < 0.1
    np.testing.assert_allclose(result.predict(x).mean, 1, atol=0.02)


def test_divergence_is_reported_and_keeps_the_best_parameters():
    # A learning rate just too large: the first epochs improve, then it blows up.
    linear = MLP(1, ())
    x = np.concatenate([np.full((50, 1), 0.1), np.full((50, 1), 1.5)])
    result = fit(
        linear,
        MSE(),
        x,
        x,
        validation=(x[:50], x[:50]),
        optimizer=optimizer(optax.sgd, learning_rate=0.95),
        max_epochs=10**5,
    )
    assert result.status == "diverged"
    assert 0 < result.best_epoch < result.n_epochs < 10**5
    assert np.all(np.isfinite(result.predict(x).mean))


@pytest.mark.parametrize("validation", [None, (X[90:], Y[90:])])
@pytest.mark.parametrize("objective", [MSE(), GaussianNLL()])
def test_a_fit_without_usable_parameters_does_not_predict(objective, validation):
    result = fit(
        NET,
        objective,
        X,
        Y,
        validation=validation,
        optimizer=optimizer(optax.sgd, learning_rate=1e30),
        max_epochs=9,
    )
    assert result.status == "diverged"
    with pytest.raises(ValueError, match=r"epoch \d .* standardise the data"):
        result.predict(X)


def test_a_schedule_may_be_longer_than_the_run():
    def losses(objective, max_epochs, schedule_epochs=None):
        result = fit(
            NET,
            objective,
            X,
            Y,
            max_epochs=max_epochs,
            schedule_epochs=schedule_epochs,
        )
        return result.history["train_loss"][:10]

    whole = losses(BetaNLL((1.0, 0.0)), 20)
    np.testing.assert_array_equal(losses(BetaNLL((1.0, 0.0)), 10, 20), whole)
    assert not np.array_equal(losses(BetaNLL((1.0, 0.0)), 10), whole)
    # Half of the way is half of the fall.
    np.testing.assert_array_equal(losses(BetaNLL((1.0, 0.5)), 10), whole)


def test_schedules_may_be_longer_than_any_training():
    # More updates than an int32 can count.
    result = fit(
        NET,
        BetaNLL((1.0, 0.0)),
        X[:90],
        Y[:90],
        validation=(X[90:], Y[90:]),
        batch_size=10,
        optimizer=optimizer(learning_rate=0.1),
        max_epochs=2**31 - 1,
        patience=3,
    )
    assert result.status == "stopped"


def test_long_histories_are_complete():
    # Each return to Python doubles the epochs asked for, as these are so quick.
    n = 40 * _program.HISTORY_CAPACITY + 10
    result = fit(MLP(2, (2,)), MSE(), X[:20], Y[:20], max_epochs=n)
    np.testing.assert_array_equal(result.history["epoch"], np.arange(1, n + 1))
