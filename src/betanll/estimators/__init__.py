"""The scikit-learn face of the library."""

from betanll.estimators._data import MissingCellsWarning, quiet_about_missing_cells
from betanll.estimators._decide_transform import decide_transforms
from betanll.estimators._fit_many import fit_many
from betanll.estimators._model_folder import (
    MODEL_FOLDER,
    MissingPluginError,
    ModelError,
    check_replaceable,
    read_model,
    write_model,
)
from betanll.estimators._predictions import VarianceParts
from betanll.estimators._presets import PRESETS
from betanll.estimators._regressor import HeteroscedasticRegressor
from betanll.estimators._state import from_state, to_state
from betanll.estimators._table import (
    TablePredictions,
    checked_targets,
    distribution_of,
    interval_of,
    is_of_table,
    predict_table,
)

__all__ = [
    "MODEL_FOLDER",
    "PRESETS",
    "HeteroscedasticRegressor",
    "MissingCellsWarning",
    "MissingPluginError",
    "ModelError",
    "TablePredictions",
    "VarianceParts",
    "check_replaceable",
    "checked_targets",
    "decide_transforms",
    "distribution_of",
    "fit_many",
    "from_state",
    "interval_of",
    "is_of_table",
    "predict_table",
    "quiet_about_missing_cells",
    "read_model",
    "to_state",
    "write_model",
]
