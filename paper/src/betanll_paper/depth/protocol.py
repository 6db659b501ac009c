"""The runs of depth regression."""

from __future__ import annotations

import base64
import os
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from betanll.processes import available_cores
from betanll.sweeps import Task, task
from betanll_paper.presets import Preset
from betanll_paper.published.depth import ROWS
from betanll_paper.published.methods import Method
from betanll_paper.rows import plain

if TYPE_CHECKING:
    from betanll_paper.depth.network import DepthNet
    from betanll_paper.depth.pairs import DepthData, Pairs

SYNTHETIC, NYUV2 = "synthetic", "nyuv2"
#: Folders of NYU Depth V2 and of checkpoints: environment variables that workers
#: inherit, because locations are not part of a task.
NYU_VARIABLE = "BETANLL_NYU"
RUNS_VARIABLE = "BETANLL_DEPTH_RUNS"
#: Test images in figure S6.
N_PICTURES = 4


def _preset(epochs: int, sizes: Mapping[str, int | None], **options: Any) -> Preset:
    return Preset(1, {"": epochs}, sizes=sizes, options=options)


_SMALL = {"encoder": "small", "batch_size": 4, "height": 96, "width": 128}
#: By data. Sizes are numbers of images for training, and for validation and test; None
#: stands for all. Height and width are of training crops; the learning rate is the peak
#: of the schedule.
PRESETS = {
    SYNTHETIC: {
        "smoke": _preset(
            1,
            {"training room": 4, "test room": 2},
            **{**_SMALL, "height": 32, "width": 64},
            data=SYNTHETIC,
            validate_every=2,
            learning_rate=1e-3,
        ),
        "laptop": _preset(
            6,
            {"training room": 800, "test room": 40},
            **_SMALL,
            data=SYNTHETIC,
            validate_every=400,
            learning_rate=3e-3,
        ),
    },
    NYUV2: {
        "smoke": _preset(
            1,
            {"training image": 4, "test image": 1},
            **{**_SMALL, "batch_size": 2},
            data=NYUV2,
            validate_every=1,
            learning_rate=1e-3,
        ),
        "paper": _preset(
            25,
            {"training image": None, "test image": None},
            encoder="google/efficientnet-b5",
            batch_size=16,
            height=416,
            width=544,
            data=NYUV2,
            validate_every=100,
            learning_rate=3.57e-4,
        ),
    },
}
PAPER = PRESETS[NYUV2]["paper"]


def chosen_preset(preset: str, data: str) -> Preset:
    """Return a preset; raise if it does not exist for the data."""
    if preset not in PRESETS[data]:
        raise ValueError(
            "the laptop preset trains on synthetic scenes, without --nyu-dir"
            if data == NYUV2
            else "the paper preset trains on NYU Depth V2: give its folder as --nyu-dir"
        )
    return PRESETS[data][preset]


def settings_of(preset: Preset) -> dict[str, Any]:
    """Return a preset as settings of a task, where 0 stands for all images."""
    n_scenes, n_test = (size or 0 for size in preset.sizes.values())
    counts = {"epochs": preset.length[""], "n_scenes": n_scenes, "n_test": n_test}
    return {**preset.options, **counts}


def depth_tasks(preset: Preset, methods: Iterable[Method] = ROWS) -> list[Task]:
    """Return a run for each method.

    Examples
    --------
    >>> len(depth_tasks(PAPER))
    8
    """
    settings = settings_of(preset)
    return [Task.of(train, **method.settings, seed=0, **settings) for method in methods]


@task
def train(
    *, method: str, beta: float | None, seed: int, **settings: Any
) -> list[dict[str, Any]]:
    """Train and test once; a row of the kind result, and one of the kind pictures."""
    import torch

    from betanll_paper.depth.augmentation import Augmentation
    from betanll_paper.depth.evaluation import evaluate, mean_scores
    from betanll_paper.depth.losses import DepthLoss
    from betanll_paper.depth.settings import TrainingSettings
    from betanll_paper.depth.training import train_depth

    started = time.perf_counter()
    is_real = settings["data"] == NYUV2
    loss = DepthLoss(method, beta)
    data = load_data(settings)
    n_cards = torch.cuda.device_count()
    if n_cards:
        torch.cuda.set_device(_worker() % n_cards)
    torch.manual_seed(seed)
    network = make_network(settings["encoder"], has_variance=loss.has_variance)
    mine = Task.of(train, method=method, beta=beta, seed=seed, **settings)
    with _run_folder(mine.key) as folder:
        result = train_depth(
            network,
            loss,
            data.training,
            data.validation,
            folder,
            settings=TrainingSettings(
                epochs=settings["epochs"],
                batch_size=settings["batch_size"],
                validate_every=settings["validate_every"],
                learning_rate=settings["learning_rate"],
                # With a graphics card, the processors are free to read images.
                n_loaders=min(8, available_cores() // n_cards) if n_cards else 0,
                seed=seed,
            ),
            augmentation=Augmentation(
                crop_size=(settings["height"], settings["width"]), remove_border=is_real
            ),
            crop=is_real,
        )
    scores = mean_scores(evaluate(network, data.test, crop=is_real))
    row = {
        **{name: plain(value) for name, value in scores._asdict().items()},
        "validation_rel": plain(result.validation.rel),
        "best_update": result.best_update,
        "updates": result.n_updates,
        "seconds": time.perf_counter() - started,
    }
    described = {"data": settings["data"], "method": method, "beta": beta, "seed": seed}
    return [
        {"kind": "result", **described, **row},
        {"kind": "pictures", **described, **_pictures(network, data.test)},
    ]


def load_data(settings: Mapping[str, Any]) -> DepthData:
    """Return pairs to train, to select and to test on, by the settings of a task."""
    from betanll_paper.depth.nyu import load_nyu
    from betanll_paper.depth.pairs import DepthData, Selection

    n_scenes, n_test = settings["n_scenes"], settings["n_test"]
    if settings["data"] == SYNTHETIC:
        return _rooms(n_scenes, n_test, (settings["height"], settings["width"]))
    folder = os.environ.get(NYU_VARIABLE)
    if not folder:
        raise ValueError(f"NYU Depth V2 is needed: set {NYU_VARIABLE} to its folder")
    data = load_nyu(folder)
    counts = n_scenes, n_test, n_test
    return DepthData(
        *(
            Selection(pairs, range(min(n, len(pairs)))) if n else pairs
            for pairs, n in zip(data, counts, strict=True)
        )
    )


@lru_cache(maxsize=1)
def _rooms(n_scenes: int, n_test: int, size: tuple[int, int]) -> DepthData:
    """Return rooms, made once for all runs of this process."""
    from betanll_paper.depth.rooms.scenes import make_rooms

    return make_rooms(n_scenes, n_test, size=size)


def make_network(encoder: str, *, has_variance: bool) -> DepthNet:
    """Return a network with a small encoder from scratch, or with a trained one.

    Parameters
    ----------
    encoder : str
        ``"small"``, or folder or name on the hub of an EfficientNet with its weights.
    has_variance : bool
    """
    from betanll_paper.depth.network import DepthNet

    if encoder == "small":
        return DepthNet(has_variance=has_variance)
    return DepthNet.pretrained(encoder, has_variance=has_variance)


def _worker() -> int:
    """Return the number of this process among the workers of a sweep, or 0."""
    from distributed import get_worker

    try:
        return int(get_worker().name)
    except ValueError:  # none, or one of a cluster, which has a name
        return 0


@contextmanager
def _run_folder(key: str) -> Iterator[Path]:
    """Yield the folder of a run, which is temporary unless configured."""
    runs = os.environ.get(RUNS_VARIABLE)
    if runs:
        yield Path(runs) / key[:16]
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _pictures(network: DepthNet, test: Pairs) -> dict[str, Any]:
    """Return the pictures of a run for figure S6, as text."""
    from betanll_paper.depth.augmentation import to_tensors
    from betanll_paper.depth.evaluation import predict

    shown = np.unique(np.linspace(0, len(test) - 1, N_PICTURES).round().astype(int))
    columns: dict[str, list[str]] = {"image": [], "depth": [], "mean": [], "std": []}
    shape: Sequence[int] = ()
    for index in shown:
        pair = test[int(index)]
        image, _ = to_tensors(pair)
        mean, variance = predict(network, image[None])
        shape = pair.depth.shape
        columns["image"].append(packed(pair.image))
        columns["depth"].append(packed(pair.depth.astype(np.float16)))
        columns["mean"].append(packed(_half(mean)))
        if variance is not None:
            columns["std"].append(packed(_half(variance.sqrt())))
    return {"height": shape[0], "width": shape[1], **columns}


def _half(values: Any) -> npt.NDArray[np.float16]:
    return values[0, 0].cpu().numpy().astype(np.float16)


def packed(values: npt.NDArray[Any]) -> str:
    """Return the bytes of an array, compressed, as text."""
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode()


def unpacked(
    text: str, dtype: npt.DTypeLike, shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Return the array of a text that :func:`packed` made."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype).reshape(shape)
