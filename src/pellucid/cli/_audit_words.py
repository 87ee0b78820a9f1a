"""What `pellucid audit` says: in words, and in files."""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from pellucid.auditing import Audit
from pellucid.choosing import Candidate, Choice
from pellucid.predictions import Predictions
from pellucid.trust import FEWEST, percent
from pellucid.witnesses.base import Witness
from pellucid.witnesses.linear import LinearWitnesses
from pellucid.witnesses.tree import TreeWitness

# Neighborhoods that are shown as the least trustworthy.
_SHOWN = 5
# Columns and rows that a page names.
_LISTED = 20
# What the entries of all rows have in common.
_SHARED = ("features", "outputs", "center")


@final
@dataclass(frozen=True, kw_only=True)
class How:
    """How predictions were judged."""

    family: str
    neighborhoods: str
    """In words."""
    choice: Choice | None
    """Of neighbors and ridge, where they were not asked for."""
    level: float
    """Of the confidence of the bounds."""


def chosen(choice: Choice) -> str:
    """What leave-one-out chose, and how good it is beside what it might have been."""
    best = choice.best
    if math.isnan(best.explained):
        return f"chosen: {_settings(best)} (the predictions do not vary, so any setting would do)"
    among = "" if choice.compared is None else f" among the {choice.compared} nearest"
    text = f"chosen by leave-one-out: {_settings(best)} (held-out variance explained{among} {_share(best.explained)}"
    plainest = choice.at(best.neighbors, 0.0)
    if best.ridge and plainest is not None and plainest.explained < best.explained - 0.01:
        text += f"; without a ridge {_share(plainest.explained)}"
    aside = "" if choice.others is not None else ", and judge: too few to set some aside"
    return f"{text}; {len(choice.used)} neighborhoods chose{aside})"


def cure(given: Predictions) -> str:
    """What to do where nothing is explained although the best settings were looked for."""
    read = "" if given.named else "name with --features what the model read, "
    return f"No other candidate does better: {read}try another --family, or give more rows"


def _settings(candidate: Candidate) -> str:
    parts = [] if candidate.neighbors is None else [f"{candidate.neighbors} neighbors"]
    if candidate.ridge is not None:
        parts.append(f"ridge {candidate.ridge:g}" if candidate.ridge else "no ridge")
    return ", ".join(parts)


def _share(value: float) -> str:
    """A share in per cent; what is worse than a hundred times the variance is said so."""
    return "undefined" if math.isnan(value) else "below -9999 %" if value < -99.99 else f"{100 * value:.0f} %"


def questions(given: Predictions) -> list[str]:
    """What only the user can know."""
    return [
        f"{name} rises and falls with the predictions (rank correlation {value:.2f}): if it is what was measured, say "
        f"--truth {_typed(name)}; if the model read it, name it among the --features."
        for name, value in given.alike
    ]


def _typed(name: str) -> str:
    return shlex.quote(name)


def confidence(found: Audit, given: Predictions, level: float) -> str:
    """The trust number in one sentence for each path."""
    bound = found.bound(level)
    reason = found.why_not(level).replace("how far it", "how far a witness", 1)
    if np.isnan(bound).all():
        return reason
    lines = []
    for k, name in enumerate(given.outputs):
        what = f" ({name})" if len(given.outputs) > 1 else ""
        known = bound[~np.isnan(bound[:, k]), k]
        if not len(known):
            lines.append(f"{reason}{what}")
            continue
        middle, low, high = (np.quantile(known, q) for q in (0.5, 0.05, 0.95))
        if high <= 1e-9 * np.ptp(given.f[:, k]):
            lines.append(
                f"with {percent(level)} confidence a witness agrees with the predictor{what}, up to rounding, at a "
                "further point of its neighborhood; where it does not, nothing is said of how far it is off"
            )
            continue
        lines.append(
            f"with {percent(level)} confidence a witness is within {middle:.3g} of the predictor{what} at a further "
            f"point of its neighborhood (median; from {low:.3g} to {high:.3g} for nine in ten)"
        )
    return "\n".join(lines)


def extremes(found: Audit, given: Predictions, level: float) -> str:
    """The least trustworthy rows, and the witness of the worst and of the best one in words."""
    sizes, off = found.witnesses.hoods.sizes.cpu().numpy(), found.relative()
    # Any witness follows one or two members: that is no merit of theirs.
    order = [i for i in np.argsort(-off, kind="stable").tolist() if sizes[i] >= FEWEST]
    if not order:
        return f"no neighborhood has {FEWEST} members or more, and any witness follows fewer: there is none to trust"
    if float(found.deviations[order].max()) <= 1e-20 + 1e-12 * float(given.f.var(axis=0).sum()):
        exact = f"all {len(order)} witnesses are exact at their own members, up to rounding"
        return f"{exact}:\n{_said(found, given, order[-1], level)}"
    if int(sizes.min()) == len(given):
        return f"the one witness of all rows:\n{_said(found, given, order[0], level)}"
    bound = found.bound(level)
    at_centers = found.witnesses.at_centers()
    head = f"{'place':<20}{'prediction':>14}{'its witness':>14}{'rmse':>11}{'bound':>11}"
    rmse = _rmse(found)
    lines = ["least trustworthy:", head]
    for i in order[:_SHOWN]:
        center = int(found.witnesses.hoods.centers[i])
        for k, name in enumerate(given.outputs):
            label = _place(given, center) if not k else ""
            label = f"{label[:19]:<20}"
            values = f"{given.f[center, k]:>14.5g}{float(at_centers[i, k]):>14.5g}"
            trust = f"{rmse[i, k]:>11.3g}" + (
                f"{'not known':>11}" if np.isnan(bound[i, k]) else f"{bound[i, k]:>11.3g}"
            )
            lines.append(label + values + trust + (f"  {name}" if len(given.outputs) > 1 else ""))
    worst, best = (_said(found, given, i, level) for i in (order[0], order[-1]))
    return "\n".join([*lines, "", "the worst:", worst, "", "the best:", best])


def _rmse(found: Audit) -> np.ndarray:
    """(n, K) root mean squared error between predictor and witness over the members, for each output."""
    witnesses, hoods = found.witnesses, found.witnesses.hoods
    misses = (witnesses.f[hoods.members].double() - witnesses.at_members().double()).square()
    return np.asarray((hoods.sum_members(misses) / hoods.sizes[:, None]).sqrt().cpu().numpy())


def _place(given: Predictions, center: int) -> str:
    if given.groups is not None:
        return f"group {given.groups[center]}"
    return f"row {given.rows[center]}"


def _full_place(given: Predictions, center: int) -> str:
    """With the molecule, where there is one."""
    return _place(given, center) + (f" ({given.smiles[center]})" if given.smiles is not None else "")


def _said(found: Audit, given: Predictions, i: int, level: float) -> str:
    """A witness in words, with its place and its bound."""
    witness = found.witness(i, level)
    return f"{_words(found, given, i)}\n{replace(witness, place=_full_place(given, witness.center)).trust()}"


def _words(found: Audit, given: Predictions, i: int) -> str:
    """A witness in words; of molecules with the substructures that its members show."""
    witness = found.witnesses[i]
    if given.smiles is None:
        return _text(witness, None)
    members = [witness.center, *found.witnesses.hoods.members_of(i).tolist()]
    return _text(witness, _bit_names([witness], [given.smiles[j] for j in members]))


def _text(witness: Witness, names: Mapping[int, str] | None) -> str:
    """A witness in words; a tree over fingerprints with names of the bits."""
    if names is None or not isinstance(witness, TreeWitness):
        return witness.text()
    return "\n".join(_branches(witness, 0, "", names))


def _bit_names(trees: Sequence[Witness], smiles: Sequence[str]) -> dict[int, str]:
    """The substructures behind the bits that trees ask for, as these molecules show them."""
    from pellucid.molecules.neighborhoods import MORGAN
    from pellucid.molecules.substructures import find_substructures

    bits = {bit for tree in trees if isinstance(tree, TreeWitness) for bit in tree.nodes["feature"].tolist()} - {-1}
    found = find_substructures(bits, list(dict.fromkeys(smiles)), MORGAN)
    return {bit: " or ".join([known.smiles, *known.others]) for bit, known in found.items()}


def _branches(tree: TreeWitness, node: int, indent: str, names: Mapping[int, str]) -> list[str]:
    bit, inner = int(tree.nodes["feature"][node]), indent + "    "
    if bit < 0:
        values = zip(tree.output_names, tree.nodes["value"][node].tolist(), strict=True)
        size = int(tree.nodes["size"][node])
        text = ", ".join(f"{name} = {value:.4g}" for name, value in values)
        return [f"{indent}{text}  ({size} member{'s' if size > 1 else ''})"]
    return [
        f"{indent}without {names[bit]}:",
        *_branches(tree, int(tree.nodes["left"][node]), inner, names),
        f"{indent}with {names[bit]}:",
        *_branches(tree, int(tree.nodes["right"][node]), inner, names),
    ]


def write(path: Path, found: Audit, given: Predictions, how: How) -> None:
    """A report, or every row, as the name of the file asks."""
    level, suffix = how.level, path.suffix.lower()
    if suffix == ".html":
        from pellucid.report import write_audit

        names = [_full_place(given, center) for center in found.witnesses.hoods.centers.tolist()]
        write_audit(
            found,
            path,
            title=given.source,
            names=names,
            level=level,
            text=lambda i: _words(found, given, i),
            conditions=_conditions(given, how),
            columns=columns(given),
            candidates=None if how.choice is None else _candidates(how.choice),
        )
    elif suffix == ".json":
        path.write_text(json.dumps(_content(found, given, how), indent=1) + "\n", encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(_lines(found, given, level))


def _conditions(given: Predictions, how: How) -> list[tuple[str, str]]:
    """What was judged and how, as a page tells it."""
    facts = [("rows", str(len(given))), ("predictions", ", ".join(given.outputs))]
    facts += [("family", how.family), ("neighborhoods", how.neighborhoods)]
    facts += [] if how.choice is None else [("settings", chosen(how.choice))]
    facts.append(
        ("features", f"{len(given.features)} bits of fingerprints" if given.smiles else _listed(given.columns))
    )
    facts += [("question", text) for text in questions(given)]
    if given.rejected:
        facts.append(("rejected rows", _listed([f"row {row} ({why})" for row, why in given.rejected])))
    facts += [(f"error of {name} against {given.truth_name}", f"{e:.4g} (root mean squared)")
              for name, e in given.errors().items()]  # fmt: skip
    return facts


def columns(given: Predictions) -> list[tuple[str, str, str]]:
    """For each column of the table its name, what it was taken for, and why or how."""
    roles = [(name, "prediction", "") for name in given.outputs]
    roles += [] if given.truth_name is None else [(given.truth_name, "measured values", "")]
    notes = dict(given.notes)
    roles += [(name, "feature", notes.get(name, "")) for name in given.columns]
    return roles + [(name, "ignored", why) for name, why in given.ignored]


def _candidates(choice: Choice) -> tuple[list[str], list[tuple[str, list[tuple[str, bool]]]], str]:
    """Held-out variance explained by neighbors (down) and ridge (across): head, rows, and what the numbers are."""
    ridges = list(dict.fromkeys(c.ridge for c in choice.candidates))
    counts = list(dict.fromkeys(c.neighbors for c in choice.candidates))
    head = ["" if ridge is None else f"ridge {ridge:g}" for ridge in ridges]
    rows = []
    for count in counts:
        cells = [choice.at(count, ridge) for ridge in ridges]
        shown = [("" if c is None else _share(c.explained).replace("-", "\u2212"), c == choice.best) for c in cells]
        rows.append(("all members" if count is None else f"{count} neighbors", shown))
    where = "at all members" if choice.compared is None else f"at the {choice.compared} members nearest to each center"
    about = (
        f"Held-out variance explained {where}, the same for every candidate, in {len(choice.used)} neighborhoods; 0 is "
        "no better than the best constant. "
        "Chosen are the fewest neighbors that come within 2 % of the smallest error, and then the largest ridge that "
        "comes within 2 % of the smallest error of these."
    )
    if choice.others is not None:
        about += f" All other numbers for held-out members come from the {len(choice.others)} other neighborhoods."
    return head, rows, about


def _listed(texts: Sequence[str]) -> str:
    more = f", and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more


def _content(found: Audit, given: Predictions, how: How) -> dict[str, Any]:
    """Everything, in plain numbers."""
    bound, relative = found.bound(how.level), found.relative()
    witnesses = list(found.witnesses)
    entries = []
    for i, center in enumerate(found.witnesses.hoods.centers.tolist()):
        witness = {key: value for key, value in witnesses[i].to_dict().items() if key not in _SHARED}
        entries.append(
            {
                "place": _place(given, center),
                "row": given.rows[center],
                "prediction": given.f[center].tolist(),
                "deviation": float(found.deviations[i]),
                "relative": float(relative[i]),
                "bound": [None if value != value else float(value) for value in bound[i]],
                "witness": witness,
            }
        )
    return {
        "kind": "audit",
        "title": given.source,
        "family": how.family,
        "neighborhoods": how.neighborhoods,
        "choice": None if how.choice is None else how.choice.to_dict(),
        "outputs": list(given.outputs),
        "features": list(given.features),
        "errors": given.errors(),
        "columns": [list(column) for column in columns(given)],
        "ignored_columns": [list(pair) for pair in given.ignored],
        "rejected_rows": [list(pair) for pair in given.rejected],
        "substructures": {} if given.smiles is None else _bit_names(witnesses, given.smiles),
        "audit": found.to_dict(how.level),
        "rows": entries,
    }


def _lines(found: Audit, given: Predictions, level: float) -> list[list[Any]]:
    """One line for each row of the table: its neighborhood's deviation, bound and witness."""
    witnesses = found.witnesses
    bound = found.bound(level)
    several = len(given.outputs) > 1
    prefix = [f"{name}: " if several else "" for name in given.outputs]
    head = ["row", *(["group"] if given.groups else []), *given.outputs, "deviation", *(f"{p}bound" for p in prefix)]
    own = {int(center): i for i, center in enumerate(witnesses.hoods.centers)}
    if given.groups is not None:  # every row has the witness of its group
        groups = {given.groups[center]: i for center, i in own.items()}
        own = {j: groups[group] for j, group in enumerate(given.groups)}
    if isinstance(witnesses, LinearWitnesses):
        count = witnesses.theta.shape[1] - 1
        columns = ["intercept", *(f"coefficient of {name}" for name in given.features[:count])]
        head += [f"{p}{name}" for p in prefix for name in columns]
    else:
        head += ["witness"]
        trees = list(witnesses)
        names = None if given.smiles is None else _bit_names(trees, given.smiles)
        texts = [_text(tree, names) for tree in trees]
    lines: list[list[Any]] = [head]
    for j in range(len(given)):
        i = own[j]
        line = [given.rows[j], *([given.groups[j]] if given.groups else []), *given.f[j].tolist()]
        line += [float(found.deviations[i]), *("" if value != value else float(value) for value in bound[i])]
        if isinstance(witnesses, LinearWitnesses):
            line += witnesses.theta[i].T.flatten().tolist()
        else:
            line += [texts[i]]
        lines.append(line)
    return lines
