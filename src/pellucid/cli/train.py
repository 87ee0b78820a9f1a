"""`pellucid train`: from a table of molecules or a folder of recordings to models, numbers and a report."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.output import say, table_of
from pellucid.errors import InputError

app = typer.Typer(help="Train a network with and without a game, and write a report.", no_args_is_help=True)


class Game(StrEnum):
    """What is played on molecules."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"
    UNIFORM = "uniform"
    NONE = "none"


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
    from pellucid.molecules import PropertyModel, files, runs

    table = files.read(data, smiles=smiles, targets=_names(targets), on_error="skip" if skip_bad_rows else "raise")
    say(f"{data.name}: {table.summary()}")
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
    summary = _interruptible(
        runs.train,
        table,
        model,
        out,
        title=data.name,
        weights=_tried(weight, model.weight),
        tolerance=tolerance,
        level=level,
        pool=unlabeled,
        names=_called(data, names),
        patience=patience is not None,
        resume=resume,
        progress=not quiet,
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
    pattern: Annotated[str, typer.Option(help="Which files of a folder to read.")] = "*",
    decimal: Annotated[str, typer.Option(help="The decimal sign of text files, . or ,")] = ".",
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line holds names.",
                                  show_default="if it holds no numbers")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Other recordings to test on.", show_default="a tenth of DATA")
    ] = None,
    context: Annotated[int, typer.Option(min=1, help="Observe so many values,")] = 80,
    horizon: Annotated[int, typer.Option(min=2, help="and forecast so many.")] = 20,
    order: Annotated[int, typer.Option(min=1, help="Past values that a law reads.")] = 2,
    radius: Annotated[int, typer.Option(min=1, help="Steps to either side over which a law is fitted.")] = 9,
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
    from pellucid.series import Forecaster, read, runs

    source = read(data, channels=_names(channels), pattern=pattern, header=header, decimal=decimal)
    say(f"{data.name}: {source!r}")
    other = None if test is None else read(test, channels=source.channels, header=header, decimal=decimal)
    given = {
        "epochs": epochs, "width": width, "batch_size": batch_size, "learning_rate": learning_rate,
        "patience": patience, "weight": weights[0] if len(weights) == 1 else None,
    }  # fmt: skip
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    play = None if game is SeriesGame.NONE else game.value
    model = Forecaster(context=context, horizon=horizon, order=order, radius=radius, game=play, seed=seed, **settings)  # type: ignore[arg-type]
    summary = _interruptible(
        runs.train,
        source,
        model,
        out,
        title=data.name,
        test=other,
        weights=_tried(weight, model.weight),
        tolerance=tolerance,
        level=level,
        resume=resume,
        progress=not quiet,
        say=say,
    )
    _tell(summary, out)


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
    try:
        return [float(str(weight))]
    except ValueError:
        raise typer.BadParameter(f"must be a number or auto, not {weight!r}.", param_hint="--weight") from None


def _tried(weight: str | None, usual: float) -> list[float]:
    return [round(usual * multiple, 6) for multiple in _MULTIPLES] if weight == "auto" else []


def _names(given: list[str] | None) -> list[str] | None:
    """Names that were repeated, or separated by commas."""
    return None if given is None else [name.strip() for text in given for name in text.split(",") if name.strip()]


def _called(data: Path, column: str | None) -> dict[int, str]:
    """The names of molecules by their rows, if a column holds them."""
    from pellucid.tables import read_table

    table = read_table(data)
    if column is not None and column not in table.header:
        raise InputError(
            f"--names must be a column of {data.name}. Got {column!r}; its columns are {', '.join(table.header)}."
        )
    usual = (title for title in table.header if title.lower().replace(" ", "_") in _NAMES)
    found = column or next(usual, None)
    return (
        {} if found is None else dict(zip(table.numbers, (cell.strip() for cell in table.column(found)), strict=True))
    )


# What a column of names is usually called.
_NAMES = ("id", "name", "names", "compound", "compound_id", "molecule_id", "mol_id", "molecule_chembl_id", "chembl_id")


def _interruptible(train: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    try:
        return dict(train(*arguments, **options))
    except KeyboardInterrupt:
        again = [word for word in sys.argv[1:] if word != "--resume"]
        raise KeyboardInterrupt(
            f"Stopped; what was learned so far is kept. Go on with: {shlex.join(['pellucid', *again, '--resume'])}"
        ) from None


def _tell(summary: dict[str, Any], out: Path) -> None:
    """The numbers of a run, and where everything is."""
    say("")
    say(table_of(summary))
    say(f"\nreport:  {out / 'report.html'}\nmodels:  {out / 'game'} and {out / 'deep'}" if "GAME" in summary["models"]
        else f"\nreport:  {out / 'report.html'}\nmodel:   {out / 'deep'}")  # fmt: skip
    what = '"SMILES"' if summary["kind"] == "molecules" else "recording.csv"
    say(f"next:    pellucid explain {shlex.quote(str(out))} {what}")
