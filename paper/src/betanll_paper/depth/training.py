"""Training of a depth network, which survives a kill and may be shared."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from betanll.progress import Progress
from betanll_paper.depth.augmentation import Augmentation, AugmentedImages
from betanll_paper.depth.batches import BatchOrder, Part, loaded_parts
from betanll_paper.depth.checkpoint import (
    TrainingLog,
    load_checkpoint,
    load_state,
    load_weights,
    save_checkpoint,
    save_weights,
)
from betanll_paper.depth.evaluation import DepthScores, evaluate, scored_pixels
from betanll_paper.depth.losses import DepthLoss, valid_pixels
from betanll_paper.depth.pairs import Pairs
from betanll_paper.depth.processes import (
    Processes,
    exchange_gradients,
    joined_processes,
)
from betanll_paper.depth.settings import PRECISIONS, TrainingSettings

CHECKPOINT = "checkpoint.pt"
BEST = "best.safetensors"
LOG = "log.csv"
_COLUMNS = (
    *("update", "epoch", "learning_rate", "loss", "gradient_norm", "seconds"),
    *DepthScores._fields,
)
#: Settings that may differ when a run resumes: they say how its work is shared.
_SHARING = ("n_loaders", "n_accumulated")


class TrainingResult(NamedTuple):
    """The result of a training run.

    Parameters
    ----------
    validation : DepthScores
        Scores of the weights that the network is left with.
    best_update : int
        The update after which it had these weights.
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
    """Train a network and leave it with the weights that do best on other scenes.

    To resume after a kill, call it again with the same arguments: it continues from
    the last checkpoint and, on a CPU, gives the same result. Under ``torchrun`` the
    processes share each update.

    Parameters
    ----------
    network : torch.nn.Module
        Maps normalised images of shape ``(n, 3, height, width)`` to mean and variance,
        or mean and None, of shape ``(n, 1, ...)``, at any resolution.
    loss : DepthLoss
    training, validation : Pairs
        Pairs without a common scene; see :func:`split_by_scene`.
    folder : path
        Folder for the checkpoint, the best weights (``best.safetensors``) and
        ``log.csv``, with a line for each update.
    settings : TrainingSettings, optional
    augmentation : Augmentation, optional
        By default images are not changed.
    crop : bool, default=True
        Validate on the part of 640x480 images that is usual for NYU Depth V2.
    progress : bool, default=False
        Show a bar with the time left.

    Returns
    -------
    TrainingResult

    Raises
    ------
    ValueError
        If the folder has a checkpoint of another run, or a damaged checkpoint.
    FloatingPointError
        If the loss is not finite; the last checkpoint stays.
    """
    settings = settings or TrainingSettings()
    for name, pairs in (("training", training), ("validation", validation)):
        if not len(pairs):
            raise ValueError(f"there are no {name} images")
    scored_pixels(validation[0], validation.name(0), crop=crop)
    lasting = {k: v for k, v in asdict(settings).items() if k not in _SHARING}
    description = {
        "loss": loss.name,
        "beta": loss.beta,
        "number of images": len(training),
        "first image": training.name(0),
        "number of validation images": len(validation),
        "augmentation": repr(augmentation),
        "crop": crop,
        **lasting,
    }
    with joined_processes() as processes:
        run = _Training(network, loss, Path(folder), settings, processes, description)
        order = BatchOrder(
            len(training),
            settings.batch_size,
            processes.size * settings.n_accumulated,
            settings.seed,
        )
        return run.to_end(
            AugmentedImages(training, augmentation, settings.seed),
            order,
            lambda: _validated(network, validation, processes, crop),
            progress,
        )


class _Training:
    """A training run and its changing state."""

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
            raise ValueError(
                "a run needs at least two updates, got one: train for more epochs"
            )
        self._begin(n_updates)
        processes = self.processes
        shared = processes.shared(self.network)
        keys = order.parts_of(processes.rank, processes.size, self.update, n_updates)
        parts = loaded_parts(
            images, list(keys), processes.device, self.settings.n_loaders
        )
        started = time.perf_counter()
        is_shown = progress and processes.is_first
        with Progress(
            n_updates, "updates", initial=self.update, is_shown=is_shown
        ) as shown:
            note = None
            while self.update < n_updates:
                line = self._updated(shared, parts)
                line["epoch"] = (self.update - 1) // order.updates_per_epoch
                is_last = self.update == n_updates
                if is_last or self.update % self.settings.validate_every == 0:
                    processes.average_buffers(self.network)
                    scores = validated()
                    line.update(scores._asdict())
                    self._note_if_best(scores)
                    note = f"relative error {self.best['rel']:.3f}"
                line["seconds"] = round(time.perf_counter() - started, 3)
                if processes.is_first:
                    self.log.add(line)
                    if "rel" in line:
                        self._save()
                        self._save_if_best()
                shown.update(note=note)
        processes.wait()
        load_weights(self.folder / BEST, self.network)
        best = dict(self.best)
        return TrainingResult(
            best_update=int(best.pop("update")),
            validation=DepthScores(**best),
            n_updates=n_updates,
        )

    def _begin(self, n_updates: int) -> None:
        """Start a run, or resume it from its checkpoint."""
        self.optimizer = self.settings.optimizer(self.network)
        self.schedule = self.settings.schedule(self.optimizer, n_updates)
        self.scaler = torch.amp.GradScaler(
            self.processes.device.type, enabled=self.settings.precision == "float16"
        )
        self.stateful: dict[str, Any] = {
            "optimizer": self.optimizer,
            "schedule": self.schedule,
            "scaler": self.scaler,
        }
        self.update = 0
        self.best: dict[str, float] = {"rel": math.inf}
        path = self.folder / CHECKPOINT
        if path.exists():
            self._restore(load_checkpoint(path), path)
            if self.processes.is_first:
                self._save_if_best()  # a kill may have prevented it
        self.processes.wait()  # until all have read the checkpoint
        if self.processes.is_first:
            self.log.start(self.update)

    def _restore(self, state: dict[str, Any], path: Path) -> None:
        for name, value in self.description.items():
            found = state["description"].get(name)
            if found != value:
                raise ValueError(
                    f"{path} is of another run: its {name} is {found}, not {value}"
                )
        load_state(self.network, state["network"], path)
        for name, part in self.stateful.items():
            part.load_state_dict(state[name])
        self.update, self.best = state["update"], state["best"]

    def _save(self) -> None:
        state = {
            "description": self.description,
            "network": self.network.state_dict(),
            **{name: part.state_dict() for name, part in self.stateful.items()},
            "update": self.update,
            "best": self.best,
        }
        save_checkpoint(self.folder / CHECKPOINT, state)

    def _save_if_best(self) -> None:
        if self.best["update"] == self.update:
            save_weights(self.folder / BEST, self.network)

    def _updated(self, shared: nn.Module, parts: Iterator[Part]) -> dict[str, Any]:
        """Update the network once, and return a line of the log."""
        own = [next(parts) for _ in range(self.settings.n_accumulated)]
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
        """Accumulate gradients, and return the loss of the whole update.

        Losses that average over pixels do so over the valid pixels of all parts, so the
        number of parts does not change the result.
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
            with exchange_gradients(shared, place == len(own) - 1):
                value = self._loss(shared, image, depth)
                # DDP averages gradients over processes; the update needs their sum.
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
        # DDP waits for the gradients of all parameters.
        return loss + 0 * variance.sum()

    def _note_if_best(self, scores: DepthScores) -> None:
        if not math.isfinite(scores.rel):
            raise FloatingPointError(
                f"after update {self.update} the network's predictions are not finite"
            )
        if scores.rel < self.best["rel"]:
            self.best = {"update": self.update, **scores._asdict()}


def _mixed(*numbers: int) -> int:
    """Return a seed that depends on all the numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def _validated(
    network: nn.Module, pairs: Pairs, processes: Processes, crop: bool
) -> DepthScores:
    """Return the mean scores of all images, shared among the processes."""
    own = range(processes.rank, len(pairs), processes.size)
    scores = evaluate(network, pairs, own, crop=crop)
    columns = zip(*scores, strict=True) if scores else [()] * len(DepthScores._fields)
    *sums, n = processes.sums([*(math.fsum(values) for values in columns), len(scores)])
    return DepthScores(*(value / n for value in sums))
