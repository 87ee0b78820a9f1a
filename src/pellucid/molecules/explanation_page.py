"""One explained molecule on a page: its witness with pictures, what would change it, and its neighbors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pellucid.bins import SizeBin
from pellucid.molecules._pictures import Pictures
from pellucid.molecules.contribution_page import exchanges_view, law_view
from pellucid.molecules.explanation_text import interval_ends, prediction_sentence
from pellucid.numbers import listed
from pellucid.report.numbers import fixed, number, percent, trimmed, typeset
from pellucid.report.page import render, write_page
from pellucid.report.sections import trust_sentence
from pellucid.trust import FEWEST, no_bound_reason

if TYPE_CHECKING:
    from markupsafe import Markup

    from pellucid.molecules.contribution_explanation import ContributionExplanation
    from pellucid.molecules.explanation import Member, MoleculeExplanation
    from pellucid.molecules.tree_explanation import Change, TreeExplanation

# The most neighbors and changes that a page shows; pictures are most of its size.
_NEIGHBORS, _CHANGES = 6, 4
# The most targets that a table shows; of more, those that differ most in the neighborhood.
_TARGETS = 12
# The most substructures that are named where a bit stands for several.
_OTHERS = 3


def write_one(explanation: MoleculeExplanation, path: str | Path, *, title: str | None = None) -> Path:
    """Write one explanation as an HTML file.

    Parameters
    ----------
    explanation : MoleculeExplanation
        The explanation.
    path : str or Path
        The HTML file.
    title : str, optional
        The title of the page; by default the molecule.
    """
    pictures = Pictures()
    content = view(explanation, pictures)
    return write_page(
        path,
        "molecule.html",
        # Without a title the SMILES is the heading, and is not repeated.
        kind="molecule" if title is None else "explanation",
        title=explanation.smiles if title is None else title,
        e=content,
        sheet=pictures.sheet(),
    )


def fragment(explanation: MoleculeExplanation) -> Markup:
    """One explanation as a piece of HTML with its own styles and without scripts: for notebooks."""
    pictures = Pictures()
    content = view(explanation, pictures)
    return render("molecule_fragment.html", e=content, sheet=pictures.sheet())


def view(
    explanation: MoleculeExplanation, pictures: Pictures, measured: Sequence[float | None] | None = None
) -> dict[str, Any]:
    """Everything that the templates show of an explanation, as text and pictures."""
    stored = explanation.members[0].measured
    known = any(value is not None for value in measured or ())
    if not known and stored is not None:  # the molecule is among the labeled ones
        measured = [float(value) if np.isfinite(value) else None for value in stored]
    targets = explanation.target(None)
    digits = explanation.decimals
    bound = explanation.bound

    def values(numbers: Any, indices: Sequence[int] = targets) -> list[tuple[str, str]]:
        return [(explanation.targets[k], fixed(float(numbers[k]), digits[k])) for k in indices]

    def measured_text(member: Member) -> str:
        """The measured values of a member, to be written after its similarity."""
        if member.measured is None:
            return ""
        known = [k for k in targets if np.isfinite(member.measured[k])]
        cells = [(name, trimmed(text)) for name, text in values(member.measured, known)]
        single = len(explanation.targets) == 1
        return "".join(f", measured {text}" if single else f", {name} measured {text}" for name, text in cells)

    return {
        "smiles": explanation.smiles,
        "picture": pictures.molecule(explanation.smiles),
        "rows": [
            {
                "name": name,
                "index": k,
                "predicted": fixed(float(explanation.prediction[k]), digits[k]),
                "witness": fixed(float(explanation.witnessed[k]), digits[k]),
                "measured": trimmed(fixed(measured[k], digits[k])) if measured and measured[k] is not None else None,
                "deviation": number(float(explanation.deviation[k]), 2),
                "bound": None if bound is None else bound_text(float(bound[k])),
                "auc": None if np.isnan(explanation.local_auc[k]) else float(explanation.local_auc[k]),
            }
            for k, name in enumerate(explanation.targets)
            if len(explanation.targets) <= _TARGETS or k in targets
        ],
        "targets": len(explanation.targets),
        "noun": explanation.noun,
        "shown": [explanation.targets[k] for k in targets],
        "single": len(explanation.targets) == 1,
        "measured": any(v is not None for v in measured or []),
        "trust": _trust(explanation, targets),
        "sure": _certainty_view(explanation, targets, pictures),
        "held_out": _held_out_view(explanation),
        "few": len(explanation.members) < FEWEST,
        "strange": not {"given", "pool"} & {m.origin for m in explanation.members},
        "tree": _tree_view(cast("TreeExplanation", explanation), pictures, values, measured_text)
        if explanation.kind == "tree"
        else None,
        "law": law_view(cast("ContributionExplanation", explanation), pictures, targets)
        if explanation.kind == "contributions"
        else None,
        "exchanges": exchanges_view(explanation, targets),
        "neighbors": [
            {
                "picture": pictures.molecule(m.smiles),
                "member": m,
                "measured": measured_text(m),
                "values": [
                    (name, text, witness)
                    for (name, text), (_, witness) in zip(values(m.prediction), values(m.witness), strict=True)
                ],
            }
            for m in explanation.members[1 : 1 + _NEIGHBORS]
        ],
        "members": len(explanation.members),
    }


def _tree_view(
    explanation: TreeExplanation,
    pictures: Pictures,
    values: Callable[[Any], list[tuple[str, str]]],
    measured_text: Callable[[Member], str],
) -> dict[str, Any]:
    """The tree, of which the template walks the nodes: pictures of the splits by feature, values of the leaves by node;
    and the nearest members in other leaves.
    """
    root = explanation.witness.root

    def split(bit: int) -> dict[str, Any]:
        structure = explanation.substructures[bit]
        return {"picture": pictures.substructure(structure), "others": listed(structure.others, _OTHERS)}

    def change(c: Change) -> dict[str, Any]:
        return {
            "word": "with" if c.gains else "without",
            "name": explanation.substructures[c.split].smiles,
            "part": pictures.substructure(explanation.substructures[c.split]),
            "picture": pictures.molecule(c.member.smiles),
            "values": values(c.member.prediction),
            "member": c.member,
            "measured": measured_text(c.member),
        }

    return {
        "root": root,
        "path": explanation.path,
        "divergence": explanation.divergence,
        "splits": {node.feature: split(node.feature) for node in root.walk() if not node.is_leaf},
        "leaves": {leaf.index: values(leaf.value) for leaf in root.leaves()},
        "changes": [change(c) for c in explanation.changes()[:_CHANGES]],
    }


def _certainty_view(
    explanation: MoleculeExplanation, targets: Sequence[int], pictures: Pictures
) -> dict[str, Any] | None:
    """How sure the prediction itself is: a sentence, a value for each target, and the nearest training molecule."""
    known = explanation.certainty
    if known is None:
        return None
    nearest = known.nearest
    if known.probability is not None:
        values = [fixed(float(p), 2) for p in known.probability]
    elif known.interval is not None:
        values = [
            typeset(" to ".join(interval_ends(e))) if np.isfinite(e).all() else "not known" for e in known.interval
        ]
    else:
        values = []
    measured = [k for k in targets if np.isfinite(nearest.measured[k])]
    sentence = prediction_sentence(explanation, targets)
    return {
        "title": "calibrated probability"
        if known.probability is not None
        else f"{percent(known.level)} prediction interval",
        "values": values,
        "sentence": typeset(f"{sentence[:1].upper()}{sentence[1:]}."),
        "similarity": nearest.similarity,
        "picture": pictures.molecule(nearest.smiles) if nearest.smiles else None,
        "measured": [(explanation.targets[k], typeset(f"{nearest.measured[k]:g}")) for k in measured],
    }


def _held_out_view(explanation: MoleculeExplanation) -> list[dict[str, str]]:
    """Of each target how well the witness holds at members that it was not fitted to; empty if that is not known."""
    deviation, explained = explanation.held_out_deviation, explanation.held_out_explained
    if deviation is None or explained is None:
        return []
    return [
        {"explained": percent(float(share), 0), "deviation": number(float(distance), 2)}
        for share, distance in zip(explained, deviation, strict=True)
    ]


def _trust(explanation: MoleculeExplanation, targets: Sequence[int]) -> str:
    """The sentence on trust, for the targets at these indices."""
    text: str | None = None
    rest: list[str] = []
    if explanation.bound is not None:
        bounded = [k for k in targets if np.isfinite(explanation.bound[k])]
        rest = [explanation.targets[k] for k in targets if k not in bounded]
        bounds = [(explanation.targets[k], number(float(explanation.bound[k]), 2)) for k in bounded]
        if bounded:
            text = bounds[0][1] if len(explanation.targets) == 1 else ", ".join(f"{b} ({name})" for name, b in bounds)
    few = len(explanation.members) < FEWEST
    reason = explanation.unbounded or no_bound_reason(explanation.level, explanation.calibrated)
    why = explanation.trust() if few else reason
    return trust_sentence(
        text,
        explanation.level,
        explanation.calibrated,
        why,
        witness=f"the {explanation.noun}",
        points="a similar molecule that it was not fitted to",
        sizes=SizeBin(explanation.calibrated, *explanation.calibrated_sizes).text,
        rest=rest,
    )


def bound_text(value: float) -> str:
    """A bound as text, also where it is not known."""
    return number(value, 2) if np.isfinite(value) else "not known"
