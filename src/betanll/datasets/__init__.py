"""Data of the paper's experiments."""

from betanll.datasets._directory import DataError, data_directory
from betanll.datasets._synthetic import (
    SINE_NOISE,
    Samples,
    heteroscedastic_sine,
    heteroscedastic_sine_truth,
    sine,
)
from betanll.datasets._uci import UCITable, load_uci
from betanll.datasets._uci_download import download_uci
from betanll.datasets._uci_facts import UCI_NAMES

__all__ = [
    "SINE_NOISE",
    "UCI_NAMES",
    "DataError",
    "Samples",
    "UCITable",
    "data_directory",
    "download_uci",
    "heteroscedastic_sine",
    "heteroscedastic_sine_truth",
    "load_uci",
    "sine",
]
