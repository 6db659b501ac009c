"""The UCI protocol: tasks, and what one of them trains."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from betanll import metrics, objectives
from betanll.model_selection import _run
from betanll.objectives import BetaNLL
from betanll_paper.datasets import UCI_NAMES, UCITable, load_uci
from betanll_paper.published import Method
from betanll_paper.published.methods import METHODS
from betanll_paper.uci import protocol as _uci
from betanll_paper.uci.protocol import (
    PAPER,
    fit_split,
    predict,
    run_split,
    uci_tasks,
)

RATES = (1e-4, 3e-4, 7e-4, 1e-3, 3e-3, 7e-3)


def made_up(n=60, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, size=(n, 4))
    y = 50 + x[:, :n_targets] * [[10.0, 0.1][:n_targets]] + rng.normal(size=(n, 1))
    return x, y


class Stages(list):
    """Fleets of a protocol, as (task, packed data) lists, and their results."""

    def __init__(self):
        super().__init__()
        self.results = []


@pytest.fixture
def stages(monkeypatch):
    """The fleets that were trained since."""
    seen = Stages()
    real = _run.fit_fleet

    def spy(tasks, **options):
        results = real(tasks, **options)
        seen.append(list(tasks))
        seen.results.append(results)
        return results

    monkeypatch.setattr(_run, "fit_fleet", spy)
    return seen


def fit(x, y, objective=None, **changes):
    options = {
        "hidden": 50,
        "max_updates": 30,
        "learning_rates": RATES,
        "seed": 3,
        **changes,
    }
    return fit_split(x, y, objective or BetaNLL(0.5), **options)


def part(packed, first, n):
    return np.asarray(packed.rows)[first : first + n]


def whitened(values, rows):
    return (values - values[rows].mean(0)) / values[rows].std(0)


@pytest.mark.parametrize("n", [60, 61, 64])
def test_the_last_fifth_validates_and_statistics_follow_the_rows(stages, n):
    x, y = made_up(n)
    fit(x, y)
    n_train = int(0.8 * n)
    search, refit = stages
    both = np.hstack([x, y])
    for task in search:
        packed = task.data
        assert (packed.n_train, packed.n_validation) == (n_train, n - n_train)
        # Published order, whitened by the rows that train.
        rows = part(packed, 0, n)[:, :6]
        np.testing.assert_allclose(
            rows, whitened(both, np.arange(n_train)), rtol=1e-4, atol=1e-5
        )
    (task,) = refit
    assert (task.data.n_train, task.data.n_validation) == (n, 0)
    np.testing.assert_allclose(
        part(task.data, 0, n)[:, :6], whitened(both, np.arange(n)), rtol=1e-4, atol=1e-5
    )


def test_every_published_size_is_cut_at_four_fifths(monkeypatch):
    """Rounding a fraction there and back must not move a row, whatever the size."""
    seen = []

    def stop(recipe, data, order):
        n_validation = max(1, round(recipe.validation_fraction * len(data)))
        seen.append((len(data), len(data) - n_validation, list(order[:3])))
        raise StopIteration

    monkeypatch.setattr(_uci, "search_and_refit", stop)
    sizes = [277, 455, 691, 927, 1439, 4408, 7373, 8611, 9635, 10741, 19136, 41157]
    for n in [*sizes, *range(5, 200)]:
        with pytest.raises(StopIteration):
            fit(np.zeros((n, 1)), np.zeros((n, 1)))
    assert seen == [(n, int(0.8 * n), [0, 1, 2]) for n, _, _ in seen]
    assert len(seen) == 12 + 195


@pytest.mark.parametrize(("n", "batches"), [(60, (48, 60)), (330, (256, 256))])
def test_batches_epochs_rates_and_patience(stages, n, batches):
    fitted, n_updates = fit(*made_up(n))
    search, (refit,) = stages
    n_train = int(0.8 * n)
    assert [task.optimizer.learning_rate for task in search] == list(RATES)
    for task in search:
        assert task.budget.batch_size == batches[0]
        assert task.budget.max_epochs == math.ceil(30 / (n_train // batches[0]))
        assert task.budget.patience == 50
        assert task.budget.validate_every == 1
        assert (task.network.hidden_sizes, task.network.activation) == ((50,), "relu")
        assert task.seed == 3
    # The best rate, its number of epochs, nothing to stop at.
    best = min(stages.results[0], key=lambda result: result.best_score)
    assert refit.budget.batch_size == batches[1]
    assert refit.budget.max_epochs == best.best_epoch
    assert refit.optimizer.learning_rate == best.optimizer.learning_rate
    assert refit.budget.patience is None
    assert fitted.members[0].n_epochs == best.best_epoch
    assert fitted.learning_rate == best.optimizer.learning_rate
    trained = [result for results in stages.results for result in results]
    assert n_updates == sum(result.n_updates for result in trained)


def test_numbers_are_in_original_units(stages):
    x, y = made_up(80)
    fitted, _ = fit(x[:60], y[:60])
    test = slice(60, None)
    predictive = predict(fitted, x[test])
    mean, scale = y[:60].mean(0), y[:60].std(0)
    inner = fitted.members[0].predict(fitted.inputs.apply(x[test]))
    np.testing.assert_allclose(predictive.mean, inner.mean * scale + mean, rtol=1e-5)
    in_whitened = metrics.log_likelihood(inner, (y[test] - mean) / scale)
    np.testing.assert_allclose(
        metrics.log_likelihood(predictive, y[test]),
        in_whitened - np.log(scale).sum(),
        rtol=1e-4,
    )


@pytest.fixture
def small(monkeypatch):
    """A made-up set in place of all of them."""
    x, y = made_up(70, n_targets=1)
    order = np.random.default_rng(1).permutation(70)
    splits = ((order[7:], order[:7]), (order[:-7], order[-7:]))
    table = UCITable("yacht", x, y, ("x_a",), ("y_a",), splits)
    monkeypatch.setattr(_uci, "_table", lambda dataset: table)
    return table


def result(**changes):
    settings = {
        "dataset": "yacht",
        "method": "beta-nll",
        "beta": 0.5,
        "split": 0,
        "max_updates": 20,
        "learning_rates": "0.001 0.007",
        **changes,
    }
    (row,) = run_split(**settings)
    return row


def test_a_row_has_what_tables_need(small, stages):
    row = result()
    assert list(row) == [
        *("dataset", "method", "beta", "split", "log_likelihood", "rmse"),
        *("learning_rate", "epochs", "updates", "seconds"),
    ]
    assert math.isfinite(row["log_likelihood"])
    # Rows in published order, test rows never among them.
    first = part(stages[0][0].data, 0, 63)[:, :4]
    train, _ = small.split(0)
    np.testing.assert_allclose(
        first, whitened(small.x[train], np.arange(50)), rtol=1e-4, atol=1e-5
    )
    # Plain values, the same each time, another split another result.
    assert {type(value) for value in row.values()} <= {str, float, int}
    again = result()
    assert {**again, "seconds": 0} == {**row, "seconds": 0}
    assert result(split=1)["rmse"] != row["rmse"]


def test_mse_has_no_likelihood(small):
    row = result(method="mse", beta=None)
    assert row["log_likelihood"] is None
    assert row["rmse"] > 0


def test_protein_has_a_wider_network(small, stages):
    result(dataset="protein")
    assert {task.network.hidden_sizes for stage in stages for task in stage} == {(100,)}


def test_tasks_of_the_paper():
    tasks = uci_tasks("paper")
    assert len(tasks) == 12 * (11 * 20 + 5) == 2700
    assert len({task.key for task in tasks}) == 2700
    settings = [dict(task.settings) for task in tasks]
    pairs = itertools.product(UCI_NAMES, METHODS)
    n_splits = Counter((s["dataset"], s["method"], s["beta"]) for s in settings)
    assert set(n_splits) == {(d, m.name, m.beta) for d, m in pairs}
    assert all(n == (5 if d == "protein" else 20) for (d, *_), n in n_splits.items())
    for one in settings:
        assert one["max_updates"] == PAPER.length_of(one["dataset"])
        assert tuple(map(float, one["learning_rates"].split())) == RATES
        objectives.get(one["method"])


def test_six_sets_have_a_long_budget():
    long = [name for name in UCI_NAMES if PAPER.length_of(name) == 100_000]
    assert long == ["carbon", "kin8m", "naval", "power", "protein", "superconductivity"]
    assert {PAPER.length_of(name) for name in set(UCI_NAMES) - set(long)} == {20_000}


def test_presets_share_results():
    """A laptop's results are a part of the paper's; a smoke test's are not."""
    keys = {p: {t.key for t in uci_tasks(p)} for p in ("smoke", "laptop", "paper")}
    assert len(keys["laptop"]) == 12 * 12 * 5
    assert keys["laptop"] < keys["paper"]
    assert len(keys["smoke"]) == 12 * 12 * 2
    assert not keys["smoke"] & keys["paper"]
    (task,) = uci_tasks("smoke", methods=[Method("mse")], datasets=["yacht"])[:1]
    assert dict(task.settings)["max_updates"] == 60


def test_a_real_split(data_dir):
    for name in UCI_NAMES:
        table = load_uci(name, data_dir)
        for train, _ in table.splits:
            n = len(train)
            n_validation = n - int(0.8 * n)
            assert n - round(n_validation / n * n) == int(0.8 * n)
        assert table.n_splits == (5 if name == "protein" else 20)
