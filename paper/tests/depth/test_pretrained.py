"""Trained weights: all of them, or one sentence."""

import json
import logging
import socket

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402, after the skip
from transformers.utils import logging as transformers_logging  # noqa: E402

from betanll_paper.depth.network import DepthNet  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


@pytest.fixture
def trained(tiny):
    """An encoder as it comes from training, with statistics of its own."""
    model = transformers.EfficientNetModel(tiny())
    for _, value in sorted(model.state_dict().items()):
        if value.is_floating_point():
            value.copy_(torch.rand(value.shape) + 0.5)
    return model


@pytest.fixture
def folder(trained, tmp_path, capfd):
    trained.save_pretrained(tmp_path)
    capfd.readouterr()
    return tmp_path


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["str", "Path"])
def test_weights_of_a_folder_are_loaded_in_silence(trained, folder, kind, capfd):
    level = logging.getLogger("transformers").level
    had_bars = transformers_logging.is_progress_bar_enabled()
    network = DepthNet.pretrained(kind(folder), has_variance=False)
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("transformers").level == level
    assert transformers_logging.is_progress_bar_enabled() == had_bars
    assert not network.has_variance
    found = network.encoder.state_dict()
    assert found.keys() == trained.state_dict().keys()
    for name, value in trained.state_dict().items():
        assert torch.equal(found[name], value), name


# Padding for sides that are odd in some block, which those of 64 x 96 are not.
@pytest.mark.parametrize("odd", [[], [1, 3]], ids=["even", "odd"])
def test_encoder_gives_the_features_of_transformers(trained, folder, odd):
    change_config(folder, depthwise_padding=odd)
    network = DepthNet.pretrained(folder)
    norms = [
        each for each in network.modules() if isinstance(each, torch.nn.BatchNorm2d)
    ]
    assert {norm.momentum for norm in norms} == {0.1}
    x = torch.randn(2, 3, 64, 96)
    features = []
    network.bridge.register_forward_pre_hook(lambda _, inputs: features.extend(inputs))
    network.eval()(x)
    expected = trained.eval()(x).last_hidden_state
    torch.testing.assert_close(features[0], expected)


def test_weights_of_a_classifier_are_loaded_without_it(tiny, tmp_path):
    model = transformers.EfficientNetForImageClassification(tiny(num_labels=7))
    model.save_pretrained(tmp_path)
    found = DepthNet.pretrained(tmp_path).encoder.state_dict()
    for name, value in model.efficientnet.state_dict().items():
        assert torch.equal(found[name], value), name


def test_weights_of_half_precision_are_trained_in_single(trained, tmp_path):
    trained.half().save_pretrained(tmp_path)
    network = DepthNet.pretrained(tmp_path)
    assert {each.dtype for each in network.parameters()} == {torch.float32}


def change_weights(folder, change):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, metadata={"format": "pt"})


def change_shape(folder):
    def change(weights):
        weights["encoder.top_conv.weight"] = weights["encoder.top_conv.weight"][1:]

    change_weights(folder, change)


def remove_weight(folder):
    change_weights(folder, lambda weights: weights.pop("encoder.top_conv.weight"))


def remove_statistics(folder):
    change_weights(folder, lambda weights: weights.pop("encoder.top_bn.running_mean"))


def add_weight(folder):
    change_weights(folder, lambda weights: weights.update(other=torch.zeros(1)))


def change_config(folder, **options):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | options))


def change_width(folder):
    change_config(folder, width_coefficient=0.2)


def cut_short(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def pickle_instead(folder):
    path = folder / "model.safetensors"
    torch.save(load_file(path), folder / "pytorch_model.bin")
    path.unlink()


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("damage", "error", "reason"),
    [
        (
            change_shape,
            ValueError,
            "do not fit the configuration: .*: encoder.top_conv.weight$",
        ),
        (
            remove_weight,
            ValueError,
            "do not fit the configuration: .*: encoder.top_conv.weight$",
        ),
        (
            remove_statistics,
            ValueError,
            "do not fit the configuration: .*: encoder.top_bn.running_mean$",
        ),
        (add_weight, ValueError, "do not fit the configuration: .*: other$"),
        (change_width, ValueError, "the weights do not fit.* and \\d+ more$"),
        (cut_short, ValueError, "cannot be read"),
        (pickle_instead, OSError, "model.safetensors"),
        (lambda folder: (folder / "config.json").unlink(), OSError, "no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), OSError, "JSON"),
        (lambda folder: (folder / "config.json").write_text("[]"), ValueError, "read"),
    ],
    ids=[
        *("shape", "missing", "statistics", "unknown", "width", "cut-short", "pickle"),
        *("no-config", "cut-config", "other-config"),
    ],
)
def test_weights_that_do_not_fit_are_refused(folder, damage, error, reason, capfd):
    damage(folder)
    with pytest.raises(error, match=reason) as caught:
        DepthNet.pretrained(folder)
    message = str(caught.value)
    assert message.startswith(f"{folder}: ")
    assert len(message.splitlines()) == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("no_network")
def test_missing_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="weights: there is no such folder"):
        DepthNet.pretrained(tmp_path / "weights")
    with pytest.raises(OSError, match="Hugging Face hub"):
        DepthNet.pretrained(str(tmp_path / "weights"))


def test_unreachable_hub_gives_one_sentence(monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("We couldn't connect.\nCheck your connection.")

    monkeypatch.setattr(transformers.EfficientNetModel, "from_pretrained", fail)
    with pytest.raises(OSError, match=r"^google/efficientnet-b5: .* hub$"):
        DepthNet.pretrained()
