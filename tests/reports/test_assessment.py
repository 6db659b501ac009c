"""Each sentence appears exactly when it should."""

from types import SimpleNamespace

import numpy as np
import pytest

from betanll.assessment import Assessment
from betanll.assessment._assess import CONSTANT, MODEL, PLAIN_NLL, RIDGE
from betanll.distributions import Normal
from betanll.metrics import Scores
from betanll.objectives import MSE, BetaNLL, GaussianNLL
from betanll.reports._assessment import _calibration, findings_of, report_of


def scores(rmse=1.0, crps=0.5):
    levels = {0.5: 0.5, 0.9: 0.9, 0.95: 0.95}
    return Scores(rmse, -1.0, crps, coverage=levels, width=levels)


def assessed(
    n=1000,
    n_inside=None,
    *,
    rmse=1.0,
    mse_rmse=1.0,
    crps=0.5,
    ridge_crps=0.7,
    constant_crps=1.0,
    nll_rmse=1.0,
    objective=None,
    errors=None,
    mse_errors=None,
    n_missing=0,
    is_infinite=False,
):
    """Build an assessment in which nothing is wrong, or what is asked for."""
    n_inside = round(0.9 * n) if n_inside is None else n_inside
    target = np.where(np.arange(n) < n_inside, 0.0, 9.0)[:, None]
    missing = np.full((n_missing, 1), np.nan)
    target = np.concatenate([target, missing])
    bound = np.full((len(target), 1), np.inf if is_infinite else 1.0)
    ones = np.ones(len(target))
    known = {
        MODEL: scores(rmse, crps),
        PLAIN_NLL: scores(nll_rmse),
        RIDGE: scores(crps=ridge_crps),
        CONSTANT: scores(crps=constant_crps),
    }
    if nll_rmse is None:
        del known[PLAIN_NLL]
    return Assessment(
        model=SimpleNamespace(objective_=objective or BetaNLL(0.5)),
        target=target,
        predictive=Normal(np.zeros(target.shape), np.ones(target.shape)),
        interval=np.stack([-bound, bound], axis=1),
        scores=known,
        squared_errors=ones if errors is None else errors,
        mse_squared_errors=ones if mse_errors is None else mse_errors,
        mse_rmse=mse_rmse,
        sample_fractions={},
    )


def texts(assessment, kind):
    return [f.text for f in findings_of(assessment) if f.kind == kind]


def test_nothing_to_complain_about():
    assessment = assessed()
    assert texts(assessment, "warning") == []
    assert texts(assessment, "note") == []
    coverage, mean, gain = texts(assessment, "good")
    assert coverage == (
        "Of the 1000 held-out values, 90 % lie in their 90 % intervals, as they should."
    )
    assert mean.startswith("Learning a spread did not harm the mean: ")
    assert "are 50% better (CRPS)" in gain


@pytest.mark.parametrize(
    ("n", "n_inside", "verdict"),
    [
        (1000, 800, "too narrow"),
        (1000, 860, "too narrow"),
        (1000, 871, "as they should"),
        (1000, 929, "as they should"),
        (1000, 940, "too wide"),
        (1000, 1000, "too wide"),
        # significant, but not worth a warning
        (100_000, 88_000, "as they should"),
        # far off, but of few
        (20, 16, "may be chance"),
        (40, 40, "may be chance"),
        (20, 10, "too narrow"),
        (1, 0, "may be chance"),
    ],
)
def test_coverage(n, n_inside, verdict):
    (text,) = [
        f.text for f in findings_of(assessed(n, n_inside)) if "90 % intervals" in f.text
    ]
    assert verdict in text
    assert text.startswith(
        f"Of the {n} held-out values, {100 * n_inside / n:.0f} % lie"
    )
    kinds = {"too": "warning", "as": "good", "may": "note"}
    assert text in texts(assessed(n, n_inside), kinds[verdict.split()[0]])


def test_missing_targets_are_neither_inside_nor_outside():
    assert (
        "Of the 1000 held-out values, 90 %" in texts(assessed(n_missing=500), "good")[0]
    )


def test_infinite_intervals_are_a_warning_of_their_own():
    (text,) = texts(assessed(is_infinite=True), "warning")
    assert "too few rows to promise 90 % intervals" in text
    assert not [t for t in texts(assessed(is_infinite=True), "good") if "90 %" in t]


def test_mean_worse_than_that_of_squared_error():
    rng = np.random.default_rng(0)
    mse_errors = rng.chisquare(1, 1000)
    worse = {"rmse": 1.2, "errors": 1.44 * mse_errors, "mse_errors": mse_errors}
    (text,) = texts(assessed(**worse), "warning")
    assert text.startswith("Learning a spread made the mean worse: the typical error")
    assert "is 1.2, and 1 for the same network" in text
    assert "(--beta 1) or --beta auto may help" in text
    (text,) = texts(
        assessed(**worse, objective=GaussianNLL(), nll_rmse=None), "warning"
    )
    assert text.endswith("Beta-NLL (--objective beta-nll) may help.")
    # a model that learns no spread cannot be blamed
    assessment = assessed(**worse, objective=MSE())
    assert not [f for f in findings_of(assessment) if "Learning a spread" in f.text]
    # by chance
    errors = rng.permutation(mse_errors)
    (text,) = texts(assessed(rmse=1.2, errors=errors, mse_errors=mse_errors), "note")
    assert text.startswith(
        "Learning a spread may have harmed the mean, or it is chance"
    )
    # by too little to matter, and better
    for rmse in (1.02, 0.5):
        assert texts(assessed(**{**worse, "rmse": rmse}), "warning") == []


def test_plain_likelihood_in_its_trap():
    (text,) = texts(assessed(nll_rmse=1.5), "note")
    assert text.endswith("its typical error is 50% larger (1.5).")
    assert texts(assessed(nll_rmse=1.05), "note") == []
    assert texts(assessed(nll_rmse=None), "note") == []


def test_baselines_that_are_better():
    (text,) = texts(assessed(ridge_crps=0.4), "warning")
    assert text.startswith("A straight-line model with a constant spread predicts as")
    assert "(CRPS 0.4 against 0.5)" in text
    # the simpler one counts
    (text,) = texts(assessed(ridge_crps=0.4, constant_crps=0.5), "warning")
    assert text.startswith("Guessing the average with a constant spread predicts as")
    assert not [t for t in texts(assessed(ridge_crps=0.4), "good") if "better" in t]


def test_few_rows():
    (text,) = texts(assessed(49), "note")
    assert text == "Only 49 rows were held out, so all these numbers are rough."
    assert texts(assessed(50), "note") == []


def test_warnings_come_first():
    kinds = [f.kind for f in findings_of(assessed(40, 10, ridge_crps=0.4))]
    assert kinds == ["warning", "warning", "good", "note"]


def test_report_says_what_was_trained():
    assessment = assessed()
    vars(assessment.model).update(
        beta_=0.5,
        best_learning_rate_=1e-3,
        n_iter_=7,
        n_updates_=70,
        net_=SimpleNamespace(hidden_sizes=(50, 20), activation="relu"),
        members_=[None, None],
        conformal_scores_=None,
        spread_=np.ones(1),
        df_=None,
        random_state=3,
        history_={},
    )
    report = report_of(
        assessment,
        title="Title",
        target_names=["y"],
        configuration={"data": "d.csv"},
        command="betanll fit d.csv",
    )
    assert report.findings == findings_of(assessment)
    assert report.scores is assessment.scores
    expected = {
        "data": "d.csv",
        "objective": "beta-nll",
        "beta": "0.5",
        "learning rate": "0.001",
        "hidden layers": "50, 20",
        "ensemble members": "2",
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
        ({"objective_": MSE(), "spread_": np.array([0.3])}, "none"),
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
