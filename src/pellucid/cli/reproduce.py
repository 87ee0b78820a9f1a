"""`pellucid reproduce`: the tables and figures of the paper, by the programs of the folder `paper/` of a clone."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from pellucid.cli.output import say
from pellucid.errors import InputError


class Size(StrEnum):
    """Of an experiment."""

    CPU = "cpu"
    SMOKE = "smoke"
    PAPER = "paper"


class Result(NamedTuple):
    """A table or a figure, and the study that it belongs to."""

    title: str
    study: str
    """The programs `paper.<study>` and `paper.<study>_results`, and the folder `paper/<study>`."""
    mark: str | None = None
    """Where its table stands in `paper/README.md`."""
    pictures: tuple[str, ...] = ()
    """Of the folder of the study."""


RESULTS = {
    "table1": Result("accuracy and transparency on Tox21", "tox21", "tox21: table 1"),
    "table2": Result("smaller trees on Tox21", "tox21", "tox21: table 2"),
    "table3": Result("error, deviation and variation of bearing forecasts", "bearing", "bearing: table 3"),
    "table4": Result("representations of molecules", "moses", "moses: table 4"),
    "figure1": Result("trees of one molecule", "tox21", "tox21: figure 1", ("figure1-deep.png", "figure1-game.png")),
    "figure2": Result("three predictors of one neighborhood with the same error", "figure2"),
    "figure3": Result("coefficients along a generated trajectory", "bearing", None, ("figure3.png",)),
    "figure4": Result("the tree of one molecule's representation", "moses", None, ("figure4.png",)),
    "figure5": Result("total variation in training", "tox21", "tox21: figure 5", ("figure5.png",)),
    "figure6": Result("coefficients along a teacher-forced trajectory", "bearing", None, ("figure6.png",)),
    "figure7": Result("the neighborhood's radius", "bearing", "bearing: figure 7", ("figure7.png",)),
}
# Asks a study whether all of its cells have a report of the same configuration.
_ASK = """
import sys
from importlib import import_module
from paper.runs import load_config, read_reports

name, size = sys.argv[1:]
study, config = import_module(f"paper.{name}"), load_config(name, size)
reports = read_reports(study.REPORTS / size)

def done(cells):
    return all(reports.get(cell["name"], {}).get("config") == cell for cell in cells)

if name == "bearing":
    finished = done(study.cells(config))
elif name == "tox21":
    finished = done(study.first_cells(config))
    choice = study.chosen(config, reports) if finished else None
    finished = finished and done(study.second_cells(config, choice)) and done(study.last_cells(config, choice))
else:
    finished = done([study.tree_cell(config), *study.train_cells(config)])
    weight = study.chosen(config, reports) if finished else None
    finished = finished and done([*study.measure_cells(config, weight), study.speed_cell(config)])
print("finished" if finished else "open")
"""
# Seconds that a program has to end after Ctrl-C before it is told once more.
_PATIENCE = 5.0


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="table1|...|figure7", help="Which one; without it, what there is.")
    ] = None,
    size: Annotated[
        Size, typer.Option(help="cpu: about an hour on two cores; smoke: seconds, no result; paper: as published.")
    ] = Size.CPU,
    listing: Annotated[bool, typer.Option("--list", help="Show what there is.")] = False,
) -> None:
    """Reproduce a table or a figure of the paper, inside a clone of the repository.

    Runs the programs of the folder paper/. What has been done before is shown without running anything.
    """
    if name is None or listing:
        for key, result in RESULTS.items():
            say(f"{key:<9}{result.title}")
        say("\npellucid reproduce NAME [--size cpu|smoke|paper], inside a clone")
        return
    if name not in RESULTS:
        raise typer.BadParameter(f"must be one of {', '.join(RESULTS)}. Got {name}.", param_hint="NAME")
    root, result = find_clone(), RESULTS[name]
    if result.study == "figure2":
        _run(root, "paper.figure2", "--out", "out", *(["--smoke"] if size is Size.SMOKE else []))
        say(f"picture: {root / 'out' / 'figure2.png'}")
        return
    if size is Size.SMOKE:
        folder = root / "out" / "reproduce" / result.study
        _run(root, f"paper.{result.study}", "--size", size, "--out", str(folder))
        say(f"The programs run: reports are in {folder / size}. Tables and figures need --size cpu or paper.")
        return
    if _finished(root, result.study, size):
        say(f"Done before: the reports are in {root / 'paper' / result.study / size}.\n")
    else:
        _require_data(name, result.study)
        _run(root, f"paper.{result.study}", "--size", size)
    if f"Size `{size}`" not in section(root, f"{result.study}: conditions"):
        _run(root, f"paper.{result.study}_results", "--size", size, quiet=True)
    if result.mark is not None:
        say(as_text(section(root, result.mark)))
    for picture in result.pictures:
        say(f"picture: {root / 'paper' / result.study / picture}")


def find_clone() -> Path:
    """The root of a clone: that of the working directory, or else the one that the package was installed from."""
    here = Path.cwd()
    for folder in [here, *here.parents, Path(__file__).resolve().parents[3]]:
        if (folder / "paper" / "runs.py").is_file() and (folder / "paper" / "README.md").is_file():
            return folder
    raise InputError(
        "`pellucid reproduce` runs the programs of the folder paper/, which is in the repository and not in the "
        f"installed package. Got no such folder at or above {here}; go into a clone, and install it with "
        "pip install -e '.[dev]'."
    )


def section(root: Path, mark: str) -> str:
    """What stands between two marks of `paper/README.md`; nothing if they are not there."""
    text = (root / "paper" / "README.md").read_text(encoding="utf-8")
    found = re.search(f"<!-- {re.escape(mark)} -->\n(.*?)<!-- end of {re.escape(mark)} -->", text, flags=re.DOTALL)
    return found[1].strip() if found else ""


def as_text(markdown: str) -> str:
    r"""Tables with their columns below each other, instead of bars.

    >>> print(as_text("| model | error |\n|---|---|\n| DEEP | **0.52** |"))
    model  error
    DEEP   0.52
    """
    lines = markdown.replace("**", "").split("\n")
    rows = {i: [cell.strip() for cell in line.strip("|").split("|")] for i, line in enumerate(lines) if line[:1] == "|"}
    rows = {i: cells for i, cells in rows.items() if not all(set(cell) <= set("-:") and cell for cell in cells)}
    columns = max((len(cells) for cells in rows.values()), default=0)
    widths = [max(len(cells[k]) for cells in rows.values() if k < len(cells)) for k in range(columns)]
    shown = {
        i: "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip()
        for i, cells in rows.items()
    }
    return "\n".join(shown.get(i, line) for i, line in enumerate(lines) if i in shown or line[:1] != "|")


def _finished(root: Path, study: str, size: Size) -> bool:
    command = [sys.executable, "-c", _ASK, study, size]
    answer = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    return answer.stdout.strip() == "finished"


def _require_data(name: str, study: str) -> None:
    """Have the data on this computer before several processes ask for them."""
    from pellucid import datasets

    if study == "tox21":
        datasets.TOX21.fetch()
    elif study == "moses":
        for published in datasets.MOSES.values():
            published.fetch()
    elif not any(data.find() for data in datasets.DATA_SETS if data.name == study):
        raise InputError(
            f"{name} needs the recordings of the bearing test on this computer. Got none; pellucid data get {study} "
            "says how to get them, and --size smoke needs no data."
        )


def _run(root: Path, module: str, *arguments: str, quiet: bool = False) -> None:
    """Run a program of the clone with this interpreter, its output streamed; its exit code is ours if it is not 0."""
    command = [sys.executable, "-m", module, *arguments]
    say(f"$ python -m {' '.join([module, *arguments])}")
    sys.stdout.flush()
    with subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL if quiet else None) as program:  # noqa: S603
        try:
            code = program.wait()
        except KeyboardInterrupt:
            # A terminal has told the program too; it may need a moment to leave a checkpoint.
            try:
                program.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGINT)
                program.wait()
            raise KeyboardInterrupt("Stopped; the same command goes on where it stopped.") from None
    if code:
        raise typer.Exit(128 - code if code < 0 else code)
