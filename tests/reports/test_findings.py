"""Each sentence appears exactly when it should, and no bad model gets a good one."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from betanll.distributions import Normal
from betanll.evaluation import Assessment, TargetAssessment
from betanll.evaluation._assess import CONSTANT, MODEL, MSE, PLAIN_NLL, RIDGE
from betanll.metrics import Scores
from betanll.objectives import MSE as MSEObjective
from betanll.objectives import BetaNLL, GaussianNLL
from betanll.reports._findings import findings_of
from betanll.reports._support import on_negative_bounds

#: A model with which nothing is wrong: RMSE, log-likelihood and CRPS.
FINE = {
    MODEL: (1.0, -1.0, 0.5),
    PLAIN_NLL: (1.0, -1.0, 0.5),
    RIDGE: (1.5, -1.5, 0.7),
    CONSTANT: (2.0, -2.0, 1.0),
}


def rows_of(mean, n, seed=0):
    """Losses of rows that have a given mean; same seed, same pattern."""
    rows = np.random.default_rng(seed).exponential(size=n)
    return mean * rows / rows.mean()


def assessed_target(
    name="y", n=1000, *, mse_rmse=1.0, unclear=(), revealing=(), **changes
):
    """Build a target with which nothing is wrong, or what is asked for.

    Names in `unclear` have the losses of their rows in another order, so that small
    differences to them are chance. Changes are scores by the names below.
    """
    names = {"model": MODEL, "nll": PLAIN_NLL, "ridge": RIDGE, "constant": CONSTANT}
    numbers = FINE | {names[key]: value for key, value in changes.items()}
    numbers = {name: value for name, value in numbers.items() if value is not None}
    levels = {0.5: 0.5, 0.9: 0.9, 0.95: 0.95}
    seeds = {name: 1 + i if name in unclear else 0 for i, name in enumerate(numbers)}
    errors = {k: rows_of(v[0] ** 2, n, seeds[k]) for k, v in numbers.items()}
    errors[MSE] = rows_of(mse_rmse**2, n, 9 if MSE in unclear else 0)
    return TargetAssessment(
        name,
        scores={k: Scores(*v, levels, levels) for k, v in numbers.items()},
        crps={k: rows_of(v[2], n, seeds[k]) for k, v in numbers.items()},
        squared_errors=errors,
        revealing=list(revealing),
    )


def assessed(
    n=1000, n_inside=None, *, objective=None, n_missing=0, is_infinite=False, **target
):
    """Build an assessment of one target."""
    return joined([assessed_target(n=n, **target)], n, [n_inside], objective)(
        n_missing, is_infinite
    )


def joined(targets, n, n_inside, objective=None):
    """Return a function that builds the assessment of several targets."""

    def build(n_missing=0, is_infinite=False):
        counts = [round(0.9 * n) if count is None else count for count in n_inside]
        target = np.where(np.arange(n)[:, None] < counts, 0.0, 9.0)
        target = np.concatenate([target, np.full((n_missing, len(targets)), np.nan)])
        bound = np.full(target.shape, np.inf if is_infinite else 1.0)
        return Assessment(
            model=SimpleNamespace(objective_=objective or BetaNLL(0.5)),
            rows=np.arange(len(target)),
            target=target,
            predictive=Normal(np.zeros(target.shape), np.ones(target.shape)),
            interval=np.stack([-bound, bound], axis=1),
            targets=targets,
            sample_fractions={},
        )

    return build


def texts(assessment, kind):
    return [f.text for f in findings_of(assessment) if f.kind == kind]


def test_nothing_to_complain_about():
    assessment = assessed()
    assert texts(assessment, "warning") == []
    assert texts(assessment, "note") == []
    gain, coverage, mean = texts(assessment, "good")
    assert coverage == (
        "Of the 1000 held-out values, 90% lie in their 90% intervals, as they should."
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
        f.text for f in findings_of(assessed(n, n_inside)) if "90% intervals" in f.text
    ]
    assert verdict in text
    assert text.startswith(f"Of the {n} held-out values, {100 * n_inside / n:.0f}% lie")
    kinds = {"too": "warning", "as": "good", "may": "note"}
    assert text in texts(assessed(n, n_inside), kinds[verdict.split()[0]])


def test_missing_targets_are_neither_inside_nor_outside():
    good = " ".join(texts(assessed(n_missing=500), "good"))
    assert "Of the 1000 held-out values, 90%" in good


def test_infinite_intervals_are_a_warning_of_their_own():
    (text,) = texts(assessed(is_infinite=True), "warning")
    assert "too few rows to promise 90% intervals" in text
    assert not [t for t in texts(assessed(is_infinite=True), "good") if "90%" in t]


def test_mean_worse_than_that_of_squared_error():
    worse = {"model": (1.2, -1.0, 0.5), "nll": None}
    (text,) = texts(assessed(**worse), "warning")
    assert text.startswith("Learning a spread made the mean worse: the typical error")
    assert "is 1.2, and 1 for the same network" in text
    assert "(--beta 1) or --beta auto may help" in text
    for beta in (1.0, 3.0, (1.0, 0.0)):
        (text,) = texts(assessed(**worse, objective=BetaNLL(beta)), "warning")
        assert text.endswith("A smaller beta (--beta 0.5) or --beta auto may help.")
    (text,) = texts(assessed(**worse, objective=GaussianNLL()), "warning")
    assert text.endswith("Beta-NLL (--objective beta-nll) may help.")
    # a model that learns no spread cannot be blamed
    assessment = assessed(**worse, objective=MSEObjective())
    assert not [f for f in findings_of(assessment) if "Learning a spread" in f.text]
    # by chance
    (text,) = texts(assessed(50, **worse, unclear=[MSE]), "note")
    assert text.startswith(
        "Learning a spread may have harmed the mean, or it is chance"
    )
    # by too little to matter, and better
    for rmse in (1.02, 0.5):
        assert texts(assessed(**{**worse, "model": (rmse, -1.0, 0.5)}), "warning") == []


def test_plain_likelihood_in_its_trap():
    (text,) = texts(assessed(nll=(1.5, -1.0, 0.5)), "note")
    assert text.endswith("its typical error is 50% larger (1.5).")
    assert texts(assessed(nll=(1.05, -1.0, 0.5)), "note") == []
    assert texts(assessed(nll=None), "note") == []
    # A model that is worse than the average does not show a cure.
    bad = assessed(model=(2.5, -3.0, 1.5), nll=(9.0, -9.0, 9.0))
    assert not [f for f in findings_of(bad) if "trap" in f.text]


def test_plain_likelihood_may_be_better():
    (text,) = texts(assessed(nll=(1.0, -1.0, 0.4)), "warning")
    assert text.endswith("(CRPS 0.4 against 0.5). Use --objective nll.")
    # by too little to matter, and by chance
    for weak in ({"nll": (1.0, -1.0, 0.49)}, {"nll": (1, -1, 0.4), "n": 8}):
        unclear = [PLAIN_NLL] if "n" in weak else []
        assert texts(assessed(**weak, unclear=unclear), "warning") == []
    # A cure that is not one either is not advised.
    useless = assessed(model=(2.0, -2.0, 1.4), nll=(2.0, -2.0, 1.2))
    assert not [f for f in findings_of(useless) if "--objective nll" in f.text]


def test_ridge_is_better():
    (text,) = texts(assessed(ridge=(1.5, -1.5, 0.4)), "warning")
    assert text.startswith("A straight-line model (ridge) with a constant spread pred")
    assert "(CRPS 0.4 against 0.5)" in text
    assert "Use ridge, add rows" in text
    # in the mean alone
    (text,) = texts(assessed(ridge=(0.8, -1.5, 0.7)), "warning")
    assert "its typical error is 0.8, and 1 for the network. Train longer" in text
    for assessment in (
        assessed(ridge=(1.5, -1.5, 0.4)),
        assessed(ridge=(0.8, -1.5, 0.7)),
    ):
        assert not [t for t in texts(assessment, "good") if "better" in t]
    # by too little to matter
    assert texts(assessed(ridge=(0.99, -1.5, 0.7)), "warning") == []


NAN = float("nan")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        # worse in everything; as good; not finite
        ((3.0, -3.0, 1.5), "predicts no better than always guessing the average"),
        ((2.0, -2.0, 1.0), "predicts no better than always guessing the average"),
        ((NAN, NAN, NAN), "predicts no better than always guessing the average"),
        # a better CRPS hides a few rows that are far off
        ((2.5, -1.0, 0.5), "The mean is no better than the average: the typical"),
        ((1.0, -9.0, 0.5), "The log-likelihood is no better than with always"),
        ((NAN, -1.0, 0.5), "The mean is no better than the average"),
        ((1.0, NAN, 0.5), "The log-likelihood is no better than with always"),
    ],
)
def test_model_worse_than_the_constant_is_warned_of(model, sentence):
    assessment = assessed(model=model, mse_rmse=3.0)
    warned = [t for t in texts(assessment, "warning") if sentence in t]
    assert len(warned) == 1
    # ... with what to do,
    advice = ("add inputs or rows", "check the rows", "Look for outliers", "use ridge")
    assert any(part in warned[0] for part in advice)
    # and not praised for being better, or for a mean that is worse than the average.
    assert not [t for t in texts(assessment, "good") if "better" in t]
    if not model[0] < 2:
        assert not [t for t in texts(assessment, "good") if "the mean" in t]


def test_what_to_do_depends_on_what_ridge_can():
    worse = {"model": (3.0, -3.0, 1.5), "mse_rmse": 3.0}
    (text,) = texts(assessed(**worse, nll=None), "warning")
    assert (
        "A straight-line model (ridge) does better (CRPS 0.7), so the inputs do" in text
    )
    (text,) = texts(assessed(**worse, nll=None, ridge=(2.0, -2.0, 1.0)), "warning")
    assert text.endswith(
        "The inputs may say little about the target: add inputs or rows."
    )


def test_gain_that_may_be_chance_or_is_tiny_is_not_good():
    unclear = assessed(20, model=(1.9, -1.9, 0.97), nll=None, unclear=[CONSTANT])
    (text,) = [t for t in texts(unclear, "warning") if "not clearly better" in t]
    assert "(CRPS 0.97 against 1): on 20 held-out values the difference may be" in text
    tiny = assessed(model=(1.9, -1.9, 0.99), nll=None, ridge=(1.95, -2.0, 1.0))
    (text,) = [t for t in texts(tiny, "note") if "CRPS" in t]
    assert text.startswith("The predictions are only 1.0% better (CRPS)")
    for assessment in (unclear, tiny):
        assert not [t for t in texts(assessment, "good") if "better" in t]


def test_columns_that_give_the_target_away():
    exact = {"ridge": (1e-4, 9.0, 1e-4)}
    (text,) = texts(assessed(**exact, revealing=["price $"]), "warning")
    assert text == (
        "Column 'price $' explains the target almost exactly: the error is below 0.1% "
        "of its spread. Check whether it would be known at prediction time; if not, it "
        "gives the target away: leave it out with --drop 'price $'. A straight-line "
        "model (ridge) has a typical error of 0.0001, the network 1."
    )
    (text,) = texts(assessed(**exact, revealing=["a", "b"]), "warning")
    assert text.startswith("Columns 'a', 'b' explain the target almost exactly")
    assert "leave them out with --drop a --drop b. A straight-line" in text
    (text,) = texts(assessed(**exact, revealing=list("abcdef")), "warning")
    assert text.startswith("6 columns together explain the target almost exactly")
    # The reason is not that "the relation may be close to linear", and no praise.
    assessment = assessed(**exact, revealing=["a"])
    assert not [f for f in findings_of(assessment) if "linear" in f.text]
    assert not [t for t in texts(assessment, "good") if "better" in t or "harm" in t]


def test_each_of_several_targets_has_its_own_verdict():
    # One is too sure and one too careful: their average would be right.
    bad = assessed_target("length (mm)", model=(3.0, -3.0, 1.5), mse_rmse=3.0, nll=None)
    fine = assessed_target("weight (g)", nll=None)
    assessment = joined([fine, bad], 1000, [1000, 800])()
    warnings = texts(assessment, "warning")
    assert [text.split(":")[0] for text in warnings] == [
        "weight (g)",
        "length (mm)",
        "length (mm)",
    ]
    assert "too wide" in warnings[0]
    assert (
        "no better than always guessing the average (CRPS 1.5 against 1)" in warnings[1]
    )
    assert "too narrow" in warnings[2]
    good = texts(assessment, "good")
    assert all(text.startswith("weight (g): ") for text in good)
    assert any("typical error is 1, and 1" in text for text in good)


def test_target_without_held_out_values():
    nothing = TargetAssessment("z", {}, {}, {}, [])
    assessment = joined([assessed_target("y"), nothing], 1000, [None, None])()
    assert texts(assessment, "warning") == [
        "z: No held-out value is known, so nothing can be said."
    ]


def test_few_rows():
    (text,) = texts(assessed(49), "note")
    assert text == "Only 49 rows were held out, so all these numbers are rough."
    assert texts(assessed(50), "note") == []


def test_warnings_come_first():
    kinds = [f.kind for f in findings_of(assessed(40, 10, ridge=(1.5, -1.5, 0.4)))]
    assert kinds == ["warning", "warning", "good", "note"]


@pytest.mark.parametrize(
    ("target", "low", "share", "option"),
    [
        ([1.0, 2.0, 3.0, np.nan], [-1.0, 0.5, 1.0, 1.0], "25%", "--log"),
        ([0.0, 2.0, 3.0, 4.0], [-1.0, -0.5, 1.0, 1.0], "50%", "log1p"),
        ([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 1.0, 1.0], None, None),
        ([-1.0, 2.0, 3.0, 4.0], [-9.0, 0.5, 1.0, 1.0], None, None),
        # Of two values nothing is known.
        ([0.0, 0.0, 0.0, 4.0], [-9.0, 0.5, 1.0, 1.0], None, None),
    ],
)
def test_negative_bounds_of_a_positive_target(target, low, share, option):
    interval = np.column_stack([low, np.full(4, 9.0)])
    found = list(on_negative_bounds(np.array(target), interval))
    assert len(found) == (share is not None)
    for finding in found:
        assert finding.kind == "note"
        assert finding.text.startswith(f"{share} of the lower bounds are negative")
        assert finding.text.endswith(f"{option}.")


# Rows that judge the model


def over_time(growth, n=200):
    assessment = assessed(n)
    (target,) = assessment.targets
    late = np.arange(n) >= n // 2
    target.crps[MODEL] = np.where(late, 1 + growth, 1.0) * target.crps[MODEL]
    return replace(assessment, times=np.arange(n))


def test_predictions_that_get_worse_with_time_are_noticed():
    (warning,) = texts(over_time(0.8), "warning")
    assert warning.startswith("Predictions get worse with time: in the later half of")
    assert texts(over_time(0.0), "warning") == []
    assert texts(over_time(-0.5), "warning") == []
    assert texts(over_time(0.8, n=18), "warning") == []
    shuffled = replace(over_time(0.8), times=np.random.default_rng(0).permutation(200))
    assert texts(shuffled, "warning") == []


@pytest.mark.parametrize(
    ("n_splits", "start"),
    [
        (1, "Scores and pictures come from a model on 1,000 held-out rows"),
        (
            5,
            "Scores and pictures come from 5 models on 1,000 held-out rows",
        ),
    ],
)
def test_scores_of_other_models_are_called_so(n_splits, start):
    changes = {"n_splits": n_splits, "n_rows": 1200, "is_of_all_rows": True}
    (note,) = texts(replace(assessed(), **changes), "note")
    assert note.startswith(start)
    assert "trained on all 1,200 rows" in note
