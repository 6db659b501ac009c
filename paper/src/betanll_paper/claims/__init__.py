"""The claims of the paper, with a verdict on each from our results.

``python -m betanll_paper.claims`` writes ``paper/docs/overview.md`` from the committed
CSV files, which a test compares.
"""

from betanll_paper.claims.claim import Claim, Evidence
from betanll_paper.claims.overview import all_claims, render_overview

__all__ = ["Claim", "Evidence", "all_claims", "render_overview"]
