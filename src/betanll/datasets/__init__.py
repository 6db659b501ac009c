"""Data of the paper's experiments."""

from betanll.datasets._synthetic import sine

__all__ = ["sine"]
