"""Data of the paper's experiments."""

from betanll.datasets._synthetic import SINE_NOISE, Samples, sine

__all__ = ["SINE_NOISE", "Samples", "sine"]
