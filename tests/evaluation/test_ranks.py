import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from betanll.evaluation import ranks_with_ties
from betanll.evaluation._ranks import differs

# Whole numbers have exact sums, whatever their order.
losses = st.integers(2, 12).flatmap(
    lambda n: st.lists(
        arrays(np.float64, n, elements=st.integers(-50, 50)), min_size=1, max_size=5
    )
)


def named(rows):
    return {f"method {i}": row for i, row in enumerate(rows)}


@given(losses)
def test_the_best_has_rank_one_and_ranks_count(rows):
    methods = named(rows)
    ranks = ranks_with_ties(methods)
    assert list(ranks) == list(methods)
    best = min(np.mean(row) for row in rows)
    leaders = [name for name, row in methods.items() if np.mean(row) == best]
    assert 1 in [ranks[name] for name in leaders]
    counts = sorted(ranks.values())
    # as in sports: a rank counts the methods before it
    assert all(rank == counts.index(rank) + 1 for rank in counts)


@given(losses, st.randoms(use_true_random=False))
def test_order_of_rows_and_methods_does_not_matter(rows, random):
    methods = named(rows)
    ranks = ranks_with_ties(methods)
    names = list(methods)
    random.shuffle(names)
    assert ranks_with_ties({name: methods[name] for name in names}) == ranks
    order = list(range(len(rows[0])))
    random.shuffle(order)
    shuffled = {name: row[order] for name, row in methods.items()}
    assert ranks_with_ties(shuffled) == ranks


@given(losses)
def test_identical_methods_tie(rows):
    methods = named(rows)
    # Named so that it comes right after its twin where means are equal.
    ranks = ranks_with_ties({**methods, "method 0 again": rows[0].copy()})
    assert ranks["method 0 again"] == ranks["method 0"]


@given(losses, st.floats(0.5, 1e3))
def test_a_constant_difference_separates(rows, gap):
    row = rows[0]
    assert ranks_with_ties({"worse": row + gap, "better": row}) == {
        "worse": 2,
        "better": 1,
    }


def test_few_rows_need_a_larger_difference():
    """The t test of five rows at 5 % is at 2.776 standard errors."""
    noise = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / np.sqrt(0.5)  # standard error 1
    assert not differs(np.zeros(5), noise + 2.77)
    assert differs(np.zeros(5), noise + 2.78)


def test_tie_is_a_paired_test_at_1_96_standard_errors():
    rng = np.random.default_rng(0)
    first = 100 * rng.normal(size=400)
    noise = rng.normal(size=400)
    noise = (noise - noise.mean()) / noise.std(ddof=1) / np.sqrt(1 / 400)
    # The mean difference in standard errors, although the losses vary far more.
    assert not differs(first, first + noise + 1.95)
    assert differs(first, first + noise + 1.97)
    assert differs(first + noise + 1.97, first)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_losses_that_are_not_finite_end(odd):
    spoilt = np.array([1.0, odd, 2.0])
    ranks = ranks_with_ties({"a": spoilt, "b": spoilt.copy(), "c": np.ones(3)})
    assert ranks["a"] == ranks["b"] != ranks["c"]
    if odd == np.inf:
        assert ranks["c"] == 1


def test_a_single_row():
    one, two = np.array([1.0]), np.array([2.0])
    assert ranks_with_ties({"a": two, "b": one, "c": one}) == {"a": 3, "b": 1, "c": 1}
