"""``betanll demo``: the pitfall and the cure on the sine of the paper."""

from __future__ import annotations

import math
from pathlib import Path

import click


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("betanll-demo"),
    show_default=True,
    help="Folder for the picture.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option(
    "--updates",
    type=click.IntRange(min=100),
    default=60_000,
    show_default=True,
    help="Updates of each training.",
)
def command(out: Path, seed: int, updates: int) -> None:
    """Train NLL and beta-NLL on a sine and show what each has learnt."""
    from betanll import datasets
    from betanll._files import check_writable, written_atomically
    from betanll.metrics import log_likelihood, rmse
    from betanll.nets import MLP
    from betanll.objectives import BetaNLL, GaussianNLL
    from betanll.reports import sine_figure
    from betanll.training import Adam, FitTask, epochs_for, fit_fleet

    check_writable(out)
    x, y = datasets.sine(seed=0)
    test_y = datasets.sine(seed=1).y
    click.echo(
        f"Training a 2x128 tanh network on a sine of {len(x)} points, "
        f"{updates} updates each, with three losses:"
    )
    epochs = epochs_for(updates, n_samples=len(x), batch_size=100)
    labels = {
        "NLL": GaussianNLL(),
        "beta-NLL, beta = 0.5": BetaNLL(0.5),
        "beta-NLL, beta = 1": BetaNLL(1.0),
    }
    results = fit_fleet(
        [
            FitTask(
                MLP(1, (128, 128), activation="tanh"),
                objective,
                x,
                y,
                optimizer=Adam(1e-3),
                batch_size=100,
                max_epochs=epochs,
                validate_every=max(1, epochs // 100),
                seed=seed,
            )
            for objective in labels.values()
        ],
        progress=True,
    )
    predictions = {
        label: result.predict(x) for label, result in zip(labels, results, strict=True)
    }
    click.echo(f"\n{'':22}{'RMSE':>8}{'log-likelihood':>17}")
    for label, predictive in predictions.items():
        click.echo(
            f"{label:22}{rmse(predictive.mean, test_y):8.4f}"
            f"{log_likelihood(predictive, test_y):17.3f}"
        )
    noise = datasets.SINE_NOISE
    best = -0.5 * math.log(2 * math.pi * math.e * noise**2)
    click.echo(f"{'best possible':22}{noise:8.4f}{best:17.3f}")

    path = out / "sine.png"
    with written_atomically(path) as temporary:
        sine_figure(x, test_y, predictions).savefig(temporary, dpi=150)
    click.echo(f"\nPicture: {path}")
