"""``betanll diagnose`` on small tables."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from betanll.cli.diagnose import command
from betanll.evaluation import TargetScores, TrialSettings

QUICK = ("--hidden", "8", "--max-updates", "100")
OPTIONS = ("--target", "y", "--drop", "id")
_ROW_Y, _ROW_Z = ["nll", "3*", "-3*"], ["nll", "3000*", "-3000*"]


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory, make_frame, run):
    folder = tmp_path_factory.mktemp("diagnosed")
    make_frame(60).to_csv(folder / "data.csv", index=False)
    out = folder / "new" / "report.html"
    outcome = run("diagnose", folder / "data.csv", *OPTIONS, *QUICK, "--out", out)
    return outcome, out


def test_words_and_table(diagnosed):
    outcome, out = diagnosed
    assert outcome.code == 0
    assert "training with NLL" in outcome.out
    assert "Recommended: beta" in outcome.out
    names = [line.split()[0] for line in outcome.out.splitlines() if line]
    assert {"nll", "beta-nll:0.5", "beta-nll:1", "mse"} <= set(names)
    assert f"Report: {out}" in outcome.out


def test_report_needs_nothing_else(diagnosed):
    _, out = diagnosed
    html = out.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert html.count("<figure>") == 3  # four with a single input
    assert "://" not in html.replace("http://www.w3.org/", "")
    assert "betanll diagnose" in html
    assert "The rule: " in html


def test_numbers_for_machines_alone_on_standard_output(make_frame, save, run):
    frame = make_frame(60)
    frame["always"] = 3.0  # gives rise to a note
    path = save(frame)
    outcome = run("diagnose", path, *OPTIONS, *QUICK, "--json")
    assert outcome.code == 0
    numbers = json.loads(outcome.out)
    assert isinstance(numbers["pitfall"], bool)
    assert set(numbers["rmse"]) == {"nll", "beta-nll:0.5", "beta-nll:1", "mse"}
    for name in ("effective_sample_fraction", "starved_fraction"):
        assert 0 <= numbers[name] <= 1
    assert np.isfinite(list(numbers["log_likelihood"].values())).all()
    assert "always" in outcome.err


def test_each_target_has_a_table_in_its_own_unit(make_frame, save, run, monkeypatch):
    frame = make_frame(60)
    frame["z"] = 1000 * frame["y"]
    seen = {}

    def diagnose(settings, X, y, *, target_names, **options):
        seen["shape"] = X.shape, y.shape
        scores = [
            TargetScores(name, {"nll": rmse}, {"nll": -rmse})
            for name, rmse in zip(target_names, (3.0, 3000.0), strict=True)
        ]
        return SimpleNamespace(targets=scores)

    monkeypatch.setattr("betanll.evaluation.diagnose", diagnose)
    outcome = run("diagnose", save(frame), *OPTIONS, "--target", "z")
    assert outcome.code == 0
    assert seen["shape"] == ((60, 3), (60, 2))
    words = outcome.out.split()
    first, second = (words.index(name) for name in ("y", "z"))
    assert words[first - 1] == words[second - 1] == "Target"
    assert words[first + 1 : second - 1] == ["objective", "RMSE", "log-lik.", *_ROW_Y]
    assert words[second + 1 : second + 7] == ["objective", "RMSE", "log-lik.", *_ROW_Z]


def test_defaults_are_those_of_the_library():
    defaults = command.make_context("diagnose", ["x.csv", "--target", "y"]).params
    assert defaults["hidden"] == TrialSettings.hidden_sizes
    assert defaults["learning_rate"] == TrialSettings.learning_rate
    assert defaults["max_updates"] == TrialSettings.max_updates


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "nope"], "nope"),
        (["--hidden", "0"], "'0' is not like 50 or 128,128"),
        (["--learning-rate", "0"], "'--learning-rate': 0"),
        (["--max-updates", "0"], "'--max-updates': 0"),
        (["--out", "report.pdf"], "--out must end in .html, got report.pdf"),
    ],
)
def test_nonsense_is_refused(data, refused, options, message):
    assert message in refused("diagnose", data, *OPTIONS, *options)


def test_few_rows_are_refused(make_frame, save, refused):
    path = save(make_frame(29))
    message = refused("diagnose", path, *OPTIONS)
    assert f"{path} has 29 rows with a target; the doctor needs 30" in message


def test_no_file_is_left_after_a_refusal(make_frame, save, refused, tmp_path):
    path, out = save(make_frame(29)), tmp_path / "report.html"
    refused("diagnose", path, *OPTIONS, "--out", out)
    assert not out.exists()
