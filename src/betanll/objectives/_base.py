"""What an objective is: head, training loss and predictive distribution in one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, dataclass_transform

import jax

from betanll import _pytree
from betanll.distributions import Distribution

Array = jax.Array
#: Arrays of JAX during training, of NumPy for predictions.
Parameters = tuple[Any, ...]
Schedule = float | tuple[float, float]
ObjectiveClass = TypeVar("ObjectiveClass", bound="Objective")


class Objective:
    """A way to train a network and to read its outputs as a distribution.

    A subclass says how many raw outputs it needs for each target, how they become
    distribution parameters, what the training loss is and which predictive
    distribution the parameters mean. Decorate it with :func:`objective`; list it in
    :data:`betanll.objectives.OBJECTIVES` to make it known by name.

    All arrays have samples last: raw outputs ``(n_parameters, n_targets, n)``,
    parameters and targets ``(n_targets, n)``. Values are in whitened units.
    """

    #: Name in the estimator and on the command line.
    name: ClassVar[str]
    #: Raw outputs for each target.
    n_parameters: ClassVar[int]
    #: How many of them, counted from the last, send no gradient to the features.
    n_detached: ClassVar[int] = 0
    #: How the loss is reduced over targets, "sum" or "mean".
    reduction: ClassVar[str] = "sum"
    #: What selects models on validation data, "nll" or "squared-error".
    selection: ClassVar[str] = "nll"
    #: Whether the training loss draws random numbers.
    is_stochastic: ClassVar[bool] = False

    @property
    def n_predictive(self) -> int:
        """How many of the raw outputs, counted from the first, predictions need."""
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

    def nll_with_tails(self, parameters: Parameters, target: Array) -> Array:
        """Return the same with tails so heavy that no single target weighs much."""
        return self.nll(parameters, target)

    def mean(self, parameters: Parameters) -> Array:
        """Return the mean of the predictive distribution."""
        return parameters[0]

    def predictive(self, parameters: Parameters) -> Distribution:
        """Return the predictive distribution, computed in double precision."""
        raise NotImplementedError

    # The methods below matter only to objectives with state of their own, with a loss
    # that needs the network at other inputs, or for networks with further outputs.

    def arrange(self, outputs: Any) -> Any:
        """Return the outputs of the network ``(n_outputs, n)`` as raw outputs."""
        return outputs.reshape(self.n_parameters, -1, outputs.shape[1])

    def parameters_at(
        self, forward: Callable[[Array], Array], inputs: Array
    ) -> Parameters:
        """Return what is predicted and validated at `inputs`."""
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

    The field holds a number or a (start, end) pair; read it with :func:`at`.
    """
    return dataclasses.field(default=default, metadata={"traced": True})


@dataclass_transform(frozen_default=True, field_specifiers=(traced, dataclasses.field))
def objective(cls: type[ObjectiveClass]) -> type[ObjectiveClass]:
    """Make a class a frozen dataclass and a JAX pytree.

    Fields declared with :func:`traced` are leaves, always as a (start, end) pair. The
    other fields and the class are static.
    """
    decorated = dataclasses.dataclass(frozen=True)(cls)
    _pytree.register(decorated, lambda field: "traced" in field.metadata, endpoints)
    return decorated


def endpoints(value: Schedule) -> tuple[Any, Any]:
    """Return the first and the last value of a schedule."""
    return value if isinstance(value, tuple) else (value, value)


def at(value: Schedule, progress: Array) -> Any:
    """Return the value of a linear schedule at `progress` in [0, 1]."""
    start, end = endpoints(value)
    return start + (end - start) * progress
