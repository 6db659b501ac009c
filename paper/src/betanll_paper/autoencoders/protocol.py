"""The runs of the variational autoencoders on images."""

from __future__ import annotations

import base64
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from betanll.sweeps import Task, task
from betanll.training import DivergedError
from betanll_paper.autoencoders.model import VAE, CollapseWarning
from betanll_paper.datasets import ImageSet, load_images
from betanll_paper.presets import Preset
from betanll_paper.published.autoencoders import DATASETS, N_LATENT, N_SEEDS, ROWS
from betanll_paper.published.methods import SLOW, SLOW_NAMES, Method, spec_of
from betanll_paper.rows import plain

#: Moment matching with the loss averaged over pixels, as in the published results; with
#: the sum of the other methods it can be compared with them.
AVERAGED = Method("mm-averaged")
#: Epochs between validation checks.
VALIDATE_EVERY = 5
#: Codes of an image over which the test likelihood averages.
N_CODES = 20
#: Pictures of a run in figure S5, in this order.
PICTURES = ("mean", "std", "posterior", "prior")


#: So many of the training, validation and test images each are used.
_ALL = {"image": None}
PRESETS = {
    "smoke": Preset(2, {"": 2, SLOW_NAMES: 1}, sizes={"image": 64}),
    "laptop": Preset(1, {"": 40, SLOW_NAMES: 2}, sizes=_ALL),
    "paper": Preset(N_SEEDS, {"": 1000, SLOW_NAMES: 1000}, sizes=_ALL),
}


def vae_tasks(
    preset: Preset,
    *,
    methods: Iterable[Method] = (*ROWS, AVERAGED),
    datasets: Iterable[str] = DATASETS,
) -> list[Task]:
    """Return the runs of a preset, the slow runs first.

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
            **method.settings,
            seed=seed,
            epochs=preset.length_of(SLOW_NAMES if method.name in SLOW else ""),
            n_images=preset.sizes["image"],
        )
        for method in wanted
        for dataset in datasets
        for seed in range(preset.repeats)
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
    model = _model(dataset, Method(spec_of(method, beta)), epochs, seed)
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
    """Return the row of a run without a network to test."""
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
