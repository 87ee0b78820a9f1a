"""Runs the example scripts as notebooks, which are kept with their outputs: python examples/make.py [NAME ...]

A notebook is written as a script (jupytext's percent format), so that it can be read, compared and linted.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
NOTEBOOKS = ("any_model", "molecules")


def notebook(name: str) -> nbformat.NotebookNode:
    """The cells of a script, not run yet."""
    made = jupytext.read(HERE / f"{name}.py")
    made.metadata.pop("jupytext", None)
    for i, cell in enumerate(made.cells):
        cell.id = f"cell-{i}"  # the same from run to run
        if cell.cell_type == "markdown":  # lines of a paragraph are one line in a notebook
            cell.source = re.sub(r"(?<!\n)\n(?!\n)", " ", cell.source)
    return made


if __name__ == "__main__":
    for name in sys.argv[1:] or NOTEBOOKS:
        made = notebook(name)
        os.environ.pop("PELLUCID_SIZE", None)
        NotebookClient(made, timeout=600, resources={"metadata": {"path": str(HERE)}}).execute()
        for cell in made.cells:
            cell.metadata.pop("execution", None)  # times differ from run to run
            if cell.cell_type == "code":  # warnings of libraries are about this computer
                cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        nbformat.write(made, HERE / f"{name}.ipynb")
