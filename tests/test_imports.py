"""The import graph of the sources, lazy imports included: no cycle, and a map that shows it."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(cycles):
    return sorted(sorted(cycle) for cycle in cycles)


def test_cycles_are_seen(house):
    graph = {
        "p.a": frozenset({"p.b.x"}),
        "p.b": frozenset(),
        "p.b.x": frozenset(),
        "p.b.y": frozenset({"p.c"}),
        "p.c": frozenset({"p.d"}),
        "p.d": frozenset({"p.e"}),
        "p.e": frozenset({"p.c"}),
    }
    assert listed(house.cycles(graph)) == [["p.c", "p.d", "p.e"]]
    assert not house.cycles({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})
    # No module leads back to itself, but the package does.
    tangled = {"p.a": frozenset({"p.b.x"}), "p.b": frozenset(), "p.b.x": frozenset(), "p.b.y": frozenset({"p.a"})}
    assert not house.cycles(tangled)
    assert listed(house.cycles(house.within(tangled, "p"))) == [["p.a", "p.b"]]


def test_floors_stand_on_what_they_import(house):
    graph = {"a": frozenset("b_"), "b": frozenset("c"), "_": frozenset("c"), "c": frozenset(), "d": frozenset()}
    assert house.floors(graph) == [["c", "d"], ["_", "b"], ["a"]]
    assert house.without(graph, "_") == {
        "a": frozenset("bc"),
        "b": frozenset("c"),
        "c": frozenset(),
        "d": frozenset(),
    }


def test_imports_inside_of_functions_count(house):
    """`pellucid.cli` imports what its commands need inside of them."""
    reached = house.reachable(house.imports())
    assert "pellucid.molecules.property_model" in reached["pellucid.cli"]


def test_no_module_imports_itself_through_others(house):
    assert listed(house.cycles(house.imports())) == []


def test_no_package_or_module_depends_on_its_siblings_in_a_circle(house):
    graph = house.imports()
    packages = {module.rpartition(".")[0] for module in graph} - {""}
    assert {package: listed(house.cycles(house.within(graph, package))) for package in packages} == {
        package: [] for package in packages
    }


def test_what_is_imported_is_declared():
    """Packages that others happen to install need not come with them tomorrow."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    extras = project["optional-dependencies"]
    own = ("plot", "molecules", "tables", "approximate", "cluster", "search")
    lines = [*project["dependencies"], *(line for name in own for line in extras[name])]
    declared = {re.match(r"[\w-]+", line)[0].replace("-", "_").lower() for line in lines}
    graph = grimp.build_graph("pellucid", include_external_packages=True, cache_dir=None)
    imported = {module for module in graph.modules if graph.is_module_squashed(module)} - set(sys.stdlib_module_names)
    assert {"torch", "tqdm"} <= imported
    assert {module.lower() for module in imported} <= declared | {"sklearn" if "scikit_learn" in declared else ""}


def test_the_map_shows_the_imports_as_they_are(house):
    assert house.figure() == house.PICTURE.read_text(encoding="utf-8")
