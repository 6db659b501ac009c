"""States on disk: whole, or refused with the name of the file."""

import pytest

torch = pytest.importorskip("torch")

from betanll_paper.depth.checkpoint import (  # noqa: E402
    TrainingLog,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    save_weights,
)


def network(width=3):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, width, 1), torch.nn.BatchNorm2d(width)
    )


def test_checkpoint_round_trip(tmp_path):
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, {"network": network().state_dict(), "best": {"rel": 0.5}})
    state = load_checkpoint(path)
    assert state["best"] == {"rel": 0.5}
    for name, tensor in network().state_dict().items():
        assert torch.equal(state["network"][name], tensor)
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.99])
@pytest.mark.parametrize("width", [3, 300_000])
def test_a_checkpoint_cut_short_is_refused_by_name(tmp_path, share, width):
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, {"network": network(width).state_dict()})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(
        ValueError, match=r"checkpoint\.pt is not a complete checkpoint"
    ):
        load_checkpoint(path)


class Harmful:
    def __reduce__(self):
        return print, ("executed",)


def test_loading_a_checkpoint_executes_nothing(tmp_path, capsys):
    path = tmp_path / "checkpoint.pt"
    torch.save({"version": 1, "harm": Harmful()}, path)
    with pytest.raises(ValueError, match="is not a complete checkpoint"):
        load_checkpoint(path)
    assert capsys.readouterr().out == ""


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    path = tmp_path / "checkpoint.pt"
    torch.save({"version": 0}, path)
    with pytest.raises(ValueError, match="this version can read"):
        load_checkpoint(path)


def test_weights_round_trip(tmp_path):
    saved, loaded = network(), network()
    with torch.no_grad():
        saved[0].weight.add_(1.0)
        saved[1].running_mean.add_(2.0)
    save_weights(tmp_path / "best.safetensors", saved)
    load_weights(tmp_path / "best.safetensors", loaded)
    for name, tensor in saved.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (network(4), r"0\.bias has the shape \(4,\), the network's \(3,\)"),
        (network()[:1], r"it has no 1\.bias"),
        (torch.nn.Sequential(*network(), torch.nn.PReLU()), r"which has no 2\.weight"),
    ],
)
def test_misfit_weights_are_refused_and_change_nothing(tmp_path, other, message):
    path = tmp_path / "best.safetensors"
    save_weights(path, other)
    target = network()
    with pytest.raises(ValueError, match=rf"best\.safetensors does not fit.*{message}"):
        load_weights(path, target)
    for name, tensor in network().state_dict().items():
        assert torch.equal(target.state_dict()[name], tensor)


def test_weights_cut_short_or_absent_are_refused_by_name(tmp_path):
    path = tmp_path / "best.safetensors"
    with pytest.raises(
        FileNotFoundError, match=r"there is no file .*best\.safetensors"
    ):
        load_weights(path, network())
    save_weights(path, network())
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"best\.safetensors is not a complete"):
        load_weights(path, network())


def test_resumed_log_continues_after_the_checkpoint(tmp_path):
    log = TrainingLog(tmp_path / "log.csv", ["update", "loss"])
    log.start(0)
    for update in (1, 2, 3):
        log.add({"update": update, "loss": 0.5 * update})
    with (tmp_path / "log.csv").open("a") as file:
        file.write("4")  # killed here
    log.start(2)
    log.add({"update": 3})
    assert (tmp_path / "log.csv").read_text() == "update,loss\n1,0.5\n2,1.0\n3,\n"


def test_a_foreign_log_is_refused(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"log\.csv is not the log of a depth"):
        TrainingLog(tmp_path / "log.csv", ["update", "loss"]).start(0)
