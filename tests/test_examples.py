"""The example notebooks run, in a small size, and are kept with outputs that show themselves."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

FOLDER = Path(__file__).parents[1] / "docs" / "examples"
SHOWN = {"any_model": ("Variance explained", "<svg"), "molecules": ("the tree that the network follows here", "<svg")}


def outputs(notebook, kind):
    return ["".join(o.data[kind]) for c in notebook.cells for o in c.get("outputs", []) if kind in o.get("data", {})]


def kept(name):
    import nbformat

    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")  # of the kernel's libraries
@pytest.mark.parametrize("name", SHOWN)
def test_it_runs_and_shows_itself(name, monkeypatch, tmp_path):
    from nbclient import NotebookClient

    monkeypatch.setenv("PELLUCID_SIZE", "smoke")
    notebook = kept(name)
    for cell in notebook.cells:
        cell.pop("outputs", None) and cell.update(outputs=[])
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pages = outputs(notebook, "text/html")
    assert pages
    for expected in SHOWN[name]:
        assert any(expected.lower() in page.lower() for page in pages), expected


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_kept_with_its_outputs_and_without_traces_of_a_computer(name):
    path = FOLDER / f"{name}.ipynb"
    assert outputs(kept(name), "text/html")
    assert all(cell.execution_count for cell in kept(name).cells if cell.cell_type == "code")
    assert not re.search(r"site-packages|(?<![\w./])/[a-z]+/\w+/|Traceback", path.read_text())


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_what_its_script_writes(name):
    import jupytext

    script = jupytext.read(FOLDER / f"{name}.py")
    assert [(c.cell_type, c.source) for c in script.cells] == [(c.cell_type, c.source) for c in kept(name).cells]
