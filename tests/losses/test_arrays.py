"""What all losses promise: one result in three libraries, and no silent broadcast."""

import inspect
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

from betanll import losses
from betanll.losses import beta_nll, gaussian_nll, squared_error
from betanll.losses.arrays import (
    is_jax,
    is_torch,
    lgamma_half_step,
    namespace_of,
    stop_gradient,
)
from betanll.sentences import shown

_random = np.random.default_rng(8)
ARGUMENTS = {
    name: _random.uniform(0.5, 2.0, size=(16, 3))
    for name in ("mean", "target", "variance", "std", "shape", "rate")
}
ARGUMENTS["prior_shape"] = ARGUMENTS["shape"] + 0.5
ARGUMENTS["prior_rate"] = ARGUMENTS["rate"] + 0.5
ARGUMENTS["eta1"], ARGUMENTS["eta2"] = ARGUMENTS["mean"], -ARGUMENTS["variance"]

# All but the mixture, whose components have an axis of their own; the check is no loss.
LOSSES = [
    getattr(losses, name)
    for name in losses.__all__
    if name not in ("check_exponent", "crps", "gamma_mixture_log_prob")
]


def arguments_of(loss):
    """One array for each of the positional parameters of a loss."""
    return [
        ARGUMENTS[parameter.name]
        for parameter in inspect.signature(loss).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]


def _to_torch(array):
    torch = pytest.importorskip("torch")
    return torch.tensor(array)


LIBRARIES = [
    pytest.param(np.asarray, id="numpy"),
    pytest.param(jnp.asarray, id="jax"),
    pytest.param(_to_torch, id="torch", marks=pytest.mark.torch),
]
every_library = pytest.mark.parametrize("convert", LIBRARIES)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)


# Agreement


@every_loss
@every_library
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-13), ("float32", 2e-6)])
def test_libraries_agree(convert, loss, dtype, rtol):
    expected = loss(*arguments_of(loss))
    with jax.enable_x64(dtype == "float64"):
        arguments = [convert(array.astype(dtype)) for array in arguments_of(loss)]
        values = loss(*arguments)
    assert type(values) is type(arguments[0])
    assert values.shape == arguments[0].shape
    assert np.asarray(values).dtype == dtype
    assert_allclose(np.asarray(values), expected, rtol=rtol, atol=rtol)


@every_library
def test_mixture_in_every_library(convert):
    value, weights = np.array([0.5, 2.0]), np.array([[0.25], [0.75]])
    shape, rate = np.array([[1.0], [2.0]]), np.array([[1.0], [1.0]])
    # Gamma(1, 1) has the density e^-x, Gamma(2, 1) has x e^-x.
    expected = np.log(0.25 + 0.75 * value) - value
    arrays = (value, np.log(weights), shape, rate)
    mixture = losses.gamma_mixture_log_prob(
        *(convert(array.astype("float32")) for array in arrays)
    )
    assert_allclose(np.asarray(mixture), expected, rtol=1e-6)


# JAX transformations


@every_loss
def test_jit_and_vmap(loss):
    arguments = [jnp.asarray(array, dtype=jnp.float32) for array in arguments_of(loss)]
    expected = loss(*arguments)
    assert_allclose(jax.jit(loss)(*arguments), expected, rtol=2e-6, atol=1e-6)
    # One at a time, down to scalars.
    elementwise = jax.jit(jax.vmap(jax.vmap(loss)))
    assert_allclose(elementwise(*arguments), expected, rtol=2e-6, atol=1e-6)


def test_beta_may_be_traced():
    n_traces = 0

    @jax.jit
    def mean_gradient(mean, variance, target, beta):
        nonlocal n_traces
        n_traces += 1
        return jax.grad(lambda m: beta_nll(m, variance, target, beta=beta).sum())(mean)

    mean, variance, target = (
        jnp.asarray(ARGUMENTS[name], dtype=jnp.float32)
        for name in ("mean", "variance", "target")
    )
    for beta in (0.0, 0.5, 1.0):
        gradient = mean_gradient(mean, variance, target, beta)
        assert_allclose(gradient, (mean - target) / variance ** (1 - beta), rtol=1e-5)
    assert n_traces == 1


def test_vmap_over_betas():
    mean, variance, target = (
        jnp.asarray(ARGUMENTS[name], dtype=jnp.float32)
        for name in ("mean", "variance", "target")
    )
    betas = jnp.array([0.0, 0.25, 1.0])

    def loss(beta, beta_variance):
        return beta_nll(
            mean, variance, target, beta=beta, beta_variance=beta_variance
        ).sum()

    fleet = jax.vmap(loss)(betas, 2 * betas)
    single = [float(loss(float(beta), 2 * float(beta))) for beta in betas]
    assert_allclose(fleet, single, rtol=1e-5)


def test_beta_has_no_gradient(derivatives):
    arguments = [ARGUMENTS[name] for name in ("mean", "variance", "target")]
    _, gradients = derivatives(
        lambda beta, m, v, y: beta_nll(m, v, y, beta=beta),
        np.full_like(arguments[0], 0.5),
        *arguments,
    )
    assert_array_equal(gradients[0], np.zeros_like(gradients[0]))


# Shapes


@every_loss
@every_library
def test_shapes_that_would_broadcast_raise(convert, loss):
    names = [
        parameter.name
        for parameter in inspect.signature(loss).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    ones = dict.fromkeys(names, convert(np.ones((5, 1), dtype="float32")))
    for name in names[1:]:
        arguments = ones | {name: convert(np.ones(5, dtype="float32"))}
        with pytest.raises(ValueError, match=rf"{name} .*\(5, 1\) and \(5,\)"):
            loss(**arguments)
    arguments = ones | {names[0]: convert(np.ones((5, 2), dtype="float32"))}
    with pytest.raises(ValueError, match=rf"{names[0]} .*\(5, 2\) and \(5, 1\)"):
        loss(**arguments)


def test_shapes_that_would_broadcast_raise_while_tracing():
    with pytest.raises(ValueError, match=r"mean and target .*\(5, 1\) and \(5,\)"):
        jax.jit(squared_error)(jnp.ones((5, 1)), jnp.ones(5))


@every_library
def test_beta_must_not_enlarge_the_loss(convert):
    column = convert(np.ones((3, 1), dtype="float32"))
    beta = convert(np.ones((1, 3), dtype="float32"))
    for options in ({"beta": beta}, {"beta_mean": beta}, {"beta_variance": beta}):
        with pytest.raises(ValueError, match=r"beta .*\(1, 3\) and \(3, 1\)"):
            beta_nll(column, column, column, **options)


@every_library
@pytest.mark.parametrize(
    "beta",
    [
        -3,
        math.nan,
        math.inf,
        "0.5",
        np.float64(-1.0),
        10**400,
        pytest.param(10**5000, id="huge"),
    ],
)
def test_unusable_exponents_raise(convert, beta):
    column = convert(np.ones((3, 1), dtype="float32"))
    complaint = f"beta must be a finite number of at least 0, got {shown(beta)}"
    for name in ("beta", "beta_mean", "beta_variance"):
        with pytest.raises(ValueError, match=re.escape(complaint)):
            beta_nll(column, column, column, **{name: beta})


# Scalars, lists and integers


@every_library
def test_scalars_stand_for_constant_arrays(convert):
    target = convert(np.array([1.0, 3.0], dtype="float32"))
    filled = gaussian_nll(0 * target, 0 * target + 0.5, target)
    for mean, variance in ((0, 0.5), (0.0, 0 * target + 0.5), (0 * target, 0.5)):
        loss = gaussian_nll(mean, variance, target)
        assert loss.dtype == target.dtype
        assert_array_equal(np.asarray(loss), np.asarray(filled))


def test_scalars_alone():
    loss = gaussian_nll(0, 4, 2)
    assert loss.shape == ()
    assert loss == pytest.approx(np.log(2) + 0.5)


def test_lists_are_numpy_arrays():
    loss = gaussian_nll([0, 0], [1.0, 4.0], [1, 2])
    assert isinstance(loss, np.ndarray)
    assert_allclose(loss, [0.5, np.log(2) + 0.5])


@every_library
def test_integers_become_floats(convert):
    target = convert(np.array([1, 3], dtype="int32"))
    # A scalar variance must not be rounded to the type of the target.
    loss = gaussian_nll(0.0, 0.5, target)
    assert_allclose(np.asarray(loss), 0.5 * np.log(0.5) + np.array([1, 9]), rtol=1e-6)
    # Beside floats they take their precision.
    ones = convert(np.ones(2, dtype="float32"))
    loss = gaussian_nll(ones, ones, target)
    assert loss.dtype == ones.dtype
    assert_array_equal(np.asarray(loss), [0, 2])


@every_library
def test_small_integers_do_not_wrap(convert):
    black, white = (convert(np.array([value], dtype="uint8")) for value in (0, 255))
    assert_array_equal(np.asarray(squared_error(white, black)), [255.0**2])


@every_library
def test_zero_dimensional_arrays(convert):
    one = convert(np.array(1.0, dtype="float32"))
    assert beta_nll(one, one, one).shape == ()


# The dispatch itself


@every_library
def test_stop_gradient_keeps_the_value(convert):
    array = convert(np.array([1.5, -2.0], dtype="float32"))
    assert_array_equal(np.asarray(stop_gradient(array)), [1.5, -2.0])


def test_namespace_of_numpy_and_jax():
    assert namespace_of(np.ones(1), jnp.ones(1)) is jnp
    assert namespace_of(1.0, [2.0]) is namespace_of(np.ones(1))
    assert is_jax(jnp.ones(1))
    assert not is_jax(np.ones(1))
    assert not is_torch(np.ones(1))


@pytest.mark.torch
def test_namespace_of_torch():
    torch = pytest.importorskip("torch")
    assert is_torch(torch.ones(1))
    assert not is_jax(torch.ones(1))
    assert namespace_of(torch.ones(1), 1.0).ones(1).dtype == torch.float32


@pytest.mark.parametrize("library", LIBRARIES)
def test_half_step_of_log_gamma_in_single_precision(library):
    a = np.append(np.logspace(-3, 4, 500), 1e-30).astype(np.float32)
    single = lgamma_half_step(library(a))
    assert single.dtype == library(a).dtype
    exact = a.astype(float)
    expected = scipy.special.gammaln(exact + 0.5) - scipy.special.gammaln(exact)
    assert_allclose(np.asarray(single), expected, rtol=3e-7, atol=3e-7)
    # Where the difference of two functions has no digit left.
    large = np.logspace(5, 12, 50).astype(np.float32)
    assert_allclose(
        np.asarray(lgamma_half_step(library(large))), 0.5 * np.log(large), rtol=1e-6
    )


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps,
    reason="no precision beyond double here",
)
def test_the_half_step_lacks_only_the_next_term_of_its_series():
    # Extended precision goes through the series as well, and shows its error. At whole
    # numbers the exact value is a product: gamma(n + 1/2) / gamma(n) grows by
    # (n + 1/2) / n from sqrt(pi) / 2. The next term is 1385 / 2^20 w^-8.
    n = np.arange(1, 25, dtype=np.longdouble)
    root = np.sqrt(np.longdouble("3.14159265358979323846264338327950288"))
    exact = np.log(np.cumprod([root / 2, *((n + 0.5) / n)[:-1]]))
    next_term = 1385 / 2**20 / (n + 3.75) ** 8
    share = ((lgamma_half_step(n) - exact) / next_term)[8:]
    assert share.dtype == np.longdouble
    assert_allclose(share.astype(float), 1, atol=0.012)


def test_half_step_of_log_gamma_in_double_precision():
    a = np.logspace(-3, 4, 500)
    expected = scipy.special.gammaln(a + 0.5) - scipy.special.gammaln(a)
    assert_array_equal(lgamma_half_step(a), expected)


def test_derivative_of_the_half_step():
    a = np.logspace(-3, 4, 200).astype(np.float32)
    slope = jax.vmap(jax.grad(lgamma_half_step))(jnp.asarray(a))
    d = a.astype(float)
    expected = scipy.special.digamma(d + 0.5) - scipy.special.digamma(d)
    assert_allclose(slope, expected, rtol=3e-6)
