"""The files of the UCI tables: numbers, Markdown and HTML."""

import csv
import io
import re
import shutil

import pandas as pd
import pytest

from betanll_paper.comparison import count_agreement
from betanll_paper.published import Method
from betanll_paper.published.methods import METHODS
from betanll_paper.published.uci import paper_ties
from betanll_paper.uci.tables import TABLES, compare_uci, table_files


def texts_of(runs, artefacts=tuple(TABLES), *, preset):
    """Return the texts of the files of tables by their names."""
    cells = compare_uci(runs)
    return {
        name: content.decode()
        for artefact in artefacts
        for name, content in table_files(artefact, cells, preset).items()
    }


def test_each_table_has_three_formats(runs):
    texts = texts_of(runs, preset="paper")
    assert list(texts)[:3] == ["tableS1.csv", "tableS1.md", "tableS1.html"]
    assert len(texts) == 9
    for name, text in texts.items():
        assert "Shortened" not in text
        assert not re.search(r"https?:|<script|url\(", text)
        if not name.endswith("csv"):
            assert "Everything was run." in text
    assert texts == texts_of(runs, preset="paper")


def test_csv_holds_all_digits(runs):
    texts = texts_of(runs, ["tableS2", "table1"], preset="paper")
    cells = [cell for cell in compare_uci(runs) if cell.metric == "rmse"]
    rows = list(csv.DictReader(io.StringIO(texts["tableS2.csv"])))
    assert [float(row["mean"]) for row in rows] == [cell.mean for cell in cells]
    assert [float(row["std"]) for row in rows] == [cell.std for cell in cells]
    assert {row["preset"] for row in rows} == {"paper"}
    overview = pd.read_csv(io.StringIO(texts["table1.csv"]))
    assert len(overview) == 4 * (11 + 12)
    line = overview.query("metric == 'll' and method == 'student-t'")
    assert line["paper_ties_of_12"].eq(10).all()
    assert line["ties_datasets"].eq(12).all()


def test_shortened_and_partial_runs_say_so(draw):
    methods = [*METHODS[:3], Method("xvamp-star")]
    runs = draw(n_splits=2, datasets=["yacht", "protein"], methods=methods)
    texts = texts_of(runs, preset="laptop")
    for name, text in texts.items():
        if name.endswith("csv"):
            assert "not run" in text
            continue
        assert "Shortened run" in text
        assert "2 of 5 splits: protein; 2 of 20 splits: yacht" in text
        assert "fewer than 4 splits" in text
        plain = text.replace("\u00a0", " ")
        assert re.search(r"carbon( \| |</th><td>)all methods", plain)
        missing = "β-NLL, β = 0.75; β-NLL, β = 1; "
        assert re.search(rf"yacht( \| |</th><td>){missing}", plain)
    overview = texts["table1.md"]
    assert "| xVAMP\\* | 2 of 2 | 1 of 2 | 2 of 2 | 1 of 2 |" in overview
    assert "| Student-t | not run | 10 of 12 | not run | 5 of 12 |" in overview
    assert "On 2 datasets our best is that of fewer methods than" in overview


def test_trainings_without_meaning_are_not_judged(draw):
    texts = texts_of(draw(n_splits=2, datasets=["yacht"]), preset="smoke")
    for name, text in texts.items():
        assert not re.search("✓ agrees|✗ (better|worse)|,(agrees|better|worse),", text)
        if not name.endswith("csv"):
            assert "60 updates of the others instead of 20,000; 2 splits" in text
            assert "no number is judged" in text
            assert "– too short to judge" in text
            assert "agree with the paper’s" not in text
    assert "too short" in texts["tableS1.csv"]


def test_single_splits_are_shown_and_not_judged(draw):
    runs = draw(n_splits=1, datasets=["yacht"])
    count = count_agreement(compare_uci(runs))
    assert (count.n_compared, count.n_not_judged) == (0, 23)
    text = texts_of(runs, ["tableS1"], preset="laptop")["tableS1.md"]
    assert "– one split" in text
    assert "| Both in total | 0 | – | 0 | 0 | 0 | 23 | 253 |" in text


def test_markdown_marks_and_counts(runs):
    text = texts_of(runs, ["tableS1"], preset="paper")["tableS1.md"]
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 5]
    cells = [row for row in rows if "±" in row[2]]
    assert len(cells) == 132
    for column in (2, 3):
        assert sum("**" in row[column] for row in cells) == 12
    paper = sum("†" in row[3] for row in cells)
    assert paper == sum(paper_ties("ll").values()) - 12
    count = count_agreement(c for c in compare_uci(runs) if c.metric == "ll")
    assert sum("✓ agrees" in row[4] for row in cells) == count.n_agree
    assert f"| Log-likelihood (Table S1) | {count.n_agree} | " in text


def test_odd_names_do_no_harm(draw):
    own = [
        row | {"method": "<b>a|b"}
        for row in draw(datasets=["yacht"], methods=[Method("mm")])
    ]
    texts = texts_of(own, ["tableS1"], preset="<i>")
    assert "&lt;b&gt;a|b" in texts["tableS1.html"]
    assert "<b>" not in texts["tableS1.html"]
    assert "<i>" not in texts["tableS1.html"]
    assert "\\<b\\>a\\|b" in texts["tableS1.md"]


@pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="Chromium and its driver are not installed",
)
def test_pages_fit_a_phone(runs, tmp_path):
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    texts = texts_of(runs, preset="paper")
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for name, text in texts.items():
            if name.endswith("html"):
                path = tmp_path / name
                path.write_text(text, encoding="utf-8")
                driver.get(path.as_uri())
                script = "return document.documentElement.scrollWidth"
                assert driver.execute_script(script) == 375
                # The results themselves need no scrolling to the side.
                script = (
                    "return [...document.querySelectorAll('table')]"
                    ".filter(x => x.tHead?.textContent.includes('PaperCompared'))"
                    ".map(x => x.scrollWidth <= x.parentNode.clientWidth)"
                )
                fits = driver.execute_script(script)
                assert fits
                assert all(fits)
        assert not driver.get_log("browser")
    finally:
        driver.quit()
