"""The scikit-learn face of the library."""

from betanll.estimators._fit_many import fit_many
from betanll.estimators._persistence import ModelError
from betanll.estimators._predictions import VarianceParts
from betanll.estimators._presets import Settings
from betanll.estimators._regressor import HeteroscedasticRegressor
from betanll.estimators._table_model import TableModel

__all__ = [
    "HeteroscedasticRegressor",
    "ModelError",
    "Settings",
    "TableModel",
    "VarianceParts",
    "fit_many",
]
