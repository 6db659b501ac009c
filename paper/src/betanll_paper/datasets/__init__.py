"""Data sets of the paper: UCI tables and images, from a folder or downloaded."""

from betanll_paper.datasets.directory import DataError, data_directory
from betanll_paper.datasets.images import (
    IMAGE_NAMES,
    ImageSet,
    download_images,
    load_images,
)
from betanll_paper.datasets.uci import UCI_NAMES, UCITable, load_uci
from betanll_paper.datasets.uci_download import download_uci

__all__ = [
    "IMAGE_NAMES",
    "UCI_NAMES",
    "DataError",
    "ImageSet",
    "UCITable",
    "data_directory",
    "download_images",
    "download_uci",
    "load_images",
    "load_uci",
]
