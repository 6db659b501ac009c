"""A monitor that detects points that the loss starves during training."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from betanll._exponents import as_float, check_exponent
from betanll.diagnostics._running import RunningAverages
from betanll.distributions import Distribution
from betanll.sentences import shown
from betanll.typing import Array


class PitfallWarning(UserWarning):
    """The loss starves many points; see `PitfallMonitor`."""


class _Result(Protocol):
    """The part of a fit result that `PitfallMonitor.watch` uses."""

    @property
    def status(self) -> str: ...
    @property
    def n_updates(self) -> int: ...
    def predict(self, x: Any) -> Distribution: ...


class PitfallMonitor:
    """Detects during training whether the loss starves points.

    A point is starved if its effective sampling probability, proportional to
    ``variance**(beta - 1)``, is below `starved_below` times the uniform probability:
    see :func:`starved_fraction`. Pass every training batch to `update`, which evaluates
    some of them, or `watch` a fit of :mod:`betanll.training`. If many points are
    starved after the warm-up, the monitor issues one :class:`PitfallWarning`.

    Parameters
    ----------
    beta : float, default=0.0
        Exponent of the loss; 0 is the NLL.
    every : int, default=10
        Evaluate the first of this many batches, and only count the others.
    memory : float, default=1000
        Horizon of the exponential averages, in updates.
    warm_up : int, default=1000
        Updates before a warning is possible.
    starved_below : float, default=0.05
        Fraction of the uniform sampling probability below which a point is starved.
    max_starved : float, default=0.2
        Share of starved points above which the monitor warns.
    warn : bool, default=True
        Whether to warn.

    Attributes
    ----------
    n_updates : int
        Batches passed to `update`, or updates of the watched fit.
    n_skipped : int
        Skipped entries of evaluated batches: mean, variance or target was NaN or
        infinite, or the variance zero.

    Notes
    -----
    Averages are taken for each output, with Adam's bias correction, and then averaged
    over outputs. In a batch of at least 16 rows a starved point must be below the
    threshold relative to the running mean of the weights *and* to the mean of the
    batch. Otherwise all points would seem starved when all variances rise together, as
    they do early if targets are not standardised.

    Examples
    --------
    >>> import numpy as np
    >>> monitor = PitfallMonitor(beta=0.0, warn=False)
    >>> variance = np.array([1e-4, 1e-4, 1.0, 1.0])
    >>> monitor.update(np.zeros(4), variance, np.full(4, 0.01))
    >>> monitor.starved_fraction, monitor.is_starving
    (0.5, True)
    """

    def __init__(
        self,
        beta: float = 0.0,
        *,
        every: int = 10,
        memory: float = 1000,
        warm_up: int = 1000,
        starved_below: float = 0.05,
        max_starved: float = 0.2,
        warn: bool = True,
    ) -> None:
        check_exponent("beta", beta)
        _check("every", every, _is_count(every, 1), "a whole number of at least 1")
        is_memory = 1 <= as_float(memory) < math.inf
        _check("memory", memory, is_memory, "a finite number of at least 1")
        is_warm_up = _is_count(warm_up, 0)
        _check("warm_up", warm_up, is_warm_up, "a whole number of at least 0")
        is_limit = 0 < as_float(starved_below) < 1
        _check("starved_below", starved_below, is_limit, "a number in (0, 1)")
        is_share = 0 <= as_float(max_starved) <= 1
        _check("max_starved", max_starved, is_share, "a number in [0, 1]")
        self.beta = beta
        self.every = every
        self.memory = memory
        self.warm_up = warm_up
        self.starved_below = starved_below
        self.max_starved = max_starved
        self.warn = warn
        self.reset()

    def reset(self) -> None:
        """Forget everything but the settings."""
        self.n_updates = 0
        self.n_skipped = 0
        self._last_look = 0
        self._has_warned = False
        self._averages = RunningAverages()

    def update(self, mean: Any, variance: Any, target: Any) -> None:
        """Count a training batch, and evaluate every `every`-th batch.

        A batch that raises is not counted.

        Parameters
        ----------
        mean, variance, target : array or tensor, all three of one shape
            From NumPy, JAX or PyTorch, on any device and in any precision; tensors are
            detached. Arrays of shape (n, d) have d outputs. All entries of any other
            shape, such as (n,), (n, channels, height, width) or a scalar, are points
            of one output. NaN in `target` marks missing entries.
        """
        n_updates = self.n_updates + 1
        if self.n_updates % self.every == 0:
            batch = (_as_numpy(mean), _as_numpy(variance), _as_numpy(target))
            self._look(*batch, n_updates=n_updates)
        else:
            self.n_updates = n_updates

    def watch(self, x: ArrayLike, y: ArrayLike) -> Callable[[_Result], None]:
        """Return a callback for :func:`betanll.training.fit`.

        Each call evaluates the current predictions for all rows; `every` is ignored.

        Parameters
        ----------
        x : array of shape (n, n_inputs)
        y : array of shape (n,) or (n, n_targets)

        Examples
        --------
        >>> import numpy as np
        >>> from betanll.networks import MLP
        >>> from betanll.training import fit
        >>> x = np.linspace(-1, 1, 200)[:, None]
        >>> monitor = PitfallMonitor(beta=0.5)
        >>> callback = monitor.watch(x, x**2)
        >>> result = fit(
        ...     MLP(1, (16,)), "beta-nll", x, x**2, max_epochs=20, callback=callback
        ... )
        >>> monitor.n_updates, monitor.is_starving
        (20, False)
        """
        target = _as_numpy(y)
        target = target[:, None] if target.ndim == 1 else target
        n_seen = 0

        def look(result: _Result) -> None:
            nonlocal n_seen
            is_same_fit = result.n_updates >= n_seen
            n_new = result.n_updates - (n_seen if is_same_fit else 0)
            n_updates = self.n_updates + n_new
            if result.status == "diverged":  # without usable parameters
                self.n_updates = n_updates
                self.n_skipped += target.size
            else:
                prediction = result.predict(x)
                batch = (prediction.mean, prediction.variance, target)
                self._look(*batch, n_updates=n_updates)
            n_seen = result.n_updates

        return look

    @property
    def effective_sample_fraction(self) -> float:
        """Fraction of points that effectively train the mean, in (0, 1]."""
        return self._averages.effective_sample_fraction

    @property
    def starved_fraction(self) -> float:
        """Share of points that are starved."""
        return self._averages.over_outputs("starved")

    @property
    def mean_squared_z(self) -> float:
        """Mean of ``(target - mean)**2 / variance``: 1 if variances are right."""
        return self._averages.over_outputs("squared_z")

    @property
    def rmse(self) -> float:
        """Root of the squared error, averaged over points and outputs."""
        return math.sqrt(self._averages.over_outputs("squared_error"))

    @property
    def is_starving(self) -> bool:
        """Whether the share of starved points is above `max_starved` now."""
        return self.starved_fraction > self.max_starved

    def summary(self) -> dict[str, float]:
        """Return all numbers by name, to log; NaN before the first evaluation."""
        return {
            "effective_sample_fraction": self.effective_sample_fraction,
            "starved_fraction": self.starved_fraction,
            "mean_squared_z": self.mean_squared_z,
            "rmse": self.rmse,
            "n_updates": float(self.n_updates),
            "n_skipped": float(self.n_skipped),
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint: numbers and lists, without settings."""
        return {
            "n_updates": self.n_updates,
            "n_skipped": self.n_skipped,
            "last_look": self._last_look,
            "has_warned": self._has_warned,
            **self._averages.state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` returned."""
        missing = sorted(self.state_dict().keys() - state.keys())
        if missing:
            raise ValueError(f"the state of the monitor lacks {', '.join(missing)}")
        counts = [int(state[name]) for name in ("n_updates", "n_skipped", "last_look")]
        self._averages.load(state)  # raises before anything has changed
        self.n_updates, self.n_skipped, self._last_look = counts
        self._has_warned = bool(state["has_warned"])

    def _look(
        self, mean: Array, variance: Array, target: Array, *, n_updates: int
    ) -> None:
        """Add a batch to the averages; `n_updates` counts updates up to this batch.

        The averages check the batch first: nothing changes if they raise.
        """
        elapsed = max(1, n_updates - self._last_look)
        n_skipped = self._averages.add(
            mean,
            variance,
            target,
            beta=self.beta,
            keep=(1 - 1 / self.memory) ** elapsed,
            below=self.starved_below,
        )
        self.n_skipped += n_skipped
        self.n_updates = self._last_look = n_updates
        is_due = self.warn and not self._has_warned and self.n_updates >= self.warm_up
        if is_due and self.is_starving:
            self._has_warned = True
            # The line that called `update`.
            warnings.warn(self._message(), PitfallWarning, stacklevel=3)

    def _message(self) -> str:
        cure = "beta=0.5" if self.beta < 0.5 else "a beta closer to 1"
        return (
            f"after {self.n_updates} updates with beta={self.beta:g}, "
            f"{self.starved_fraction:.0%} of the points are sampled with effectively "
            f"less than {self.starved_below:g} times the uniform probability "
            f"(effective sample fraction {self.effective_sample_fraction:.2g}, "
            f"RMSE {self.rmse:.3g}). The loss gives these points almost no weight: "
            "they are either noise or misfit. "
            f"Train with {cure}; `betanll diagnose` tells noise from misfit."
        )


def _as_numpy(array: Any) -> Array:
    if hasattr(array, "detach"):  # a tensor; NumPy has no bfloat16
        array = array.detach().cpu().double().numpy()
    return np.asarray(array, np.float64)


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and as_float(value) >= least


def _check(name: str, value: Any, is_valid: bool, what: str) -> None:
    if not is_valid:
        raise ValueError(f"{name} must be {what}, got {shown(value)}")
