"""A trained regressor as a PyTorch module."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from betanll.objectives import Objective, get
from betanll.torch._heads import linear_in_full_precision

# The names of betanll.networks.MLP; gelu means the approximation by tanh, as in JAX.
_ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": lambda: nn.GELU(approximate="tanh"),
    "silu": nn.SiLU,
}

# The estimator clips standardised inputs here.
_LIMIT = 1e15


class RegressorModule(nn.Module):
    """The mean and standard deviation that a trained regressor predicts.

    ``HeteroscedasticRegressor.to_torch`` makes one. The module agrees with
    ``predict(X, return_std=True)`` up to the rounding of single precision. It does not
    check its inputs: NaN in a row gives NaN.

    Parameters
    ----------
    members : sequence of parameters
        The parameters of :class:`betanll.networks.MLP` for each member of the ensemble.
    activation : {"tanh", "relu", "elu", "gelu", "silu"}
        The activation of that network.
    objective : Objective
        Objective of the training, or its name. The methods ``parameters`` and
        ``moments`` must take tensors, as in :mod:`betanll.objectives`.
    input_mean, input_scale : array of shape (n_inputs,), optional
        Standardise the inputs. An infinite scale ignores the column.
    knots : array of shape (n_bins + 1, n_inputs), optional
        Instead of mean and scale, for networks with bins: inputs are positions among
        the knots.
    target_mean, target_scale : array of shape (n_targets,)
        Map the standardised prediction back to original units.
    spread : array of shape (n_targets,)
        Factor of the standard deviation: 1, or a calibration.
    squeeze : bool
        Return vectors; requires a single target.

    Notes
    -----
    The networks compute in single precision, standardisation and everything after the
    heads in double precision. With float64 inputs the results are float64, so that
    targets around a million with little noise keep their digits.

    ``.double()`` makes the networks double precision too. ``.float()`` makes everything
    single precision, for devices without double precision. Half precision affects only
    the hidden layers.

    Examples
    --------
    A linear model of one target, with a variance of 1 in standardised units:

    >>> import numpy as np, torch
    >>> from betanll.objectives import MSE
    >>> module = RegressorModule(
    ...     members=[[{"weight": np.ones((1, 2)), "bias": np.zeros((1, 1))}]],
    ...     activation="relu",
    ...     objective=MSE(),
    ...     input_mean=[0.0, 1.0],
    ...     input_scale=[1.0, 1.0],
    ...     target_mean=[10.0],
    ...     target_scale=[2.0],
    ...     spread=[1.0],
    ...     squeeze=True,
    ... )
    >>> mean, std = module(torch.tensor([[3.0, 1.0], [0.0, 0.0]]))
    >>> mean.tolist(), std.tolist()
    ([16.0, 8.0], [2.0, 2.0])
    """

    input_mean: Tensor
    input_scale: Tensor
    low: Tensor
    inverse_width: Tensor
    target_mean: Tensor
    target_scale: Tensor
    spread: Tensor

    def __init__(
        self,
        *,
        members: Sequence[Any],
        activation: str,
        objective: Objective | str | type[Objective],
        target_mean: ArrayLike,
        target_scale: ArrayLike,
        spread: ArrayLike,
        squeeze: bool,
        input_mean: ArrayLike | None = None,
        input_scale: ArrayLike | None = None,
        knots: ArrayLike | None = None,
    ) -> None:
        super().__init__()
        if not members:
            raise ValueError("members must not be empty")
        if activation not in _ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(_ACTIVATIONS)}, "
                f"got {activation!r}"
            )
        shapes = [np.shape(layer["weight"]) for layer in members[0]]
        for other in members:
            if [np.shape(layer["weight"]) for layer in other] != shapes:
                raise ValueError("members must have equal shapes")
        n_encoded, (n_outputs, _) = shapes[0][1], shapes[-1]
        objective = get(objective)
        n_targets, rest = divmod(n_outputs, objective.n_parameters)
        if rest or not n_targets:
            raise ValueError(
                f"{type(objective).__name__} needs {objective.n_parameters} outputs "
                f"for each target, the networks have {n_outputs}"
            )
        if squeeze and n_targets != 1:
            raise ValueError(f"squeeze needs one target, there are {n_targets}")
        self.squeeze = squeeze
        self.objective = _checked(objective, n_targets)
        if (knots is None) == (input_mean is None or input_scale is None):
            raise ValueError("give either input_mean and input_scale, or knots")
        vectors: list[tuple[str, Any, int]] = []
        if knots is None:
            self.n_bins, self.n_inputs = 0, n_encoded
            vectors += [
                ("input_mean", input_mean, n_encoded),
                ("input_scale", input_scale, n_encoded),
            ]
        else:
            low, inverse_width = _bins(knots, n_encoded)
            self.n_bins, self.n_inputs = low.shape
            self.register_buffer("low", low)
            self.register_buffer("inverse_width", inverse_width)
        for name, values, size in (
            *vectors,
            ("target_mean", target_mean, n_targets),
            ("target_scale", target_scale, n_targets),
            ("spread", spread, n_targets),
        ):
            self.register_buffer(name, _vector(name, values, size))
        # Constructors draw weights that are overwritten: keep the random state.
        with torch.random.fork_rng(devices=[]):
            self.members = nn.ModuleList(
                _network(layers, activation, objective.n_predictive * n_targets)
                for layers in members
            ).float()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean and the total standard deviation in original units.

        Parameters
        ----------
        x : tensor of shape (..., n_inputs)

        Returns
        -------
        mean, std : tensor of shape (..., n_targets), or (...) if ``squeeze``
            float64 if `x` is, else float32.
        """
        if x.ndim == 0 or x.shape[-1] != self.n_inputs:
            raise ValueError(
                f"x must have shape (..., {self.n_inputs}), got {tuple(x.shape)}"
            )
        z = self._encode(x.to(self.spread.dtype))
        z = z.to(next(self.members.parameters()).dtype)
        shape = (*z.shape[:-1], len(self.spread))
        z = z.reshape(-1, z.shape[-1])
        moments = [self._member_moments(member, z) for member in self.members]
        means, variances = (
            torch.stack(values) for values in zip(*moments, strict=True)
        )
        mean = means.mean(dim=0)
        # Not Tensor.var, which warns of a batch without rows.
        variance = (variances + (means - mean).square()).mean(dim=0)
        mean = mean * self.target_scale + self.target_mean
        std = variance.sqrt() * self.target_scale * self.spread
        mean, std = mean.reshape(shape), std.reshape(shape)
        if self.squeeze:
            mean, std = mean.squeeze(-1), std.squeeze(-1)
        dtype = torch.promote_types(x.dtype, torch.float32)
        return mean.to(dtype), std.to(dtype)

    def _encode(self, x: Tensor) -> Tensor:
        """Return the inputs of the first layer."""
        if not self.n_bins:
            z = (x - self.input_mean) / self.input_scale
            return z.clamp(-_LIMIT, _LIMIT)
        limit = torch.finfo(x.dtype).max / 4
        x = x.clamp(-limit, limit).unsqueeze(-2)
        ramps = ((x - self.low) * self.inverse_width).clamp(0, 1)
        positions = ramps.sum(dim=-2)
        centred = (positions / self.n_bins - 0.5) * math.sqrt(12)
        return torch.cat([centred, 2 * ramps.mT.flatten(-2) - 1], dim=-1)

    def _member_moments(self, member: Any, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance of one member, both (n, n_targets)."""
        *hidden, last = member
        for module in hidden:
            z = module(z)
        outputs = linear_in_full_precision(last, z)
        # To an objective samples are the last axis.
        sizes = (self.objective.n_predictive, len(self.spread), z.shape[0])
        raw = outputs.mT.reshape(sizes)
        parameters = self.objective.predictive_parameters(
            self.objective.parameters(raw)
        )
        mean, variance = self.objective.moments(
            tuple(parameter.to(self.spread.dtype) for parameter in parameters)
        )
        return mean.mT, variance.mT

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        # Half precision holds neither a target of 1e6 nor a scale of 1e-6.
        before = dict(self._buffers)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # PyTorch's
        for name, buffer in self._buffers.items():
            old = before[name]
            if buffer is not None and old is not None and buffer.element_size() < 4:
                self._buffers[name] = old.to(buffer.device)
        return self


def _checked(objective: Objective, n_targets: int) -> Objective:
    """Return the objective, after a trial of the methods that the module calls."""
    name = type(objective).__name__
    for method in ("split_outputs", "predicted_parameters"):
        if getattr(type(objective), method) is not getattr(Objective, method):
            raise TypeError(
                f"{name} cannot be exported: it has its own method `{method}`"
            )
    shape = (n_targets, 1)
    raw = torch.zeros((objective.n_predictive, *shape), requires_grad=True)
    try:
        moments = objective.moments(
            objective.predictive_parameters(objective.parameters(raw))
        )
    except Exception as error:  # any library may raise on tensors
        raise TypeError(
            f"{name} cannot be exported: `parameters` and `moments` must take tensors, "
            f"as the functions of betanll.losses.arrays do ({error})"
        ) from error
    shapes = [getattr(moment, "shape", None) for moment in moments]
    if shapes != [shape, shape] or not all(map(torch.is_tensor, moments)):
        raise TypeError(
            f"{name} cannot be exported: `moments` must return mean and variance, "
            f"tensors of the shape of the parameters {shape}, got {shapes}"
        )
    return objective


def _network(layers: Any, activation: str, n_outputs: int) -> nn.Sequential:
    """Return the network with the given parameters.

    Only the first rows of the last layer are kept: variational objectives have more
    rows, which only training needs.
    """
    modules: list[nn.Module] = []
    for layer in layers:
        size = n_outputs if layer is layers[-1] else len(layer["weight"])
        linear = nn.Linear(np.shape(layer["weight"])[1], size)
        _fill(linear, layer)
        modules += [linear, _ACTIVATIONS[activation]()]
    return nn.Sequential(*modules[:-1])


@torch.no_grad()
def _fill(linear: nn.Linear, layer: Any) -> None:
    rows = slice(linear.out_features)
    weight, bias = (np.array(layer[name])[rows] for name in ("weight", "bias"))
    linear.weight.copy_(torch.from_numpy(weight))
    linear.bias.copy_(torch.from_numpy(bias[:, 0]))


def _bins(knots: ArrayLike, n_encoded: int) -> tuple[Tensor, Tensor]:
    """Return the starts of bins and their inverse widths, 0 for missing bins."""
    table = np.array(knots, np.float64)
    if table.ndim != 2 or len(table) < 2 or table.size != n_encoded:
        raise ValueError(
            f"knots must have shape (n_bins + 1, n_inputs) with {n_encoded} elements, "
            f"got {table.shape}"
        )
    low, high = table[:-1], table[1:]
    is_there = np.isfinite(high)
    low = np.where(is_there, low, 0.0)
    if not np.all(np.where(is_there, high, 1.0) > low):
        raise ValueError("knots must increase in each column")
    width = np.where(is_there, high, 1.0) - low
    return torch.tensor(low), torch.tensor(np.where(is_there, 1 / width, 0.0))


def _vector(name: str, values: ArrayLike, size: int) -> Tensor:
    vector = np.array(values, np.float64)
    if vector.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {vector.shape}")
    if not name.endswith("mean") and not np.all(vector > 0):
        raise ValueError(f"{name} must be positive, got {vector}")
    return torch.tensor(vector)
