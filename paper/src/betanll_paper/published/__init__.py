"""The methods and numbers that the paper reports."""

from betanll_paper.published.methods import Method, PaperCell

__all__ = ["Method", "PaperCell"]
