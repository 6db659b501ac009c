"""The page that lists every claim of the paper with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from betanll.sentences import markdown_table
from betanll_paper.claims import dynamics, dynamics_figures, images, sine, text, uci
from betanll_paper.claims.claim import VERDICTS, Claim, Evidence, Verdict

_SECTIONS = {
    "The pitfall on the sine": sine.claims,
    "UCI sets": uci.claims,
    "Dynamics models": dynamics.claims,
    "Dynamics models, figures and searches": dynamics_figures.claims,
    "Autoencoders and depth": images.claims,
    "Sentences and formulas": text.claims,
}
_HEAD = ("Paper", "Scale", "Ours", "Paper's", "Verdict")
_INTRODUCTION = """\
# The paper's claims, one by one

Every figure, table and claim of [Seitzer et al. 2022](https://arxiv.org/abs/2203.09168)
with our number, the paper's, and a verdict.

Of {total} claims, {counts}.

- **confirmed**: our runs show the same.
- **not confirmed**: our runs do not show it, but they are too short or too few to
  contradict it.
- **contradicted**: our runs, long enough, show something else.
- **cannot be judged here**: the data, the search or the training is not the paper's.

Scale is ours / the paper's. A shorter scale than the paper's is the first thing to
doubt about a verdict. Where the paper states a number only in a figure, we read it
from the figure. `python -m betanll_paper.claims` writes this page from the CSV files
in `paper/results`.
"""


def all_claims(evidence: Evidence) -> dict[str, list[Claim]]:
    """Return the claims of each section of the page."""
    return {title: claims(evidence) for title, claims in _SECTIONS.items()}


def render_overview(results: Path) -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    results : path
        The folder ``paper/results`` of the repository.
    """
    sections = all_claims(Evidence(results))
    counts = Counter(claim.verdict for claims in sections.values() for claim in claims)
    words = [f"{counts[verdict]} {_plural(verdict, counts)}" for verdict in VERDICTS]
    parts = [
        _INTRODUCTION.format(
            total=sum(counts.values()),
            counts=f"{', '.join(words[:-1])} and {words[-1]}",
        )
    ]
    for title, claims in sections.items():
        table = markdown_table(_HEAD, map(_cells, claims))
        parts.append(f"## {title}\n\n{table}\n")
    return "\n".join(parts)


def _plural(verdict: Verdict, counts: Counter[Verdict]) -> str:
    if verdict == "cannot be judged here":
        return verdict
    return f"{'is' if counts[verdict] == 1 else 'are'} {verdict}"


def _cells(claim: Claim) -> Sequence[str]:
    return (
        f"**{claim.artefact}.** {claim.text}",
        claim.scale,
        claim.ours,
        claim.paper,
        f"**{claim.verdict}**: {claim.why}",
    )
