"""Audit the predictions in a table; neighborhoods and witnesses are chosen by leave-one-out unless they are set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, final

from pellucid.auditing import files
from pellucid.auditing.core import Audit, audit
from pellucid.auditing.kept import KeptWitnesses
from pellucid.auditing.predictions import Predictions
from pellucid.auditing.text import cure, describe
from pellucid.choosing import RIDGES, Choice, candidates_for, choose, prefix
from pellucid.comparing import CANDIDATES, compare_families
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.trust import LEVEL, check_level
from pellucid.witnesses import ConstantFamily, LinearFamily, TreeFamily, WitnessFamily, effective_depth

FamilyName: TypeAlias = Literal["linear", "tree", "constant", "auto"]


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableAudit:
    """An audit with what it was made from; prints as text."""

    audit: Audit
    predictions: Predictions
    family: str
    """The kind of the witnesses, set or chosen."""
    neighborhoods: str
    """What a neighborhood is, in words."""
    ridge: float | None
    """The ridge of linear witnesses, set or chosen."""
    choice: Choice | None
    """How neighbors and ridge were chosen, if they were not set."""
    level: float
    """The confidence of the bounds."""
    kept: KeptWitnesses | None = None
    """What files say of the witnesses, where it is known already."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The audit in words: what was read, what was chosen, how good witnesses are, and the worst and the best."""
        return describe(self)

    def write(self, path: str | Path) -> None:
        """Write a report (.html), or every row (.json, .csv), as the name of the file asks."""
        files.write(self, Path(path))


def audit_predictions(
    predictions: Predictions,
    *,
    family: FamilyName | None = None,
    neighbors: int | None = None,
    ridge: float | None = None,
    depth: int | None = None,
    threshold: float = 0.6,
    level: float = LEVEL,
    auditor: Callable[..., Audit] = audit,
) -> TableAudit:
    """Fit witnesses to the predictions of a table and measure how far they can be trusted.

    What is not set is chosen by leave-one-out, see `pellucid.choosing.choose`; measures come from neighborhoods
    that had no part in the choice.

    Parameters
    ----------
    predictions : Predictions
        The table, from `read_predictions`.
    family : {"linear", "tree", "constant", "auto"}, optional
        The kind of the witnesses; by default trees for molecules and if a depth is set, else linear. "auto" takes the
        one that holds best at members that it was not fitted to, see `pellucid.comparing`.
    neighbors : int, optional
        Members of a neighborhood, for rows that are neither grouped nor molecules.
    ridge : float, optional
        The ridge of linear witnesses, in standardized features.
    depth : int, optional
        The depth of trees; by default the deepest that the members hold to account.
    threshold : float
        Molecules are neighbors if their Tanimoto similarity is above this.
    level : float
        The confidence of the bounds.
    auditor : callable
        Who fits and measures, with the arguments of `pellucid.audit`.
    """
    level = check_level(level)
    kind = _family(predictions, family, ridge, depth)
    if not 0 < threshold < 1:
        raise InputError(
            f"{Parameter('threshold')} must be between 0 and 1", got=f"{threshold:g}", parameter="threshold"
        )
    hoods, witnesses, choice = _settings(predictions, kind, neighbors, ridge, depth, threshold)
    judges = None if choice is None else choice.others
    comparison = None
    if kind == "auto":
        # Linear witnesses read standardized features.
        families = {**CANDIDATES, "linear": predictions.linear_family("auto")}
        comparison = compare_families(predictions.f, predictions.x, hoods, families, judges=judges)
        witnesses, judges = comparison.family, comparison.others
    result = auditor(
        predictions.f,
        predictions.x,
        hoods,
        witnesses,
        features=predictions.features,
        outputs=predictions.outputs,
        judges=judges,
    )
    result = replace(result, comparison=comparison)
    if choice is not None:
        result = replace(result, cure=cure(predictions))
    return TableAudit(
        audit=result,
        predictions=predictions,
        family=kind if comparison is None else comparison.best.name,
        neighborhoods=_describe_neighborhoods(predictions, int(hoods.sizes.max()), threshold),
        ridge=ridge if choice is None else choice.best.ridge,
        choice=choice,
        level=level,
    )


def _family(predictions: Predictions, family: FamilyName | None, ridge: float | None, depth: int | None) -> FamilyName:
    """The kind of the witnesses; settings of another kind are refused."""
    if ridge is not None and depth is not None:
        raise InputError(
            f"{Parameter('depth')} is for trees, and {Parameter('ridge')} for linear witnesses",
            got="both",
            cure="leave one of them out",
            parameter="depth",
        )
    trees = depth is not None or (predictions.smiles is not None and ridge is None)
    kind: FamilyName = family or ("tree" if trees else "linear")
    if kind not in ("linear", "tree", "constant", "auto"):
        raise InputError(
            f"{Parameter('family')} must be linear, tree, constant or auto", got=f"{family!r}", parameter="family"
        )
    for name, value, owner in (("ridge", ridge, "linear"), ("depth", depth, "tree")):
        if value is not None and kind != owner:
            raise InputError(
                f"{Parameter(name)} is for {owner} witnesses", got=f"{Parameter('family', kind)}", parameter=name
            )
    if predictions.smiles is not None and kind == "linear" and not ridge:
        raise InputError(
            "Linear witnesses on fingerprints, which have more bits than there are members, need a ridge",
            got="none",
            cure=f"set {Parameter('ridge')}",
            parameter="family",
        )
    return kind


def _settings(
    predictions: Predictions,
    kind: FamilyName,
    neighbors: int | None,
    ridge: float | None,
    depth: int | None,
    threshold: float,
) -> tuple[BaseNeighborhoods, WitnessFamily, Choice | None]:
    """Neighborhoods and a family of witnesses: what is not set is chosen by leave-one-out."""
    family: WitnessFamily | None = None
    if kind == "auto":  # neighbors are chosen for linear witnesses; families are compared with so many
        family = LinearFamily(ridge="auto")
    if kind == "constant":
        family = ConstantFamily()
    if kind == "tree":
        family = TreeFamily(depth=depth or effective_depth())
    fixed = predictions.groups is not None or predictions.smiles is not None
    counts = (min(neighbors, len(predictions)),) if neighbors else candidates_for(len(predictions))
    hoods = predictions.neighborhoods(neighbors=max(counts), threshold=threshold)
    ridges = RIDGES if ridge is None else (ridge,)
    ridge_is_open, count_is_open = family is None and ridge is None, not fixed and len(counts) > 1
    if not (ridge_is_open or count_is_open) or int(hoods.sizes.max()) < 2:
        return hoods, family or predictions.linear_family(ridge or 0.0), None
    choice = choose(
        predictions.f,
        predictions.x / predictions.step,
        hoods,
        neighbors=None if fixed else counts,
        ridges=ridges,
        family=family,
    )
    if choice.best.neighbors is not None:
        hoods = prefix(hoods, choice.best.neighbors)
    return hoods, family or predictions.linear_family(choice.best.ridge or 0.0), choice


def _describe_neighborhoods(predictions: Predictions, largest: int, threshold: float) -> str:
    if predictions.groups is not None:
        return "the rows of each group"
    if predictions.smiles is not None:
        return f"molecules with a Tanimoto similarity above {threshold:g}"
    return f"the {largest} nearest rows in standardized features"
