"""A regressor together with the columns that it was trained on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betanll.estimators import _persistence, _state
from betanll.estimators._persistence import ModelError
from betanll.estimators._regressor import HeteroscedasticRegressor
from betanll.tables import TableSchema
from betanll.training._predict import CHUNK

_KEY = "table"


@dataclass(frozen=True, eq=False)
class TableModel:
    """Predicts tables with named columns, as ``betanll fit`` leaves it behind.

    Parameters
    ----------
    schema : TableSchema
        How columns become numbers.
    regressor : HeteroscedasticRegressor
        Fitted on the encoded columns, with targets as a matrix.
    """

    schema: TableSchema
    regressor: HeteroscedasticRegressor

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

    def predict(self, frame: pd.DataFrame, *, coverage: float = 0.9) -> pd.DataFrame:
        """Return id columns, then mean, std, lower and upper bound of each target.

        A row has the same bits in any company, because the network always sees whole
        blocks of rows.
        """
        n = len(frame)
        X = np.pad(self.schema.encode(frame), ((0, -n % CHUNK), (0, 0)), mode="edge")
        predictive = self.regressor.predict_dist(X)[:n]
        mean, std = predictive.mean, predictive.std
        if self.regressor.conformal_scores_ is None:
            interval = predictive.interval(coverage)
        else:
            interval = self.regressor.predict_interval(X, coverage)[:n]
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
        configuration, arrays = _state.to_state(self.regressor)
        configuration[_KEY] = self.schema.to_dict()
        _persistence.write_model(path, configuration, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TableModel:
        """Read a model folder; nothing in it is executed."""
        configuration, arrays = _persistence.read_model(path)
        if _KEY not in configuration:
            raise ModelError(
                f"{os.fspath(path)} is a model without a table: it was not written by "
                "betanll fit and does not know the names of columns"
            )
        try:
            return cls(
                TableSchema.from_dict(configuration[_KEY]),
                _state.from_state(HeteroscedasticRegressor, configuration, arrays),
            )
        except ValueError as error:
            raise ModelError(f"{os.fspath(path)} is damaged: {error}") from None
