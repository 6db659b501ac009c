"""``betanll depth``: learn the depth of pixels, in one process or many."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from betanll.cli.options import (
    MAX_COUNT,
    exponent,
    note_unusual_beta,
    objective_and_beta,
)
from betanll.cli.output import example
from betanll_paper.published.methods import Method

if TYPE_CHECKING:
    from betanll_paper.depth import DepthScores

LOSSES = ("beta-nll", "nll", "mse", "l1", "scale-invariant")
DEFAULT_BETA = 0.5
DEFAULT_ROOMS = 800
#: Rooms to train on for each to validate on, and for each to test on.
ROOMS_PER_OTHER = 20


def _loss(text: str) -> Method:
    objective_and_beta(text, exponent, LOSSES)
    return Method(f"beta-nll:{DEFAULT_BETA}" if text == "beta-nll" else text)


@click.group(epilog=example("betanll depth train --help"))
def command() -> None:
    """Depth of every pixel of an image, with its uncertainty.

    To share a run between processes, start it with torchrun:

        torchrun --nproc-per-node=4 -m betanll depth train ...
    """


@command.command(epilog=example("betanll depth train --loss beta-nll:0.5 --out depth"))
@click.option(
    "--nyu-dir",
    type=click.Path(path_type=Path),
    help="Folder of NYU Depth V2.  [default: synthetic rooms]",
)
@click.option(
    "--rooms",
    type=click.IntRange(4, MAX_COUNT),
    help="Synthetic rooms, with four views each, where there is no --nyu-dir.  "
    f"[default: {DEFAULT_ROOMS}]",
)
@click.option(
    "--loss",
    type=_loss,
    default=f"beta-nll:{DEFAULT_BETA}",
    show_default=True,
    metavar="NAME",
    help=f"One of {', '.join(LOSSES)}; beta may follow beta-nll after a colon.",
)
@click.option(
    "--encoder",
    default="small",
    show_default=True,
    metavar="NAME",
    help="small: from scratch; else folder or hub name of an EfficientNet with its "
    "weights, such as google/efficientnet-b5.",
)
@click.option(
    "--epochs", type=click.IntRange(1, MAX_COUNT), default=25, show_default=True
)
@click.option(
    "--batch-size", type=click.IntRange(1, MAX_COUNT), default=16, show_default=True
)
@click.option(
    "--accumulate",
    type=click.IntRange(1, MAX_COUNT),
    default=1,
    show_default=True,
    help="Parts in which a process takes its share of a batch, to save memory.",
)
@click.option("--learning-rate", type=float, default=3.57e-4, show_default=True)
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
)
@click.option(
    "--loaders",
    type=click.IntRange(0, MAX_COUNT),
    default=0,
    show_default=True,
    help="Processes that read images ahead.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for checkpoint, best weights, log and scores.",
)
def train(
    nyu_dir: Path | None,
    rooms: int | None,
    loss: Method,
    encoder: str,
    epochs: int,
    batch_size: int,
    accumulate: int,
    learning_rate: float,
    precision: str,
    loaders: int,
    seed: int,
    out: Path,
) -> None:
    """Train a network and test it. Run the same command again to resume."""
    from betanll.files import check_writable

    if nyu_dir is not None and rooms is not None:
        raise click.UsageError("--rooms is for synthetic rooms, not for --nyu-dir")
    check_writable(out)
    from betanll_paper.depth import (
        Augmentation,
        DepthLoss,
        TrainingSettings,
        evaluate,
        load_nyu,
        make_rooms,
        mean_scores,
        train_depth,
    )

    import torch  # isort: skip  (after what says how to install it)

    from betanll.progress import Progress
    from betanll_paper.depth.evaluation import scored_pixels
    from betanll_paper.depth.protocol import make_network

    if nyu_dir is None:
        rooms = rooms or DEFAULT_ROOMS
        data = make_rooms(rooms, -(-rooms // ROOMS_PER_OTHER))
    else:
        data = load_nyu(nyu_dir)
    is_real = nyu_dir is not None
    scored_pixels(data.test[0], data.test.name(0), crop=is_real)
    note_unusual_beta(loss.beta)
    with warnings.catch_warnings():  # the note has said it
        warnings.simplefilter("ignore", UserWarning)
        criterion = DepthLoss(loss.name, loss.beta)
    torch.manual_seed(seed)
    network = make_network(encoder, has_variance=criterion.has_variance)
    result = train_depth(
        network,
        criterion,
        data.training,
        data.validation,
        out,
        settings=TrainingSettings(
            epochs=epochs,
            batch_size=batch_size,
            n_accumulated=accumulate,
            learning_rate=learning_rate,
            precision=precision,
            n_loaders=loaders,
            seed=seed,
        ),
        augmentation=Augmentation() if is_real else Augmentation((96, 128), 2.5, False),
        crop=is_real,
        progress=True,
    )
    if os.environ.get("RANK", "0") != "0":
        return
    scores = []
    with Progress(len(data.test), "images", description="testing") as progress:
        for i in range(len(data.test)):
            scores += evaluate(network, data.test, [i], crop=is_real)
            progress.update()
    means = mean_scores(scores)
    _write_scores(out / "scores.csv", means)
    click.echo(
        f"Best on other scenes after {result.best_update} of {result.n_updates} "
        f"updates. Of {len(data.test)} test images:"
    )
    for name, value in means._asdict().items():
        click.echo(f"  {name:15} {value:9.4f}")
    click.echo(f"Written to {out}: best.safetensors, log.csv, scores.csv")


def _write_scores(path: Path, scores: DepthScores) -> None:
    from betanll.files import write_synced, written_atomically

    lines = [",".join(scores._fields), ",".join(f"{value:.6g}" for value in scores)]
    with written_atomically(path) as temporary:
        write_synced(temporary, "\n".join([*lines, ""]).encode())
