"""Sections of parameters name real parameters, and types stand in their place. The linters check the rest."""

import ast
import builtins
import importlib
import inspect
import pkgutil
import re

import pytest
from numpydoc.docscrape import NumpyDocString

import pellucid

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(pellucid.__path__, "pellucid.")
    if not module.name.endswith(("__main__", "_kernel"))
)
WORDS = {
    "of",
    "or",
    "to",
    "optional",
    "shape",
    "array_like",
    "sequence",
    "mapping",
    "iterable",
    "iterator",
    "ndarray",
    "hashable",
}
LIBRARIES = {
    "Tensor",
    "Mol",
    "Module",
    "Generator",
    "Optimizer",
    "Path",
    "Axes",
    "Figure",
    "NDArray",
    "Table",
    "DataFrame",
}
TYPES = WORDS | LIBRARIES | {name for name, value in vars(builtins).items() if isinstance(value, type)} | {"callable"}


def documented(module):
    """Functions, classes and their methods that are defined in a module, by name."""
    for name, thing in vars(module).items():
        if getattr(thing, "__module__", None) != module.__name__ or not callable(thing):
            continue
        yield name, thing
        if inspect.isclass(thing):
            yield from ((f"{name}.{key}", v) for key, v in vars(thing).items() if inspect.isfunction(v))


def parameters(thing):
    """Names and types as the docstring tells them."""
    for entry in NumpyDocString(inspect.getdoc(thing) or "")["Parameters"]:
        yield [name.lstrip("*") for name in entry.name.split(", ")], entry.type


def strange_words(text, known):
    """What stands in the place of a type and names none; choices such as {"a", "b"} are types."""
    text = re.sub(r"\{[^}]*\}|\([^)]*\d[^)]*\)", " ", text)
    return [word for word in re.findall(r"[^\s,()]+", text) if word.rpartition(".")[2] not in known]


@pytest.fixture(scope="module")
def known():
    """Words of types: built-in ones, those of libraries, and every class and alias of the package."""
    names = set(TYPES)
    for module in map(importlib.import_module, MODULES):
        for node in ast.walk(ast.parse(inspect.getsource(module) or "pass")):
            match node:
                case ast.alias() | ast.ClassDef():
                    names.add(getattr(node, "asname", None) or node.name.rpartition(".")[2])
                case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                    names.add(name)
    return {name for name in names if name in TYPES or name[:1].isupper()}


@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_those_of_the_signature_with_their_types(module, known):
    for name, thing in documented(importlib.import_module(module)):
        if not (told := list(parameters(thing))):
            continue
        real = set(inspect.signature(thing).parameters)
        for names, kind in told:
            assert set(names) <= real, f"{name} has no parameter {sorted(set(names) - real)}"
            assert kind, f"{name}: {names} has no type"
            assert not strange_words(kind, known), f"{name}: {kind!r} is no type"


@pytest.mark.parametrize("kind", ["lambda >= 0", "of initial weights", "how many", "float in [0, 1]", "weights"])
def test_what_is_no_type_is_seen(kind, known):
    assert strange_words(kind, known)


@pytest.mark.parametrize(
    "kind",
    ["float", "str or Path, optional", '{"raise", "skip"}', "sequence of (str, sequence of float)", "(int, int)"],
)
def test_what_is_a_type_is_not_refused(kind, known):
    assert not strange_words(kind, known)
