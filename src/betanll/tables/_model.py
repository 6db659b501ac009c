"""A regressor together with the columns that it was trained on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from betanll import evaluation
from betanll.estimators import (
    HeteroscedasticRegressor,
    MissingObjectiveError,
    ModelError,
    from_state,
    read_model,
    to_state,
    write_model,
)
from betanll.evaluation import Assessment
from betanll.reports import FitReport, report_of
from betanll.tables._encode import encoded_columns
from betanll.tables._schema import TableSchema
from betanll.tables._training import Split, TrainingTable

_KEY = "table"


@dataclass(frozen=True, eq=False)
class TableModel:
    """Predicts tables with named columns; :meth:`fit` and ``betanll fit`` make one.

    Parameters
    ----------
    schema : TableSchema
        How columns become numbers.
    regressor : HeteroscedasticRegressor
        Fitted on the encoded columns, with targets as a matrix.
    assessment : Assessment, optional
        What held-out rows say about the model. Saving leaves it out.
    notes : sequence of str
        What :meth:`fit` noticed about the columns.

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
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        names = len(self.schema.encoded_names), len(self.schema.targets)
        if names != (self.regressor.n_features_in_, self.regressor.n_outputs_):
            raise ValueError(
                f"the schema has {names[0]} inputs and {names[1]} targets, the "
                f"regressor {self.regressor.n_features_in_} and "
                f"{self.regressor.n_outputs_}"
            )
        if self.regressor._y_is_vector:
            raise ValueError("the regressor was not fitted with targets as a matrix")

    @classmethod
    def fit(
        cls,
        data: str | os.PathLike[str] | pd.DataFrame,
        target: str | Sequence[str],
        *,
        drop: Sequence[str] = (),
        ids: Sequence[str] = (),
        delimiter: str | None = None,
        header: bool | None = None,
        test_fraction: float = 0.2,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        **parameters: Any,
    ) -> TableModel:
        """Learn columns of a table, and judge the model on held-out rows.

        Parameters
        ----------
        data : path or DataFrame
            A CSV or Parquet file, or a table in memory.
        target : str or sequence of str
            Columns to predict.
        drop, ids, delimiter, header
            As in :meth:`TrainingTable.read`.
        test_fraction : float, default=0.2
            Share of the rows that only judge the model.
        random_state : int, default=0
            Seed of the split and of the training.
        n_jobs : int, optional
            Trainings at a time, by default one for each core.
        verbose : int, default=0
            Whether to show progress.
        **parameters
            Of :class:`~betanll.estimators.HeteroscedasticRegressor`.
        """
        table = TrainingTable.read(
            data, target, drop=drop, ids=ids, delimiter=delimiter, header=header
        )
        return cls.of_split(
            table.split(test_fraction, random_state=random_state),
            HeteroscedasticRegressor(random_state=random_state, **parameters),
            notes=table.notes,
            n_jobs=n_jobs,
            progress=bool(verbose),
        )

    @classmethod
    def of_split(
        cls,
        split: Split,
        regressor: HeteroscedasticRegressor,
        *,
        notes: Sequence[str] = (),
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> TableModel:
        """Fit a regressor on training rows, and judge it on the held-out ones."""
        assessment = evaluation.assess(
            regressor,
            split.train,
            split.test,
            feature_names=encoded_columns(split.schema.features),
            target_names=split.schema.targets,
            n_jobs=n_jobs,
            progress=progress,
        )
        return cls(split.schema, regressor, assessment, notes)

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
                "held-out rows": f"{len(self.assessment.target)}",
                "inputs": ", ".join(self.schema.encoded_names),
            },
            command=command,
        )

    def predict(self, frame: pd.DataFrame, *, coverage: float = 0.9) -> pd.DataFrame:
        """Return id columns, then mean, std, lower and upper bound of each target.

        A row has the same bits in any company, because the network always sees blocks
        of the same number of rows.
        """
        X = self.regressor._checked_inputs(self.schema.encode(frame))
        predictive = self.regressor._distribution(X, in_blocks=True)
        mean, std = predictive.mean, predictive.std
        interval = self.regressor._interval(predictive, coverage)
        columns: dict[str, Any] = {}
        for i, target in enumerate(self.schema.targets):
            columns[f"{target}_mean"] = mean[:, i]
            columns[f"{target}_std"] = std[:, i]
            columns[f"{target}_lower"] = interval[:, 0, i]
            columns[f"{target}_upper"] = interval[:, 1, i]
        ids = self.schema.id_frame(frame)
        return pd.concat([ids, pd.DataFrame(columns, index=frame.index)], axis=1)

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
            return cls(
                TableSchema.from_dict(configuration[_KEY]),
                from_state(HeteroscedasticRegressor, configuration, arrays),
            )
        except MissingObjectiveError as error:
            raise MissingObjectiveError(f"{os.fspath(path)}: {error}") from None
        except ValueError as error:
            raise ModelError(f"{os.fspath(path)} is damaged: {error}") from None
