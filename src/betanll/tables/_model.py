"""A regressor together with the columns that it was trained on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from betanll import evaluation
from betanll.blocks import SplitRows
from betanll.columns import Column, ColumnSummary, as_pandas, is_frame
from betanll.estimators import (
    HeteroscedasticRegressor,
    MissingPluginError,
    ModelError,
    from_state,
    is_of_table,
    predict_table,
    read_model,
    to_state,
    write_model,
)
from betanll.evaluation import Assessment, Explanation
from betanll.reports import FitReport, report_of
from betanll.sentences import listed, shortened
from betanll.tables._notebook import notebook_html
from betanll.tables._open import check_is_path, open_table
from betanll.tables._options import READING
from betanll.tables._rows import TableRows, row_names
from betanll.tables._schema import TableSchema
from betanll.tables._training import TrainingTable

_KEY = "table"


@dataclass(frozen=True, eq=False)
class TableModel:
    """Predicts tables with named columns; :meth:`fit` and ``betanll fit`` make one.

    Parameters
    ----------
    schema : TableSchema
        Which columns are targets, inputs and ids.
    regressor : HeteroscedasticRegressor
        Fitted on the input columns as a data frame, with targets as a matrix.
    assessment : Assessment, optional
        What held-out rows say about the model. Saving leaves it out.
    columns : sequence of ColumnSummary
        How each input column was read. Saving leaves it out.
    notes : sequence of str
        What :meth:`fit` noticed about rows and columns.
    held_out : TableRows, optional
        The rows of `assessment`. Saving leaves them out.

    Examples
    --------
    >>> frame = pd.DataFrame({"rooms": [2, 3, 4] * 20, "city": ["A", "B"] * 30})
    >>> frame["price"] = 100.0 * frame.rooms + 50 * (frame.city == "B")
    >>> model = TableModel.fit(frame, "price", preset="fast", max_updates=100)
    >>> list(model.predict(frame[:3]))
    ['price_mean', 'price_std', 'price_lower', 'price_upper']
    >>> sorted(model.assessment.targets[0].scores["constant"].coverage)
    [0.5, 0.9, 0.95]
    """

    schema: TableSchema
    regressor: HeteroscedasticRegressor
    assessment: Assessment | None = None
    columns: Sequence[ColumnSummary] = ()
    notes: Sequence[str] = ()
    held_out: TableRows | None = None

    def __post_init__(self) -> None:
        n_targets, n_outputs = len(self.schema.targets), self.regressor.n_outputs_
        if n_targets != n_outputs:
            raise ValueError(
                f"the schema has {n_targets} targets, the regressor {n_outputs}"
            )
        if not is_of_table(self.regressor):
            raise ValueError(
                "the regressor was not fitted with a data frame and a matrix of targets"
            )

    def __repr__(self) -> str:
        inputs = listed(column.name for column in self.schema.encoder.columns)
        return shortened(
            f"{type(self).__name__}(targets=[{listed(self.schema.targets)}], "
            f"inputs=[{inputs}])"
        )

    @classmethod
    def fit(
        cls,
        data: Any,
        target: str | Sequence[str],
        *,
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
        kinds: Mapping[str, str | Column] | None = None,
        na_values: Sequence[str | float] | str | float = (),
        time: str | None = None,
        group: str | None = None,
        test_fraction: float | None = None,
        n_folds: int | None = None,
        all_rows: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        **parameters: Any,
    ) -> TableModel:
        """Learn columns of a table, and judge the model on held-out rows.

        Parameters
        ----------
        data : path or DataFrame
            A file, as in :func:`open_table`, or a table of pandas, polars or pyarrow.
        target : str or sequence of str
            Columns to predict.
        drop, ids, kinds, na_values, time, group
            As in :meth:`TrainingTable.read`.
        test_fraction, n_folds
            As in :meth:`TrainingTable.splits`.
        all_rows : bool, default=True
            Train the model that is returned on all rows, after models without the
            held-out rows were judged. Always so with folds.
        random_state : int, default=0
            Seed of the split and of the training.
        n_jobs : int, optional
            Trainings at a time, by default one for each core.
        verbose : int, default=0
            Whether to show progress.
        **parameters
            Of :class:`~betanll.estimators.HeteroscedasticRegressor`, and for files
            ``delimiter``, ``header``, ``encoding``, ``skip_rows`` and ``sheet`` of
            :func:`open_table`.
        """
        reading = {name: parameters.pop(name) for name in READING if name in parameters}
        table = TrainingTable.read(
            data,
            target,
            drop=drop,
            ids=ids,
            kinds=kinds,
            time=time,
            group=group,
            na_values=na_values,
            **reading,
        )
        return cls.of_table(
            table,
            table.splits(test_fraction, n_folds, random_state=random_state),
            HeteroscedasticRegressor(random_state=random_state, **parameters),
            all_rows=all_rows,
            n_jobs=n_jobs,
            progress=bool(verbose),
        )

    @classmethod
    def of_table(
        cls,
        table: TrainingTable,
        splits: Sequence[SplitRows],
        regressor: HeteroscedasticRegressor,
        *,
        all_rows: bool = True,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> TableModel:
        """Judge a regressor on held-out rows, and fit it as :meth:`fit` does."""
        schema = table.schema
        # Kinds that were found on all rows also hold for the training rows.
        kinds = {column.name: column for column in schema.encoder.columns}
        if regressor.columns not in (None, kinds):
            raise ValueError(
                "the table says how its columns are read: give kinds=..., not columns"
            )
        regressor.set_params(columns=kinds)
        assessment = evaluation.assess(
            regressor,
            table.inputs,
            table.targets,
            splits,
            blocks=table.blocks,
            all_rows=all_rows,
            target_names=schema.targets,
            n_jobs=n_jobs,
            progress=progress,
        )
        model = cls.of_regressor(schema, regressor, assessment)
        rows = assessment.rows[: assessment.n_judged]
        ids = schema.id_frame(table.frame).iloc[rows]
        inputs = table.inputs.iloc[rows]
        return replace(
            model,
            columns=table.columns,
            notes=[*table.notes, *table.column_notes],
            held_out=TableRows(
                inputs, table.targets[rows], row_names(inputs.index, ids)
            ),
        )

    @classmethod
    def of_regressor(
        cls,
        schema: TableSchema,
        regressor: HeteroscedasticRegressor,
        assessment: Assessment | None = None,
    ) -> TableModel:
        """Join a fitted regressor with the columns that it was trained on."""
        if regressor.encoder_ is not None:
            schema = replace(schema, encoder=regressor.encoder_)
        return cls(schema, regressor, assessment)

    def report(
        self, *, title: str = "", command: str = "", **configuration: str
    ) -> FitReport:
        """Return what held-out rows say, to read in Python or as a page.

        Parameters
        ----------
        title : str
            By default the names of the targets.
        command : str
            How the model was made, shown at the end.
        **configuration : str
            Further lines for the table of settings.

        Examples
        --------
        ``Path("report.html").write_text(model.report().html())`` writes the page.
        """
        if self.assessment is None:
            raise ValueError(
                "a report needs held-out rows: this model was loaded or not made by fit"
            )
        return report_of(
            self.assessment,
            title=title or ", ".join(self.schema.targets),
            configuration={
                **configuration,
                "inputs": ", ".join(self.schema.encoder.encoded_names),
            },
            command=command,
            explanation=None if self.held_out is None else self.explain(),
        )

    def explain(
        self,
        data: Any = None,
        **options: Any,
    ) -> Explanation:
        """Return which columns matter, odd rows, and why a row's interval is wide.

        Parameters
        ----------
        data : path or DataFrame, optional
            Rows that training has not seen, by default the held-out rows of
            :meth:`fit`. Importances need the target columns; rows are explained
            without them.
        **options
            Of :func:`betanll.evaluation.explain`, such as `n_listed`; and for files
            ``delimiter``, ``header``, ``encoding``, ``skip_rows`` and ``sheet`` of
            :func:`open_table`.

        Examples
        --------
        ``print(model.explain(new_houses).why(0))`` explains the first row.
        """
        # The model that has not seen the held-out rows.
        judged = None if self.assessment is None else self.assessment.judged
        if data is not None:
            names = (*READING, "na_values")
            reading = {name: options.pop(name) for name in names if name in options}
            rows = TableRows.read(self.schema, data, **reading)
            regressor = self.regressor
        elif self.held_out is None or judged is None:
            raise ValueError(
                "explain needs a table: this model was loaded or not made by fit, so "
                "it has no held-out rows"
            )
        else:
            regressor, rows = judged, self.held_out
        return evaluation.explain(
            regressor,
            rows.inputs,
            rows.targets,
            target_names=self.schema.targets,
            row_names=rows.names,
            **options,
        )

    def predict(self, data: Any, *, coverage: float = 0.9) -> pd.DataFrame:
        """Return id columns, then mean, std, lower and upper bound of each target.

        A row has the same bits in any company, because the network always sees blocks
        of the same number of rows.

        Parameters
        ----------
        data : path or DataFrame
            A CSV or Parquet file, or a table of pandas, polars or pyarrow. Read a file
            whose delimiter or header is not detected with :func:`open_table`.
        coverage : float in (0, 1), default=0.9
            Probability with which a new observation lies between the bounds.
        """
        frame = self._frame(data)
        mean, std, interval = predict_table(self.regressor, frame, coverage)
        columns: dict[str, Any] = {}
        for i, target in enumerate(self.schema.targets):
            columns[f"{target}_mean"] = mean[:, i]
            columns[f"{target}_std"] = std[:, i]
            columns[f"{target}_lower"] = interval[:, 0, i]
            columns[f"{target}_upper"] = interval[:, 1, i]
        ids = self.schema.id_frame(frame)
        return pd.concat([ids, pd.DataFrame(columns, index=frame.index)], axis=1)

    def _frame(self, data: Any) -> pd.DataFrame:
        """Return rows to predict as a table of pandas."""
        if is_frame(data):
            return as_pandas(data)
        check_is_path(data)
        file = open_table(data, na_values=self.schema.encoder.missing)
        file.check_columns(self.schema.needed)
        return file.read(text=self.schema.text_columns)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model folder, which ``HeteroscedasticRegressor.load`` reads too."""
        configuration, arrays = to_state(self.regressor)
        configuration[_KEY] = self.schema.to_dict()
        write_model(path, configuration, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TableModel:
        """Read the folder that ``save`` or ``betanll fit`` wrote.

        Nothing in it is executed.
        """
        configuration, arrays = read_model(path)
        if _KEY not in configuration:
            raise ModelError(
                f"{os.fspath(path)} is a model without a table: it was not written by "
                "betanll fit and does not know the names of columns"
            )
        try:
            regressor = from_state(HeteroscedasticRegressor, configuration, arrays)
            if regressor.encoder_ is None:
                raise ModelError("its columns are not described")
            schema = TableSchema.from_dict(configuration[_KEY], regressor.encoder_)
            return cls(schema, regressor)
        except MissingPluginError as error:
            raise MissingPluginError(f"{os.fspath(path)}: {error}") from None
        except ValueError as error:
            raise ModelError(f"{os.fspath(path)} is damaged: {error}") from None
