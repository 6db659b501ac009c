"""Explain a fitted model by rows that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from betanll.estimators import HeteroscedasticRegressor, quiet_about_missing_cells
from betanll.evaluation._dependence import PartialDependence, partial_dependences
from betanll.evaluation._explanation import (
    Explanation,
    TargetExplanation,
    ranked,
)
from betanll.evaluation._facts import RowFacts, Usual
from betanll.evaluation._importance import (
    MIN_IMPORTANCE_ROWS,
    ColumnImportance,
    column_importances,
)
from betanll.evaluation._inputs import InputRows, sample_of
from betanll.evaluation._subject import Subject
from betanll.evaluation._why import RowExplanation

#: Rows that are predicted to find the worst and the most uncertain.
MAX_ROWS = 20_000
#: With very many columns, importances are still measured on so many rows.
_MIN_SHUFFLED_ROWS = 100


@quiet_about_missing_cells()
def explain(
    model: HeteroscedasticRegressor,
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    n_columns: int = 6,
    n_listed: int = 10,
    max_rows: int = 800,
    n_repeats: int = 5,
    max_predictions: int = 50_000,
    random_state: int = 0,
) -> Explanation:
    """Explain what a fitted model has learnt, by rows that it has not seen.

    Importance is what is lost if the cells of a column are shuffled among the rows,
    for the mean and, separately, for the spread: see :class:`ColumnImportance`. Two
    columns that say the same share their importance.

    Parameters
    ----------
    model : HeteroscedasticRegressor
        Fitted, on an array or a data frame.
    X : array or data frame
        Rows that training has not seen. Rows of the training table make columns look
        too important.
    y : array of shape (n,) or (n, d), optional
        NaN marks missing entries. Without it there are no importances, and therefore
        no partial dependence.
    feature_names, target_names, row_names : sequences of str, optional
        By default names of the data frame or x0, x1, ...; y0, y1, ...; and labels of
        the data frame's index or positions from 0.
    n_columns : int, default=6
        Columns whose partial dependence is computed, for each target.
    n_listed : int, default=10
        Worst and most uncertain rows to list.
    max_rows, n_repeats : int, default=800 and 5
        Rows whose cells are shuffled, and how often.
    max_predictions : int, default=50000
        Tables of many columns get fewer repeats and then fewer rows, so that
        importances take about this number of predictions.
    random_state : int, default=0
        Draws rows and permutations: same number, same result.

    Examples
    --------
    The first column drives the mean, the second one the noise:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 2))
    >>> y = X[:, 0] + np.exp(2 * X[:, 1] - 2) * rng.normal(size=400)
    >>> model = HeteroscedasticRegressor(
    ...     preset="fast", n_bins=0, max_updates=400, random_state=0
    ... )
    >>> explanation = explain(model.fit(X[:300], y[:300]), X[300:], y[300:])
    >>> x0, x1 = explanation.targets[0].importances
    >>> x0.mean > 5 * abs(x1.mean), x1.spread > 5 * abs(x0.spread)
    (True, True)
    >>> [one.column for one in explanation.targets[0].ranked]
    ['x0', 'x1']
    """
    subject = Subject.of(
        model, X, y, feature_names, target_names, row_names, random_state
    )
    n = len(subject.table)
    rows = sample_of(np.arange(n), MAX_ROWS, random_state)
    facts = subject.facts(rows)
    usual = Usual.of(facts)
    known = np.flatnonzero(~np.isnan(subject.target).all(axis=1))
    shuffled = None
    importances: list[list[ColumnImportance]] = [[] for _ in subject.target_names]
    if len(known) >= MIN_IMPORTANCE_ROWS:
        n_inputs = len(subject.inputs(rows[:1]).columns)
        n_repeats, max_rows = _effort(n_inputs, n_repeats, max_rows, max_predictions)
        known = sample_of(known, max_rows, random_state)
        shuffled = subject.inputs(known)
        importances = column_importances(
            shuffled, subject.target[known], n_repeats=n_repeats, seed=random_state
        )
    chosen = [_most_important(of_target)[:n_columns] for of_target in importances]
    dependences = _dependences(shuffled, chosen, random_state)

    def listed(badness: Any, i: int) -> list[RowExplanation]:
        order = np.argsort(-badness, kind="stable")[:n_listed]
        return [
            subject.explained(facts, usual, rows, j, i)
            for j in order
            if badness[j] >= 0
        ]

    targets = [
        TargetExplanation(
            name,
            importances[i],
            [dependences[column][i] for column in chosen[i]],
            worst=listed(_surprise(facts, i), i),
            uncertain=listed(facts.std[:, i], i),
        )
        for i, name in enumerate(subject.target_names)
    ]
    is_shuffled = shuffled is not None
    return Explanation(
        targets,
        n,
        rows,
        known if is_shuffled else known[:0],
        n_repeats if is_shuffled else 0,
        subject,
        usual,
    )


def _effort(
    n_columns: int, n_repeats: int, n_rows: int, n_predictions: int
) -> tuple[int, int]:
    """Return repeats and rows within a number of predictions."""
    for_each = n_predictions // n_columns
    if for_each >= n_rows:
        return min(n_repeats, for_each // n_rows), n_rows
    return 1, min(n_rows, max(_MIN_SHUFFLED_ROWS, for_each))


def _most_important(importances: list[ColumnImportance]) -> list[str]:
    """Return the columns that clearly matter, most important first."""
    return [
        one.column
        for one in ranked(importances)
        if one.is_clear_for_mean or one.is_clear_for_spread
    ]


def _dependences(
    rows: InputRows | None, chosen: list[list[str]], seed: int
) -> dict[str, list[PartialDependence]]:
    """Return the partial dependences of all chosen columns, by target."""
    names = {name for of_target in chosen for name in of_target}
    return {
        column.name: partial_dependences(rows, column, seed=seed)
        for column in (() if rows is None else rows.columns)
        if column.name in names and rows is not None
    }


def _surprise(facts: RowFacts, i: int) -> Any:
    """Return the standard deviations between truth and mean, -1 if not known."""
    return np.nan_to_num(np.abs(facts.z[:, i]), nan=-1.0)
