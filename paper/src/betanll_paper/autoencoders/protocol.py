"""Variational autoencoders on images: which trainings there are, and one of them."""

from __future__ import annotations

import base64
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from betanll.sweeps import Task, task
from betanll.training import DivergedError
from betanll_paper.autoencoders.model import VAE, CollapseWarning
from betanll_paper.datasets import ImageSet, load_images
from betanll_paper.published.autoencoders import DATASETS, N_LATENT, N_SEEDS, ROWS
from betanll_paper.published.methods import Method
from betanll_paper.rows import plain

#: Moment matching with the loss averaged over pixels, as in the published results; with
#: the sum of the other methods it can be compared with them.
AVERAGED = Method("mm-averaged")
#: Methods whose loss sums over samples and components of a prior for every pixel.
SLOW = frozenset(["xvamp", "xvamp-star", "vbem", "vbem-star"])
#: Epochs from one look at the validation images to the next.
VALIDATE_EVERY = 5
#: Codes of an image over which the test likelihood averages.
N_CODES = 20
#: What figure S5 shows of a training, in this order.
PICTURES = ("mean", "std", "posterior", "prior")


class Preset(NamedTuple):
    """Length of the trainings, and how many there are.

    `n_images` of the training, validation and test images each are used, None for all.
    """

    epochs: int
    slow_epochs: int
    n_seeds: int
    n_images: int | None = None


PRESETS = {
    "smoke": Preset(epochs=2, slow_epochs=1, n_seeds=2, n_images=64),
    "laptop": Preset(epochs=40, slow_epochs=2, n_seeds=1),
    "paper": Preset(epochs=1000, slow_epochs=1000, n_seeds=N_SEEDS),
}


def vae_tasks(
    preset: Preset,
    *,
    methods: Iterable[Method] = (*ROWS, AVERAGED),
    datasets: Iterable[str] = DATASETS,
) -> list[Task]:
    """Return the trainings of a preset, the slow ones first.

    Examples
    --------
    >>> len(vae_tasks(PRESETS["paper"], methods=ROWS))
    120
    """
    wanted = sorted(methods, key=lambda method: method.name not in SLOW)
    return [
        Task.of(
            train,
            dataset=dataset,
            method=method.name,
            beta=method.beta,
            seed=seed,
            epochs=preset.slow_epochs if method.name in SLOW else preset.epochs,
            n_images=preset.n_images,
        )
        for method in wanted
        for dataset in datasets
        for seed in range(preset.n_seeds)
    ]


@task
def train(
    *,
    dataset: str,
    method: str,
    beta: float | None,
    seed: int,
    epochs: int,
    n_images: int | None,
) -> list[dict[str, Any]]:
    """Train and test once; a row of the kind result, and pictures of the first seed."""
    settings = dict(locals())
    started = time.perf_counter()
    images = load_images(dataset)
    train, validation = (
        images.train_images[rows[:n_images]] for rows in images.split()
    )
    model = _model(dataset, Method(method, beta), epochs, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)  # is in the result
            model.fit(train, validation=validation)
    except DivergedError as error:
        n_epochs = error.results[0].n_epochs
        return [{**settings, **_diverged(n_epochs, time.perf_counter() - started)}]
    log_likelihood, rmse = model.evaluate(images.test_images[:n_images], N_CODES)
    rows: list[dict[str, Any]] = [
        {
            "kind": "result",
            "rmse": plain(rmse),
            "log_likelihood": plain(log_likelihood),
            "n_epochs": model.n_iter_,
            "status": _status(model),
            "best_epoch": model.best_iter_,
            "updates": model.n_updates_,
            "collapse_ratio": plain(model.collapse_ratio_),
            "is_collapsed": bool(model.is_collapsed_),
            "seconds": time.perf_counter() - started,
        }
    ]
    if seed == 0:
        rows.append({"kind": "pictures", **_pictures(model, examples(images))})
    return [{**settings, **row} for row in rows]


def _diverged(n_epochs: int, seconds: float) -> dict[str, Any]:
    """Return the row of a training that has nothing to test."""
    return {
        "kind": "result",
        "rmse": None,
        "log_likelihood": None,
        "n_epochs": n_epochs,
        "status": "diverged",
        "is_collapsed": False,
        "seconds": seconds,
    }


def _status(model: VAE) -> str:
    is_whole = np.isfinite(model.history_["train_loss"][-1])
    return "completed" if is_whole else "diverged"


def examples(images: ImageSet) -> npt.NDArray[np.uint8]:
    """Return the first test image of every class."""
    first = [np.flatnonzero(images.test_labels == label)[0] for label in range(10)]
    return images.test_images[first]


def _model(dataset: str, method: Method, epochs: int, seed: int) -> VAE:
    is_averaged = method == AVERAGED
    return VAE(
        objective="mm" if is_averaged else method.objective,
        reduction="mean" if is_averaged else "sum",
        n_latent=N_LATENT[dataset],
        max_iter=epochs,
        validate_every=min(VALIDATE_EVERY, epochs),
        random_state=seed,
    )


def _pictures(model: VAE, shown: npt.NDArray[np.uint8]) -> dict[str, str]:
    mean, std = model.reconstruct(shown, N_CODES)
    pictures: Sequence[Any] = (
        mean,
        std,
        model.sample_posterior(shown, random_state=0),
        model.sample(len(shown), random_state=0),
    )
    return dict(zip(PICTURES, map(_encoded, pictures), strict=True))


def _encoded(images: Any) -> str:
    """Return images, cut to [0, 1], as bytes in text."""
    grey = np.round(255 * np.clip(images, 0, 1)).astype(np.uint8)
    return base64.b64encode(grey.tobytes()).decode()


def decoded(text: str) -> npt.NDArray[np.uint8]:
    """Return the images of a row of the kind pictures, ``(10, 28, 28)``."""
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, 28, 28)
