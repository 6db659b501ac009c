"""The recommended beta agrees with the verdict and with the scores that are shown."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betanll.evaluation._advice import recommended_beta
from betanll.evaluation._trial import BETAS

RESULTS = Path(__file__).parents[2] / "results" / "doctor"
FLAT = {name: np.zeros(9) for name in BETAS}
ERRORS = {"nll": 3.0, "beta-nll:0.5": 2.0, "beta-nll:1": 1.0}
BETTER = {"rmse": ERRORS, "log_likelihood": {n: -e for n, e in ERRORS.items()}}


def test_likelihood_counts_before_error():
    assert recommended_beta(FLAT, ERRORS, pitfall=False, **BETTER) == 1
    better = FLAT | {"nll": np.ones(9)}
    assert recommended_beta(better, ERRORS, pitfall=False, **BETTER) == 0
    # It is no cure of itself.
    assert recommended_beta(better, ERRORS, pitfall=True, **BETTER) == 1


@pytest.mark.parametrize("score", ["rmse", "log_likelihood"])
def test_without_the_pitfall_no_held_out_score_may_get_worse(score):
    values = BETTER[score]
    worse = {**values, "beta-nll:1": 2 * values["nll"]}
    scores = {**BETTER, score: worse}
    assert recommended_beta(FLAT, ERRORS, pitfall=False, **scores) == 0
    # Where points are starved, the mean matters and the words name the price.
    assert recommended_beta(FLAT, ERRORS, pitfall=True, **scores) == 1
    # Scores that are the same are not worse.
    same = {**BETTER, score: {**values, "beta-nll:1": values["nll"]}}
    assert recommended_beta(FLAT, ERRORS, pitfall=False, **same) == 1


@pytest.mark.parametrize("file", ["cases.csv", "development.csv"])
def test_stored_advice_agrees_with_stored_scores(file):
    frame = pd.read_csv(RESULTS / file)
    names = {beta: name for name, beta in BETAS.items()}
    advised = frame[~frame["pitfall"] & (frame["recommended_beta"] > 0)]
    assert len(advised)
    for _, row in advised.iterrows():
        name = names[row["recommended_beta"]]
        assert row[f"rmse_{name}"] <= row["rmse_nll"]
        assert row[f"ll_{name}"] >= row["ll_nll"]
