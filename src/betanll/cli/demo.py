"""``betanll demo``: the pitfall and the cure on a sine, then a fit of a table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from betanll.cli.options import MAX_COUNT
from betanll.cli.output import check_file, command_line, naming, print_assessment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from betanll.blocks import SplitRows
    from betanll.reports import Picture

_STORY = (
    "NLL and beta-NLL train the same network on the same points for {updates} updates. "
    "The likelihood gives a large variance to the periods that are not learnt yet, and "
    "divides their gradients by it. Beta-NLL multiplies the loss of each point by its "
    "variance to the power beta, so these points keep their weight. The third panel is "
    "the estimator with its defaults. RMSE: {errors}; the noise of the points is "
    "{noise}."
)


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("betanll-demo"),
    show_default=True,
    help="Folder for the report and the picture.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option(
    "--updates",
    type=click.IntRange(100, MAX_COUNT),
    default=60_000,
    show_default=True,
    help="Updates of each training on the sine.",
)
def command(out: Path, seed: int, updates: int) -> None:
    """Show the trap of likelihood training, its cure, and a fit of a table."""
    from betanll.estimators import HeteroscedasticRegressor
    from betanll.evaluation import assess
    from betanll.files import written_atomically
    from betanll.reports import report_of

    path = out / "report.html"
    for file in (path, out / "sine.png"):
        check_file(file)
    story, picture = _sine(seed, updates)

    X, y, (train, test) = _diabetes(seed)
    click.echo(
        "\nThe main job: predict the progression of diabetes from "
        f"{X.shape[1]} measurements of {len(train)} patients "
        f"({len(test)} more are held out)."
    )
    model = HeteroscedasticRegressor(random_state=seed)
    names = ["disease progression"]
    splits = [(train, test)]
    assessment = assess(model, X, y, splits, target_names=names, progress=True)
    report = report_of(
        assessment,
        title="The pitfall, the cure, and a first model",
        configuration={"data": "scikit-learn's diabetes table"},
        command=command_line(),
        introduction=[story],
    )
    with naming(out / "sine.png"), written_atomically(out / "sine.png") as temporary:
        picture.savefig(temporary, dpi=150)
    with naming(path), written_atomically(path) as temporary:
        temporary.write_text(report.html(), encoding="utf-8")
    print_assessment(assessment.targets, report.findings)
    click.echo(f"\nPicture: {out / 'sine.png'}\nReport:  {path}")


def _sine(seed: int, updates: int) -> tuple[Picture, Figure]:
    """Fit the sine of the paper in three ways; tell the story and draw it large."""
    from betanll import HeteroscedasticRegressor, datasets
    from betanll.metrics import log_likelihood, rmse
    from betanll.networks import MLP
    from betanll.objectives import BetaNLL, GaussianNLL
    from betanll.reports import Picture, sine_figure
    from betanll.training import Budget, Data, FitTask, fit_fleet, optimizer

    x, y = datasets.sine(seed=0)
    test_y = datasets.sine(seed=1).y
    click.echo(
        f"The pitfall: a 2x128 tanh network on a sine of {len(x)} points, "
        f"{updates} updates each, with two losses, and the default estimator:"
    )
    budget = Budget.of_updates(updates, len(x), batch_size=100)
    every = max(1, budget.max_epochs // 100)
    data = Data.of(x, y)
    labels = {
        "NLL": GaussianNLL(),
        "beta-NLL, beta = 1": BetaNLL(1.0),
    }
    results = fit_fleet(
        [
            FitTask(
                MLP(1, (128, 128), activation="tanh"),
                objective,
                data,
                optimizer=optimizer(learning_rate=1e-3),
                budget=budget._replace(validate_every=every),
                seed=seed,
            )
            for objective in labels.values()
        ],
        progress=True,
    )
    predictions = {
        label: result.predict(x) for label, result in zip(labels, results, strict=True)
    }
    model = HeteroscedasticRegressor(random_state=seed).fit(x, y)
    predictions["estimator, defaults"] = model.predict_dist(x)
    errors = {
        label: rmse(prediction.mean, test_y)
        for label, prediction in predictions.items()
    }
    click.echo(f"\n{'':22}{'RMSE':>8}{'log-likelihood':>17}")
    for label, predictive in predictions.items():
        click.echo(
            f"{label:22}{errors[label]:8.4f}{log_likelihood(predictive, test_y):17.3f}"
        )
    noise = datasets.SINE_NOISE
    best = -0.5 * math.log(2 * math.pi * math.e * noise**2)
    click.echo(f"{'best possible':22}{noise:8.4f}{best:17.3f}")

    listed = ", ".join(f"{error:.3g} ({label})" for label, error in errors.items())
    story = Picture(
        sine_figure(x, test_y, predictions, width=5),
        title="The pitfall, and the cure",
        caption=_STORY.format(updates=updates, errors=listed, noise=noise),
    )
    return story, sine_figure(x, test_y, predictions)


def _diabetes(seed: int) -> tuple[Any, Any, SplitRows]:
    """Return inputs, targets, and rows to train on and to hold out."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import train_test_split

    X, y = load_diabetes(return_X_y=True, scaled=False)
    train, test = train_test_split(range(len(y)), test_size=0.2, random_state=seed)
    return X, y[:, None], (train, test)
