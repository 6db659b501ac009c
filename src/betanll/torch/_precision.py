"""Where half precision is not enough."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return float16 and bfloat16 as float32, everything else as it is.

    A variance of 1e-8 is zero in float16, and a floor of 1e-8 under a variance of 1 is
    lost in bfloat16.

    Examples
    --------
    >>> at_least_float32(torch.ones(1, dtype=torch.float16)).dtype
    torch.float32
    """
    if tensor.is_floating_point() and tensor.element_size() < 4:
        return tensor.float()
    return tensor


def full_precision(device_type: str) -> AbstractContextManager[object]:
    """Return a context without autocast, for the last layers before a distribution.

    Examples
    --------
    >>> layer = torch.nn.Linear(2, 1)
    >>> with torch.autocast("cpu"), full_precision("cpu"):
    ...     layer(torch.ones(3, 2)).dtype
    torch.float32
    """
    if torch.amp.is_autocast_available(device_type):
        return torch.autocast(device_type, enabled=False)
    return nullcontext()
