"""The base class of objectives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from betanll.losses.arrays import Array, is_torch

if TYPE_CHECKING:
    from betanll.distributions import Distribution

#: Arrays of JAX during training, of NumPy for predictions.
Parameters = tuple[Any, ...]
Schedule = float | tuple[float, float]


class Objective:
    """A training loss, and the distribution that the network's outputs describe.

    A subclass must define :attr:`n_parameters`, the raw outputs per target;
    :meth:`parameters`, which maps raw outputs to distribution parameters; :meth:`loss`,
    :meth:`nll` and :meth:`predictive`. Decorate the class with :func:`objective`, which
    registers it under a name.

    All arrays have samples last: raw outputs ``(n_parameters, n_targets, n)``,
    parameters and targets ``(n_targets, n)``. Values are in standardised units.
    """

    #: Name in the estimator and on the command line; the decorator sets it.
    name: ClassVar[str]
    #: Number of raw outputs for each target.
    n_parameters: ClassVar[int]
    #: How many of the last raw outputs send no gradient to the features.
    n_detached: ClassVar[int] = 0
    #: Reduction of the loss over targets, "sum" or "mean".
    reduction: ClassVar[str] = "sum"
    #: Score that selects models on validation data, "nll" or "squared_error".
    validation_score: ClassVar[str] = "nll"
    #: Whether the training loss draws random numbers.
    is_stochastic: ClassVar[bool] = False
    #: Family of the predictive distribution; only "normal" allows calibration to a
    #: Student t. By default, a class with its own `predictive` is "custom".
    predictive_family: ClassVar[str] = "custom"

    @property
    def n_predictive(self) -> int:
        """Number of the first raw outputs, and of parameters, that predictions need."""
        return self.n_parameters

    def head_sizes(self, n_targets: int) -> tuple[int, ...]:
        """Numbers of outputs of the separately initialised linear heads."""
        return (n_targets,) * self.n_parameters

    def parameters(self, raw: Array) -> Parameters:
        """Map raw outputs to the parameters of the distribution, the mean first."""
        raise NotImplementedError

    def loss(self, parameters: Parameters, target: Array, progress: Array) -> Array:
        """Return the elementwise training loss; `progress` runs from 0 to 1."""
        raise NotImplementedError

    def nll(self, parameters: Parameters, target: Array) -> Array:
        """Return the elementwise negative log-density, constants included."""
        raise NotImplementedError

    def robust_nll(self, parameters: Parameters, target: Array) -> Array:
        """Return an NLL with heavy tails, in which no single target weighs much.

        Most presets select the best epoch by this score. The default is :meth:`nll`.
        """
        return self.nll(parameters, target)

    def mean(self, parameters: Parameters) -> Array:
        """Return the mean of the predictive distribution."""
        return parameters[0]

    def predictive(self, parameters: Parameters) -> Distribution:
        """Return the predictive distribution, computed in double precision."""
        raise NotImplementedError

    def moments(self, parameters: Parameters) -> tuple[Array, Array]:
        """Return mean and variance of the predictive distribution.

        The default calls :meth:`predictive`, which requires NumPy arrays.
        ``to_torch()`` needs a method that also accepts tensors.
        """
        if any(is_torch(parameter) for parameter in parameters):
            raise TypeError(
                f"{type(self).__name__} needs a method `moments` that returns mean and "
                "variance of tensors"
            )
        predictive = self.predictive(parameters)
        return predictive.mean, predictive.variance

    def predictive_parameters(self, parameters: Parameters) -> Parameters:
        """Return only the parameters that :meth:`predictive` needs."""
        if self.n_predictive == self.n_parameters:
            return parameters
        return parameters[: self.n_predictive]

    # Override the methods below for objectives with trainable state, for losses that
    # need the network at other inputs, or for networks with further outputs.

    def split_outputs(self, outputs: Any) -> Any:
        """Return the outputs of the network ``(n_outputs, n)`` as raw outputs."""
        return outputs.reshape(self.n_parameters, -1, outputs.shape[1])

    def predicted_parameters(
        self, forward: Callable[[Array], Array], inputs: Array
    ) -> Parameters:
        """Return the distribution parameters at `inputs`, to predict and validate."""
        return self.parameters(forward(inputs))

    def init_state(self, inputs: Array, n_targets: int, *, key: Array) -> Any:
        """Return further trainable arrays; `inputs` are 100 training inputs."""
        return ()

    def training_loss(
        self,
        forward: Callable[[Array], Array],
        inputs: Array,
        target: Array,
        state: Any,
        *,
        progress: Array,
        key: Array,
    ) -> Array:
        """Return the elementwise loss of a batch; `forward` gives raw outputs."""
        return self.loss(self.parameters(forward(inputs)), target, progress)


def traced(*, default: Any) -> Any:
    """Declare a field of an objective whose values share one compilation.

    The field holds a number or a (start, end) pair; read it with :func:`value_at`.
    """
    return dataclasses.field(default=default, metadata={"traced": True})


def start_and_end(value: Schedule) -> tuple[Any, Any]:
    """Return the first and the last value of a schedule.

    Examples
    --------
    >>> start_and_end(0.5), start_and_end((1.0, 0.0))
    ((0.5, 0.5), (1.0, 0.0))
    """
    return value if isinstance(value, tuple) else (value, value)


def value_at(value: Schedule, progress: Array) -> Any:
    """Return the value of a linear schedule at `progress` in [0, 1].

    Examples
    --------
    >>> value_at((1.0, 0.0), 0.25)
    0.75
    """
    start, end = start_and_end(value)
    return start + (end - start) * progress
