"""The registry: one name for one class, from decorators, modules and packages."""

import json
import sys

import numpy as np
import pytest

from betanll import objectives
from betanll.objectives import (
    MSE,
    OBJECTIVES,
    VBEM,
    BetaNLL,
    FixedVariance,
    GaussianNLL,
    Objective,
    StudentT,
    UnknownObjectiveError,
    _registry,
    from_json,
    get,
    names,
    objective,
    to_json,
    traced,
)
from betanll.plugins import import_plugin

BUILT_IN = (
    *("mse", "fixed-variance", "nll", "beta-nll", "faithful", "crps", "mm", "natural"),
    *("student-t", "xvamp", "xvamp-star", "vbem", "vbem-star"),
)
MODULE = """
from betanll.objectives import MSE, objective

@objective({name!r})
class {cls}(MSE):
    "Squared error from a plug-in."
"""


@pytest.fixture(autouse=True)
def _same_registry_afterwards():
    entries = dict(_registry.entries)
    yield
    _registry.entries.clear()
    _registry.entries.update(entries)
    for name in ("by_hand", "installed_objectives", "empty_module"):
        sys.modules.pop(name, None)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package whose entry points name objectives."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name, points, **modules):
        for module, text in modules.items():
            (tmp_path / f"{module}.py").write_text(text)
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n")
        lines = [f"{point} = {value}" for point, value in points.items()]
        text = "\n".join(["[betanll.objectives]", *lines])
        (folder / "entry_points.txt").write_text(text)
        # Packages are looked for again when the path has changed.
        monkeypatch.syspath_prepend(str(folder))

    return install


def test_names_of_ours():
    assert names()[: len(BUILT_IN)] == BUILT_IN
    assert tuple(OBJECTIVES) == names()
    assert len(OBJECTIVES) == len(names())
    assert "nope" not in OBJECTIVES
    for name in BUILT_IN:
        assert OBJECTIVES[name]() == get(name)
        assert get(name).name == name


# The decorator


def test_a_decorated_class_is_known_by_its_name_and_variants():
    @objective("scaled", **{"scaled-half": {"factor": 0.5}})
    class Scaled(MSE):
        factor: float = 1.0

    assert (get("scaled"), get("scaled-half")) == (Scaled(), Scaled(0.5))
    assert (Scaled.name, Scaled().name, Scaled(0.5).name) == (
        *("scaled", "scaled", "scaled-half"),
    )
    assert Scaled(0.25).name == "scaled"
    assert names()[-2:] == ("scaled", "scaled-half")
    assert get(Scaled) == Scaled()


def test_the_bare_decorator_takes_the_name_of_the_class():
    @objective
    class Bare(MSE):
        name = "bare"

    @objective
    class Nameless(Bare):
        pass

    assert get("bare") == Bare()
    assert get(Nameless()) == Nameless()
    assert type(get("bare")) is Bare


def test_without_a_name_an_objective_is_not_registered():
    @objective(None)
    class Mine(StudentT):
        pass

    assert names() == tuple(_registry.entries)
    assert Mine.name == "Mine"
    assert get(Mine) == Mine()
    with pytest.raises(ValueError, match="Mine cannot be saved without a name"):
        to_json(Mine())


def test_one_name_is_for_one_class():
    def define():
        @objective("twice")
        class Twice(MSE):
            pass

        return Twice

    define()
    # Running a definition again, as notebooks do, replaces it.
    again = define()
    assert type(get("twice")) is again
    message = (
        r"name 'twice' is taken by .*define.<locals>.Twice: choose another .*Other"
    )
    with pytest.raises(ValueError, match=message):

        @objective("twice")
        class Other(MSE):
            pass

    with pytest.raises(ValueError, match=r"'mse' is taken by betanll.objectives"):

        @objective("other", mse={})
        class Another(MSE):
            pass

    assert type(get("twice")) is again
    assert "other" not in names()


@pytest.mark.parametrize("name", ["", "Upper", "a:b", "a b", "-a", "ä", 3])
def test_bad_names_are_refused(name):
    with pytest.raises(ValueError, match=r"name of an objective .* got"):

        @objective(name)
        class Mine(MSE):
            pass


def test_named_objectives_have_defaults():
    with pytest.raises(ValueError, match=r"Mine can be made by name only .* 'factor'"):

        @objective("mine")
        class Mine(MSE):
            factor: float

    with pytest.raises(TypeError, match="subclasses of Objective"):
        objective("mine")(int)


def test_the_family_is_not_inherited_by_another_distribution():
    @objective(None)
    class Other(GaussianNLL):
        def predictive(self, parameters):
            raise NotImplementedError

    @objective(None)
    class Declared(Other):
        predictive_family = "laplace"

    @objective(None)
    class Same(GaussianNLL):
        pass

    families = [cls.predictive_family for cls in (Other, Declared, Same, Objective)]
    assert families == ["custom", "laplace", "normal", "custom"]
    assert {get(name).predictive_family for name in BUILT_IN} == {"normal", "student-t"}


@pytest.mark.parametrize(
    ("members", "lacking"),
    [
        ({}, "n_parameters and parameters and loss and nll and predictive"),
        ({"n_parameters": 2}, "parameters and loss and nll and predictive"),
        ({"n_parameters": 1, "nll": MSE.nll, "loss": MSE.loss}, "parameters and pred"),
    ],
)
def test_an_unfinished_class_is_named_with_what_it_lacks(members, lacking):
    with pytest.raises(ValueError, match=rf"objective .*\.Half lacks {lacking}"):
        objective("half")(type("Half", (Objective,), members))
    assert "half" not in names()


def test_a_class_with_its_own_training_loss_needs_no_other():
    members = {name: getattr(MSE, name) for name in ("parameters", "nll", "predictive")}
    members |= {"n_parameters": 1, "training_loss": lambda self, *_, **__: 0}
    assert objective(None)(type("Whole", (Objective,), members))().n_parameters == 1


def test_an_objective_has_parameters():
    with pytest.raises(ValueError, match="n_parameters of at least 1, got 0"):
        objective("none")(type("None_", (MSE,), {"n_parameters": 0}))


# Looking up


def test_a_number_after_a_colon_sets_the_first_traced_field():
    assert get("beta-nll:0.25") == BetaNLL(0.25)

    @objective("two-numbers")
    class TwoNumbers(MSE):
        static: float = 1.0
        first: float = traced(default=2.0)
        second: float = traced(default=3.0)

    assert get("two-numbers:7") == TwoNumbers(first=7.0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nll:1", "nll has no number to set, got 'nll:1'"),
        ("beta-nll:x", "beta of beta-nll must be a number, got 'x'"),
        ("beta-nll:-1", "beta must be a finite number of at least 0"),
        ("gauss", r"must be one of mse, .*, got 'gauss'"),
        (3, "must be one of .*, got 3"),
    ],
)
def test_bad_specs_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        get(spec)


# Moments


@pytest.mark.parametrize("name", BUILT_IN)
def test_moments_are_those_of_the_predictive_distribution(name):
    made = get(name)
    raw = np.random.default_rng(0).normal(size=(made.n_parameters, 2, 5))
    parameters = made.parameters(raw)
    predictive = made.predictive(parameters)
    mean, variance = made.moments(parameters)
    np.testing.assert_allclose(mean, predictive.mean, rtol=1e-12)
    np.testing.assert_allclose(variance, predictive.variance, rtol=1e-12)
    # The default asks the distribution.
    by_default = Objective.moments(made, parameters)
    np.testing.assert_allclose(by_default, [mean, variance], rtol=1e-12)


@pytest.mark.torch
def test_moments_of_tensors_need_a_method():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="FixedVariance needs a method `moments`"):
        Objective.moments(FixedVariance(), (torch.zeros(1, 1),))


# JSON


@pytest.mark.parametrize(
    "made", [*map(get, BUILT_IN), BetaNLL((1.0, 0.25), max_variance=9.0)], ids=repr
)
def test_json_gives_the_same_objective(made):
    description = json.loads(json.dumps(to_json(made)))
    assert from_json(description) == made
    assert description["name"] == type(made).name


def test_json_of_an_objective_around_another():
    @objective("around")
    class Around(MSE):
        inner: Objective = BetaNLL()

    made = Around(VBEM(trainable=True))
    assert from_json(json.loads(json.dumps(to_json(made)))) == made


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("my.objectives", "import my.objectives first, or use --plugin my.objectives"),
        ("__main__", "import the module that defines it first"),
        ("os; rm", "import the module that defines it first"),
        ("x" * 1000, "import the module that defines it first"),
        (["os"], "import the module that defines it first"),
        (None, "import the module that defines it first"),
    ],
)
def test_unknown_objectives_ask_for_the_import(module, hint):
    description = {"name": "mine", "module": module, "fields": {}}
    with pytest.raises(
        UnknownObjectiveError, match="'mine' is not registered: " + hint
    ):
        from_json(description)
    assert "my" not in sys.modules


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"name": "mse"},
        {"name": ["mse"], "fields": {}},
        {"name": "mse", "fields": []},
        {"name": "mse", "fields": {"beta": 1}},
        {"name": "beta-nll", "fields": {"beta": 1}},
        {"name": "beta-nll", "fields": {"beta": -1, "max_variance": 9.0}},
    ],
)
def test_bad_descriptions_are_refused(description):
    with pytest.raises(
        ValueError, match=r"described by|must have the fields|beta must"
    ):
        from_json(description)


# Plug-ins


def test_a_module_registers_when_it_is_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "by_hand.py").write_text(MODULE.format(name="by-hand", cls="ByHand"))
    assert "by-hand" not in names()
    import_plugin("by_hand")
    assert type(get("by-hand")).__module__ == "by_hand"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No module named 'broken'"),
        ("import no_such_library", "No module named 'no_such_library'"),
        ("1 +", "SyntaxError: invalid syntax"),
        ("undefined", "NameError: name 'undefined' is not defined"),
        (MODULE.format(name="mse", cls="Mine"), "'mse' is taken by betanll.objectives"),
    ],
)
def test_plugins_that_cannot_be_imported(text, reason, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    if text is not None:
        (tmp_path / "broken.py").write_text(text)
    message = f"the plug-in 'broken' cannot be imported: .*{reason}"
    with pytest.raises(ImportError, match=message):
        import_plugin("broken")
    assert "broken" not in sys.modules


@pytest.mark.parametrize("text", ["import sys; sys.exit(3)", "raise SystemExit(3)"])
def test_a_plugin_that_exits_is_named(text, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "by_hand.py").write_text(text)
    with pytest.raises(ImportError, match=r"'by_hand' .*: it calls sys.exit\(3\)"):
        import_plugin("by_hand")


def test_a_plugin_can_be_interrupted(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "by_hand.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        import_plugin("by_hand")


def test_a_plugin_is_a_module():
    for name in ("folder/file.py", "", "a b", "a..b"):
        with pytest.raises(ImportError, match="a plug-in is the name of a module"):
            import_plugin(name)


def test_entry_points_are_imported_when_asked_for(package):
    code = MODULE.format(name="installed", cls="Installed")
    package(
        "extra",
        {"installed": "installed_objectives:Installed"},
        installed_objectives=code,
    )
    assert names()[-1] == "installed"
    assert "installed_objectives" not in sys.modules
    assert type(get("installed")).__module__ == "installed_objectives"
    assert OBJECTIVES["installed"]() == get("installed")


def test_faulty_entry_points_are_named(package):
    package("absent", {"absent": "no_such_module"})
    with pytest.raises(
        ImportError, match="plug-in 'no_such_module' cannot be imported"
    ):
        get("absent")
    package("empty", {"empty": "empty_module"}, empty_module="")
    with pytest.raises(ValueError, match="'empty' of empty names empty_module, which"):
        get("empty")
    # Other objectives are not concerned.
    assert get("nll") == GaussianNLL()


def test_entry_points_with_a_name_of_ours_or_of_each_other(package):
    code = MODULE.format(name="mse", cls="Mine")
    package("rival", {"mse": "rival_objectives"}, rival_objectives=code)
    message = "'rival_objectives' cannot be imported: .*'mse' is taken by betanll"
    with pytest.raises(ImportError, match=message):
        get("mse")
    package("one", {"same": "one:Same"})
    package("two", {"same": "two:Same"})
    message = "'same' is registered twice, by .*Same of .* and .*Same of "
    with pytest.raises(ValueError, match=message):
        get("same")


def test_public_names():
    assert all(hasattr(objectives, name) for name in objectives.__all__)
