"""Odd values of options, drawn at random: one line and code 2, or a result."""

import random

import pytest

from betanll.training import _fit

N_CALLS = 150

ODD = [
    *("", " ", "0", "-0", "-1", "1", "2", "3.5", "1e3", "1e400", "-1e400", "nan"),
    *("inf", "-inf", "auto", "None", "true", "0x10", "1_0", "٣", "²", "½", "+5", " 7 "),
    *("9" * 19, "9" * 40, "9" * 5000, "-" + "9" * 40, "2147483648", "4294967296"),
    *(",", "4,4", "4,,4", "4," + "9" * 30, "1:2", ":", ";", "\t", "\n", "a\nb", "\\"),
    *("\0", "a\0b", "\x1b[31m", "\ud800", "é", "🎲", "a" * 300, "a" * 100_000),
    *(".", "..", "/", "//", "~", "~nouser", "/dev/null", "/dev/full", "/proc/self/mem"),
    *("missing/x.csv", "x.csv", "x.html", "x.csv.gz", "-", "--", "--help", "*"),
    *("{}", "%s", "{0}", "$HOME", "y", "a", "id", "nope", "y,a", "beta-nll:", "nll:1"),
    *("beta-nll:nan", "beta-nll:auto", "mse", "crps", "none", "fast"),
]
READING = ("--delimiter", "--header", "--no-header", "--encoding", "--skip-rows")
READING = (*READING, "--na-values", "--sheet")
TABLE = ("--target", "--drop", "--id", *READING)
TRAINING = ("--hidden", "--max-updates", "--seed", "--jobs", "--out")
MORE = ("--members", "--preset", "--objective")
OPTIONS = {
    "fit": (*TABLE, *TRAINING, *MORE, "--beta", "--calibration", "--test-fraction"),
    "compare": (*TABLE, *TRAINING, *MORE, "--folds"),
    "diagnose": (*TABLE, *TRAINING, "--learning-rate", "--json"),
    "predict": ("--out", "--coverage", "--chunk-rows", *READING),
    "explain": ("--row", "--out", "--json", "--seed", *READING),
}
FLAGS = ("--header", "--no-header", "--json")


def drawn_call(rng, table, model):
    """Return a command with one to three odd values."""
    command = rng.choice(list(OPTIONS))
    is_for_model = command in ("predict", "explain")
    arguments = [model, table] if is_for_model else [table, "--target", "y"]
    place = rng.randrange(len(arguments))
    if rng.random() < 0.15:
        arguments[place] = rng.choice(ODD)
    for _ in range(rng.choice([1, 1, 2, 3])):
        option = rng.choice(OPTIONS[command])
        arguments += [option] if option in FLAGS else [option, rng.choice(ODD)]
    return [command, *map(str, arguments)]


@pytest.fixture
def no_training(monkeypatch):
    """Everything happens but the training itself."""

    def stop(*args):
        raise ValueError("training would start now")

    monkeypatch.setattr(_fit, "_run_threads", stop)


def test_odd_options(run, make_frame, fitted, tmp_path, monkeypatch, no_training):
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "table.csv"
    make_frame(240).to_csv(table, index=False)
    content = table.read_bytes()
    rng = random.Random(0)
    n_trained = 0
    for _ in range(N_CALLS):
        arguments = drawn_call(rng, table, fitted)
        try:
            outcome = run(*arguments)
        except Exception as error:
            pytest.fail(f"{[a[:60] for a in arguments]}: {error!r}")
        assert outcome.code in (0, 2), arguments
        if outcome.code == 2:
            *notes, complaint = outcome.err.splitlines()
            assert complaint.startswith("betanll: "), arguments
            assert len(complaint) > 20, arguments
            assert all(note.startswith("Note: ") for note in notes), arguments
        n_trained += "training would start" in outcome.err
        assert table.read_bytes() == content, arguments
    # some values are fine, most are not
    assert 0 < n_trained < N_CALLS / 2
