"""scikit-learn's own checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from betanll import HeteroscedasticRegressor

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "validation rows and batches are drawn at random from the rows, so a row with "
        "weight two is not the same as two rows"
    ),
}


# Less than by default: scikit-learn fits about a hundred times.
@parametrize_with_checks(
    [
        HeteroscedasticRegressor(
            hidden_layer_sizes=16, n_bins=8, max_updates=300, n_members=2
        )
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [HeteroscedasticRegressor(preset="paper", max_updates=2000, calibration="scale")],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_check_of_a_calibrated_ensemble(estimator, check):
    check(estimator)
