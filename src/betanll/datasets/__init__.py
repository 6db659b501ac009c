"""Data of the paper's experiments."""

from betanll.datasets._directory import DataError, data_directory
from betanll.datasets._images import ImageSet, load_images
from betanll.datasets._images_download import download_images
from betanll.datasets._images_facts import IMAGE_NAMES
from betanll.datasets._object_slide import (
    object_slide,
    object_slide_reset,
    object_slide_splits,
    object_slide_step,
)
from betanll.datasets._synthetic import (
    SINE_NOISE,
    Samples,
    Splits,
    heteroscedastic_sine,
    heteroscedastic_sine_truth,
    sine,
)
from betanll.datasets._uci import UCITable, load_uci
from betanll.datasets._uci_download import download_uci
from betanll.datasets._uci_facts import UCI_NAMES

__all__ = [
    "IMAGE_NAMES",
    "SINE_NOISE",
    "UCI_NAMES",
    "DataError",
    "ImageSet",
    "Samples",
    "Splits",
    "UCITable",
    "data_directory",
    "download_images",
    "download_uci",
    "heteroscedastic_sine",
    "heteroscedastic_sine_truth",
    "load_images",
    "load_uci",
    "object_slide",
    "object_slide_reset",
    "object_slide_splits",
    "object_slide_step",
    "sine",
]
