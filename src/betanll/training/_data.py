"""Checked, padded training data in the layout of the compiled loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

#: Samples in a chunk of a validation pass. Larger chunks pad small tables: an epoch of
#: two updates and a validation takes 134 us with 1024 and 84 us with 256. Large tables
#: gain a little as well.
VALIDATION_CHUNK = 256

_ALIGNMENT = 64

#: Inputs, targets and weights of some rows.
Block = tuple[
    npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.floating]
]


def padded_size(n: int) -> int:
    """Round up to 8, 10, 12 or 14 times a power of two, at least 16.

    Data sets of similar size share a compiled program at the price of at most a
    quarter of padding.

    Examples
    --------
    >>> padded_size(3), padded_size(100), padded_size(1000)
    (16, 112, 1024)
    """
    power = 1
    while True:
        for eighths in (8, 10, 12, 14):
            if eighths * power >= max(n, 16):
                return eighths * power
        power *= 2


@dataclass(frozen=True)
class Table:
    """Checked arrays of one data set, ``(n, n_columns)`` in single precision."""

    inputs: npt.NDArray[np.float32]
    targets: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.inputs)


def checked_table(x: Any, y: Any, weight: Any = None, *, what: str = "data") -> Table:
    """Return the arrays as a table, or raise a ``ValueError`` that names the fault."""
    inputs = checked_matrix(x, f"{what} inputs")
    targets = inputs[:, :0] if y is None else checked_matrix(y, f"{what} targets")
    if len(inputs) == 0:
        raise ValueError(f"{what} is empty: 0 rows")
    if len(inputs) != len(targets):
        raise ValueError(
            f"{what} inputs and targets must have equally many rows, "
            f"got {len(inputs)} and {len(targets)}"
        )
    weights = checked_matrix(
        np.ones(len(inputs)) if weight is None else weight, f"{what} weights"
    )
    if len(weights) != len(inputs) or weights.shape[1] not in (1, targets.shape[1]):
        raise ValueError(
            f"{what} weights must have one row for each of the {len(inputs)} samples "
            f"and 1 or {targets.shape[1]} columns, got shape {weights.shape}"
        )
    if np.any(weights < 0) or not np.any(weights > 0):
        raise ValueError(f"{what} weights must be at least 0 and not all 0")
    return Table(inputs, targets, weights)


def checked_matrix(values: Any, what: str) -> npt.NDArray[np.float32]:
    """Return finite numbers as a matrix in single precision; a vector is a column."""
    array = values
    # No copy of single precision: data may be large.
    if not (isinstance(values, np.ndarray) and values.dtype == np.float32):
        try:
            array = np.asarray(values, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} must be numeric: {error}") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{what} must be a matrix with columns, got {array.shape}")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32, copy=False)
    if not np.all(np.isfinite(single)):
        row, column = np.argwhere(~np.isfinite(single))[0]
        raise ValueError(
            f"{what} must be finite in single precision, "
            f"got {array[row, column]} in row {row}, column {column}"
        )
    return single


@dataclass(frozen=True, eq=False)
class Data:
    """Training and validation samples below each other in one padded array.

    :meth:`of` makes it from arrays. All tasks that hold the same object share its
    memory.

    `rows` is ``(capacity, n_inputs + n_targets + n_weights)``: the samples, then zeros.
    Training samples begin with row `first`, and validation samples follow; both wrap
    around to row 0 where the samples end. The capacity depends only on the total, so
    that a refit on all samples reuses the program of the search. Without targets, the
    network reconstructs the inputs.
    """

    rows: jax.Array
    n_train: int
    n_validation: int
    n_inputs: int
    n_targets: int
    first: int = 0

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        validation: Sequence[Any] | None = None,
    ) -> Data:
        """Check arrays and lay them out for the compiled loop.

        Parameters
        ----------
        x : array of shape (n, n_inputs)
            Inputs, finite.
        y : array of shape (n,) or (n, n_targets), optional
            Targets, finite. Without targets, the network reconstructs the inputs.
        sample_weight : array of shape (n,) or (n, n_targets), optional
            Non-negative weights of the samples or of single targets.
        validation : tuple (x, y) or (x, y, sample_weight), optional
            Data for early stopping and for the choice of the best epoch.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.linspace(-1, 1, 10)[:, None]
        >>> data = Data.of(x, x**2, validation=(x[:3], x[:3]))
        >>> data.n_train, data.n_validation, data.n_inputs, data.n_targets
        (10, 3, 1, 1)
        """
        train = checked_table(x, y, sample_weight, what="training data")
        if validation is None:
            return pack(train)
        if len(validation) not in (2, 3):
            raise ValueError(
                "validation must be (x, y) or (x, y, sample_weight), "
                f"got {len(validation)} elements"
            )
        return pack(train, checked_table(*validation, what="validation data"))

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[Block],
        *,
        n_train: int,
        n_validation: int = 0,
        n_inputs: int,
        n_targets: int,
        n_weights: int = 1,
    ) -> Data:
        """Gather finite blocks of inputs, targets and weights, training rows first.

        Use this for data that does not fit into memory twice. The weights of the
        training rows should have mean 1.
        """
        width = n_inputs + n_targets + n_weights
        rows = _aligned_zeros(capacity(n_train + n_validation), width)
        first = 0
        for inputs, targets, weights in blocks:
            block = rows[first : first + len(inputs)]
            block[:, :n_inputs] = inputs
            block[:, n_inputs : n_inputs + n_targets] = targets
            block[:, n_inputs + n_targets :] = weights
            first += len(inputs)
        if first != n_train + n_validation:
            raise ValueError(f"expected {n_train + n_validation} rows, got {first}")
        # JAX adopts aligned memory without a copy.
        return cls(jax.device_put(rows), n_train, n_validation, n_inputs, n_targets)

    def __len__(self) -> int:
        return self.n_train + self.n_validation

    def with_validation(self, first: int, n: int) -> Data:
        """Return the same rows, in the same memory, with another validation part.

        Validation samples are `n` rows from row `first` on, training samples the rest.
        """
        return replace(
            self,
            first=(first + n) % len(self),
            n_train=len(self) - n,
            n_validation=n,
        )

    def samples(
        self, places: npt.NDArray[np.integer] | range
    ) -> tuple[npt.NDArray[np.float32], ...]:
        """Return inputs, targets and weights; training samples come first."""
        part = np.asarray(self.rows)[(self.first + np.asarray(places)) % len(self)]
        ends = np.cumsum([self.n_inputs, self.n_targets])
        return tuple(np.split(part, ends, axis=1))


def pack(train: Table, validation: Table | None = None) -> Data:
    """Lay out tables for the compiled loop; weights are scaled to mean one."""
    parts = [train] if validation is None else [train, validation]
    for what in ("inputs", "targets"):
        columns = [getattr(part, what).shape[1] for part in parts]
        if columns[0] != columns[-1]:
            raise ValueError(
                f"training and validation {what} must have equally many columns, "
                f"got {columns[0]} and {columns[-1]}"
            )
    return Data.from_blocks(
        map(_masked, parts),
        n_train=len(train),
        n_validation=0 if validation is None else len(validation),
        n_inputs=train.inputs.shape[1],
        n_targets=train.targets.shape[1],
        n_weights=max(part.weights.shape[1] for part in parts),
    )


def _masked(part: Table) -> Block:
    """Set values of weight zero to zero, because zero times infinity is NaN."""
    is_used = part.weights > 0
    return (
        np.where(is_used.any(axis=1, keepdims=True), part.inputs, 0),
        np.where(is_used, part.targets, 0),
        part.weights / part.weights.mean(),
    )


def _aligned_zeros(n_rows: int, n_columns: int) -> npt.NDArray[np.float32]:
    """Return zeros with the alignment that JAX needs to adopt the memory."""
    n_bytes = 4 * n_rows * n_columns
    memory = np.zeros(n_bytes + _ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % _ALIGNMENT
    aligned = memory[first : first + n_bytes].view(np.float32)
    return aligned.reshape(n_rows, n_columns)


def capacity(n: int) -> int:
    """Return the padded number of samples, with room for whole chunks anywhere."""
    return padded_size(n) + validation_chunk(n)


def validation_chunk(n: int) -> int:
    """Return the number of samples in a chunk of a validation pass."""
    return min(VALIDATION_CHUNK, padded_size(n))
