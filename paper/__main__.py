"""The tables and figures of the paper, each by one command: python -m paper table3 --size cpu

Runs the study that a table or figure belongs to and shows it. What has been done before is shown without running
anything; an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from paper.runs import ROOT, SIZES, finished, load_config, read_section

from pellucid.errors import InputError, PellucidError
from pellucid.molecules import datasets
from pellucid.registry import data_sets

README = ROOT / "paper" / "README.md"


class Result(NamedTuple):
    """A table or a figure, and the study that it belongs to."""

    title: str
    study: str
    """The modules `paper.<study>` and `paper.<study>_results`, and the folder `paper/<study>`."""
    mark: str | None = None
    """Where its table stands in `paper/README.md`."""
    pictures: tuple[str, ...] = ()
    """Files in the folder of the study."""


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


def reproduce(name: str, size: str) -> None:
    """Run what is missing of a table or figure, and show it."""
    result = RESULTS[name]
    study = import_module(f"paper.{result.study}")
    if result.study == "figure2":
        study.main(["--out", str(ROOT / "out"), *(["--smoke"] if size == "smoke" else [])])
        return
    if size == "smoke":
        folder = ROOT / "out" / "reproduce" / result.study
        study.main(["--size", size, "--out", str(folder)])
        print(f"The study runs: reports are in {folder / size}. Tables and figures need --size cpu or paper.")
        return
    folder = study.REPORTS / size
    if finished(study.stages(load_config(result.study, size), folder), folder):
        print(f"Done before: the reports are in {folder}.\n")
    else:
        require_data(name, result.study)
        study.main(["--size", size])
    if f"Size `{size}`" not in (read_section(README, f"{result.study}: conditions") or ""):
        import_module(f"paper.{result.study}_results").main(["--size", size])
    if result.mark is not None:
        print(as_text(read_section(README, result.mark) or ""))
    for picture in result.pictures:
        print(f"picture: {ROOT / 'paper' / result.study / picture}")


def require_data(name: str, study: str) -> None:
    """Have the data on this computer before several processes ask for them."""
    if study == "tox21":
        datasets.TOX21.fetch()
    elif study == "moses":
        for published in datasets.MOSES.values():
            published.fetch()
    elif study not in data_sets() or data_sets()[study].find() is None:
        raise InputError(
            f"{name} needs the recordings of the bearing test on this computer. Got none; pellucid data get {study} "
            "says how to get them, and --size smoke needs no data."
        )


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


def main(words: Sequence[str] | None = None) -> None:
    listing = "\n".join(f"  {name:<9}{result.title}" for name, result in RESULTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m paper", description=__doc__, epilog=listing, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=RESULTS, metavar="table1|...|figure7")
    parser.add_argument(
        "--size",
        choices=SIZES,
        default="cpu",
        help="cpu: hours on two cores; smoke: seconds, no result; paper: as published",
    )
    arguments = parser.parse_args(words)
    if arguments.name is None:
        print(listing)
        return
    try:
        reproduce(arguments.name, arguments.size)
    except PellucidError as error:
        parser.exit(1, f"{error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "Stopped; the same command goes on where it stopped.\n")


if __name__ == "__main__":
    main()
