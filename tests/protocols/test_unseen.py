"""From residuals of members to those of the ensemble, with members that are numbers."""

import numpy as np
import pytest

from betanll.protocols import TrainingData, Whitening, _unseen
from betanll.protocols._unseen import unseen_residuals, window_start

N = 200


@pytest.fixture(autouse=True)
def constant_members(monkeypatch):
    """A member predicts itself everywhere, with variance one."""

    def moments(member, x):
        return np.full((len(x), 1), member), np.ones((len(x), 1))

    monkeypatch.setattr(_unseen, "whitened_moments", moments)


def parts_of(y, n_members, share=0.2, weights=None):
    data = TrainingData(np.arange(len(y))[:, None] * 1.0, y[:, None], weights)
    same = Whitening(np.zeros(1), np.ones(1))
    parts = []
    for m in range(n_members):
        rolled = np.roll(np.arange(len(y)), -window_start(m, n_members, len(y)))
        validation, train = np.split(rolled, [round(share * len(y))])
        parts.append(data.pack(same, same, train, validation))
    return parts


def test_residuals_have_the_size_of_the_ensembles():
    """Over many draws of ten members, the mean square is that of their average."""
    rng = np.random.default_rng(0)
    found, members_alone, truth = [], [], []
    for _ in range(300):
        y, members = rng.normal(size=N), rng.normal(0, 0.7, 10)
        _, scale = unseen_residuals(members, parts_of(y, 10))
        found.append(scale[0] ** 2)
        members_alone.append(np.mean((y[:, None] - members) ** 2))
        truth.append(np.mean((y - members.mean()) ** 2))
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.03)
    assert np.mean(members_alone) > 1.3 * np.mean(truth)


def test_members_without_common_rows_keep_their_residuals():
    y = np.random.default_rng(1).normal(size=N)
    members = [0.5, -0.5, 1.0, -1.0, 0.0]
    unseen, scale = unseen_residuals(members, parts_of(y, 5))
    own = np.concatenate([y[40 * m : 40 * m + 40] - c for m, c in enumerate(members)])
    assert scale[0] ** 2 == pytest.approx(np.mean(own**2), rel=1e-6)
    spread = np.sqrt(1 + np.var(members))
    np.testing.assert_allclose(unseen.residuals[:, 0], own / spread, atol=1e-6)


def test_windows_that_touch_by_rounding_have_no_common_rows():
    """Of 1439 rows, five windows of 288 overlap in one row where they are 287 apart."""
    rng = np.random.default_rng(6)
    y, members = rng.normal(size=1439), np.array([0.0, 5.0, -5.0, 5.0, 0.1])
    _, scale = unseen_residuals(members, parts_of(y, 5))
    starts = [window_start(m, 5, 1439) for m in range(5)]
    own = [np.roll(y, -s)[:288] - c for s, c in zip(starts, members, strict=True)]
    assert scale[0] ** 2 == pytest.approx(np.mean(np.square(own)), rel=1e-6)


def test_standardised_residuals_shrink_with_the_spread_of_the_ensemble():
    y, members = np.full(N, 2.0), np.tile([1.0, -1.0], 5)
    unseen, scale = unseen_residuals(members, parts_of(y, 10))
    # The mean of two members is 0, half their squared difference 2. The mean of ten has
    # 1/2 - 1/10 of it less in its squared error.
    square = 4 - 0.4 * 2
    assert scale[0] ** 2 == pytest.approx(square)
    # They disagree by 0.9 of it.
    variance = 1 + 0.9 * 2
    np.testing.assert_allclose(unseen.residuals**2, square / variance, rtol=1e-6)


def test_a_quarter_of_the_squared_error_is_the_least_that_is_believed():
    y, members = np.full(N, 0.5), np.tile([1.0, -1.0], 5)
    _, scale = unseen_residuals(members, parts_of(y, 10))
    assert scale[0] ** 2 == pytest.approx(0.5**2 / 4)


def test_members_that_have_seen_a_row_are_not_asked(monkeypatch):
    rng = np.random.default_rng(7)
    y, guesses = rng.normal(size=N), rng.normal(size=(10, N))
    parts = parts_of(y, 10)
    starts = [window_start(m, 10, N) for m in range(10)]

    def found(seen):
        def moments(member, x):
            rows = x[:, 0].round().astype(int)
            is_own = (rows - starts[member]) % N < N // 5
            mean = np.where(is_own, guesses[member, rows], seen[rows])
            return mean[:, None], np.ones((len(x), 1))

        monkeypatch.setattr(_unseen, "whitened_moments", moments)
        unseen, scale = unseen_residuals(range(10), parts)
        return unseen.residuals, scale

    for one, other in zip(found(y), found(np.zeros(N)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_without_weight_do_not_count():
    rng = np.random.default_rng(2)
    y, members = rng.normal(size=N), rng.normal(size=10)
    weights = np.ones((N, 1))
    weights[::2] = 0
    expected = unseen_residuals(members, parts_of(y, 10, weights=weights))
    y[::2] = 1e3
    found = unseen_residuals(members, parts_of(y, 10, weights=weights))
    np.testing.assert_allclose(found[1], expected[1])
    assert np.mean(found[0].weights == 0) == 0.5


def test_large_tables_are_judged_by_a_part(monkeypatch):
    monkeypatch.setattr(_unseen, "_MAX_ROWS", 20)
    y = np.random.default_rng(3).normal(size=2000)
    members = np.random.default_rng(4).normal(size=10)
    unseen, _ = unseen_residuals(members, parts_of(y, 10))
    assert unseen.residuals.shape == (200, 1)


def test_one_member_alone():
    y = np.random.default_rng(5).normal(size=N)
    unseen, scale = unseen_residuals([0.25], parts_of(y, 1))
    np.testing.assert_allclose(unseen.residuals[:, 0], y[:40] - 0.25, rtol=1e-6)
    assert scale[0] ** 2 == pytest.approx(np.mean((y[:40] - 0.25) ** 2), rel=1e-6)
