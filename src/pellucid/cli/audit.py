"""`pellucid audit`: judge any model, from its predictions and features alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.cli.output import as_typed, names_in, say

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
            help="What witnesses read; repeat, or separate by commas.",
            show_default="other columns of numbers",
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
        typer.Option(min=0, help="Of linear witnesses, in standardized features.", show_default="none"),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Of trees.", show_default="the deepest that members hold to account")
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option(
            min=3, help="Members of a neighborhood.", show_default=f"{NEIGHBORS}; more for many linear features"
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Molecules: members are more similar to the center than this.")
    ] = 0.6,
    level: Annotated[float, typer.Option(help="The confidence of the bounds.")] = 0.9,
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
    from pellucid.predictions import read_predictions
    from pellucid.tables import read_table

    header = read_table(table).header
    given = read_predictions(
        table,
        prediction=names_in(prediction, header) or (),
        features=names_in(features, header) or (),
        truth=truth,
        groups=groups,
        smiles=smiles,
    )
    kind = family or _default_family(given, ridge, depth)
    if given.smiles is not None and kind is Family.LINEAR and not ridge:
        raise typer.BadParameter("on fingerprints needs a --ridge: they are more than members.", param_hint="--family")
    members = neighbors or _members(given, kind)
    hoods = given.neighborhoods(neighbors=members, threshold=threshold)
    found = measure(
        given.f, given.x, hoods, _family(given, kind, ridge, depth), features=given.features, outputs=given.outputs
    )
    where = _where(given, int(hoods.sizes.max()), threshold)
    for path in out or []:  # first: whoever reads the output may have seen enough before its end
        words.write(path, found, given, level, {"family": str(kind), "neighborhoods": where})
    say(f"{as_typed(given.summary())}\n{len(hoods)} neighborhoods: {where}; {kind} witnesses")
    for note in _notes(given, kind, ridge, int(hoods.sizes.median()), int(hoods.sizes.min())):
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


def _notes(given: Predictions, kind: Family, ridge: float | None, size: int, smallest: int) -> list[str]:
    """What makes the numbers other than they look."""
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
