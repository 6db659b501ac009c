"""Figures of results."""

from betanll.reports._sine import sine_figure

__all__ = ["sine_figure"]
