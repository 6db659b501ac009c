"""The processes that share a training, started by ``torchrun`` or by nobody."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Processes:
    """This process among those that train together.

    Parameters
    ----------
    rank, size : int
        Which of how many it is.
    device : torch.device
        What it computes on.
    """

    rank: int
    size: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """Whether this one writes files and shows progress."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Return the sums of numbers over all processes."""
        if self.size == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(totals)
        return [float(total) for total in totals]

    def wait(self) -> None:
        """Return when all processes have come here."""
        if self.size > 1:
            distributed.barrier()

    def average_buffers(self, network: nn.Module) -> None:
        """Give all processes the averages of their running statistics."""
        if self.size > 1:
            for buffer in network.buffers():
                total = buffer.double()
                distributed.all_reduce(total)
                buffer.copy_(total / self.size)

    def shared(self, network: nn.Module) -> nn.Module:
        """Return the network, wrapped so that gradients are averaged over processes.

        Batch normalisation sees the images of all processes where PyTorch can do that,
        which is on CUDA devices only.
        """
        if self.size == 1:
            return network
        devices = None
        if self.device.type == "cuda":
            network = nn.SyncBatchNorm.convert_sync_batchnorm(network)
            devices = [self.device]
        return DistributedDataParallel(
            network, device_ids=devices, broadcast_buffers=False
        )


@contextlib.contextmanager
def joined_processes() -> Iterator[Processes]:
    """Join the group that ``torchrun`` has described in the environment, if it has.

    A group that exists already is used and left as it is. A process by itself computes
    on the current CUDA device.
    """
    if distributed.is_initialized():
        yield _described()
    elif "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        try:
            yield _described()
        finally:
            distributed.destroy_process_group()
    else:
        yield Processes(0, 1, _device(None))


def _described() -> Processes:
    local_rank = int(os.environ.get("LOCAL_RANK", distributed.get_rank()))
    return Processes(
        distributed.get_rank(), distributed.get_world_size(), _device(local_rank)
    )


def _device(local_rank: int | None) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank is None:
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cuda", local_rank % torch.cuda.device_count())
