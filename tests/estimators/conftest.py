"""Small data, small trainings, and estimators that need no training at all."""

import jax
import numpy as np
import pytest

from betanll import HeteroscedasticRegressor, objectives
from betanll.estimators._search import as_numpy
from betanll.estimators._whitening import Whitening
from betanll.nets import MLP

# Search and refit, and the folds of three that 60 rows fall into, share one program.
SETTINGS = {
    "hidden_layer_sizes": (8,),
    "batch_size": 16,
    "max_updates": 200,
    "learning_rate_init": 3e-3,
    "random_state": 0,
}


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
        model.inputs_ = Whitening(
            rng.normal(size=n_inputs), rng.uniform(0.5, 2, n_inputs)
        )
        model.targets_ = Whitening(
            rng.normal(size=n_outputs), rng.uniform(0.5, 2, n_outputs)
        )
        model.n_features_in_, model.n_outputs_ = n_inputs, n_outputs
        model._y_is_vector = is_vector
        if feature_names is not None:
            model.feature_names_in_ = np.array(feature_names, object)
        model.spread_ = np.ones(n_outputs)
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
