"""Own data and an own objective beside two of betanll, in a table.

Run ``python examples/own_experiment.py``; stopped, it resumes from ``tips/sweep.db``.
"""

import jax.numpy as jnp
import numpy as np
import pandas as pd

from betanll import HeteroscedasticRegressor
from betanll.metrics import evaluate
from betanll.objectives import BetaNLL, objective
from betanll.reports import Page, Table
from betanll.sweeps import Experiment, Request, Task, run_experiments, task


@objective("bounded-beta-nll")
class BoundedBetaNLL(BetaNLL):
    """Beta-NLL whose loss saturates, so that single outliers do not decide."""

    def loss(self, parameters, target, progress):
        return 5 * jnp.tanh(super().loss(parameters, target, progress) / 5)


def tips(split):
    """Return inputs and targets with a few outliers, for training and for a test."""
    rng = np.random.default_rng(split)
    bill, guests = rng.gamma(4, 5, 300), rng.integers(1, 7, 300)
    tip = 0.15 * bill + rng.normal(0, 0.02 * bill) + 20 * (rng.uniform(size=300) < 0.02)
    x = np.column_stack([bill, guests])
    return x[:200], tip[:200], x[200:], tip[200:]


@task
def run_split(*, method: str, split: int) -> list[dict]:
    x, y, x_test, y_test = tips(split)
    model = HeteroscedasticRegressor(preset="fast", objective=method, random_state=0)
    scores = evaluate(model.fit(x, y).predict_dist(x_test), y_test)
    return [{"method": method, "crps": scores.crps, "rmse": scores.rmse}]


class Tips(Experiment):
    name, artefacts = "tips", {"tips": "CRPS and RMSE of three objectives on tips."}
    presets = {"smoke": 2, "full": 10}

    def tasks(self, request, results):
        methods = ("mse", "beta-nll", "bounded-beta-nll")
        splits = range(self.presets[request.preset])
        return [Task.of(run_split, method=m, split=s) for m in methods for s in splits]

    def render(self, artefact, results, request):
        runs = pd.DataFrame(results.rows(self.tasks(request, results)))
        table = runs.groupby("method")[["crps", "rmse"]].agg(["mean", "std"]).round(3)
        rows = [[name, *map(str, numbers)] for name, *numbers in table.itertuples()]
        page = Page("Tips", [Table(["Method", "CRPS", "std", "RMSE", "std"], rows)])
        return {"tips.csv": runs.to_csv().encode(), "tips.html": page.html().encode()}


if __name__ == "__main__":
    print(run_experiments([Tips()], Request(("tips",), "full", folder="tips")).paths)
