"""Are the points that NLL ignores on ObjectSlide the interactions? (section 4.2)

    python benchmarks/object_slide_points.py

Trains the paper's best configuration with NLL, beta-NLL 0.5 and the squared error, and
looks at each point of the test set: is its residual above 0.05, and does the agent
touch the object there? Writes ``paper/results/dynamics/object-slide-ignored.csv``,
three minutes on one core.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pandas as pd

from betanll import objectives
from betanll.networks import MLP
from betanll.preprocessing import Standardizer
from betanll.training import fit, optimizer
from betanll_paper.simulators import object_slide_splits, object_slide_step

RESULTS = Path(__file__).parents[1] / "paper" / "results" / "dynamics"
METHODS = ("nll", "beta-nll:0.5", "mse")
#: A residual as large as the jump at a contact; the targets have a deviation of 0.08.
IGNORED = 0.05


def touches(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return whether the object moves otherwise than without the agent."""
    alone = x[:, :4].copy()
    alone[:, 0], alone[:, 1] = -1e3, 0
    change = object_slide_step(alone, x[:, 4])[:, 2] - x[:, 2]
    return np.abs(change - y[:, 0]) > 1e-12


def residuals(method: str, epochs: int, seed: int) -> np.ndarray:
    """Return what a trained network leaves of each target of the test set."""
    train, validation, test = object_slide_splits()
    inputs, targets = Standardizer.of_inputs(train.x), Standardizer.of_targets(train.y)
    parts = [(inputs.apply(x), targets.apply(y)) for x, y in (train, validation, test)]
    result = fit(
        MLP(5, (128,) * 3, "relu", "lecun"),
        objectives.get(method),
        *parts[0],
        validation=parts[1],
        optimizer=optimizer(learning_rate=1e-3),
        batch_size=256,
        max_epochs=epochs,
        validate_every=max(1, epochs // 50),
        seed=seed,
    )
    mean = result.predict(parts[2][0]).affine(targets.scale, targets.mean).mean
    return np.asarray(mean - test.y)[:, 0]


@click.command()
@click.option("--epochs", type=click.IntRange(1), default=200, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def main(epochs: int, seed: int) -> None:
    test = object_slide_splits().test
    is_contact = touches(test.x, test.y)
    lines = []
    for method in METHODS:
        is_ignored = np.abs(residuals(method, epochs, seed)) > IGNORED
        lines.append(
            {
                "method": method,
                "epochs": epochs,
                "seed": seed,
                "points": len(test.x),
                "contacts": is_contact.sum(),
                "ignored": is_ignored.sum(),
                "contacts_among_ignored": (is_ignored & is_contact).sum(),
            }
        )
        print(lines[-1], flush=True)
    path = RESULTS / "object-slide-ignored.csv"
    pd.DataFrame(lines).to_csv(path, index=False)


if __name__ == "__main__":
    main()
