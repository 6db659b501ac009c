"""Small data, small trainings, estimators that need none at all, model folders."""

import json
import re

import jax
import numpy as np
import pytest

from betanll import HeteroscedasticRegressor, objectives
from betanll.distributions import Identity
from betanll.estimators import _model_folder
from betanll.estimators._model_folder import ModelError, read_model, write_model
from betanll.model_selection import as_numpy
from betanll.networks import MLP
from betanll.preprocessing import Standardizer

# Search and refit, and the folds of three that 60 rows fall into, share one program.
SETTINGS = {
    "preset": "paper",
    "hidden_layer_sizes": (8,),
    "batch_size": 16,
    "max_updates": 200,
    "learning_rate_init": 3e-3,
    "random_state": 0,
}
ROWS = np.random.default_rng(9).normal(size=(17, 2))


@pytest.fixture(scope="session")
def regressor():
    """Build an unfitted estimator whose training takes a moment."""
    return lambda **changes: HeteroscedasticRegressor(**{**SETTINGS, **changes})


@pytest.fixture(scope="session")
def table():
    """Return 40 rows of two inputs and one target whose noise grows with the first."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 2))
    noise = 0.1 + 0.4 * (X[:, 0] > 0)
    return X, 3 + 2 * X[:, 0] - X[:, 1] + noise * rng.normal(size=40)


@pytest.fixture(scope="session")
def fitted(regressor, table):
    """The estimator of all defaults, fitted; do not change it."""
    return regressor().fit(*table)


@pytest.fixture(scope="session")
def ensemble(regressor, table):
    """Three members, fitted; do not change it."""
    return regressor(n_members=3).fit(*table)


@pytest.fixture(scope="session")
def same_bits():
    """A function that tells whether two estimators predict the same to the last bit."""

    def compare(a, b, X=ROWS):
        found = [model.predict(X, return_std=True) for model in (a, b)]
        return np.array_equal(found[0], found[1])

    return compare


@pytest.fixture(scope="session")
def bits():
    """A function that returns the weights of members as bytes."""

    def to_bytes(members):
        return [
            part.tobytes()
            for member in members
            for layer in member
            for part in layer.values()
        ]

    return to_bytes


@pytest.fixture(scope="session")
def untrained():
    """Build an estimator that counts as fitted, with random weights."""

    def build(
        *,
        objective="beta-nll",
        hidden_sizes=(4,),
        activation="tanh",
        n_inputs=2,
        n_outputs=1,
        n_members=1,
        is_vector=False,
        feature_names=None,
        n_scores=None,
        is_spread=False,
        seed=0,
    ):
        rng = np.random.default_rng(seed)
        trained = objectives.get(objective)
        net = MLP(n_inputs, hidden_sizes, activation)
        key = jax.random.key(seed)
        model = HeteroscedasticRegressor(
            objective=objective,
            hidden_layer_sizes=hidden_sizes,
            activation=activation,
            n_members=n_members,
        )
        model.net_, model.objective_ = net, trained
        model.members_ = [
            as_numpy(net.init(trained.head_sizes(n_outputs), key=member))
            for member in jax.random.split(key, n_members)
        ]
        model.inputs_ = Standardizer(
            rng.normal(size=n_inputs), rng.uniform(0.5, 2, n_inputs)
        )
        model.input_range_ = np.array([[-9.0] * n_inputs, [9.0] * n_inputs])
        model.targets_ = Standardizer(
            rng.normal(size=n_outputs), rng.uniform(0.5, 2, n_outputs)
        )
        model.encoder_ = None
        model.n_features_in_, model.n_outputs_ = n_inputs, n_outputs
        model._y_is_vector = is_vector
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, object)
        model.spread_ = np.ones(n_outputs)
        model.df_ = None
        model.target_transform_ = (Identity(),) * n_outputs
        model.held_out_coverage_ = None
        if is_spread:
            model.spread_ = rng.uniform(0.5, 2, n_outputs)
        model.conformal_scores_ = None
        if n_scores is not None:
            model.conformal_scores_ = [
                np.sort(rng.exponential(size=n_scores)) for _ in range(n_outputs)
            ]
        model.best_learning_rate_, model.best_validation_score_ = 1e-3, -0.5
        model.beta_ = getattr(trained, "beta", None)
        model.n_iter_, model.n_updates_ = 3, 6
        model.history_ = {
            "epoch": np.arange(1, 4, dtype=np.int32),
            "train_loss": rng.normal(size=3).astype(np.float32),
        }
        model.loss_curve_ = [1.0, 0.5, 0.25]
        model.search_results_ = {
            "learning_rate": [1e-3, 1e-2],
            "beta": [model.beta_, (1.0, 0.0)],
            "best_score": [-0.5, -np.inf],
            "best_epoch": [3, 0],
            "status": ["stopped", "diverged"],
        }
        return model

    return build


@pytest.fixture
def model(request, tmp_path):
    """The path of a model folder, alone in its parent, with what the module names."""
    path = tmp_path / "model"
    write_model(path, request.module.CONFIGURATION, request.module.ARRAYS)
    return path


@pytest.fixture(scope="session")
def file_of():
    """A function of a model folder and "model" or "weights" that returns the path."""
    return lambda folder, kind: next(folder.glob(f"{kind}*"))


@pytest.fixture(scope="session")
def names():
    """A function that returns the names in a folder."""
    return lambda folder: sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="session")
def assert_same():
    """A function that compares arrays by name, to the last bit."""

    def compare(found, expected):
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            array = np.asarray(array)
            assert found[name].shape == array.shape
            assert found[name].dtype == array.dtype.newbyteorder("=")
            native = array.astype(array.dtype.newbyteorder("="))
            assert found[name].tobytes() == native.tobytes()

    return compare


@pytest.fixture(scope="session")
def assert_holds(names, assert_same):
    """A function that compares a model folder with what it should hold."""

    def compare(path, configuration, arrays):
        found_configuration, found_arrays = read_model(path)
        assert found_configuration == configuration
        assert_same(found_arrays, arrays)
        model, weights = names(path)
        assert model == "model.json"
        assert re.fullmatch(r"weights-[0-9a-f]{16}\.safetensors", weights)

    return compare


@pytest.fixture(scope="session")
def rewrite():
    """A function that changes model.json and makes its checksum right again."""

    def change(path, **changes):
        file = path / "model.json"
        document = {**json.loads(file.read_text()), **changes}
        document["checksums"]["model.json"] = ""
        digest = _model_folder._digest(_model_folder._dumped(document))
        document["checksums"]["model.json"] = digest
        file.write_bytes(_model_folder._dumped(document))

    return change


@pytest.fixture(scope="session")
def refused():
    """A function of a path and words: the message of the refusal, with them in it."""

    def read(path, *words):
        with pytest.raises(ModelError) as caught:
            read_model(path)
        message = str(caught.value)
        for word in (str(path), *words):
            assert word in message
        assert "\n" not in message
        return message

    return read
