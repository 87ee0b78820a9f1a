"""`pellucid train`: from a table of molecules or a folder of recordings to models, numbers and a report."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli._reading import Gaps, Reading, TrainFill, TrainGap, decisions, require_others
from pellucid.cli.output import as_typed, names_in, say, table_of, watched
from pellucid.errors import InputError
from pellucid.tables import number_of

if TYPE_CHECKING:
    from pellucid.molecules import Molecules
    from pellucid.series import Recordings

app = typer.Typer(help="Train a network with and without a game, and write a report.", no_args_is_help=True)


class Game(StrEnum):
    """What is played on molecules."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"
    UNIFORM = "uniform"
    NONE = "none"


class Split(StrEnum):
    """How molecules are divided."""

    RANDOM = "random"
    SCAFFOLD = "scaffold"


class SeriesSplit(StrEnum):
    """How recordings are divided."""

    RANDOM = "random"
    TIME = "time"


class SeriesGame(StrEnum):
    """What is played on recordings."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"
    NONE = "none"


class Task(StrEnum):
    """What is learned."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Choice(StrEnum):
    """Yes, no, or whatever suits the data."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"


Out = Annotated[Path, typer.Option("--out", "-o", help="The folder of the run: models, summary.json, report.html.")]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|auto",
        help="How much the witnesses count. auto tries several and keeps the most transparent model whose validation "
        "loss is within the tolerance of that without a game.",
        show_default="what suits the data",
    ),
]
Tolerance = Annotated[float, typer.Option(help="What --weight auto may cost: a share of DEEP's validation loss.")]
Level = Annotated[float, typer.Option(help="The confidence of the bounds that explanations carry.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from an interrupted run, to the same result.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Seed = Annotated[int, typer.Option(min=0, help="Of split, initial weights and order.")]
_SUITS = "what suits the data"
_CHOSEN = "chosen by leave-one-out"
Epochs = Annotated[int | None, typer.Option(min=1, help="How often all data are seen.", show_default=_SUITS)]
Width = Annotated[int | None, typer.Option(min=1, help="Of the network's hidden layers.", show_default=_SUITS)]
Batch = Annotated[int | None, typer.Option(min=1, help="Items in a training step.", show_default=_SUITS)]
Rate = Annotated[float | None, typer.Option(help="Peak of the one-cycle learning rate.", show_default="what suits")]


@app.command()
def molecules(
    data: Annotated[Path, typer.Argument(metavar="DATA.csv", help="A table with a column of SMILES.")],
    targets: Annotated[
        list[str] | None,
        typer.Option("--targets", "-t", help="A column of measured values; repeat for several, or separate by commas.",
                     show_default="all columns of numbers"),
    ] = None,
    smiles: Annotated[str | None, typer.Option(help="The column of SMILES.", show_default="found by its name")] = None,
    names: Annotated[
        str | None, typer.Option(help="A column of names, for the report.", show_default="one called id, name, ...")
    ] = None,
    task: Annotated[Task, typer.Option(help="auto: labels where there is nothing but 0 and 1.")] = Task.AUTO,
    game: Annotated[Game, typer.Option(help="Which game is played; none trains DEEP alone.")] = Game.SYMMETRIC,
    weight: Weight = None,
    tolerance: Tolerance = 0.02,
    margin: Annotated[float, typer.Option(help="Of the uniform game: the deviation that is allowed everywhere.")] = 0.1,
    split: Annotated[
        Split, typer.Option(help="How the test molecules are chosen; scaffold keeps ring systems together.")
    ] = Split.RANDOM,
    analogs: Annotated[
        Choice, typer.Option(help="Fill neighborhoods with analogs; auto: where too few molecules are similar.")
    ] = Choice.AUTO,
    pool: Annotated[Path | None, typer.Option(help="A table of unlabeled molecules to find neighbors in.")] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be used, and list them in the report.")
    ] = False,
    epochs: Epochs = None,
    width: Width = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Rounds of message passing.", show_default="what suits the data")
    ] = None,
    batch_size: Batch = None,
    learning_rate: Rate = None,
    patience: Annotated[
        int | None, typer.Option(min=1, help="Stop early after so many epochs without a better validation loss.",
                                 show_default="all epochs")
    ] = None,
    seed: Seed = 0,
    level: Level = 0.9,
    out: Out = Path("pellucid-run"),
    resume: Resume = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Learn properties of molecules from a table, and explain each prediction by a small tree of substructures."""
    weights = _weights(weight, game is Game.NONE, game is Game.UNIFORM)
    _require_place(out, resume)
    from pellucid.molecules import PropertyModel, files, runs
    from pellucid.tables import read_table, row_names

    cells = read_table(data)
    if data.suffix.lower() == ".smi":
        raise InputError(
            "A table to learn from must have measured values",
            got=f"{data.name}, which holds SMILES and names",
            cure='give a CSV file with a line of names, such as "smiles,name,pIC50"',
        )
    called = dict(zip(cells.numbers, row_names(cells, names), strict=True))
    asked = names_in(targets, cells.header)
    table = files.read(data, smiles=smiles, targets=asked, on_error="skip" if skip_bad_rows else "raise")
    say(f"{data.name}: {as_typed(table.summary())}")
    _require_values(table, data)
    with _stoppable(out):
        unlabeled = () if pool is None else files.read(pool, targets=[], on_error="skip").smiles
        play = None if game is Game.NONE else game.value
        given = {
            "epochs": epochs, "width": width, "depth": depth, "batch_size": batch_size, "learning_rate": learning_rate,
            "patience": patience, "weight": weights[0] if len(weights) == 1 else None,
        }  # fmt: skip
        wanted = None if analogs is Choice.AUTO else analogs is Choice.YES
        settings: dict[str, Any] = runs.settings_for(table.smiles, play, analogs=wanted)
        settings |= {name: value for name, value in given.items() if value is not None}
        kind = runs.task_of(table.y) if task is Task.AUTO else task.value
        model = PropertyModel(task=kind, game=play, margin=margin, seed=seed, **settings)  # type: ignore[arg-type]
        say(f"task: {kind}; neighborhoods {'with' if model.similar.analogs else 'without'} analogs")
        say(
            _plan(
                model,
                {name: len(places) for name, places in runs.parts_of(table, seed, split.value).items()},
                "molecules",
            )
        )
        summary = runs.train(
            table,
            model,
            out,
            title=data.name,
            weights=_tried(weight, model.weight),
            tolerance=tolerance,
            level=level,
            pool=unlabeled,
            split=split.value,
            names=called,
            patience=patience is not None,
            resume=resume,
            progress=watched(quiet),
            say=say,
        )
    _tell(summary, out)


@app.command()
def series(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file, or a folder with one recording per file.")],
    channels: Annotated[
        list[str] | None,
        typer.Option("--channels", "-c", help="A column to use; repeat for several, or separate by commas.",
                     show_default="all"),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="A column to leave out; repeat for several, or separate by commas.",
                     show_default="clocks"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--recordings-by", metavar="COLUMN", help="Each value of this column is a recording of its own.",
                     show_default="a unit or id, if time starts anew with it"),
    ] = None,
    pivot: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="This column names the channel of each row: a row per sensor and time.",
                     show_default="one column per channel"),
    ] = None,
    fill: TrainFill = None,
    gaps: TrainGap = Gaps.SPLIT,
    pattern: Annotated[str, typer.Option(help="Which files of a folder to read.")] = "*",
    decimal: Annotated[str, typer.Option(help="The decimal sign of text files, . or ,")] = ".",
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line holds names.",
                                  show_default="if it holds no numbers")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Other recordings to test on.", show_default="a tenth of DATA")
    ] = None,
    split: Annotated[
        SeriesSplit,
        typer.Option(help="Test on pieces cut out at random, or on the end: of each recording, or the last of ten or "
                          "more files."),
    ] = SeriesSplit.RANDOM,
    context: Annotated[int, typer.Option(min=1, help="Observe so many values,")] = 80,
    horizon: Annotated[int, typer.Option(min=2, help="and forecast so many.")] = 20,
    order: Annotated[
        int | None, typer.Option(min=1, help="Past values that a law reads.", show_default=_CHOSEN)
    ] = None,
    radius: Annotated[
        int | None, typer.Option(min=1, help="Steps to either side over which a law is fitted.", show_default=_CHOSEN)
    ] = None,
    ridge: Annotated[
        float | None, typer.Option(min=0, help="Of the laws' least squares, in units of each channel's variance.",
                                   show_default=_CHOSEN)
    ] = None,
    linear: Annotated[
        int | None, typer.Option(min=0, help="Past values that the network's linear path reads; 0 is none.",
                                 show_default="chosen by cross-validation")
    ] = None,
    game: Annotated[SeriesGame, typer.Option(help="Which game is played; none trains DEEP alone.")] = (
        SeriesGame.SYMMETRIC
    ),
    weight: Weight = None,
    tolerance: Tolerance = 0.02,
    epochs: Epochs = None,
    width: Width = None,
    batch_size: Batch = None,
    learning_rate: Rate = None,
    patience: Annotated[
        int, typer.Option(min=1, help="Stop early after so many epochs without a better validation loss.")
    ] = 5,
    seed: Seed = 0,
    level: Level = 0.9,
    out: Out = Path("pellucid-run"),
    resume: Resume = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Learn to forecast recordings of several channels, and explain each forecast by an autoregressive law."""
    weights = _weights(weight, game is SeriesGame.NONE)
    _require_place(out, resume)
    from pellucid.series import Forecaster, runs, splitting

    reading = Reading(decimal, header, pattern, names_in(drop) or (), by, pivot, fill, gaps)
    if test is not None:
        require_others(data, test, pattern)
    source = reading.read(data, names_in(channels))
    for sentence in decisions(source):
        say(sentence)
    say(f"{data.name}: {_told(source)}")
    other = None if test is None else reading.read(test, source.channels)
    for sentence in [] if other is None else other.notes:
        say(f"test: {as_typed(sentence)}")
    given = {
        "epochs": epochs, "width": width, "batch_size": batch_size, "learning_rate": learning_rate,
        "patience": patience, "weight": weights[0] if len(weights) == 1 else None,
        "order": order, "radius": radius, "ridge": ridge, "linear": linear,
    }  # fmt: skip
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    play = None if game is SeriesGame.NONE else game.value
    model = Forecaster(context=context, horizon=horizon, game=play, seed=seed, **settings)  # type: ignore[arg-type]
    source.require_variation()
    parts = splitting.split(source, context + horizon, seed, other, kind=split.value)
    unused = source.unused(context + horizon)
    if unused:
        say(unused)
    say(_plan(model, {name: sum(map(len, part.values)) for name, part in parts.items()}, "rows"))
    say(f"split: {splitting.described(source, split.value, other is not None)}")
    with _stoppable(out):
        summary = runs.train(
            source,
            model,
            out,
            title=data.name,
            test=other,
            kind=split.value,
            weights=_tried(weight, model.weight),
            tolerance=tolerance,
            level=level,
            resume=resume,
            progress=watched(quiet),
            say=say,
        )
        reading.keep(out)
    _tell(summary, out)


def _require_place(out: Path, resume: bool) -> None:
    """Before anything is read, which may take long."""
    from pellucid.runs import require_place

    require_place(out, resume=resume)


def _told(source: Recordings) -> str:
    rows = sum(len(table) for table in source.values)
    files = "1 recording" if len(source) == 1 else f"{len(source):,} recordings"
    return f"{files} of {', '.join(source.channels)}; {rows:,} rows"


def _require_values(table: Molecules, data: Path) -> None:
    """Say what a run needs before it begins."""
    if not table.targets:
        others = f" ({'; '.join(as_typed(name) for name in table.ignored)})" if table.ignored else ""
        raise InputError(
            f"{data.name} must have a column of measured values to learn from",
            got=f"none{others}",
            cure="add one, or name it with --targets",
        )
    if len(table) < _FEWEST:
        raise InputError(
            f"At least {_FEWEST} molecules are needed, to learn from, to validate on and to test on",
            got=f"{len(table)} in {data.name}",
            cure="add more, hundreds if you can",
        )


# Molecules of which each part of a split gets one.
_FEWEST = 10


def _plan(model: Any, parts: dict[str, int], what: str) -> str:
    """What will be done, in one line."""
    from pellucid.report.numbers import counted

    sizes = ", ".join(f"{count:,} to {_USES[name]}" for name, count in parts.items())
    most = " at most" if what == "rows" else ""  # recordings are learned until the validation loss rises
    return (
        f"{what}: {sizes}\ntraining: {counted(model.epochs, 'epoch')}{most}, width {model.width}, batch size "
        f"{model.batch_size}, learning rate {model.learning_rate:g}"
    )


_USES = {"train": "learn from", "validation": "validate on", "test": "test on"}


# What --weight auto tries, as multiples of the weight that suits the data.
_MULTIPLES = (0.3, 1.0, 3.0, 10.0)


def _weights(weight: str | None, none: bool, uniform: bool = False) -> list[float]:
    """The weight that was typed; nothing for auto or none."""
    if weight is not None and none:
        raise typer.BadParameter("without a game there is no weight.", param_hint="--weight")
    if weight is not None and uniform:
        raise typer.BadParameter("the uniform game has no weight, but a --margin.", param_hint="--weight")
    if weight in (None, "auto"):
        return []
    number = number_of(str(weight))
    if number is None:
        raise typer.BadParameter(f"must be a number or auto, not {weight!r}.", param_hint="--weight")
    return [number]


def _tried(weight: str | None, usual: float) -> list[float]:
    return [round(usual * multiple, 6) for multiple in _MULTIPLES] if weight == "auto" else []


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    """After Ctrl-C say how to go on; and leave no folder behind that is of no use."""
    there = out.exists()
    try:
        yield
    except KeyboardInterrupt:
        again = [word for word in sys.argv[1:] if word != "--resume"]
        if _learned(out):
            raise KeyboardInterrupt(
                f"Stopped; what was learned so far is kept. Go on with: {shlex.join(['pellucid', *again, '--resume'])}"
            ) from None
        raise KeyboardInterrupt(
            f"Stopped before anything was learned; start again with: {shlex.join(['pellucid', *again])}"
        ) from None
    finally:
        for folder in [out / "checkpoints"] if there else [out / "checkpoints", out]:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _learned(out: Path) -> bool:
    """Whether there is a checkpoint to go on from; a model that was only begun is forgotten."""
    for record in (out / "checkpoints").glob("*/identity.json"):
        if {file.suffix for file in record.parent.iterdir()} <= {".json", ".draft"}:
            shutil.rmtree(record.parent)
    return any((out / "checkpoints").glob("*/*.ckpt"))


def _tell(summary: dict[str, Any], out: Path) -> None:
    """The numbers of a run, and where everything is."""
    say("")
    say(table_of(summary))
    say(f"\nreport:  {out / 'report.html'}\nmodels:  {out / 'game'} and {out / 'deep'}" if "GAME" in summary["models"]
        else f"\nreport:  {out / 'report.html'}\nmodel:   {out / 'deep'}")  # fmt: skip
    what = '"SMILES"' if summary["kind"] == "molecules" else "recording.csv"
    say(f"next:    pellucid explain {shlex.quote(str(out))} {what}")
