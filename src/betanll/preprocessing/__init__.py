"""From columns of a table to what networks read and predict, and back."""

from betanll.preprocessing._columns import InputMap, Matrix, blocks
from betanll.preprocessing._quantile_positions import QuantilePositions
from betanll.preprocessing._standardizer import Standardizer

__all__ = ["InputMap", "Matrix", "QuantilePositions", "Standardizer", "blocks"]
