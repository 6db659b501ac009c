"""What a task becomes before anything is compiled."""

import numpy as np
import pytest

from betanll.networks import MLP
from betanll.training import Budget, Data, FitResult, FitTask, prepare

NET = MLP(1, (2,))


def prepared(n, n_validation=0, **options):
    """Return a task on the rows 0, 1, ...; rows for validation are negative."""
    rows, below = np.arange(n), -1 - np.arange(n_validation)
    validation = (below[:, None], below) if n_validation else None
    data = Data.of(rows[:, None], rows, validation=validation)
    return prepare(FitTask(NET, "xvamp", data, **options))


@pytest.mark.parametrize("n", [100, 101, 5000])
def test_pseudo_inputs_start_as_distinct_training_rows(n):
    (inputs,) = prepared(n, n_validation=50).init_inputs
    assert inputs.size == np.unique(inputs).size == 100
    assert np.isin(inputs, np.arange(n)).all()
    (again,) = prepared(n, n_validation=50, seed=1).init_inputs
    assert not np.array_equal(again, inputs)


@pytest.mark.parametrize("n", [2, 30, 99])
def test_few_training_rows_are_repeated_equally_often(n):
    (inputs,) = prepared(n).init_inputs
    rows, counts = np.unique(inputs, return_counts=True)
    np.testing.assert_array_equal(rows, np.arange(n))
    assert counts.sum() == 100
    assert counts.max() - counts.min() <= 1


def test_data_and_parameters_are_not_printed():
    x, y = np.arange(8.0).reshape(4, 2), np.arange(4.0)
    task = FitTask(NET, "nll", Data.of(x, y, y, validation=(x, y, y)))
    result = FitResult(
        *(NET, "nll", task.optimizer),
        **{"params": [x], "last_params": [x], "status": "completed", "n_epochs": 1},
        **{"n_updates": 1, "best_epoch": 1, "best_score": 0.5},
        **{"history": {"epoch": y}, "snapshots": {1: x}},
    )
    for described in (task, result):
        assert "MLP(n_inputs=1" in repr(described)
        assert "array" not in repr(described)


def test_a_schedule_lasts_as_long_as_the_training_unless_told():
    budget = prepared(9, budget=Budget(max_epochs=7)).inputs.budget
    assert budget.schedule_epochs == 7
    longer = Budget(max_epochs=7, schedule_epochs=20)
    budget = prepared(9, budget=longer).inputs.budget
    assert (budget.max_epochs, budget.schedule_epochs) == (7, 20)


def test_a_fleet_on_one_data_set_holds_it_once():
    data = Data.of(
        np.zeros((9, 1)), np.zeros(9), validation=(np.zeros((3, 1)), [0] * 3)
    )
    fits = [prepare(FitTask(NET, "mse", data, seed=seed)) for seed in (0, 1)]
    parted = prepare(FitTask(NET, "mse", data.with_validation(2, 4)))
    assert fits[0].inputs.rows is fits[1].inputs.rows is parted.inputs.rows


@pytest.mark.parametrize(
    ("n_updates", "n_train", "batch_size", "expected"),
    [
        (20_000, 741, 256, (256, 10_000)),
        (5, 300, 100, (100, 2)),
        (5, 30, 100, (30, 5)),
    ],
)
def test_updates_count_whole_batches(n_updates, n_train, batch_size, expected):
    assert Budget.of_updates(n_updates, n_train, batch_size)[:2] == expected
