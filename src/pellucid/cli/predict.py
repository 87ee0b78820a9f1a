"""`pellucid predict`: a model's values for all rows of a table, or what comes after a recording."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli._reading import Decimal, Fill, Gap, Header, Pattern, Reading
from pellucid.cli.output import as_typed, percent, say, warn, watched
from pellucid.errors import InputError

if TYPE_CHECKING:
    from pellucid.molecules import MoleculeExplanation, PropertyModel
    from pellucid.series import Forecaster, Recordings

Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a run, or of a saved model.")]
Which = Annotated[str | None, typer.Option("--model", metavar="game|deep", help="Which model of a run.")]


def predict(
    model: Folder,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table with a column of SMILES; or a recording.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A CSV file.", show_default="the terminal")] = None,
    smiles: Annotated[str | None, typer.Option(help="The column of SMILES.", show_default="found by its name")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Molecules: also what the tree says, and how far it can be trusted.")
    ] = False,
    level: Annotated[
        float | None, typer.Option(help="The confidence of the bounds of --trust.", show_default="0.9")
    ] = None,
    decimal: Decimal = None,
    header: Header = None,
    pattern: Pattern = None,
    fill: Fill = None,
    gaps: Gap = None,
    which: Which = None,
) -> None:
    """Predict every row of a table of molecules, or what comes after a recording, and write CSV."""
    from pellucid import runs
    from pellucid.trust import LEVEL, check_level

    loaded = runs.load(model, which)
    if hasattr(loaded, "forecast"):
        if trust or level is not None:
            raise InputError(
                f"{'--trust' if trust else '--level'} is for molecules",
                got="a model of recordings",
                cure="use `pellucid explain`, which tells how far the laws of a forecast can be trusted",
            )
        reading = Reading.of(model, decimal, header, pattern, fill, gaps)
        lines = list(_forecast(loaded, reading.read(data, loaded.channels_)))
    elif hasattr(loaded, "predict"):
        if level is not None and not trust:
            raise InputError(
                "--level is the confidence of the bounds that --trust adds", got="no --trust", cure="add it"
            )
        lines = list(_molecules(loaded, data, smiles, trust, LEVEL if level is None else check_level(level)))
    else:
        raise InputError(
            "A model that predicts is a property model or a forecaster",
            got="an autoencoder",
            cure="use `pellucid explain`, or `JunctionTreeVAE.encode` in Python",
        )
    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
        return
    with out.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(lines)
    say(f"written: {out}")


def _molecules(model: PropertyModel, data: Path, column: str | None, trust: bool, level: float) -> Iterator[list[Any]]:
    """The table as it is, with predictions beside; a row that cannot be used says why."""
    from rdkit import rdBase

    from pellucid.molecules.files import smiles_column
    from pellucid.molecules.table import canonical
    from pellucid.tables import read_table

    table = read_table(data)
    with rdBase.BlockLogs():  # what is wrong with a row stands in the table
        read = [canonical(text) for text in table.column(smiles_column(table.header, column, data.name))]
    good = list(dict.fromkeys(text for text, reason in read if not reason))
    values = dict(zip(good, model.predict(good), strict=True)) if good else {}
    explained = (
        {e.smiles: e for e in model.explain_many(good, level=level, progress=watched())} if trust and good else {}
    )
    bad = [number for number, (_, reason) in zip(table.numbers, read, strict=True) if reason]
    if bad:
        warn(f"{len(bad)} of {len(read)} rows have no prediction, see the column `problem`; the first is row {bad[0]}.")
    names = [f"predicted: {name}" for name in model.targets_]
    if trust:
        kinds = ("tree", "deviation", f"tree-network bound {percent(level)}")
        names += [*(f"{kind}: {name}" for kind in kinds for name in model.targets_), "members", "note"]
        _warn_of([explained[text] for text, reason in read if not reason])
    yield [*table.header, *names, *(["problem"] if bad else [])]
    for row, (text, reason) in zip(table.rows, read, strict=True):
        found: list[Any] = [""] * len(names)
        if not reason:
            found = [float(f"{value:.6g}") for value in values[text]] + (_trusted(explained[text]) if trust else [])
        yield [*row, *found, *([reason] if bad else [])]


def _note(explanation: MoleculeExplanation) -> str:
    """Why there is no tree to tell of."""
    from pellucid.trust import FEWEST

    if len(explanation.members) == 1:
        return "no similar molecule in the training data"
    return "too few similar molecules" if len(explanation.members) < FEWEST else ""


def _trusted(explanation: MoleculeExplanation) -> list[Any]:
    """Tree, deviation, bound, members and note."""
    nothing, note = [""] * len(explanation.targets), _note(explanation)
    tree = nothing * 2 if note else [*_short(explanation.witnessed), *_short(explanation.deviation)]
    bound = nothing if note or explanation.bound is None else _short(explanation.bound)
    return [*tree, *bound, len(explanation.members), note]


def _warn_of(explanations: list[MoleculeExplanation]) -> None:
    """Say where there is no tree, or no bound."""
    from pellucid.trust import unknown

    alone = [found for found in explanations if _note(found)]
    if alone:
        count = f"{len(alone)} of {len(explanations)} molecules"
        warn(f"{count} have too few similar ones for a tree; see the column `note`.")
    trees = [found for found in explanations if not _note(found)]
    others = [found for found in trees if found.bound is None or (found.bound != found.bound).any()]
    if others:
        count = "no bounds" if all(found.bound is None for found in trees) else f"bounds missing in {len(others)} rows"
        warn(f"There are {count}: {as_typed(unknown(others[0].level, others[0].calibrated))}.")


def _short(values: Any) -> list[Any]:
    """Six digits; empty where a value is not known."""
    return ["" if value != value else float(f"{value:.6g}") for value in values]


def _forecast(model: Forecaster, source: Recordings) -> Iterator[list[Any]]:
    """A row per step and channel after the end of every recording; the deviation is of one step given those before."""
    yield ["recording", "step", "channel", "forecast", "one-step sd"]
    for i in source.ends():
        values, name = source.values[i], source.origins[i].label
        forecast = model.forecast(values)
        for step in range(len(forecast.mean)):
            for k, channel in enumerate(model.channels_):
                sd = forecast.covariance[step, k, k] ** 0.5
                yield [name, step + 1, channel, *_short([forecast.mean[step, k], sd])]
