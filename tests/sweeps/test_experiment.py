"""What a request asks of each experiment."""

import pytest

from betanll.sweeps import Experiment, Request, RequestError
from betanll.sweeps._experiment import NO_RESULTS, split_request


class Base(Experiment):
    presets = {"smoke": 1, "full": 2}

    def tasks(self, request, results):
        return []

    def render(self, artefact, results, request):
        return {}


class Tables(Base):
    name = "tables"
    artefacts = {"one": "First.", "two": "Second."}
    datasets = {"a": dict, "b": dict}
    settings = ("data-dir",)

    def method_names(self):
        return ("mse", "beta-nll")


class Figures(Base):
    name = "figures"
    artefacts = {"drawing": "A picture."}


class Images(Base):
    name = "images"
    artefacts = {"image": "An image."}
    datasets = {"c": dict}
    presets = {"smoke": 1}


ALL = (Tables(), Figures(), Images())


def split(*artefacts, preset="smoke", option="{}", **options):
    return split_request(Request(artefacts, preset, **options), ALL, option=option)


def test_each_experiment_gets_its_part(tmp_path):
    (tables, first), (figures, second) = split(
        *("drawing", "two", "one", "two"),
        datasets=("b", "b"),
        methods=("beta-nll:0.5",),
        settings={"data-dir": "here"},
        folder=tmp_path,
    )
    assert (tables, figures) == (ALL[0], ALL[1])
    assert first == Request(
        *(("two", "one"), "smoke", ("b",), ("beta-nll:0.5",)),
        *({"data-dir": "here"}, tmp_path),
    )
    assert second.artefacts == ("drawing",)
    assert (second.datasets, second.settings) == ((), {})


def test_all_datasets_are_the_default():
    ((_, part),) = split("one")
    assert part.datasets == ("a", "b")
    assert part.methods is None


@pytest.mark.parametrize(
    ("artefacts", "options", "message"),
    [
        (["none"], {}, "artefact must be among one, two, drawing, image, got 'none'"),
        (["one"], {"datasets": ("c",)}, "dataset must be among a, b, got 'c'"),
        (
            ["one", "image"],
            {"datasets": ("a",)},
            "image needs a dataset among c",
        ),
        (
            ["one", "two"],
            {"methods": ("mse", "magic:3")},
            "one, two can be made with mse, beta-nll, not with magic",
        ),
        (["image"], {"preset": "full"}, "image needs a preset among smoke"),
        (
            ["drawing"],
            {"methods": ("mse",), "datasets": ("a",), "settings": {"place": "x"}},
            "method and dataset and place concern nothing that is asked for.",
        ),
        (
            ["image"],
            {"settings": {"data-dir": "x"}},
            "data-dir concerns nothing that is asked for.",
        ),
    ],
)
def test_requests_that_cannot_be_fulfilled_are_refused(artefacts, options, message):
    with pytest.raises(RequestError) as caught:
        split(*artefacts, **options)
    assert str(caught.value) == message


def test_messages_may_name_options():
    with pytest.raises(RequestError, match=r"^--dataset must be among a, b, got 'x'$"):
        split("one", datasets=("x",), option="--{}")


def test_experiments_need_tasks_and_files():
    class Half(Experiment):
        name, artefacts, presets = "half", {"x": "X."}, {"smoke": 1}

        def tasks(self, request, results):
            return []

    with pytest.raises(TypeError, match="abstract"):
        Half()


def test_data_is_loaded_before_any_work():
    loaded = []

    class Loading(Tables):
        datasets = {name: lambda name=name: loaded.append(name) for name in "ab"}

    Loading().check(Request(("one",), "smoke", ("b",)))
    assert loaded == ["b"]


def test_defaults():
    request = Request(("drawing",), "smoke")
    assert Figures().environment(request) == {}
    assert Figures().max_workers(request) is None
    assert Figures().method_names() == ()
    assert NO_RESULTS.rows([]) == []
