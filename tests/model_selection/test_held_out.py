"""From residuals of members to those of the ensemble, with members that are numbers."""

import itertools

import numpy as np
import pytest

from betanll.model_selection import TrainingData, _held_out
from betanll.model_selection._held_out import held_out_residuals
from betanll.model_selection._windows import window_start
from betanll.preprocessing import Standardizer

N = 200


@pytest.fixture(autouse=True)
def constant_members(monkeypatch):
    """A member predicts itself everywhere, with variance one."""

    def moments(member, x):
        return np.full((len(x), 1), member), np.ones((len(x), 1))

    monkeypatch.setattr(_held_out, "whitened_moments", moments)


def parts_of(y, n_members, share=0.2, weights=None):
    data = TrainingData(np.arange(len(y))[:, None] * 1.0, y[:, None], weights)
    same = Standardizer(np.zeros(1), np.ones(1))
    packed = data.pack(same, same, np.arange(len(y)))
    n_validation = round(share * len(y))
    return [
        packed.with_validation(
            window_start(m, n_members, len(y), n_validation), n_validation
        )
        for m in range(n_members)
    ]


def validation_rows(part):
    return part.samples(part.n_train + np.arange(part.n_validation))[0][:, 0].round()


@pytest.mark.parametrize("n_members", [2, 3, 5, 6, 9])
@pytest.mark.parametrize("n", [600, 1439])
def test_neighbours_have_half_of_their_rows_in_common(n_members, n):
    windows = [validation_rows(part) for part in parts_of(np.zeros(n), n_members)]
    for one, two in itertools.pairwise(windows):
        assert len(np.intersect1d(one, two)) == len(one) // 2


@pytest.mark.parametrize(("n_members", "n"), [(2, 30), (2, 490), (5, 100), (9, 8)])
def test_windows_are_apart_where_common_rows_would_be_few(n_members, n):
    windows = [validation_rows(part) for part in parts_of(np.zeros(n), n_members)]
    starts = [int(window[0]) for window in windows]
    assert starts == [m * n // n_members for m in range(n_members)]


@pytest.mark.parametrize("n_members", [10, 15, 20])
def test_many_members_leave_out_each_row_equally_often(n_members):
    windows = [validation_rows(part) for part in parts_of(np.zeros(N), n_members)]
    _, counts = np.unique(np.concatenate(windows), return_counts=True)
    assert len(counts) == N
    assert counts.max() - counts.min() <= 1


def test_residuals_have_the_size_of_the_ensembles():
    """Over many draws of ten members, the mean square is that of their average."""
    rng = np.random.default_rng(0)
    found, members_alone, truth = [], [], []
    for _ in range(300):
        y, members = rng.normal(size=N), rng.normal(0, 0.7, 10)
        _, scale = held_out_residuals(members, parts_of(y, 10))
        found.append(scale[0] ** 2)
        members_alone.append(np.mean((y[:, None] - members) ** 2))
        truth.append(np.mean((y - members.mean()) ** 2))
    assert np.mean(found) == pytest.approx(np.mean(truth), rel=0.03)
    assert np.mean(members_alone) > 1.3 * np.mean(truth)


def test_few_members_are_judged_by_the_rows_that_two_have_not_seen():
    y = np.random.default_rng(1).normal(size=N)
    members = [0.5, -0.5, 1.0, -1.0, 0.0]
    unseen, _ = held_out_residuals(members, parts_of(y, 5))
    # Windows of 40 rows begin 20 rows apart.
    assert len(unseen.residuals) == 4 * 20
    means = [(one + two) / 2 for one, two in itertools.pairwise(members)]
    pairs = [y[20 * m + 20 : 20 * m + 40] - mean for m, mean in enumerate(means)]
    ratios = unseen.residuals[:, 0] / np.concatenate(pairs)
    for part in np.split(ratios, 4):
        np.testing.assert_allclose(part, part[0], rtol=1e-4)


def test_rows_too_few_to_have_common_ones_are_judged_one_by_one():
    y, members = np.arange(4.0), [1.0, 2.0, 3.0]
    unseen, scale = held_out_residuals(members, parts_of(y, 3, share=0.25))
    own = np.array([0.0 - 1, 1 - 2, 2 - 3])
    spread = np.sqrt(1 + np.var(members))
    np.testing.assert_allclose(unseen.residuals[:, 0], own / spread, rtol=1e-6)
    assert scale[0] == pytest.approx(1.0)


def test_standardised_residuals_shrink_with_the_spread_of_the_ensemble():
    y, members = np.full(N, 2.0), np.tile([1.0, -1.0], 5)
    unseen, scale = held_out_residuals(members, parts_of(y, 10))
    # The mean of two members is 0, half their squared difference 2. The mean of ten has
    # 1/2 - 1/10 of it less in its squared error.
    square = 4 - 0.4 * 2
    assert scale[0] ** 2 == pytest.approx(square)
    # They disagree by 0.9 of it.
    variance = 1 + 0.9 * 2
    np.testing.assert_allclose(unseen.residuals**2, square / variance, rtol=1e-6)


def test_a_quarter_of_the_squared_error_is_the_least_that_is_believed():
    y, members = np.full(N, 0.5), np.tile([1.0, -1.0], 5)
    _, scale = held_out_residuals(members, parts_of(y, 10))
    assert scale[0] ** 2 == pytest.approx(0.5**2 / 4)


def with_moments(monkeypatch, parts, of_strangers, of_seers):
    """Let members that have not seen a row, and those that have, say these means."""

    def moments(member, x):
        rows = x[:, 0].round().astype(int)
        is_own = np.isin(rows, validation_rows(parts[member]))
        means = np.where(is_own, of_strangers[member, rows], of_seers[member, rows])
        return means[:, None], np.ones((len(x), 1))

    monkeypatch.setattr(_held_out, "whitened_moments", moments)
    unseen, scale = held_out_residuals(range(len(parts)), parts)
    return unseen.residuals[:, 0], scale[0]


@pytest.mark.parametrize("n_members", [5, 10, 20])
def test_members_that_have_seen_a_row_only_say_where_they_differ(
    monkeypatch, n_members
):
    rng = np.random.default_rng(7)
    y, guesses = rng.normal(size=N), rng.normal(size=(n_members, N))
    knowing = rng.normal(0, 0.1, (n_members, N))
    parts = parts_of(y, n_members)
    expected = with_moments(monkeypatch, parts, guesses, knowing)
    # Neither that they know the target nor by how much they differ is of weight.
    for seers in (y + knowing, 7 * knowing):
        found = with_moments(monkeypatch, parts, guesses, seers)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
        assert found[1] == pytest.approx(expected[1], rel=1e-4)


def test_residuals_are_those_of_the_ensemble_on_new_rows(monkeypatch):
    """Members differ much on some rows, and a tenth of it where they have seen them.

    With half the squared difference of each pair alone, without what the others say,
    the mean square would be 2.2 times as large.
    """
    rng = np.random.default_rng(8)
    n = 20_000
    std = np.where(rng.random(n) < 0.5, 3.0, 0.1)
    y, guesses = rng.normal(size=n), rng.normal(0, std, (10, n))
    new = (y - guesses.mean(axis=0)) / np.sqrt(1 + guesses.var(axis=0))
    z, _ = with_moments(monkeypatch, parts_of(y, 10), guesses, guesses / 10)
    # A sixth too large: what is divided by varies more than the variance of ten.
    assert np.mean(z**2) == pytest.approx(np.mean(new**2), rel=0.2)


def test_two_members_are_believed_as_they_are(monkeypatch):
    """The variance that they predict for a new row is that of the pair."""
    rng = np.random.default_rng(9)
    y, guesses = rng.normal(size=600), rng.normal(size=(2, 600))
    z, _ = with_moments(monkeypatch, parts_of(y, 2), guesses, guesses)
    pair = slice(60, 120)
    spread = np.sqrt(1 + guesses[:, pair].var(axis=0))
    expected = (y[pair] - guesses[:, pair].mean(axis=0)) / spread
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)


def test_rows_that_too_few_have_seen_count_as_usual_ones(monkeypatch):
    """With three fifths left out, one or two of four members have seen a row."""
    rng = np.random.default_rng(10)
    y, guesses = rng.normal(size=400), rng.normal(size=(4, 400))
    parts = parts_of(y, 4, share=0.6)
    z, _ = with_moments(monkeypatch, parts, guesses, guesses)
    seers = 4 - sum(np.isin(np.arange(400), validation_rows(part)) for part in parts)
    judged = np.concatenate([validation_rows(part)[100:240] for part in parts])
    by_count = [z[seers[judged.astype(int)] == count] for count in (1, 2)]
    one, two = (np.mean(part**2) for part in by_count)
    assert one / two == pytest.approx(1, abs=0.25)


def test_rows_without_weight_do_not_count():
    rng = np.random.default_rng(2)
    y, members = rng.normal(size=N), rng.normal(size=10)
    weights = np.ones((N, 1))
    weights[::2] = 0
    expected = held_out_residuals(members, parts_of(y, 10, weights=weights))
    y[::2] = 1e3
    found = held_out_residuals(members, parts_of(y, 10, weights=weights))
    np.testing.assert_allclose(found[1], expected[1])
    assert np.mean(found[0].weights == 0) == 0.5


def test_large_tables_are_judged_by_a_part(monkeypatch):
    monkeypatch.setattr(_held_out, "_MAX_ROWS", 200)
    y = np.random.default_rng(3).normal(size=2000)
    members = np.random.default_rng(4).normal(size=10)
    unseen, _ = held_out_residuals(members, parts_of(y, 10))
    assert unseen.residuals.shape == (200, 1)


def test_one_member_alone():
    y = np.random.default_rng(5).normal(size=N)
    unseen, scale = held_out_residuals([0.25], parts_of(y, 1))
    np.testing.assert_allclose(unseen.residuals[:, 0], y[:40] - 0.25, rtol=1e-6)
    assert scale[0] ** 2 == pytest.approx(np.mean((y[:40] - 0.25) ** 2), rel=1e-6)
