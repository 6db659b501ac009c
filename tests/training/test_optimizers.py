"""Learning rates by hand, any optax factory, and what is refused."""

import copy
import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from betanll.networks import MLP
from betanll.training import (
    _loop,
    adamw,
    averaged_params,
    cosine_adamw,
    fit,
    optimizer,
)

N_STEPS = 12


@pytest.fixture(scope="module")
def steps_of(compiled):
    """The steps of a parameter whose gradient is one: Adam makes them the rate."""

    def steps(optimizer):
        transform = optimizer.transform(jnp.zeros(1))

        def update(carry, _):
            params, state = carry
            with jax.numpy_dtype_promotion("standard"):
                change, state = transform.update(jnp.ones(1), state, params)
            return (params + change, state), -change[0]

        start = jnp.zeros(1)
        return jax.lax.scan(update, (start, transform.init(start)), length=N_STEPS)[1]

    return compiled(steps)


@pytest.mark.parametrize(("n_updates", "n_warmup"), [(8, 1), (8, 4), (5, 20), (0, 0)])
def test_the_rate_rises_and_falls_as_a_cosine(n_updates, n_warmup, steps_of):
    rate = 0.02
    chosen = optimizer(
        cosine_adamw,
        learning_rate=rate,
        n_updates=float(n_updates),
        n_warmup=float(n_warmup),
    )
    k = np.arange(N_STEPS)
    rising = np.minimum((k + 1) / max(n_warmup, 1), 1)
    angle = np.pi / 2 * np.minimum(k / max(n_updates, 1), 1)
    expected = rate * rising * (0.01 + 0.99 * np.cos(angle) ** 2)
    np.testing.assert_allclose(steps_of(chosen), expected, rtol=2e-4)


NET = MLP(2, (4,))
X = np.random.default_rng(0).normal(size=(24, 2))
Y = X[:, :1] - X[:, 1:]


def decayed_sgd(learning_rate, decay=0.0, *, is_weight):
    def shrink(updates, params):
        return jax.tree.map(
            lambda u, m, p: u + decay * m * p, updates, is_weight, params
        )

    return optax.chain(optax.stateless(shrink), optax.sgd(learning_rate))


def trained(chosen, **options):
    return fit(NET, "mse", X, Y, optimizer=chosen, max_epochs=5, **options)


def test_a_search_over_any_number_compiles_once():
    trained(optimizer(optax.adabelief, learning_rate=0.01))
    before = _loop.n_traces
    first = trained(optimizer(optax.adabelief, learning_rate=1, b1=0.5))
    second = trained(optimizer(optax.adabelief, learning_rate=np.float32(0.1), eps=0.1))
    assert _loop.n_traces == before
    assert not np.array_equal(first.params[0]["weight"], second.params[0]["weight"])
    # Whole numbers and bools are no numbers to trace where the factory has such a one.
    nesterov = optimizer(optax.sgd, learning_rate=0.1, momentum=0.9, nesterov=True)
    assert nesterov.traced == ("learning_rate", "momentum")
    muon = optimizer(optax.contrib.muon, learning_rate=0.1, ns_steps=3)
    assert muon.hyperparameters["ns_steps"] == 3
    assert "ns_steps" not in muon.traced


def test_a_factory_that_sees_the_tree_takes_the_steps_of_the_flat_one(same_bits):
    numbers = {"learning_rate": 0.05, "decay": 0.5}
    flat = trained(optimizer(decayed_sgd, **numbers))
    tree = trained(optimizer(decayed_sgd, **numbers, sees_tree=True))
    assert same_bits(flat.params, tree.params)
    without = trained(optimizer(optax.sgd, learning_rate=0.05))
    assert not same_bits(flat.params, without.params)


def test_norms_of_layers_need_the_tree(same_bits):
    # Each layer has a norm of its own, the flat vector has one.
    flat, tree = (
        trained(optimizer(optax.lamb, learning_rate=0.05, sees_tree=sees_tree))
        for sees_tree in (False, True)
    )
    assert not same_bits(flat.params, tree.params)


@pytest.mark.parametrize("sees_tree", [False, True])
def test_predictions_are_made_with_evaluation_params(sees_tree, same_bits):
    factory, numbers = optax.contrib.schedule_free_sgd, {"learning_rate": 0.5}
    options = {"sees_tree": sees_tree}
    plain = trained(optimizer(factory, **numbers, **options))
    averaged = trained(
        optimizer(
            factory,
            **numbers,
            **options,
            evaluation_params=optax.contrib.schedule_free_eval_params,
        )
    )
    assert not same_bits(plain.params, averaged.params)
    # Schedule-free gradients are taken at a mean of the average and another sequence.
    assert same_bits(plain.history["train_loss"], averaged.history["train_loss"])


def nested():
    def factory(learning_rate):
        return optax.sgd(learning_rate)

    return factory


def half(learning_rate):
    return learning_rate / 2


def warm(learning_rate, warmup):
    return optax.sgd(learning_rate if warmup > 1 else 0.1)


@pytest.mark.parametrize(
    "factory",
    [
        lambda learning_rate: optax.sgd(learning_rate),
        nested(),
        functools.partial(optax.adam, b1=0.5),
        optax.inject_hyperparams(optax.adam),
    ],
)
def test_functions_that_are_not_module_level_are_refused(factory):
    with pytest.raises(ValueError, match="must be a module-level function"):
        optimizer(factory, learning_rate=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optimizer(optax.sgd), "sgd needs learning_rate"),
        (lambda: optimizer(lr=0.1), "adam has no hyperparameter 'lr', only: learning"),
        (lambda: optimizer(adamw, is_weight=1.0), "adamw has no .* 'is_weight'"),
        (lambda: optimizer("adam"), "factory .* must be a function, got 'adam'"),
        (lambda: optimizer(learning_rate="big"), "learning_rate must be a number, got"),
        (
            lambda: optimizer(learning_rate=lambda t: t),
            "learning_rate must be a module",
        ),
        (
            lambda: optimizer(optax.contrib.muon, learning_rate=0.1, mu_dtype=[1]),
            "hash",
        ),
        (lambda: optimizer(adamw, weight_decay=-1), "weight_decay must be finite and"),
        (lambda: optimizer(b1=np.nan), "b1 must be finite, got nan"),
        (lambda: optimizer(evaluation_params=lambda s, p: p), "evaluation_params must"),
        (
            lambda: trained(optimizer(half, learning_rate=1)),
            "half must return an optax",
        ),
        (
            lambda: trained(optimizer(warm, learning_rate=1, warmup=2)),
            "warm cannot be compiled with learning_rate, warmup traced",
        ),
    ],
)
def test_what_cannot_be_an_optimiser_is_told_in_one_sentence(make, message):
    before = _loop.n_traces
    with pytest.raises(ValueError, match=message):
        make()
    assert _loop.n_traces == before


def test_optimisers_survive_copies_and_pickles():
    cosine = optimizer(cosine_adamw, learning_rate=0.01)
    for again in (copy.deepcopy(cosine), pickle.loads(pickle.dumps(cosine))):
        assert again == cosine
        assert hash(again) == hash(cosine)
    assert cosine.evaluation_params is averaged_params
    assert cosine.replace(n_updates=7).hyperparameters["n_updates"] == 7.0
