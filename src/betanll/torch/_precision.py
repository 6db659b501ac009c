"""Where half precision is not enough."""

from __future__ import annotations

from torch import Tensor


def at_least_float32(tensor: Tensor) -> Tensor:
    """Return float16 and bfloat16 as float32, everything else as it is.

    A variance of 1e-8 is zero in float16, and a floor of 1e-8 under a variance of 1 is
    lost in bfloat16.
    """
    if tensor.is_floating_point() and tensor.element_size() < 4:
        return tensor.float()
    return tensor
