"""`pellucid audit`: judge any model, from its predictions and features alone."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.output import say
from pellucid.options import names_in

if TYPE_CHECKING:
    from pellucid.choosing import Choice
    from pellucid.neighborhoods import BaseNeighborhoods
    from pellucid.predictions import Predictions
    from pellucid.witnesses import WitnessFamily

_SUFFIXES = (".html", ".json", ".csv")


class Family(StrEnum):
    """Of witnesses."""

    LINEAR = "linear"
    TREE = "tree"
    CONSTANT = "constant"


class Blanks(StrEnum):
    """What is done with rows that have some."""

    FILL = "fill"
    DROP = "drop"


def audit(
    table: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS.csv", help="A table of predictions and features, with names.")
    ],
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Predictions; repeat for several, or separate by commas.",
            show_default="found by their names",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What the model read, and witnesses read; repeat, or separate by commas.",
            show_default="other columns of numbers or categories that are no outcome",
        ),
    ] = None,
    truth: Annotated[str | None, typer.Option(metavar="COLUMN", help="Measured values, to report the error.")] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows with the same value here are a neighborhood.")
    ] = None,
    smiles: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Molecules, whose substructures the witnesses read.",
            show_default="found by its name, if there are no other features",
        ),
    ] = None,
    family: Annotated[
        Family | None, typer.Option(help="Of witnesses.", show_default="linear; tree for molecules")
    ] = None,
    ridge: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Of linear witnesses, in standardized features.",
            show_default="chosen by leave-one-out; none for molecules",
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Of trees.", show_default="the deepest that members hold to account")
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option(min=3, help="Members of a neighborhood.", show_default="chosen by leave-one-out"),
    ] = None,
    blanks: Annotated[
        Blanks,
        typer.Option(help="Blank features: fill in the median (a category has a level for them), or drop such rows."),
    ] = Blanks.FILL,
    threshold: Annotated[
        float, typer.Option(metavar="NUMBER", help="Molecules: members are more similar to the center than this.")
    ] = 0.6,
    level: Annotated[float, typer.Option(metavar="NUMBER", help="The confidence of the bounds.")] = 0.9,
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", help="Also a report (.html), or every row (.json, .csv); may be repeated."),
    ] = None,
) -> None:
    """Judge any model from its predictions and features alone.

    Around every row a simple function, its witness, is fitted to the predictions; the audit tells how well they match.
    """
    wrong = [path.name for path in out or [] if path.suffix.lower() not in _SUFFIXES]
    if wrong:
        raise typer.BadParameter(f"must end in {', '.join(_SUFFIXES)}. Got {wrong[0]}.", param_hint="--out")
    if not 0 < threshold < 1:
        raise typer.BadParameter(f"must be between 0 and 1. Got {threshold:g}.", param_hint="--threshold")
    if not 0 < level < 1:
        raise typer.BadParameter(f"must be between 0 and 1. Got {level:g}.", param_hint="--level")
    if ridge is not None and family not in (None, Family.LINEAR):
        raise typer.BadParameter(f"is for linear witnesses. Got --family {family}.", param_hint="--ridge")
    if depth is not None and family not in (None, Family.TREE):
        raise typer.BadParameter(f"is for trees. Got --family {family}.", param_hint="--depth")

    from pellucid.auditing import audit as measure
    from pellucid.cli import _audit_words as words
    from pellucid.prediction_tables import read_predictions
    from pellucid.registry import structure_features
    from pellucid.tables import read_table

    cells = read_table(table)
    given = read_predictions(
        cells,
        prediction=names_in(prediction, cells.header) or (),
        features=names_in(features, cells.header) or (),
        truth=truth,
        groups=groups,
        smiles=smiles,
        blanks=blanks.value,
        structures=structure_features,
    )
    kind = family or _default_family(given, ridge, depth)
    if given.smiles is not None and kind is Family.LINEAR and not ridge:
        raise typer.BadParameter("on fingerprints needs a --ridge: they are more than members.", param_hint="--family")
    hoods, witnesses, choice = _settings(given, kind, neighbors, ridge, depth, threshold)
    judges = None if choice is None else choice.others
    found = measure(given.f, given.x, hoods, witnesses, features=given.features, outputs=given.outputs, judges=judges)
    if choice is not None:
        found = replace(found, cure=words.cure(given))
    how = words.How(
        family=str(kind), neighborhoods=_where(given, int(hoods.sizes.max()), threshold), choice=choice, level=level
    )
    for path in out or []:  # first: whoever reads the output may have seen enough before its end
        words.write(path, found, given, how)
    say(f"{given.summary()}\n{len(hoods)} neighborhoods: {how.neighborhoods}; {kind} witnesses")
    if choice is not None:
        say(words.chosen(choice))
    for note in [*words.questions(given), *_notes(given, kind, ridge, hoods, choice)]:
        say(f"note: {note}")
    say(f"\n{found.text(level)}\n")
    say(words.confidence(found, given, level))
    for name, error in given.errors().items():
        say(f"error of {name} against {given.truth_name}: {error:.4g} (root mean squared)")
    say(f"\n{words.extremes(found, given, level)}")
    if out:
        say("\n" + "\n".join(f"written: {path}" for path in out))


def _default_family(given: Predictions, ridge: float | None, depth: int | None) -> Family:
    if ridge is not None and depth is not None:
        raise typer.BadParameter("is for trees, and --ridge for linear witnesses.", param_hint="--depth")
    if ridge is not None:
        return Family.LINEAR
    return Family.TREE if given.smiles is not None or depth is not None else Family.LINEAR


def _settings(
    given: Predictions,
    kind: Family,
    neighbors: int | None,
    ridge: float | None,
    depth: int | None,
    threshold: float,
) -> tuple[BaseNeighborhoods, WitnessFamily, Choice | None]:
    """Neighborhoods and a family of witnesses: what was not asked for is chosen by leave-one-out."""
    from pellucid.choosing import RIDGES, candidates_for, choose, prefix
    from pellucid.witnesses import ConstantFamily, TreeFamily, effective_depth

    family: WitnessFamily | None = None
    if kind is Family.CONSTANT:
        family = ConstantFamily()
    if kind is Family.TREE:
        family = TreeFamily(depth=depth or effective_depth())
    fixed = given.groups is not None or given.smiles is not None
    counts = (min(neighbors, len(given)),) if neighbors else candidates_for(len(given))
    hoods = given.neighborhoods(neighbors=max(counts), threshold=threshold)
    ridges = RIDGES if ridge is None else (ridge,)
    ridge_is_open, count_is_open = family is None and ridge is None, not fixed and len(counts) > 1
    if not (ridge_is_open or count_is_open) or int(hoods.sizes.max()) < 2:
        return hoods, family or given.linear_family(ridge or 0.0), None
    choice = choose(
        given.f, given.x / given.step, hoods, neighbors=None if fixed else counts, ridges=ridges, family=family
    )
    if choice.best.neighbors is not None:
        hoods = prefix(hoods, choice.best.neighbors)
    return hoods, family or given.linear_family(choice.best.ridge or 0.0), choice


def _where(given: Predictions, largest: int, threshold: float) -> str:
    if given.groups is not None:
        return "the rows of each group"
    if given.smiles is not None:
        return f"molecules with a Tanimoto similarity above {threshold:g}"
    return f"the {largest} nearest rows in standardized features"


def _notes(
    given: Predictions, kind: Family, ridge: float | None, hoods: BaseNeighborhoods, choice: Choice | None
) -> list[str]:
    """What makes the numbers other than they look."""
    size, smallest = int(hoods.sizes.median()), int(hoods.sizes.min())
    ridge = choice.best.ridge if choice is not None else ridge
    notes = []
    if given.truth is not None and len(given.outputs) > 1:
        notes.append(
            f"no error against {given.truth_name} is told: --truth needs one --prediction, and there are "
            f"{len(given.outputs)}."
        )
    if smallest == len(given):
        notes.append(
            f"every neighborhood is the whole table of {len(given)} rows, so that all witnesses are one and the same; "
            "take fewer --neighbors, or more rows."
        )
    if kind is Family.LINEAR and not ridge and size <= len(given.features) + 1:
        notes.append(
            f"{size} members determine a linear function of {len(given.features)} features: it follows any "
            "predictor there, and the deviation says nothing. Take more --neighbors, fewer --features, or a --ridge."
        )
    if size <= 2:
        notes.append(
            "most neighborhoods have at most 2 members, and any witness follows them; lower --threshold, or make "
            "groups of more rows."
        )
    return notes
