"""The report of an assessment says what was trained."""

from types import SimpleNamespace

import numpy as np
import pytest

from betanll.distributions import Log, Normal
from betanll.evaluation import Assessment, TargetAssessment
from betanll.evaluation._assess import CONSTANT, MODEL, MSE, RIDGE
from betanll.metrics import evaluate
from betanll.networks import MLP
from betanll.objectives import MSE as MSEObjective
from betanll.objectives import BetaNLL
from betanll.reports import findings_of, report_of
from betanll.reports._report import _calibration


def assessed():
    y = np.random.default_rng(0).normal(size=100)
    predictive = Normal(np.zeros(100), np.ones(100))
    names = (MODEL, RIDGE, CONSTANT)
    target = TargetAssessment(
        "weight",
        scores={name: evaluate(predictive, y) for name in names},
        crps=dict.fromkeys(names, np.abs(y)),
        squared_errors=dict.fromkeys([*names, MSE], y**2),
        revealing=[],
    )
    predictive = Normal(np.zeros((100, 1)), np.ones((100, 1)))
    return Assessment(
        model=SimpleNamespace(objective_=BetaNLL(0.5)),
        rows=np.arange(100),
        target=y[:, None],
        predictive=predictive,
        interval=predictive.interval(0.9),
        targets=[target],
        sample_fractions={},
    )


def test_report_says_what_was_trained():
    assessment = assessed()
    vars(assessment.model).update(
        beta_=0.5,
        best_learning_rate_=1e-3,
        n_iter_=7,
        n_updates_=70,
        net_=MLP(3, (50, 20)),
        members_=[None, None],
        conformal_scores_=None,
        spread_=np.ones(1),
        df_=None,
        target_transform_=(Log(),),
        random_state=3,
        history_={},
    )
    report = report_of(
        assessment,
        title="Title",
        configuration={"data": "d.csv"},
        command="betanll fit d.csv",
    )
    assert report.findings == findings_of(assessment)
    assert report.target_names == ["weight"]
    assert report.scores == [assessment.targets[0].scores]
    expected = {
        "data": "d.csv",
        "objective": "beta-nll",
        "beta": "0.5",
        "learning rate": "0.001",
        "hidden layers": "50, 20",
        "ensemble members": "2",
        "learnt of the target": "log",
        "calibration": "none",
        "random seed": "3",
    }
    assert expected.items() <= report.configuration.items()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"conformal_scores_": [np.ones(3)]}, "conformal"),
        ({"spread_": np.array([1.25, 0.5])}, "spread x 1.25, 0.5"),
        (
            {"spread_": np.array([1.1]), "df_": np.array([5.0])},
            "spread x 1.1, Student t with 5 degrees of freedom",
        ),
        ({"objective_": MSEObjective(), "spread_": np.array([0.3])}, "none"),
    ],
)
def test_calibration_is_told_as_it_was_found(found, words):
    model = {
        "conformal_scores_": None,
        "spread_": np.ones(1),
        "df_": None,
        "objective_": BetaNLL(),
    }
    assert _calibration(SimpleNamespace(**{**model, **found})) == words
