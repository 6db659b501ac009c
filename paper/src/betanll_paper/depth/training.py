"""Training of a network for depth, which survives a kill and may be shared."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from betanll.progress import Progress
from betanll_paper.depth.augmentation import Augmentation, AugmentedImages
from betanll_paper.depth.batches import BatchOrder, Part, stacked, with_plain_errors
from betanll_paper.depth.checkpoint import (
    fit_state,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_weights,
)
from betanll_paper.depth.evaluation import DepthScores, evaluate, scored_pixels
from betanll_paper.depth.log import TrainingLog
from betanll_paper.depth.losses import DepthLoss, valid_pixels
from betanll_paper.depth.pairs import Pairs
from betanll_paper.depth.processes import Processes, joined_processes
from betanll_paper.depth.settings import PRECISIONS, TrainingSettings

CHECKPOINT = "checkpoint.pt"
BEST = "best.safetensors"
LOG = "log.csv"
_COLUMNS = (
    *("update", "epoch", "learning_rate", "loss", "gradient_norm", "seconds"),
    *DepthScores._fields,
)


class TrainingResult(NamedTuple):
    """What a training found.

    Parameters
    ----------
    validation : DepthScores
        Of the weights that the network was left with.
    best_update : int
        The update after which it had them.
    n_updates : int
        Updates in all.
    """

    validation: DepthScores
    best_update: int
    n_updates: int


def train_depth(
    network: nn.Module,
    loss: DepthLoss,
    training: Pairs,
    validation: Pairs,
    folder: str | Path,
    *,
    settings: TrainingSettings | None = None,
    augmentation: Augmentation | None = None,
    crop: bool = True,
    progress: bool = False,
) -> TrainingResult:
    """Train a network, and leave it with the weights that did best on other scenes.

    Called again with the same arguments after a kill, it goes on from its last
    checkpoint and, on a CPU, finds the same result. Under ``torchrun`` the processes
    share each update.

    Parameters
    ----------
    network : torch.nn.Module
        Takes normalised images of shape ``(n, 3, height, width)`` and returns mean and
        variance, or mean and None, of shape ``(n, 1, ...)``, in any resolution.
    loss : DepthLoss
    training, validation : Pairs
        Without a scene in common; see :func:`split_by_scene`.
    folder : path
        Gets the checkpoint, the best weights (``best.safetensors``) and ``log.csv``,
        with a line for each update.
    settings : TrainingSettings, optional
    augmentation : Augmentation, optional
        By default images are taken as they are.
    crop : bool, default=True
        Whether validation looks at the part of 640x480 images that is usual for NYUv2.
    progress : bool, default=False
        Show a bar with time left.

    Returns
    -------
    TrainingResult

    Raises
    ------
    ValueError
        If the folder has a checkpoint of another training, or one cut short.
    FloatingPointError
        If the loss is not a finite number; the checkpoint before stays.
    """
    settings = settings or TrainingSettings()
    for name, pairs in (("training", training), ("validation", validation)):
        if not len(pairs):
            raise ValueError(f"there are no {name} images")
    scored_pixels(validation[0], validation.name(0), crop=crop)
    with joined_processes() as processes:
        description = {
            "loss": loss.name,
            "beta": loss.beta,
            "number of images": len(training),
            "first image": training.name(0),
            "number of validation images": len(validation),
            "augmentation": repr(augmentation),
            "crop": crop,
            **_lasting(settings),
        }
        run = _Training(network, loss, Path(folder), settings, processes, description)
        order = BatchOrder(
            len(training),
            settings.batch_size,
            processes.size * settings.n_accumulated,
            settings.seed,
        )
        images = AugmentedImages(training, augmentation, settings.seed)
        return run.to_end(
            images,
            order,
            lambda: _validated(network, validation, processes, crop),
            progress,
        )


def _lasting(settings: TrainingSettings) -> dict[str, Any]:
    """Return what must not change between two parts of a training.

    How the work is shared may: the machines after a kill need not be those before.
    """
    values = asdict(settings)
    for name in ("n_loaders", "n_accumulated"):
        del values[name]
    return values


class _Training:
    """A training and all that changes in its course."""

    def __init__(
        self,
        network: nn.Module,
        loss: DepthLoss,
        folder: Path,
        settings: TrainingSettings,
        processes: Processes,
        description: dict[str, Any],
    ) -> None:
        # Convolutions are faster with the channels of a pixel side by side.
        placed: Any = {"memory_format": torch.channels_last}
        self.network: nn.Module = network.to(processes.device).to(**placed)
        self.loss, self.folder = loss, folder
        self.settings, self.processes = settings, processes
        self.description = description
        self.log = TrainingLog(folder / LOG, _COLUMNS)

    def to_end(
        self,
        images: AugmentedImages,
        order: BatchOrder,
        validated: Callable[[], DepthScores],
        progress: bool,
    ) -> TrainingResult:
        n_updates = self.settings.epochs * order.updates_per_epoch
        if n_updates < 2:
            raise ValueError("a training has two updates at least, this has one")
        self._begin(n_updates)
        shared = self.processes.shared(self.network)
        parts = self._parts(images, order, n_updates)
        started = time.perf_counter()
        is_shown = progress and self.processes.is_first
        with Progress(
            n_updates, "updates", initial=self.update, is_shown=is_shown
        ) as shown:
            note = None
            while self.update < n_updates:
                line = self._updated(shared, parts)
                line["epoch"] = (self.update - 1) // order.updates_per_epoch
                is_last = self.update == n_updates
                if is_last or self.update % self.settings.validate_every == 0:
                    self.processes.average_buffers(self.network)
                    scores = validated()
                    line.update(scores._asdict())
                    self._note_if_best(scores)
                    note = f"relative error {self.best['rel']:.3f}"
                line["seconds"] = round(time.perf_counter() - started, 3)
                if self.processes.is_first:
                    self.log.add(line)
                    if "rel" in line:
                        self._save()
                        self._save_if_best()
                shown.update(note=note)
        self.processes.wait()
        load_weights(self.folder / BEST, self.network)
        best = dict(self.best)
        return TrainingResult(
            best_update=int(best.pop("update")),
            validation=DepthScores(**best),
            n_updates=n_updates,
        )

    def _begin(self, n_updates: int) -> None:
        """Start anew, or go on from the checkpoint."""
        self.optimizer = self.settings.optimizer(self.network)
        self.schedule = self.settings.schedule(self.optimizer, n_updates)
        device = self.processes.device.type
        self.scaler = torch.amp.GradScaler(
            device, enabled=self.settings.precision == "float16"
        )
        self.update = 0
        self.best: dict[str, float] = {"rel": math.inf}
        path = self.folder / CHECKPOINT
        if path.exists():
            self._restore(load_checkpoint(path), path)
            if self.processes.is_first:
                self._save_if_best()  # a kill may have come before it
        self.processes.wait()  # nobody writes while others read
        if self.processes.is_first:
            self.log.start(self.update)

    def _restore(self, state: dict[str, Any], path: Path) -> None:
        for name, value in self.description.items():
            if state["description"].get(name) != value:
                raise ValueError(
                    f"{path} is of another training: its {name} is "
                    f"{state['description'].get(name)}, not {value}"
                )
        fit_state(self.network, state["network"], path)
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.scaler.load_state_dict(state["scaler"])
        self.update, self.best = state["update"], state["best"]

    def _save(self) -> None:
        save_checkpoint(
            self.folder / CHECKPOINT,
            {
                "description": self.description,
                "network": self.network.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "scaler": self.scaler.state_dict(),
                "update": self.update,
                "best": self.best,
            },
        )

    def _save_if_best(self) -> None:
        if self.best["update"] == self.update:
            save_weights(self.folder / BEST, self.network)

    def _parts(
        self, images: AugmentedImages, order: BatchOrder, n_updates: int
    ) -> Iterator[Part]:
        """Yield what is left of this process's share of the images."""
        rank, size = self.processes.rank, self.processes.size
        keys = list(order.parts_of(rank, size, self.update, n_updates))
        loader = DataLoader(
            images,
            batch_sampler=keys,
            num_workers=self.settings.n_loaders,
            collate_fn=stacked,
            # Copies of this process would have the locks of its threads, and JAX warns.
            multiprocessing_context="spawn" if self.settings.n_loaders else None,
            pin_memory=self.processes.device.type == "cuda",
        )
        device = self.processes.device
        for image, depth in with_plain_errors(loader) if loader.num_workers else loader:
            image = image.to(device, memory_format=torch.channels_last)
            yield image, depth.to(device)

    def _updated(self, shared: nn.Module, parts: Iterator[Part]) -> dict[str, Any]:
        """Update the network once, and return what there is to say about it."""
        n_own = self.settings.n_accumulated
        own = [next(parts) for _ in range(n_own)]
        shared.train()
        total = self._add_gradients(shared, own)
        if not math.isfinite(total):
            raise FloatingPointError(
                f"the loss of update {self.update + 1} is not a finite number: {total}"
            )
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(
            self.network.parameters(), self.settings.max_gradient_norm
        )
        rate = self.schedule.get_last_lr()[0]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.update += 1
        if self.update < self.schedule.total_steps:
            self.schedule.step()
        return {
            "update": self.update,
            "learning_rate": rate,
            "loss": total,
            "gradient_norm": float(norm),
        }

    def _add_gradients(self, shared: nn.Module, own: list[Part]) -> float:
        """Let gradients gather, and return the loss of the whole update.

        Losses that average over pixels do so over the valid pixels of all parts, so
        that it does not matter into how many an update is cut.
        """
        processes = self.processes
        n_parts = processes.size * len(own)
        counts = [int(valid_pixels(depth).sum()) for _, depth in own]
        (n_valid,) = processes.sums([sum(counts)])
        own_loss = 0.0
        for place, ((image, depth), count) in enumerate(zip(own, counts, strict=True)):
            share = count / max(n_valid, 1) if self.loss.is_pixelwise else 1 / n_parts
            part = processes.rank * len(own) + place
            torch.manual_seed(_mixed(self.settings.seed, self.update, part))
            with self._no_exchange(shared, is_last=place == len(own) - 1):
                value = self._loss(shared, image, depth)
                # Gradients are averaged over processes, and we want their sum.
                self.scaler.scale(value * share * processes.size).backward()
            own_loss += share * float(value.detach())
        (total,) = processes.sums([own_loss])
        return total

    def _loss(self, shared: nn.Module, image: Tensor, depth: Tensor) -> Tensor:
        precision = PRECISIONS[self.settings.precision]
        with torch.autocast(
            image.device.type, precision, enabled=precision is not torch.float32
        ):
            mean, variance = shared(image)
        loss: Tensor = self.loss(mean, variance, depth)
        if variance is None or self.loss.has_variance:
            return loss
        # Processes wait for the gradients of all parameters.
        return loss + 0 * variance.sum()

    @staticmethod
    def _no_exchange(
        shared: nn.Module, *, is_last: bool
    ) -> contextlib.AbstractContextManager[Any]:
        """Keep gradients here until the last part of an update."""
        if is_last or not isinstance(shared, nn.parallel.DistributedDataParallel):
            return contextlib.nullcontext()
        return shared.no_sync()

    def _note_if_best(self, scores: DepthScores) -> None:
        if not math.isfinite(scores.rel):
            raise FloatingPointError(
                f"after update {self.update} the network predicts what is not finite"
            )
        if scores.rel < self.best["rel"]:
            self.best = {"update": self.update, **scores._asdict()}


def _mixed(*numbers: int) -> int:
    """Return a seed that follows from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def _validated(
    network: nn.Module, pairs: Pairs, processes: Processes, crop: bool
) -> DepthScores:
    """Return the mean scores of all images, each looked at by one process."""
    own = range(processes.rank, len(pairs), processes.size)
    scores = evaluate(network, pairs, own, crop=crop)
    columns = zip(*scores, strict=True) if scores else [()] * len(DepthScores._fields)
    *sums, n = processes.sums([*(math.fsum(values) for values in columns), len(scores)])
    return DepthScores(*(value / n for value in sums))
