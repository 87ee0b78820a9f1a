"""`pellucid audit`: judge any model, from its predictions and features alone."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pellucid.predictions import Predictions
    from pellucid.witnesses import WitnessFamily

NEIGHBORS = 15
_SUFFIXES = (".html", ".json", ".csv")


class Family(StrEnum):
    """Of witnesses."""

    LINEAR = "linear"
    TREE = "tree"
    CONSTANT = "constant"


def audit(
    table: Path = typer.Argument(metavar="PREDICTIONS.csv", help="A table of predictions and features, with names."),
    prediction: list[str] = typer.Option(
        [], metavar="COLUMN", help="Predictions; may be repeated. [default: columns named prediction or the like]"
    ),
    features: list[str] = typer.Option(
        [], metavar="COLUMN", help="What witnesses read; may be repeated. [default: all other columns of numbers]"
    ),
    truth: str | None = typer.Option(None, metavar="COLUMN", help="Measured values, to report the error."),
    groups: str | None = typer.Option(None, metavar="COLUMN", help="Rows with the same value are a neighborhood."),
    smiles: str | None = typer.Option(
        None, metavar="COLUMN", help="Molecules: their fingerprints are the features. [default: if nothing else is]"
    ),
    family: Family | None = typer.Option(
        None, metavar="|".join(Family), help="Of witnesses. [default: linear; tree for molecules]"
    ),
    ridge: float | None = typer.Option(
        None, min=0, help="Of linear witnesses, in standardized features. [default: none]"
    ),
    depth: int | None = typer.Option(
        None, min=1, help="Of trees. [default: the deepest that the members hold to account]"
    ),
    neighbors: int | None = typer.Option(
        None, min=3, help=f"Members of a neighborhood. [default: {NEIGHBORS}; more for many linear features]"
    ),
    threshold: float = typer.Option(0.6, help="Molecules: members are more similar to the center than this."),
    level: float = typer.Option(0.9, help="Confidence of the bounds."),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="Also write a report (.html), or every row (.json, .csv)."
    ),
) -> None:
    """Judge any model from its predictions and features alone.

    Around every row a simple function, its witness, is fitted to the predictions; the audit tells how well they match.
    """
    if output is not None and output.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(f"must end in {', '.join(_SUFFIXES)}. Got {output.name}.", param_hint="--output")
    if not 0 < level < 1:
        raise typer.BadParameter(f"must be between 0 and 1. Got {level:g}.", param_hint="--level")
    if ridge is not None and family not in (None, Family.LINEAR):
        raise typer.BadParameter(f"is for linear witnesses. Got --family {family}.", param_hint="--ridge")
    if depth is not None and family not in (None, Family.TREE):
        raise typer.BadParameter(f"is for trees. Got --family {family}.", param_hint="--depth")

    from pellucid.auditing import audit as measure
    from pellucid.cli import _audit_words as words
    from pellucid.predictions import read_predictions

    given = read_predictions(table, prediction=prediction, features=features, truth=truth, groups=groups, smiles=smiles)
    kind = family or _default_family(given, ridge, depth)
    members = neighbors or _members(given, kind)
    hoods = given.neighborhoods(neighbors=members, threshold=threshold)
    found = measure(given.f, given.x, hoods, _family(given, kind, ridge, depth))
    found = replace(found, witnesses=found.witnesses.named(list(given.features), list(given.outputs)))
    where = _where(given, int(hoods.sizes.max()), threshold)
    typer.echo(f"{given.summary()}\n{len(hoods)} neighborhoods: {where}; {kind} witnesses")
    for note in _notes(given, kind, ridge, int(hoods.sizes.median())):
        typer.echo(f"note: {note}")
    typer.echo(f"\n{found.text(level)}\n")
    typer.echo(words.confidence(found, given, level))
    for name, error in given.errors().items():
        typer.echo(f"error of {name} against {given.truth_name}: {error:.4g} (root mean squared)")
    typer.echo(f"\n{words.extremes(found, given, level)}")
    if output is not None:
        words.write(output, found, given, level, {"family": str(kind), "neighborhoods": where})
        typer.echo(f"\nWrote {output}")


def _default_family(given: Predictions, ridge: float | None, depth: int | None) -> Family:
    if ridge is not None and depth is not None:
        raise typer.BadParameter("is for trees, and --ridge for linear witnesses.", param_hint="--depth")
    if ridge is not None:
        return Family.LINEAR
    return Family.TREE if given.smiles is not None or depth is not None else Family.LINEAR


def _members(given: Predictions, kind: Family) -> int:
    """Twice as many as a linear witness has coefficients: with fewer it follows anything."""
    return max(NEIGHBORS, 2 * (len(given.features) + 1)) if kind is Family.LINEAR else NEIGHBORS


def _family(given: Predictions, kind: Family, ridge: float | None, depth: int | None) -> WitnessFamily:
    from pellucid.predictions import ScaledLinearFamily
    from pellucid.witnesses import ConstantFamily, TreeFamily, effective_depth

    if kind is Family.CONSTANT:
        return ConstantFamily()
    if kind is Family.TREE:
        return TreeFamily(depth=depth or effective_depth())
    mean, deviation = given.scale()
    return ScaledLinearFamily(mean=mean, deviation=deviation, ridge=ridge or 0.0)


def _where(given: Predictions, largest: int, threshold: float) -> str:
    if given.groups is not None:
        return "the rows of each group"
    if given.smiles is not None:
        return f"molecules with a Tanimoto similarity above {threshold:g}"
    return f"the {largest} nearest rows in standardized features"


def _notes(given: Predictions, kind: Family, ridge: float | None, size: int) -> list[str]:
    """What makes the numbers look better than they are."""
    notes = []
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
