"""Description of one fit: network, objective, data and budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from betanll.networks import Network
from betanll.objectives import Objective
from betanll.training._data import Data
from betanll.training._optimizers import Optimizer, optimizer


class Budget(NamedTuple):
    """The length of a fit.

    Parameters
    ----------
    batch_size : int, optional
        Samples in an update, by default 256 or all if there are fewer. The last,
        partial batch of an epoch is dropped.
    max_epochs : int, default=100
        Epochs to train; exactly so many without validation data.
    patience : int, optional
        Stop after so many validations without strict improvement.
    validate_every : int, default=1
        Epochs from one validation, and line of the history, to the next.
    schedule_epochs : int, optional
        Epochs over which a scheduled beta moves, by default `max_epochs`. A refit for
        fewer epochs keeps the budget of the search here.
    """

    batch_size: int | None = None
    max_epochs: int = 100
    patience: int | None = None
    validate_every: int = 1
    schedule_epochs: int | None = None

    @classmethod
    def of_updates(
        cls,
        n_updates: int,
        n_train: int,
        batch_size: int,
        *,
        max_evaluations: int | None = None,
        patience: int | None = None,
    ) -> Budget:
        """Return the epochs that give at least `n_updates` with `n_train` samples.

        Batches have `batch_size` samples, or all if there are fewer. Validation runs at
        most `max_evaluations` times, by default after each epoch.

        Examples
        --------
        >>> Budget.of_updates(20_000, n_train=741, batch_size=256).max_epochs
        10000
        >>> Budget.of_updates(20_000, n_train=200, batch_size=256)[:2]
        (200, 20000)
        >>> Budget.of_updates(900, 256, 256, max_evaluations=400).validate_every
        3
        """
        batch_size = min(batch_size, n_train)
        max_epochs = -(-n_updates // (n_train // batch_size))
        every = 1 if max_evaluations is None else -(-max_epochs // max_evaluations)
        return cls(batch_size, max_epochs, patience, every)


@dataclass(frozen=True, eq=False)
class FitTask:
    """One fit.

    Parameters
    ----------
    network : Network
        For example a :class:`~betanll.networks.MLP`; `n_inputs` must equal the number
        of input columns.
    objective : Objective or str
        For example ``BetaNLL(0.5)`` or ``"student-t"``.
    data : Data
        Samples for training and validation; tasks with the same object share its
        memory. Values are used as they are: standardise inputs and targets first.
    optimizer : Optimizer, default=optimizer()
        Made by :func:`optimizer` from any factory of optax; by default Adam.
    budget : Budget, default=Budget()
    robust_selection : bool, default=False
        Choose the best epoch by the NLL of a Student t in place of a Gaussian, whose
        heavy tails limit the weight of outliers. By default, the NLL of the objective
        decides. Objectives without a likelihood use the squared error.
    snapshots : sequence of int, optional
        Numbers of updates after which to keep the parameters, increasing.
    seed : int, default=0
        Seed of initialisation, shuffling and the objective, below 2**32.

    Examples
    --------
    >>> import numpy as np
    >>> from betanll.networks import MLP
    >>> from betanll.training import Budget, Data, FitTask, fit_fleet
    >>> x = np.linspace(-1, 1, 100)[:, None]
    >>> data = Data.of(x, x**2)
    >>> budget = Budget(max_epochs=10)
    >>> tasks = [FitTask(MLP(1), "nll", data, budget=budget, seed=i) for i in range(3)]
    >>> [result.n_epochs for result in fit_fleet(tasks)]
    [10, 10, 10]
    """

    network: Network
    objective: Objective | str
    data: Data = field(repr=False)
    optimizer: Optimizer = field(default_factory=optimizer)
    budget: Budget = Budget()  # noqa: RUF009
    robust_selection: bool = False
    snapshots: Sequence[int] = ()
    seed: int = 0
