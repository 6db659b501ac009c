"""Tables of comparisons, without any training."""

import numpy as np
import pytest

from betanll.evaluation import Comparison


def compared(*, scales=(1.0,), worse=1.0, n=400):
    """Two models on targets of several units; the second has `worse` times the CRPS."""
    rng = np.random.default_rng(0)
    pattern = rng.exponential(size=(n, len(scales))) * scales
    crps = {"good": 0.5 * pattern, "other": 0.5 * worse * pattern}
    return Comparison(
        nll=crps,
        crps=crps,
        squared_error={name: losses**2 for name, losses in crps.items()},
        coverage={name: np.full(len(scales), 0.9) for name in crps},
        constant_crps=pattern,
    )


def test_targets_are_not_averaged_across_units():
    comparison = compared(scales=(1.0, 1000.0), worse=1.5)
    for i, scale in enumerate((1.0, 1000.0)):
        first, second = comparison.table(i)
        assert (first["model"], second["model"]) == ("good", "other")
        assert first["crps"] == pytest.approx(0.5 * scale, rel=0.1)
        losses = comparison.squared_error["good"][:, i]
        assert first["rmse"] == pytest.approx(np.sqrt(np.mean(losses)))


def test_missing_values_do_not_count():
    whole = compared(worse=1.5, n=50)
    gaps = compared(worse=1.5, n=80)
    is_missing = np.arange(80) >= 50
    for losses in (*gaps.crps.values(), *gaps.squared_error.values()):
        losses[is_missing] = np.nan
    gaps.constant_crps[is_missing] = np.nan
    assert gaps.table() == whole.table()
    assert gaps.no_better_than_guessing() == []


@pytest.mark.parametrize(
    ("worse", "expected"), [(1.5, []), (2.0, ["other"]), (3.0, ["other"])]
)
def test_models_that_a_constant_would_do_for(worse, expected):
    assert compared(worse=worse).no_better_than_guessing() == expected


def test_a_difference_that_may_be_chance_is_not_better():
    comparison = compared(n=12)
    rng = np.random.default_rng(1)
    comparison.constant_crps[:] = rng.permutation(1.05 * comparison.crps["good"])
    assert comparison.no_better_than_guessing() == ["good", "other"]
