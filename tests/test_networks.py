"""Names of networks, under which they are saved."""

import dataclasses
import json
from dataclasses import dataclass

import pytest

from betanll.networks import MLP, UnknownNetworkError, from_json, network, to_json


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


@pytest.mark.parametrize("module", ["my.networks", "__main__", "os; x", None, 3])
def test_an_unknown_network_names_the_module_to_import(module):
    """And never a module that is none."""
    hint = "import the module that defines it"
    if module == "my.networks":
        hint = "import my.networks first, or use --plugin my.networks"
    with pytest.raises(UnknownNetworkError, match=f"'cnn' is not registered: {hint}"):
        from_json({"name": "cnn", "module": module, "n_inputs": 2})


def test_the_module_of_a_network_is_saved():
    assert to_json(Wide(2))["module"] == Wide.__module__


@pytest.mark.parametrize("field", ["name", "module"])
def test_a_field_may_not_hide_what_is_saved_beside_it(field):
    cls = dataclasses.make_dataclass("Odd", [("n_inputs", int), field], frozen=True)
    with pytest.raises(ValueError, match=f"Odd cannot be saved with a field '{field}'"):
        network("test-odd")(cls)


def test_what_cannot_be_saved_or_loaded():
    with pytest.raises(ValueError, match=r"Plain cannot be saved: register its class"):
        to_json(Plain())
    with pytest.raises(ValueError, match=r"Wide cannot be saved: table must be a num"):
        to_json(Wide(2, table={"a": 1}))
    with pytest.raises(
        ValueError, match="network 'cnn' is not registered: import the module"
    ):
        from_json({"name": "cnn", "n_inputs": 2})
    with pytest.raises(ValueError, match="MLP must have the fields"):
        from_json({"name": "mlp", "n_inputs": 2})
