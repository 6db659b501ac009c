"""Training: what it learns, and that a kill or a second process change nothing."""

import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch.optim.optimizer import register_optimizer_step_pre_hook  # noqa: E402

from betanll import progress  # noqa: E402
from betanll_paper.depth import (  # noqa: E402
    DepthLoss,
    SyntheticScenes,
    evaluate,
    load_weights,
    mean_scores,
)
from betanll_paper.depth import training as _training  # noqa: E402


def log_of(folder):
    with (folder / "log.csv").open(newline="") as file:
        return [
            {name: text for name, text in line.items() if name != "seconds"}
            for line in csv.DictReader(file)
        ]


def losses_of(folder):
    return [float(line["loss"]) for line in log_of(folder)]


def assert_same_weights(first, second):
    states = first.state_dict(), second.state_dict()
    for name, tensor in states[0].items():
        assert torch.equal(tensor, states[1][name]), name


@pytest.mark.parametrize(
    ("name", "beta"),
    [("beta-nll", 0.5), ("nll", None), ("mse", None), ("l1", None)],
)
def test_depth_is_learnt(tmp_path, bright_is_far, name, beta, network, train):
    net = network(drop=0.0)
    result = train(net, tmp_path, bright_is_far, loss=DepthLoss(name, beta), epochs=12)
    # A constant has 0.87 at best, the standard deviation of U(1, 4). Half of that is
    # within reach, all is not: half the resolution blurs the edges of the squares.
    assert result.validation.rmse < 0.43
    assert result.n_updates == 72


def test_the_weights_with_the_least_relative_error_are_kept(
    tmp_path, bright_is_far, network, train
):
    net = network()
    result = train(net, tmp_path, bright_is_far, epochs=6)
    scores = {
        int(line["update"]): float(line["rel"])
        for line in log_of(tmp_path)
        if line["rel"]
    }
    assert list(scores) == [4, 8, 12, 16, 20, 24, 28, 32, 36]
    assert result.best_update == min(scores, key=scores.get)
    assert result.validation.rel == min(scores.values())

    again = mean_scores(evaluate(net, bright_is_far(8, seed=1), crop=False))
    assert again.rel == pytest.approx(result.validation.rel, rel=1e-6)


class Killed(BaseException):
    pass


class KilledAt(DepthLoss):
    """A loss during whose computation the process ends."""

    def __init__(self, call):
        super().__init__("beta-nll", 0.5)
        self.n_left = call

    def forward(self, mean, variance, depth):
        self.n_left -= 1
        if not self.n_left:
            raise Killed
        return super().forward(mean, variance, depth)


@pytest.mark.parametrize("call", [2, 4, 5, 11])
def test_killed_run_resumes_to_the_same_bits(
    tmp_path, bright_is_far, call, network, train
):
    undisturbed = network()
    expected = train(undisturbed, tmp_path / "a", bright_is_far)
    with pytest.raises(Killed):
        train(network(), tmp_path / "b", bright_is_far, loss=KilledAt(call))
    # Another start: all of it comes from the checkpoint, if there is one.
    resumed = network(seed=0 if call <= 4 else 9)
    assert train(resumed, tmp_path / "b", bright_is_far) == expected
    assert_same_weights(resumed, undisturbed)
    assert log_of(tmp_path / "b") == log_of(tmp_path / "a")


def test_a_kill_between_checkpoint_and_best_weights_loses_nothing(
    tmp_path, bright_is_far, monkeypatch, network, train
):
    undisturbed = network()
    expected = train(undisturbed, tmp_path / "a", bright_is_far)

    def kill(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(_training, "save_weights", kill)
        with pytest.raises(Killed):
            train(network(), tmp_path / "b", bright_is_far)
    assert not (tmp_path / "b" / "best.safetensors").exists()
    resumed = network(seed=9)
    assert train(resumed, tmp_path / "b", bright_is_far) == expected
    assert_same_weights(resumed, undisturbed)


#: 120 updates, with a checkpoint after 100 of them.
COMMAND = (
    *(sys.executable, "-m", "betanll", "depth", "train"),
    *("--rooms", "8", "--epochs", "30", "--batch-size", "8", "--out"),
)


@pytest.mark.cluster
def test_a_killed_process_loses_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*COMMAND, str(whole)], check=True, capture_output=True)
    process = subprocess.Popen([*COMMAND, str(folder)])
    deadline = time.monotonic() + 250
    while not (folder / "checkpoint.pt").exists():
        assert process.poll() is None, "ended before its first checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert 100 <= len(log_of(folder)) < 120
    subprocess.run([*COMMAND, str(folder)], check=True, capture_output=True)
    assert log_of(folder) == log_of(whole)
    for name in ("best.safetensors", "scores.csv"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_finished_run_is_not_repeated(tmp_path, bright_is_far, network, train):
    first, second = network(), network(seed=5)
    result = train(first, tmp_path, bright_is_far)
    assert train(second, tmp_path, bright_is_far, loss=None) == result
    assert_same_weights(first, second)


def test_parts_of_an_update_add_up_to_the_whole(
    tmp_path, bright_is_far, network, train
):
    for name, n_accumulated in (("whole", 1), ("parts", 4)):
        net = network(norm=False, drop=0.0)
        train(net, tmp_path / name, bright_is_far, n_accumulated=n_accumulated)
    expected = pytest.approx(losses_of(tmp_path / "whole"), rel=1e-4)
    assert losses_of(tmp_path / "parts") == expected


def test_the_gradient_is_cut_to_its_length(tmp_path, bright_is_far, network, train):
    used = []

    def note(optimizer, *_):
        (group,) = optimizer.param_groups
        used.append(torch.nn.utils.get_total_norm(p.grad for p in group["params"]))

    hook = register_optimizer_step_pre_hook(note)
    try:
        train(network(), tmp_path, bright_is_far, epochs=1, max_gradient_norm=1e-3)
    finally:
        hook.remove()
    assert used == pytest.approx([1e-3] * 6, rel=1e-2)
    norms = [float(line["gradient_norm"]) for line in log_of(tmp_path)]
    assert min(norms) > 2e-3  # as they were before


@pytest.mark.parametrize(
    ("precision", "rounding"), [("bfloat16", 2**-8), ("float16", 2**-11)]
)
def test_half_precision_stays_close_to_float32(
    tmp_path, bright_is_far, precision, rounding, network, train
):
    for name in ("float32", precision):
        train(network(), tmp_path / name, bright_is_far, precision=name)
    close, exact = (log_of(tmp_path / name) for name in (precision, "float32"))
    # The first update, before the paths part; few roundings are between image and loss.
    for column in ("loss", "gradient_norm"):
        ours, theirs = float(close[0][column]), float(exact[0][column])
        assert ours != theirs
        assert ours == pytest.approx(theirs, rel=5 * rounding)


def test_progress_is_shown_in_a_terminal(
    tmp_path, bright_is_far, capsys, monkeypatch, network, train
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setattr(progress, "_REDRAW_EVERY", 0.0)
    train(network(), tmp_path, bright_is_far, progress=True)
    shown = capsys.readouterr().err
    assert "/18 updates" in shown
    assert "relative error 0." in shown


@pytest.mark.cluster
def test_processes_that_read_ahead_change_nothing(tmp_path, network, train):
    def rooms(n, seed=0):
        return SyntheticScenes(n // 4, size=(16, 24), seed=seed)

    for n_loaders in (0, 1):
        train(network(), tmp_path / str(n_loaders), rooms, n_loaders=n_loaders)
    assert losses_of(tmp_path / "1") == losses_of(tmp_path / "0")


@pytest.mark.parametrize(
    "name", ["beta-nll", pytest.param("scale-invariant", marks=pytest.mark.cluster)]
)
def test_two_processes_do_what_one_does(tmp_path, bright_is_far, name, network, train):
    loss = DepthLoss(name, 0.5 if name == "beta-nll" else None)
    # With statistics over all parts so far, it does not matter who has seen them.
    net = network(momentum=None)
    train(net, tmp_path / "one", bright_is_far, loss=loss, n_accumulated=2)
    # To the scale-invariant loss the part for the variance is of no use.
    code = f"""if True:
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from betanll_paper.depth import DepthLoss
        from conftest import BrightIsFar, own_network, train_briefly

        loss = DepthLoss({name!r}, {loss.beta})
        net = own_network(momentum=None)
        train_briefly(net, Path({str(tmp_path / "two")!r}), BrightIsFar, loss=loss)
        """
    script = tmp_path / "script.py"
    script.write_text(code)
    torchrun = [sys.executable, "-m", "torch.distributed.run"]
    finished = subprocess.run(
        [*torchrun, "--standalone", "--nproc-per-node=2", str(script)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert finished.returncode == 0, finished.stderr
    assert len(log_of(tmp_path / "two")) == 18
    for one, two in zip(*(log_of(tmp_path / n) for n in ("one", "two")), strict=True):
        assert float(two["loss"]) == pytest.approx(float(one["loss"]), rel=1e-4)
        assert bool(two["rel"]) == bool(one["rel"])
        if two["rel"]:
            assert float(two["rel"]) == pytest.approx(float(one["rel"]), rel=1e-4)
    # What they found together is what the weights are worth that were kept.
    best = network()
    load_weights(tmp_path / "two" / "best.safetensors", best)
    again = mean_scores(evaluate(best, bright_is_far(8, seed=1), crop=False))
    found = [float(line["rel"]) for line in log_of(tmp_path / "two") if line["rel"]]
    assert min(found) == pytest.approx(again.rel, rel=1e-4)
