"""Which modules may import which: private ones stay at home, and nothing goes round."""

import ast
from pathlib import Path

import pytest

import betanll

SOURCE = Path(betanll.__file__).parent
ROOT = Path(__file__).parents[1]
#: Code that uses the library as everybody does.
USERS = ("paper/src", "paper/examples", "examples", "benchmarks")


def imports(path, *, with_types=True, package="betanll"):
    """Yield the full names of what a file imports from the library, or from another.

    Without `with_types`, imports that only type checkers read are left out.
    """
    nodes = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = []
            if with_types or not _is_for_checkers(node):
                nodes += ast.iter_child_nodes(node)
        yield from (name for name in names if name.split(".")[0] == package)


def _is_for_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def owner_of_private(name):
    """Return the folder that alone may import a module, None for public ones."""
    parts = name.split(".")[1:]
    for i, part in enumerate(parts):
        path = SOURCE.joinpath(*parts[: i + 1])
        is_module = path.is_dir() or path.with_suffix(".py").exists()
        if part.startswith("_") and is_module:
            return path.parent
    return None


def test_no_folder_uses_private_modules_of_another():
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in imports(path)
        if (owner := owner_of_private(name)) and not path.is_relative_to(owner)
    ]
    assert found == [], "import a public name, or make one public"


def private_names_defined(paths):
    """Return private names that classes and modules in some files define."""
    names = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    names.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    names.add(name)
    return {name for name in names if is_private(name)}


def is_private(name):
    return name.startswith("_") and not name.endswith("_")


def private_attributes_used(path):
    """Return private attributes that a file takes from anything but itself."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and is_private(node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }


def test_no_folder_uses_private_attributes_of_another():
    """An import does not show them: they come with an object."""
    ours = private_names_defined(SOURCE.rglob("*.py"))
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    for users in USERS:
        folders |= {path.parent for path in (ROOT / users).rglob("*.py")}
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in folders
        for path in folder.glob("*.py")
        for name in private_attributes_used(path)
        & ours - private_names_defined(folder.glob("*.py"))
    ]
    assert found == [], "use a public name, or make one public"


def test_the_paper_and_the_benchmarks_use_public_names_alone():
    paths = [path for folder in USERS for path in (ROOT / folder).rglob("*.py")]
    assert len(paths) > 100
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in imports(path)
        if any(part.startswith("_") for part in name.split("."))
        and name != "betanll.__version__"
    ]
    assert found == [], "import a public name, or make one public"


def test_the_library_does_without_the_paper():
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert [path for path, text in texts.items() if "betanll_paper" in text] == []


def module_of(name):
    """Return the folder or single module right below `betanll`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def test_folders_are_imported_in_one_direction():
    """Also by imports inside functions, but for types that only checkers read."""
    graph = {}
    for path in SOURCE.rglob("*.py"):
        here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if here.startswith("__"):
            continue
        graph.setdefault(here, set()).update(
            module_of(name) for name in imports(path, with_types=False)
        )
    order = []
    while graph:
        free = [one for one, needs in graph.items() if not (needs - {one}) & set(graph)]
        assert free, f"a circle among {sorted(graph)}"
        order += free
        for one in free:
            del graph[one]
    assert order.index("losses") < order.index("training") < order.index("cli")


def circle_among(graph):
    """Return the nodes that depend on each other in a circle."""
    graph = {one: set(needs) for one, needs in graph.items()}
    while free := [
        one
        for one, needs in graph.items()
        if not needs & set(graph) or not any(one in other for other in graph.values())
    ]:
        for one in free:
            del graph[one]
    return sorted(graph)


def modules_of(source):
    """Return the files of a package by the names of their modules."""
    names = {
        path: ".".join(path.relative_to(source.parent).with_suffix("").parts)
        for path in source.rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


@pytest.mark.parametrize("source", [SOURCE, ROOT / "paper/src/betanll_paper"])
def test_no_module_imports_itself_by_way_of_others(source):
    """Within folders too, and also by imports inside functions."""
    modules = modules_of(source)

    def owner(name):
        while name not in modules:
            name = name.rpartition(".")[0]
        return name

    graph = {
        module: {
            owner(name) for name in imports(path, with_types=False, package=source.name)
        }
        - {module}
        for module, path in modules.items()
    }
    assert sum(map(len, graph.values())) > 100
    assert circle_among(graph) == []


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert circle_among(graph) == ["b", "c"]
    assert circle_among({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_private_modules_are_recognised():
    assert owner_of_private("betanll.training._loop.run") == SOURCE / "training"
    assert owner_of_private("betanll.training._loop") == SOURCE / "training"
    assert owner_of_private("betanll._arrays.positive") == SOURCE
    assert owner_of_private("betanll.training.fit") is None
    assert owner_of_private("betanll.training._nothing") is None
