"""The blocks of a page, in HTML and in Markdown."""

import re

import pytest
from matplotlib.figure import Figure

from betanll.reports import (
    Card,
    Cell,
    Code,
    Column,
    Finding,
    Heading,
    Page,
    Picture,
    Table,
    Text,
)

BLOCKS = [
    Finding("warning", "Few rows."),
    Finding("good", "Fast."),
    Card("12", "rows", "All of them."),
    Card("3", "columns"),
    Heading("Results"),
    Text("In metres."),
    Table(
        ["Model", Column("RMSE", "lower is better"), Column("Verdict", align="left")],
        [
            ["ours, β = 1", Cell("1.2 ± 0.3", "best"), Cell("✓ agrees", "good")],
            ["ridge", Cell("1.3 ± 0.3", "tied"), Cell("✗ worse", "warning")],
            ["average", "2.0", Cell("– not run", "note")],
        ],
        title="Houses",
        note="Ten splits.",
    ),
    Table(["Loss", "Rows"], [["nll", Cell("40%", share=0.4)]], label="Shares"),
    Heading("How"),
    Table([], [["seed", "0"]], label="Configuration"),
    Code("betanll fit\nhouses.csv"),
    Picture(Figure((4, 3)), "The fit", "Close to the line.", "Prediction and truth"),
    Picture(Figure((4, 3)), "The errors", "Small."),
]
PAGE = Page("Report", BLOCKS, footer="Paper: none.")

MARKDOWN = """\
# Report

> **Warning:** Few rows.

> **Good:** Fast.

**12** rows. All of them.

**3** columns

## Results

In metres.

### Houses

Ten splits.

| Model | RMSE (lower is better) | Verdict |
|---|--:|---|
| ours, β = 1 | **★ 1.2 ± 0.3** | ✓ agrees |
| ridge | 1.3 ± 0.3 † | ✗ worse |
| average | 2.0 | – not run |

| Loss | Rows |
|---|--:|
| nll | 40% |

## How

|  |  |
|---|---|
| seed | 0 |

    betanll fit
    houses.csv

### The fit

*Prediction and truth*

Close to the line.

### The errors

Small.

Paper: none.
"""


def test_markdown():
    assert PAGE.markdown() == MARKDOWN


def test_html_marks_are_signs_and_words(parse):
    found = parse(PAGE.html())
    assert (
        "★ best: 1.2 ±\u00a00.3 ✓ agrees ridge 1.3 ±\u00a00.3 † tied ✗ worse"
        in found.raw
    )
    cells = [attrs.get("class") for attrs in found.all("td")]
    assert cells[:6] == ["best", "good left", "tied", "warning left", None, "note left"]
    assert "! Warning: Few rows. ✓ Good: Fast. 12 rows All of them. 3 col" in found.text


def test_html_names_everything(parse):
    found = parse(PAGE.html())
    regions = [a["aria-label"] for a in found.all("div") if a.get("role") == "region"]
    assert regions == ["Houses", "Shares", "Configuration"]
    images = [a["aria-label"] for a in found.all("svg") if a.get("role") == "img"]
    assert images == ["nll: 40%", "Prediction and truth", "The errors"]
    assert {attrs["scope"] for attrs in found.all("th")} == {"row", "col"}
    assert len(found.all("section")) == 2


def test_neighbours_of_one_kind_share_a_row(parse):
    classes = [attrs.get("class") for attrs in parse(PAGE.html()).all("div")]
    for name, n in (("cards", 1), ("tables", 2), ("pictures", 1)):
        assert classes.count(name) == n


@pytest.mark.parametrize("write", [Page.html, Page.markdown])
def test_texts_are_escaped(write):
    evil = "<script>a|b`*"
    page = Page(
        evil,
        [
            *(Heading(evil), Text(evil), Finding("note", evil), Card(evil, evil, evil)),
            Table([evil, Column(evil, evil)], [[evil, evil]], evil, evil, evil),
            Picture(Figure((1, 1)), evil, evil, evil),
        ],
        footer=evil,
    )
    assert not re.search(r"(?<!\\)<script", write(page))
    assert not re.search(r"a\|b", page.markdown())


def test_same_page_same_text():
    assert PAGE.html() == PAGE.html()
    assert Page("Nothing", []).markdown() == "# Nothing\n"
    assert "<section>" not in Page("Nothing", []).html()


def test_bad_blocks_are_named():
    with pytest.raises(ValueError, match="the row 'a' has 1 cells, but the table has"):
        Table(["x", "y"], [["a"]])
    with pytest.raises(ValueError, match="kind must be 'good', 'note' or 'warning', "):
        Finding("bad", "x")
