"""The overview of the paper's claims."""

from pathlib import Path

import pytest

from betanll_paper.claims import Evidence, all_claims, render_overview
from betanll_paper.claims.claim import VERDICTS

PAPER = Path(__file__).parents[1]
ARTEFACTS = [
    *(f"Figure {n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9)),
    *(f"Figure S{n}" for n in (1, 2, 3, 4, 5, 6)),
    *(f"Table {n}" for n in (1, 2, "S1", "S2", "S5", "S6", "S7")),
    *("Tables 3 and S3", "Tables 3 and S4", "Table S3"),
]


@pytest.fixture(scope="module")
def claims():
    sections = all_claims(Evidence(PAPER / "results"))
    return [claim for found in sections.values() for claim in found]


def test_committed_page_is_what_the_results_give():
    page = (PAPER / "docs" / "overview.md").read_text("utf-8")
    assert page == render_overview(PAPER / "results"), (
        "run python -m betanll_paper.claims"
    )


def test_every_figure_and_table_has_a_verdict(claims):
    assert set(ARTEFACTS) <= {claim.artefact for claim in claims}
    for claim in claims:
        assert claim.verdict in VERDICTS
        assert all(claim), claim
        assert "nan" not in claim.ours + claim.paper


def test_a_verdict_follows_the_numbers(tmp_path):
    for source in (PAPER / "results").rglob("*.csv"):
        target = tmp_path / source.relative_to(PAPER / "results")
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(source.read_bytes())
    runs = tmp_path / "pitfall" / "fig1-runs.csv"
    runs.write_text(runs.read_text().replace("0.164238", "0.012"))
    (first, *_), *_ = all_claims(Evidence(tmp_path)).values()
    assert first.artefact == "Figure 1"
    assert first.verdict == "not confirmed"
    assert first.ours == "RMSE 0.012 to 0.174"


def test_the_longest_of_several_lengths_counts(tmp_path):
    (tmp_path / "dynamics").mkdir()
    for epochs in (1000, 5000, 20):
        path = tmp_path / "dynamics" / f"object-slide-{epochs}.csv"
        path.write_text(f"epochs\n{epochs}\n")
    (tmp_path / "dynamics" / "object-slide-ignored.csv").write_text("epochs\n1\n")
    epochs, table = Evidence(tmp_path).longest("dynamics", "object-slide")
    assert (epochs, table["epochs"].tolist()) == (5000, [5000])
    (tmp_path / "dynamics" / "figS4.csv").write_text("epochs\n15\n")
    epochs, table = Evidence(tmp_path).longest("dynamics", "figS4")
    assert (epochs, table["epochs"].tolist()) == (0, [15])
