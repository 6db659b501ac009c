"""Every listed objective goes through the same protocol; adding one tests it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from betanll import losses, objectives
from betanll.networks import MLP
from betanll.objectives import OBJECTIVES, BetaNLL, Faithful, get, value_at

N_TARGETS, N = 3, 11


@pytest.fixture(params=OBJECTIVES)
def objective(request):
    return get(request.param)


def raw_outputs(objective, key, scale=1.0):
    return scale * jax.random.normal(key, (objective.n_parameters, N_TARGETS, N))


def test_names_match_the_registry(objective):
    assert get(objective.name) == objective
    assert get(objective) is objective


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"mse, fixed-variance, nll, beta-nll.*got 'gauss'"
    ):
        get("gauss")


def test_head_sizes_add_up(objective):
    assert sum(objective.head_sizes(N_TARGETS)) == objective.n_parameters * N_TARGETS


def test_heads_that_are_initialised_together():
    # Several heads in one layer start smaller: Xavier divides by inputs plus outputs.
    together = {
        "student-t": (9,),
        "vbem": (9, 144 * 3),
        **dict.fromkeys(("vbem-star", "xvamp", "xvamp-star"), (9, 100 * 3)),
    }
    for name in OBJECTIVES:
        separate = (3,) * get(name).n_parameters
        assert get(name).head_sizes(3) == together.get(name, separate)


def test_losses_without_a_likelihood_are_averaged_over_targets():
    expected = dict.fromkeys(OBJECTIVES, "sum") | {"mse": "mean", "mm": "mean"}
    assert {name: get(name).reduction for name in OBJECTIVES} == expected


def test_zero_outputs_mean_a_standard_prediction(objective):
    raw = jnp.zeros((objective.n_parameters, N_TARGETS, N))
    predictive = objective.predictive(objective.parameters(raw))
    np.testing.assert_allclose(predictive.mean, 0, atol=1e-7)
    np.testing.assert_allclose(predictive.variance, 1, rtol=1e-5)


def test_nll_and_mean_agree_with_the_predictive_distribution(objective, getkey):
    parameters = objective.parameters(raw_outputs(objective, getkey()))
    target = jax.random.normal(getkey(), (N_TARGETS, N))
    predictive = objective.predictive(parameters)
    np.testing.assert_allclose(
        objective.nll(parameters, target),
        -predictive.log_prob(np.asarray(target)),
        rtol=2e-5,
        atol=2e-5,
    )
    np.testing.assert_allclose(
        objective.mean(parameters), predictive.mean, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_training_loss_and_gradient_are_finite(objective, scale, getkey, compiled):
    net = MLP(2, (8,))
    params = net.init(objective.head_sizes(N_TARGETS), key=getkey())
    inputs = scale * jax.random.normal(getkey(), (2, 100))
    target = scale * jax.random.normal(getkey(), (N_TARGETS, 100))
    state = objective.init_state(inputs, N_TARGETS, key=getkey())

    def loss(params, state, inputs, target, key):
        def forward(x):
            n_detached = objective.n_detached * N_TARGETS
            raw = net.apply(params, x, n_detached=n_detached)
            return raw.reshape(-1, N_TARGETS, x.shape[1])

        elementwise = objective.training_loss(
            forward, inputs, target, state, progress=jnp.float32(0.5), key=key
        )
        assert elementwise.shape == target.shape
        return jnp.mean(elementwise)

    value, gradients = compiled(jax.value_and_grad(loss, (0, 1)))(
        params, state, inputs, target, getkey()
    )
    assert jnp.isfinite(value)
    assert all(jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(gradients))
    assert any(jnp.any(leaf != 0) for leaf in jax.tree.leaves(gradients[0]))


def trunk_gradient(objective, params, net, inputs, target):
    def loss(params):
        raw = net.apply(params, inputs, n_detached=objective.n_detached)
        parameters = objective.parameters(raw.reshape(-1, 1, inputs.shape[1]))
        return jnp.sum(objective.loss(parameters, target, jnp.float32(0)))

    return jax.jit(jax.grad(loss))(params)[0]["weight"]


def test_shared_trunk_is_faithful_only_with_detached_features(getkey):
    # Oracles 22 and 34: Faithful gives the trunk half the gradient of r^2 (loss r^2/2),
    # beta-NLL with beta 1 does not, although its mean gradient is the same.
    net = MLP(2, (8,), activation="tanh")
    params = net.init([1, 1], key=getkey())
    inputs = jax.random.normal(getkey(), (2, 50))
    target = jax.random.normal(getkey(), (1, 50))

    def squared_error(params):
        mean = net.apply(params, inputs)[:1]
        return 0.5 * jnp.sum(losses.squared_error(mean, target))

    expected = jax.grad(squared_error)(params)[0]["weight"]
    arguments = (params, net, inputs, target)
    np.testing.assert_allclose(
        trunk_gradient(Faithful(), *arguments), expected, rtol=1e-4, atol=1e-5
    )
    difference = trunk_gradient(BetaNLL(1.0), *arguments) - expected
    assert jnp.max(jnp.abs(difference)) > 0.1 * jnp.max(jnp.abs(expected))


def test_beta_schedule_is_linear_in_progress(getkey):
    objective = BetaNLL(beta=(1.0, 0.2))
    assert float(value_at(objective.beta, jnp.float32(0.25))) == pytest.approx(0.8)
    parameters = objective.parameters(raw_outputs(objective, getkey()))
    target = jnp.ones((N_TARGETS, N))
    np.testing.assert_allclose(
        objective.loss(parameters, target, jnp.float32(0.25)),
        BetaNLL(beta=0.8).loss(parameters, target, jnp.float32(0.9)),
        rtol=1e-5,
    )


def test_all_betas_share_a_tree_structure():
    structures = {
        jax.tree.structure(BetaNLL(beta)) for beta in (0.0, 1, 0.5, (1.0, 0.0))
    }
    assert len(structures) == 1
    assert jax.tree.structure(BetaNLL(max_variance=100.0)) not in structures


@pytest.mark.parametrize(
    "beta",
    [-0.1, float("nan"), "0.5", True, (0.5,), (1.0, float("inf")), (1.0, "0"), 10**400],
)
def test_bad_beta_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be"):
        BetaNLL(beta=beta)


def test_the_constant_of_the_density_moves_no_weight(getkey):
    net = MLP(2, (8,))
    params = net.init([1, 1], key=getkey())
    inputs = jax.random.normal(getkey(), (2, 20))
    target = jax.random.normal(getkey(), (1, 20))

    def loss(params, full):
        raw = net.apply(params, inputs).reshape(2, 1, 20)
        mean, variance = BetaNLL().parameters(raw)
        return jnp.sum(losses.beta_nll(mean, variance, target, beta=0.5, full=full))

    with_constant, without = (jax.grad(loss)(params, full) for full in (True, False))
    for one, other in zip(
        jax.tree.leaves(with_constant), jax.tree.leaves(without), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_classes_and_undecorated_classes():
    assert get(BetaNLL) == BetaNLL()

    class Undecorated(BetaNLL):
        pass

    with pytest.raises(TypeError, match="Undecorated needs the decorator @objective"):
        get(Undecorated())


@pytest.mark.parametrize("ceiling", [-1.0, 0.5, float("nan"), "1000", None])
def test_bad_ceilings_are_refused(ceiling):
    with pytest.raises(ValueError, match=f"max_variance must .* got {ceiling!r}"):
        BetaNLL(max_variance=ceiling)


def test_the_largest_variance_may_be_a_large_whole_number():
    raw = jnp.zeros((1, 2)), jnp.full((1, 2), 1e20)
    _, variance = BetaNLL(max_variance=10**12).parameters(raw)
    assert variance.tolist() == [[jnp.float32(1e12)] * 2]


def test_traced_fields_of_ones_own_share_a_compilation():
    # Also in a module whose annotations are not strings, like this one.
    @objectives.objective(None)
    class Weighted(objectives.MSE):
        factor: objectives.Schedule = objectives.traced(default=1.0)

    assert jax.tree.structure(Weighted(2)) == jax.tree.structure(Weighted((0.1, 1.0)))
    assert jax.tree.leaves(Weighted(2)) == [2.0, 2.0]


def test_an_objective_of_ones_own_takes_a_few_lines(getkey):
    @objectives.objective(None)
    class Laplace(objectives.FixedVariance):
        def loss(self, parameters, target, progress):
            (mean,) = parameters
            return jnp.abs(target - mean)

    from betanll.training import fit, optimizer

    x = np.linspace(-1, 1, 64)[:, None]
    result = fit(
        MLP(1, (8,)),
        Laplace(),
        x,
        x,
        optimizer=optimizer(learning_rate=0.02),
        max_epochs=200,
    )
    assert np.abs(result.predict(x).mean - x).mean() < 0.1
