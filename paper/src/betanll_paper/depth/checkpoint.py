"""States of a training on disk, from which it goes on after a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from betanll.files import write_synced, written_atomically

#: Raised when what a checkpoint holds changes.
VERSION = 2


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write tensors, numbers and text, whole or not at all."""
    with written_atomically(path) as temporary:
        torch.save({"version": VERSION, **state}, temporary)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read what :func:`save_checkpoint` wrote, without running anything in it.

    Raises
    ------
    ValueError
        If the file is cut short, or something else than a checkpoint.
    """
    with path.open("rb") as file:
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
        # PyTorch raises whatever it stumbles over, an OSError without a name included.
        except Exception as error:
            message = f"{path} is not a whole checkpoint of a training"
            raise ValueError(message) from error
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError(f"{path} is not a checkpoint that this version can read")
    return state


def save_weights(path: Path, network: nn.Module) -> None:
    """Write the parameters and buffers of a network as a safetensors file."""
    tensors = {
        name: tensor.detach().contiguous().cpu()
        for name, tensor in network.state_dict().items()
    }
    with written_atomically(path) as temporary:
        write_synced(temporary, save(tensors))


def load_weights(path: str | Path, network: nn.Module) -> None:
    """Give a network the parameters and buffers in a file.

    Parameters
    ----------
    path : path
        As written by a training: ``best.safetensors``.
    network : torch.nn.Module
        Left as it was if the weights do not fit.

    Raises
    ------
    ValueError
        If the file is cut short, or of another network.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file") from error
    fit_state(network, tensors, path)


def fit_state(network: nn.Module, tensors: dict[str, Any], path: Path) -> None:
    """Give a network its state, or say in what the two differ."""
    own = network.state_dict()
    for name in sorted(own.keys() | tensors.keys()):
        if name not in tensors:
            raise ValueError(f"{path} does not fit the network: it has no {name}")
        if name not in own:
            raise ValueError(f"{path} does not fit the network, which has no {name}")
        shapes = tuple(tensors[name].shape), tuple(own[name].shape)
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"{path} does not fit the network: {name} has the shape {shapes[0]}, "
                f"the network's {shapes[1]}"
            )
    network.load_state_dict(tensors)
