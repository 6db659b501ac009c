"""Learning depth on the command line."""

import csv
import subprocess
import sys

import pytest

pytest.importorskip("transformers")

QUICK = ("--rooms", 4, "--epochs", 1, "--batch-size", 8)


def test_a_training_leaves_weights_a_log_and_scores(run, tmp_path, monkeypatch):
    command = ("depth", "train", *QUICK, "--loss", "beta-nll:0.25", "--out", tmp_path)
    outcome = run(*command)
    assert outcome.code == 0, outcome
    assert "Of 4 test images" in outcome.out
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"best.safetensors", "checkpoint.pt", "log.csv", "scores.csv"}
    with (tmp_path / "scores.csv").open(newline="") as file:
        (scores,) = csv.DictReader(file)
    assert 0 < float(scores["rmse"]) < 10
    # The same command finds a finished training.
    with monkeypatch.context() as patch:
        patch.delattr("betanll_paper.depth.training._Training._updated")
        assert run(*command).out == outcome.out
    assert (
        "its beta is 0.25, not 0.5"
        in run(
            *("depth", "train", *QUICK, "--loss", "beta-nll:0.5", "--out", tmp_path)
        ).err
    )


def test_bad_input_is_refused(run, refused, tmp_path):
    out = ("--out", tmp_path / "out")
    assert "'huber' is not one of beta-nll, nll, mse, l1" in refused(
        *("depth", "train", "--loss", "huber", *out)
    )
    for beta in ("-1", "nan"):
        assert f"{beta} is not a finite number of at least 0" in refused(
            *("depth", "train", "--loss", f"beta-nll:{beta}", *out)
        )
    # A batch too large, so that nothing is trained.
    unusual = run(
        *("depth", "train", "--rooms", 4, "--batch-size", 20),
        *("--loss", "beta-nll:2", *out),
    )
    assert unusual.out.startswith("Note: beta = 2 is unusual")
    assert unusual.err.startswith("betanll: batch_size must lie between")
    assert "mse has no beta" in refused("depth", "train", "--loss", "mse:1", *out)
    assert "there is no folder" in refused(
        *("depth", "train", "--nyu-dir", tmp_path / "nowhere", *out)
    )
    assert "batch_size must lie between 1 and the 16 training images" in refused(
        *("depth", "train", "--rooms", 4, "--batch-size", 20, *out)
    )
    assert "--rooms is for synthetic rooms" in refused(
        *("depth", "train", "--nyu-dir", tmp_path, "--rooms", 8, *out)
    )
    (tmp_path / "file").write_text("")
    assert "is a file" in refused("depth", "train", "--out", tmp_path / "file")
    assert "config.json" in refused(
        *("depth", "train", *QUICK, "--encoder", tmp_path, *out)
    )
    assert not (tmp_path / "out").exists()


def test_a_training_that_diverges_says_so_in_one_line(refused, tmp_path):
    assert "is not a finite number" in refused(
        *("depth", "train", *QUICK, "--learning-rate", 1e30, "--out", tmp_path)
    )


@pytest.mark.parametrize(
    ("missing", "command", "message"),
    [
        ("torch", ("depth", "train"), 'needs PyTorch: pip install "betanll[torch]"'),
        ("torch", ("reproduce", "tableS4"), 'needs PyTorch: pip install "betanll['),
        ("transformers", ("depth", "train"), 'pip install "betanll-paper[depth]"'),
        ("distributed", ("reproduce", "fig7"), 'pip install "betanll[sweeps]"'),
    ],
)
def test_an_extra_that_is_not_installed_is_named(tmp_path, missing, command, message):
    code = f"""if True:
        import sys

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == {missing!r}:
                    raise ModuleNotFoundError("not installed", name=name)

        sys.meta_path.insert(0, Finder())
        from betanll.cli import main
        main({[*command, "--out", str(tmp_path / "out")]!r})
        """
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert finished.returncode == 2
    assert message in finished.stderr
    assert finished.stderr.count("\n") == 1, finished.stderr
