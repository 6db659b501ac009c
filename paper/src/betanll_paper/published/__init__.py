"""What the paper reports: its methods, its numbers and where they stand."""

from betanll_paper.published.methods import Method, PaperCell

__all__ = ["Method", "PaperCell"]
