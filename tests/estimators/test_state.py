"""Saved estimators: the same bits come back, and what does not fit is refused."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from betanll import HeteroscedasticRegressor
from betanll.estimators import _state
from betanll.estimators._model_folder import ModelError, read_model, write_model
from betanll.objectives import (
    MSE,
    OBJECTIVES,
    VBEM,
    BetaNLL,
    GaussianNLL,
    objective,
    unregister,
)

load = HeteroscedasticRegressor.load


def everything(model, X):
    """Whatever an estimator predicts, as one list of arrays."""
    arrays = [
        *model.predict(X, return_std=True),
        model.predict_var(X),
        *model.predict_parts(X),
        model.predict_interval(X, 0.7),
        model.predict_quantiles(X, [0.05, 0.5, 0.9]),
        model.sample(X, 3, random_state=0),
    ]
    y = np.zeros_like(arrays[0])
    return [*arrays, np.array(model.log_likelihood(X, y))]


def assert_same(found, expected):
    """Values of attributes or predictions, to the last bit and of the same type."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(found[key], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    elif hasattr(expected, "scale") and hasattr(expected, "mean"):
        assert_same([found.mean, found.scale], [expected.mean, expected.scale])
    else:
        assert found == expected


def learnt(model):
    """The attributes of a fit, in any order of their making."""
    return {
        name: value
        for name, value in sorted(vars(model).items())
        if name not in model.get_params()
    }


# Round trips


models = st.fixed_dictionaries(
    {
        "objective": st.sampled_from(
            [
                *OBJECTIVES,
                BetaNLL((1.0, 0.25)),
                BetaNLL(1, max_variance=9.0),
                VBEM(True),
            ]
        ),
        "hidden_sizes": st.sampled_from([(), (3,), (4, 2)]),
        "activation": st.sampled_from(["relu", "tanh", "gelu"]),
        "n_inputs": st.integers(1, 2),
        "n_outputs": st.integers(1, 3),
        "n_members": st.integers(1, 3),
        "n_scores": st.sampled_from([None, 0, 1, 12]),
        "is_spread": st.booleans(),
        "is_named": st.booleans(),
        "is_vector": st.booleans(),
        "seed": st.integers(0, 100),
    }
)


@settings(max_examples=20)
@given(models)
def test_every_prediction_survives(untrained, tmp_path_factory, description):
    names = ["größe", "$float"][: description["n_inputs"]]
    if not description.pop("is_named"):
        names = None
    description["is_vector"] &= description["n_outputs"] == 1
    model = untrained(**description, feature_names=names)
    path = tmp_path_factory.mktemp("models") / "model"
    model.save(path)
    loaded = load(path)
    assert_same(learnt(loaded), learnt(model))
    assert_same(loaded.get_params(), model.get_params())
    X = np.random.default_rng(0).normal(size=(30, description["n_inputs"]))
    for estimator in (model, loaded):
        # Arrays without names would warn.
        if names is not None:
            del estimator.feature_names_in_
    assert_same(everything(loaded, X), everything(model, X))


def test_a_trained_estimator_survives(regressor, table, fitted, tmp_path):
    X, y = table
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_same(learnt(loaded), learnt(fitted))
    assert_same(everything(loaded, X), everything(fitted, X))
    assert loaded.score(X, y) == fitted.score(X, y)
    # It can be cloned, fitted again, and saved over itself.
    with pytest.raises(NotFittedError):
        clone(loaded).predict(X)
    assert_same(everything(clone(loaded).fit(X, y), X), everything(fitted, X))
    loaded.conformalize(X, y).save(tmp_path / "model")
    assert load(tmp_path / "model").conformal_scores_ is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"beta": (1.0, 0.0), "calibration": "conformal", "n_members": 2},
        {"objective": BetaNLL(0.25), "calibration": "scale"},
        {"objective": "mse"},
    ],
)
def test_trained_variants_survive(regressor, tmp_path, changes):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    n = 50 if "calibration" in changes else 40
    model = regressor(**changes).fit(X[:n], y[:n])
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_same(learnt(loaded), learnt(model))
    assert_same(loaded.get_params(), model.get_params())
    assert_same(everything(loaded, X), everything(model, X))


def test_constant_inputs_survive(untrained, tmp_path):
    model = untrained()
    model.inputs_.scale[1] = np.inf
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").inputs_.scale[1] == np.inf


def test_parameters_that_json_does_not_know(untrained, tmp_path):
    model = untrained().set_params(
        random_state=np.random.RandomState(0),
        hidden_layer_sizes=np.array([4]),
        beta=np.float64(0.5),
        n_members=np.int64(1),
        objective=BetaNLL,
    )
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.random_state is None
    assert loaded.hidden_layer_sizes == (4,)
    assert (loaded.beta, loaded.n_members) == (0.5, 1)
    assert loaded.objective == BetaNLL()


def test_names_are_held_to_after_loading(untrained, tmp_path):
    pandas = pytest.importorskip("pandas")
    untrained(feature_names=["a", "b"]).save(tmp_path / "model")
    model = load(tmp_path / "model")
    frame = pandas.DataFrame(np.zeros((3, 2)), columns=["a", "b"])
    assert model.predict(frame).shape == (3, 1)
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["b", "a"]])


def test_subclasses_are_kinds_of_their_own(untrained, tmp_path):
    class Special(HeteroscedasticRegressor):
        pass

    model = untrained()
    model.__class__ = Special
    model.save(tmp_path / "model")
    assert type(Special.load(tmp_path / "model")) is Special
    with pytest.raises(ModelError, match="a Special, not a Heteroscedastic"):
        load(tmp_path / "model")


# What cannot be saved


def test_an_objective_without_a_name_cannot_be_saved(untrained, tmp_path):
    @objective(None)
    class Mine(MSE):
        pass

    # Not even one with the name of ours.
    stranger = type("BetaNLL", (GaussianNLL,), {})
    for mine in (Mine(), objective(None)(stranger)()):
        model = untrained(objective=mine)
        with pytest.raises(ValueError, match="cannot be saved without a name"):
            model.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()


def test_a_custom_objective_is_saved_by_name(untrained, tmp_path):
    def define():
        @objective("mine", **{"mine-half": {"factor": 0.5}})
        class Mine(MSE):
            factor: float = 1.0

        return Mine

    try:
        for spec in (define()(0.25), "mine-half"):
            model = untrained(objective=spec)
            model.save(tmp_path / "model")
            assert load(tmp_path / "model").objective_ == model.objective_
            configuration, _ = read_model(tmp_path / "model")
            assert configuration["objective"]["name"] == "mine"
    finally:
        unregister("mine")
        unregister("mine-half")
    # Nothing is imported because of what the folder says, not even this module.
    message = (
        f"objective 'mine' is not registered: import {__name__} first, or use --plug"
    )
    with pytest.raises(ModelError, match=message):
        load(tmp_path / "model")
    define()
    assert load(tmp_path / "model").objective_.factor == 0.5
    unregister("mine")
    unregister("mine-half")


def test_folders_that_name_the_class_still_load(crafted):
    fields = {"beta": [1.0, 0.5], "max_variance": 9.0}
    model = crafted("objective", value={"class": "BetaNLL", **fields})
    assert model.objective_ == BetaNLL((1.0, 0.5), max_variance=9.0)


# Crafted folders, with checksums that are right


def change(configuration, arrays, *path, value=None, remove=False):
    """Set or remove an entry of the configuration, or an array."""
    if path[0] == "arrays":
        place, path = arrays, path[1:]
    else:
        place = configuration
    for key in path[:-1]:
        place = place[key]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = value


@pytest.fixture(scope="module")
def crafted(untrained, tmp_path_factory):
    """Save a model with one entry changed, and try to load it."""
    model = untrained(n_outputs=2, n_members=2, n_scores=5, feature_names=["a", "b"])
    state = _state.to_state(model)

    def attempt(*path, **changes):
        configuration, arrays = copy.deepcopy(state)
        if path:
            change(configuration, arrays, *path, **changes)
        folder = tmp_path_factory.mktemp("crafted") / "model"
        write_model(folder, configuration, arrays)
        return load(folder)

    return attempt


ARRAYS = [
    "inputs.mean",
    "inputs.scale",
    "targets.mean",
    "targets.scale",
    "spread",
    "member.0.0.weight",
    "member.0.1.bias",
    "member.1.1.weight",
    "conformal.1",
    "loss_curve",
]


def test_an_unchanged_state_is_loaded(crafted):
    assert crafted().feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("name", ARRAYS)
def test_missing_arrays_are_refused(crafted, name):
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        crafted("arrays", name, remove=True)


def test_arrays_without_a_place_are_refused(crafted):
    for name in ("member.2.0.weight", "member.0.2.weight", "conformal.2", "other"):
        with pytest.raises(ModelError, match=name.replace(".", r"\.")):
            crafted("arrays", name, value=np.ones(2))


@pytest.mark.parametrize("name", ARRAYS[:-1])
def test_arrays_of_another_shape_or_type_are_refused(crafted, name):
    for value in (
        np.ones((7, 7)),
        np.ones((7, 7), np.float32),
        np.float64(1.0),
        np.ones(2, np.int64),
        np.ones((2, 1)),
        np.ones(2, np.float16),
        np.ones(2, bool),
    ):
        with pytest.raises(ModelError, match=name.replace(".", r"\.")):
            crafted("arrays", name, value=value)


@pytest.mark.parametrize("low", [np.nan, np.inf, 10.0])
def test_impossible_ranges_are_refused(crafted, low):
    with pytest.raises(ModelError, match="input_range"):
        crafted("arrays", "input_range", value=np.array([[low, 0.0], [9.0, 9.0]]))


def test_models_without_a_range_load(crafted):
    found = crafted("arrays", "input_range", remove=True)
    assert found.input_range_ is None


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("inputs.mean", [np.nan, np.inf]),
        ("inputs.scale", [np.nan, 0.0, -1.0]),
        ("targets.mean", [np.nan, -np.inf]),
        ("targets.scale", [np.nan, 0.0, -1.0, np.inf]),
        ("spread", [np.nan, 0.0, -1.0, np.inf]),
        ("conformal.0", [np.nan, -1.0]),
    ],
)
def test_impossible_values_are_refused(crafted, name, bad):
    for value in bad:
        with pytest.raises(ModelError, match=name.replace(".", r"\.")):
            crafted("arrays", name, value=np.array([1.0, value]))


def test_weights_that_are_not_numbers_are_refused(crafted):
    weight = np.ones((4, 2), np.float32)
    weight[1, 1] = np.nan
    with pytest.raises(ModelError, match=r"member\.0\.0\.weight"):
        crafted("arrays", "member.0.0.weight", value=weight)


def test_conformal_scores_must_be_sorted(crafted):
    with pytest.raises(ModelError, match="sorted"):
        crafted("arrays", "conformal.0", value=np.array([2.0, 1.0]))


HUGE = float("inf")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (["kind"], ["Forest", None, 3, ["HeteroscedasticRegressor"]]),
        (["objective"], [None, "beta-nll", {}, {"class": "Objective"}, ["name"]]),
        (["objective"], [{"class": name} for name in ("os", "get", "__all__", [], 5)]),
        (["objective", "name"], ["os.system", "mse", "vbem", None, [], {}, 5]),
        (["objective", "fields", "beta"], [-1.0, "0.5", [0.5], HUGE, None, {}]),
        (["objective", "fields", "max_variance"], [0.5, "high", None, {"a": 1}]),
        (["objective", "fields", "extra"], [1]),
        (["net"], [None, [], {}, "MLP"]),
        (["net", "n_inputs"], [0, -1, 3, "2", None, HUGE, 2.5]),
        (["net", "hidden_sizes"], [[], [5], [4, 4], [-4], ["4"], None, 4, [HUGE]]),
        (["net", "activation"], ["eval", None, ["relu"], 3]),
        (["net", "initialiser"], ["zeros", None]),
        (["net", "extra"], [1]),
        (["parameters"], [None, [], {}, "none"]),
        (["parameters", "extra"], [1]),
        (["parameters", "objective"], [{"class": "os"}, {}]),
        (["n_outputs"], [0, -1, 1, 3, "two", None, HUGE, float("nan"), []]),
        (["n_members"], [0, -1, 3, 10**9, "two", None, HUGE, {}]),
        (["y_is_vector"], [True]),
        (["feature_names"], [["a"], ["a", "b", "c"], "ab", 2, ["a", 1], {"a": 1}]),
        (["search_results"], [None, [], 5, {"beta": 3}]),
    ],
)
def test_configurations_that_do_not_fit_are_refused(crafted, path, values):
    for value in values:
        with pytest.raises(ModelError):
            crafted(*path, value=value)
    if path[-1] != "extra" and path != ["parameters", "objective"]:
        with pytest.raises(ModelError):
            crafted(*path, remove=path != ["net", "initialiser"], value=None)


def test_a_folder_that_is_no_estimator_is_refused(tmp_path):
    write_model(tmp_path / "model", {"beta": 0.5}, {"weight": np.eye(2)})
    with pytest.raises(ModelError, match="does not describe an estimator"):
        load(tmp_path / "model")
    with pytest.raises(ModelError, match="does not exist"):
        load(tmp_path / "nothing")


def test_loading_calls_nothing_by_name(crafted):
    # A method of the estimator or an attribute of the library is not a parameter.
    for name in ("fit", "__class__", "members_"):
        with pytest.raises(ModelError):
            crafted("parameters", name, value="x")


def test_the_saved_configuration_is_plain(untrained, tmp_path):
    untrained(objective="student-t", n_outputs=2).save(tmp_path / "model")
    configuration, arrays = read_model(tmp_path / "model")
    assert configuration["objective"] == {
        "name": "student-t",
        "module": "betanll.objectives._student_t",
        "fields": {},
    }
    assert configuration["parameters"]["objective"] == "student-t"
    assert configuration["n_outputs"] == 2
    assert arrays["member.0.1.weight"].shape == (6, 4)
