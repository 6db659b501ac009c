"""The processes that share a training run, started by ``torchrun``, or just one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel


class Processes(NamedTuple):
    """Rank of this process, number of processes, and the device it computes on."""

    rank: int
    size: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def sums(self, values: Sequence[float]) -> list[float]:
        """Return the sums of numbers over all processes."""
        if self.size == 1:
            return list(values)
        totals = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(totals)
        return [float(total) for total in totals]

    def wait(self) -> None:
        """Return when all processes have called it."""
        if self.size > 1:
            distributed.barrier()

    def average_buffers(self, network: nn.Module) -> None:
        """Replace running statistics by their averages over processes."""
        if self.size > 1:
            for buffer in network.buffers():
                total = buffer.double()
                distributed.all_reduce(total)
                buffer.copy_(total / self.size)

    def shared(self, network: nn.Module) -> nn.Module:
        """Return the network, wrapped so that gradients are averaged over processes.

        On CUDA devices batch normalisation uses the images of all processes; elsewhere
        PyTorch cannot do this.
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


def exchange_gradients(
    shared: nn.Module, is_last: bool
) -> contextlib.AbstractContextManager[None]:
    """Exchange gradients between processes after the last part of an update alone."""
    if is_last or not isinstance(shared, DistributedDataParallel):
        return contextlib.nullcontext()
    return shared.no_sync()


@contextlib.contextmanager
def joined_processes() -> Iterator[Processes]:
    """Join the process group that ``torchrun`` describes in the environment, if any.

    An existing group is used and left as it is. A single process computes on the
    current CUDA device.
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
    rank = distributed.get_rank()
    local_rank = int(os.environ.get("LOCAL_RANK", rank))
    return Processes(rank, distributed.get_world_size(), _device(local_rank))


def _device(local_rank: int | None) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank is None:
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cuda", local_rank % torch.cuda.device_count())
