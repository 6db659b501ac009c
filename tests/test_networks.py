"""Names of networks, under which they are saved."""

import json
from dataclasses import dataclass

import pytest

from betanll.networks import MLP, from_json, network, to_json


@network("test-wide")
@dataclass(frozen=True)
class Wide:
    n_inputs: int
    sizes: tuple[int, ...] = (3, 4)
    dropout: float | None = None
    table: dict | None = None


def test_networks_survive_json():
    for net in (MLP(3, (5, 6), "tanh", n_bins=4), Wide(2, dropout=0.5)):
        again = from_json(json.loads(json.dumps(to_json(net))))
        assert again == net
        assert type(again) is type(net)
        assert hash(again) == hash(net)


def test_models_without_a_name_are_perceptrons():
    fields = to_json(MLP(3, (5,)))
    assert fields.pop("name") == "mlp"
    assert from_json(fields) == MLP(3, (5,))


def test_a_class_may_be_defined_again_but_not_another_under_its_name():
    @dataclass(frozen=True)
    class Other:
        n_inputs: int

    again = dataclass(frozen=True)(type("Wide", (), {"__module__": Wide.__module__}))
    assert network("test-wide")(again) is again
    network("test-wide")(Wide)
    with pytest.raises(ValueError, match="name 'mlp' is taken by betanll"):
        network("mlp")(Other)


class Plain:
    n_inputs = 1


@dataclass
class Mutable:
    n_inputs: int = 1


@pytest.mark.parametrize("cls", [Plain, Mutable])
def test_only_frozen_dataclasses_are_registered(cls):
    with pytest.raises(ValueError, match=f"{cls.__name__} must be a frozen dataclass"):
        network("test-other")(cls)


def test_what_cannot_be_saved_or_loaded():
    with pytest.raises(ValueError, match=r"Plain cannot be saved: register its class"):
        to_json(Plain())
    with pytest.raises(ValueError, match=r"Wide cannot be saved: table must be a num"):
        to_json(Wide(2, table={"a": 1}))
    with pytest.raises(ValueError, match="unknown network 'cnn': import the module"):
        from_json({"name": "cnn", "n_inputs": 2})
    with pytest.raises(ValueError, match="MLP must have the fields"):
        from_json({"name": "mlp", "n_inputs": 2})
