"""Result of one fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from betanll.distributions import Distribution
from betanll.networks import Network
from betanll.objectives import Objective
from betanll.training._optimizers import Optimizer
from betanll.training._predict import predict_parameters

#: Which parameters of a fit: of the best epoch, the last ones, or a snapshot.
Place = Literal["best", "last"] | int


@dataclass(frozen=True, eq=False)
class FitResult:
    """A trained network.

    Attributes
    ----------
    network, objective, optimizer
        As in the task.
    params : pytree
        Parameters of the best epoch with validation data, else of the last one; their
        moving average if the optimiser keeps one.
    last_params : pytree
        The same after the last epoch.
    status : {"completed", "stopped", "diverged", "running"}
        Whether the budget was used up, patience ran out, or the loss became NaN;
        "running" in callbacks.
    n_epochs, n_updates : int
        Epochs and updates trained.
    best_epoch : int
        Epoch of the best validation score, 0 without validation data.
    best_score : float
        Validation NLL of that epoch (with heavy tails under robust selection), or MSE
        for objectives selected by it.
    history : dict of str to array
        `epoch`, `train_loss`, `validation_nll`, `validation_mse`, and
        `validation_score`, which selects the epoch, by evaluation.
    snapshots : dict of int to pytree
        Parameters by the number of updates, for the updates that training reached.
    """

    network: Network
    objective: Objective
    optimizer: Optimizer
    params: Any = field(repr=False)
    last_params: Any = field(repr=False)
    status: str
    n_epochs: int
    n_updates: int
    best_epoch: int
    best_score: float
    history: dict[str, npt.NDArray[Any]] = field(repr=False)
    snapshots: dict[int, Any] = field(repr=False, default_factory=dict)

    def predict(self, x: Any, *, at: Place = "best") -> Distribution:
        """Return the predictive distribution, of shape ``(n, n_targets)``.

        Parameters
        ----------
        x : array of shape (n, n_inputs)
        at : {"best", "last"} or int, default="best"
            Predict with `params`, with `last_params`, or with the snapshot of this
            update.

        Raises
        ------
        DivergedError
            If the fit had diverged there. Earlier snapshots still predict.
        """
        params = self._params_at(at)
        parameters = predict_parameters(self.network, self.objective, params, x)
        return self.objective.predictive(parameters)

    def features(self, x: Any, *, at: Place = "best") -> jax.Array:
        """Return the activations of the last hidden layer, ``(n, n_units)``.

        A function of JAX, to be differentiated by `x`; see
        :func:`betanll.diagnostics.feature_jacobians`.
        """
        net: Any = self.network
        found: jax.Array = net.features(self._params_at(at), jnp.asarray(x).T).T
        return found

    def _params_at(self, at: Place) -> Any:
        if at == "best":
            is_usable = self.status != "diverged" or self.best_epoch > 0
            params, place = self.params, "no usable parameters"
        elif at == "last":
            params, place = self.last_params, "no usable last parameters"
            is_usable = _is_finite(params)
        elif not isinstance(at, int | np.integer):
            raise ValueError(
                f'at must be "best", "last" or the update of a snapshot, got {at!r}'
            )
        elif at not in self.snapshots:
            taken = ", ".join(map(str, self.snapshots)) or "none"
            raise ValueError(f"there is no snapshot of update {at}, only of: {taken}")
        else:
            params, place = self.snapshots[at], f"no usable parameters at update {at}"
            is_usable = _is_finite(params)
        if not is_usable:
            raise DivergedError(
                f"the fit diverged in epoch {self.n_epochs} and has {place}: "
                "standardise the data or lower the learning rate",
                [self],
            )
        return params


class DivergedError(ValueError):
    """Training diverged: there are no parameters to predict with.

    Attributes
    ----------
    results : list of FitResult
        The fits that diverged.
    """

    def __init__(self, message: str, results: Sequence[FitResult] = ()) -> None:
        super().__init__(message)
        self.results = list(results)


def _is_finite(params: Any) -> bool:
    return all(bool(np.all(np.isfinite(leaf))) for leaf in jax.tree.leaves(params))
