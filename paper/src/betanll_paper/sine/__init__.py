"""The sine: figures 1 to 5, 7, 8 and S1 to S3."""

from betanll_paper.sine.artefacts import figure_tasks, write_figures

__all__ = ["figure_tasks", "write_figures"]
