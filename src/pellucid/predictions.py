"""Predictions of any model in a table, beside the features that witnesses read: what `pellucid audit` judges."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np
import torch
from torch import Tensor

from pellucid.builders import from_lists, nearest
from pellucid.errors import InputError, quietly
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.tables import ID_NAMES, SMILES_NAMES, Table, plain, read_table, require_column, value_of
from pellucid.witnesses.base import WitnessFamily
from pellucid.witnesses.linear import LinearFamily, LinearWitnesses

# How columns are recognized; capitals, blanks and hyphens do not matter.
_PREDICTIONS = re.compile(r"(.*_)?pred(s|ict(ed|ions?))?([_:.\d].*)?|predict(ed|ion).*|y_?hat([_:.\d].*)?")
_PROBABILITIES = re.compile(r"(.*_)?prob(s|as?|abilit(y|ies))?([_:.\d(\[].*)?")
_SCORES = ("score", "scores", "f")
_TRUTHS = ("truth", "ground_truth", "y_true", "measured", "observed", "actual", "target", "label")
_NUMBERING = "numbers the rows"
_MOLECULES = "molecules; read their substructures with `smiles=`"
# Fewer rows have no neighborhoods to speak of.
_FEWEST = 3
# Rows and columns that a message lists.
_LISTED = 5


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Predictions:
    """N rows of a table: K predictions, P features, and what else is known of them."""

    source: str
    outputs: tuple[str, ...]
    f: np.ndarray
    """(N, K)."""
    features: tuple[str, ...]
    x: np.ndarray
    """(N, P); of molecules the bits of their fingerprints."""
    rows: tuple[int, ...]
    """Their numbers in the file, where the line of names is row 1."""
    truth: np.ndarray | None = None
    """(N,) measured values, NaN where there is none."""
    truth_name: str | None = None
    groups: tuple[str, ...] | None = None
    """The neighborhood that each row belongs to, where a column says it."""
    smiles: tuple[str, ...] | None = None
    """Where the features are fingerprints: of which molecules."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Columns that were not read, and why."""
    skipped: tuple[tuple[int, str], ...] = ()
    """Rows that were not read, and why."""

    def __len__(self) -> int:
        return len(self.f)

    def __repr__(self) -> str:
        return f"Predictions({self.summary()})"

    def summary(self) -> str:
        """What was read and what was not, a line each."""
        read = f"{len(self.features)} bits of fingerprints" if self.smiles else ", ".join(self.features)
        lines = [f"{self.source}: {len(self)} rows", f"predictions: {', '.join(self.outputs)}", f"features: {read}"]
        if self.truth_name is not None:
            lines.append(f"measured values: {self.truth_name}")
        if self.left_out:
            lines.append(f"columns left out: {', '.join(f'{name} ({why})' for name, why in self.left_out)}")
        if self.skipped:
            listed = "; ".join(f"row {row}: {why}" for row, why in self.skipped[:_LISTED])
            lines.append(f"rows left out: {len(self.skipped)} ({listed}{'; ...' if self.skipped[_LISTED:] else ''})")
        return "\n".join(lines)

    def errors(self) -> dict[str, float]:
        """Root mean squared error of the output against the measured values, if there are any.

        Of several outputs there is none: probabilities of classes, say, are not all compared with one column.
        """
        if self.truth is None or len(self.outputs) > 1:
            return {}
        known = ~np.isnan(self.truth)
        squares = (self.f[known] - self.truth[known, None]) ** 2
        return dict(zip(self.outputs, np.sqrt(squares.mean(axis=0)).tolist(), strict=True))

    def scale(self) -> tuple[np.ndarray, np.ndarray]:
        """(P,) mean and (P,) standard deviation of each feature; 1 where it is constant."""
        deviation = self.x.std(axis=0)
        return self.x.mean(axis=0), np.where(deviation > 0, deviation, 1.0)

    def neighborhoods(self, *, neighbors: int, threshold: float = 0.6) -> BaseNeighborhoods:
        """Who is near whom.

        Rows of the same group, one neighborhood each, where there are groups; molecules with a Tanimoto similarity
        above the threshold; otherwise the nearest rows (the row itself included) in standardized features.
        """
        if self.groups is not None:
            return self._grouped()
        if self.smiles is not None:
            return _similar(self.smiles, threshold)
        mean, deviation = self.scale()
        return nearest((self.x - mean) / deviation, k=min(neighbors, len(self)))

    def _grouped(self) -> Neighborhoods:
        """One neighborhood for each group; its center is the member nearest to the mean of its features."""
        members: dict[str, list[int]] = {}
        for i, group in enumerate(self.groups or ()):
            members.setdefault(group, []).append(i)
        x = (self.x.astype(np.float64) - self.x.mean(axis=0)) / self.scale()[1]
        centers = [rows[int(np.argmin(((x[rows] - x[rows].mean(0)) ** 2).sum(1)))] for rows in members.values()]
        return from_lists(list(members.values()), centers, n_points=len(self))


def read_predictions(
    path: str | Path,
    *,
    prediction: Sequence[str] = (),
    features: Sequence[str] = (),
    truth: str | None = None,
    groups: str | None = None,
    smiles: str | None = None,
) -> Predictions:
    """Predictions and features from a text file with a line of names; see `pellucid.tables.read_table`.

    Rows with a blank among predictions, features or groups are left out, and listed.

    Parameters
    ----------
    prediction : the columns of predictions; by default those whose name says so.
    features : the columns that witnesses read; by default all others that hold numbers, without names, numberings,
        constants, and what looks like measured values.
    truth : a column of measured values: no feature; the error of the predictions is reported.
    groups : a column that says which rows are a neighborhood.
    smiles : a column of molecules whose fingerprints are the features; used by default where there is one and there
        are no other features.
    """
    table = read_table(path)
    source = Path(path).name
    for option, names in {
        "prediction": prediction,
        "features": features,
        "truth": [truth] if truth is not None else [],
        "groups": [groups] if groups is not None else [],
        "smiles": [smiles] if smiles is not None else [],
    }.items():
        for name in names:
            require_column(name, table.header, source, f"`{option}=`")
    outputs = list(dict.fromkeys(prediction)) or _find_predictions(table, source)
    others = [name for name in table.header if name not in (*outputs, truth, groups, smiles)]
    chosen, left_out = _choose_features(table, others, list(dict.fromkeys(features)), smiles, outputs)
    clash = set(chosen) & {*outputs, truth, groups}
    if clash:
        raise InputError(f"A column must be one thing. Got {sorted(map(str, clash))[0]!r} twice; name it once.")
    if not chosen and smiles is None:
        smiles = _find_smiles(source, left_out)
        left_out = [(name, why) for name, why in left_out if name != smiles]
    skipped: dict[int, str] = {}
    f = _numbers(table, outputs, source, skipped)
    x = _numbers(table, chosen, source, skipped)
    known = None if truth is None else _numbers(table, [truth], source, None)[:, 0]
    if known is not None and np.isnan(known).all():
        raise InputError(f"`truth=` must hold measured values. Got {truth!r}, which is blank; choose another column.")
    labels = None if groups is None else [cell.strip() for cell in table.column(groups)]
    for i, label in enumerate(labels or []):
        if not label:
            skipped.setdefault(i, f"{groups!r} is blank")
    molecules = None if smiles is None else _canonical(table.column(smiles), skipped)
    kept = [i for i in range(len(table.rows)) if i not in skipped]
    if len(kept) < _FEWEST:
        raise InputError(
            f"{source} must have at least {_FEWEST} complete rows. Got {len(kept)} of {len(table.rows)}"
            + "".join(f"; row {table.numbers[i]}: {why}" for i, why in sorted(skipped.items())[:1])
            + ("; leave out columns with blanks by naming the others with `features=`." if skipped else "; add some.")
        )
    texts = tuple(molecules[i] for i in kept) if molecules else None
    return Predictions(
        source=source,
        outputs=tuple(outputs),
        f=f[kept],
        features=tuple(chosen) if texts is None else _bits(),
        x=x[kept] if texts is None else _fingerprints(texts),
        rows=tuple(table.numbers[i] for i in kept),
        truth=None if known is None else known[kept],
        truth_name=truth,
        groups=None if labels is None else tuple(labels[i] for i in kept),
        smiles=texts,
        left_out=tuple(left_out),
        skipped=tuple((table.numbers[i], why) for i, why in sorted(skipped.items())),
    )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ScaledLinearFamily(WitnessFamily):
    """Linear witnesses that are fitted in standardized features and told in the features' own units.

    Without a ridge this is `LinearFamily`, only more exact where units are far apart; a ridge treats all features
    alike.
    """

    mean: np.ndarray = field(repr=False)
    """(P,) of each feature."""
    deviation: np.ndarray = field(repr=False)
    """(P,) standard deviation of each feature."""
    ridge: float = 0.0

    def best_response(self, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> LinearWitnesses:
        mean, deviation = torch.from_numpy(self.mean), torch.from_numpy(self.deviation)
        with quietly():  # the commands speak of few members in their own words
            fitted = LinearFamily(ridge=self.ridge).best_response((x.double() - mean) / deviation, f, hoods)
        coefficients = fitted.coefficients / deviation[:, None]
        intercepts = fitted.intercepts - torch.einsum("npk,p->nk", coefficients, mean)
        theta = torch.cat([intercepts[:, None], coefficients], dim=1)
        return LinearWitnesses(x=x, f=fitted.f, hoods=hoods, theta=theta, residuals=fitted.residuals)


def _find_predictions(table: Table, source: str) -> list[str]:
    found = [name for name in table.header if _PREDICTIONS.fullmatch(plain(name))]
    found = found or [name for name in table.header if _PROBABILITIES.fullmatch(plain(name))]
    for usual in _SCORES:
        found = found or [name for name in table.header if plain(name) == usual]
    if not found:
        raise InputError(
            f"{source} must have a column of predictions, named prediction or the like. Got "
            f"{', '.join(table.header)}; say which one it is with `prediction=`."
        )
    return found


def _choose_features(
    table: Table, others: list[str], asked: list[str], smiles: str | None, outputs: list[str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The columns that witnesses read, and the others with the reason."""
    if asked or smiles is not None:
        return asked, []
    flaws = {name: _flaw(table, name, others, outputs) for name in others}
    if all(flaws.values()):  # better a numbering, which may well be a time, than nothing
        flaws = {name: "" if why == _NUMBERING else why for name, why in flaws.items()}
    return [name for name in others if not flaws[name]], [(name, why) for name, why in flaws.items() if why]


def _flaw(table: Table, name: str, others: Sequence[str], outputs: Sequence[str]) -> str:
    """Why a column is no feature, unless it is asked for."""
    # As `pellucid predict` writes them: "predicted: wear", and beside it perhaps "tree: wear" and others.
    targets = {output.partition(": ")[2] for output in outputs} - {""}
    if targets and (name.partition(": ")[2] in targets or name in ("members", "note", "problem")):
        return "comes with the predictions"
    values = [value_of(cell, table.comma) for cell in table.column(name)]
    for cell, number, value in zip(table.column(name), table.numbers, values, strict=True):
        if value is None and plain(name) in SMILES_NAMES:
            return _MOLECULES
        if value is None:
            return f"{cell.strip()[:20]!r} in row {number} is no number"
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return "blank"
    if _PROBABILITIES.fullmatch(plain(name)):
        return "looks like a prediction; ask for it with `prediction=` or `features=`"
    if plain(name) in ID_NAMES or plain(name).endswith("_id"):
        return "a name"
    steps = set(np.diff(known).tolist())
    if len(known) == len(values) > 2 and steps == {1.0}:
        return _NUMBERING
    if len(set(known)) == 1:
        return "always the same"
    coordinate = any(plain(other) == "x" for other in others)
    if name in targets or plain(name) in _TRUTHS or (plain(name) == "y" and not coordinate):
        return "looks like measured values; say so with `truth=`, or ask for it with `features=`"
    return ""


def _find_smiles(source: str, left_out: Sequence[tuple[str, str]]) -> str:
    """The column of SMILES of a table that has no other features."""
    found = {plain(name): name for name, why in reversed(left_out) if why == _MOLECULES}
    for name in SMILES_NAMES:
        if name in found:
            return found[name]
    reasons = ", ".join(f"{name} ({why})" for name, why in left_out[:_LISTED]) or "no other columns"
    raise InputError(
        f"{source} must have features beside the predictions: columns of numbers, or one of SMILES. Got {reasons}; add "
        "what the model reads, or name the columns with `features=`."
    )


def _numbers(table: Table, names: Sequence[str], source: str, skipped: dict[int, str] | None) -> np.ndarray:
    """(rows, names) values; rows with blanks are noted in `skipped`."""
    result = np.empty((len(table.rows), len(names)))
    for k, name in enumerate(names):
        for i, cell in enumerate(table.column(name)):
            value = value_of(cell, table.comma)
            if value is None:
                raise InputError(
                    f"Column {name!r} of {source} must hold finite numbers. Got {cell.strip()[:40]!r} in row "
                    f"{table.numbers[i]}; mend it, or choose another column."
                )
            if math.isnan(value) and skipped is not None:
                skipped.setdefault(i, f"{name!r} is blank")
            result[i, k] = value
    return result


def _canonical(cells: Sequence[str], skipped: dict[int, str]) -> list[str]:
    from rdkit import rdBase

    from pellucid.molecules.table import canonical

    found = []
    with rdBase.BlockLogs():
        for i, cell in enumerate(cells):
            text, reason = canonical(cell.strip())
            if reason:
                skipped.setdefault(i, f"{cell.strip()[:40]!r}: {reason}")
            found.append(text)
    return found


def _bits() -> tuple[str, ...]:
    from pellucid.molecules.neighborhoods import MORGAN

    return tuple(f"bit {bit}" for bit in range(MORGAN.size))


def _fingerprints(smiles: Sequence[str]) -> np.ndarray:
    from pellucid.molecules.neighborhoods import MORGAN

    return np.asarray(MORGAN(smiles).dense().numpy())


def _similar(smiles: Sequence[str], threshold: float) -> Neighborhoods:
    """Molecules whose Tanimoto similarity is above the threshold, most similar first."""
    from pellucid.molecules.neighborhoods import MORGAN

    fingerprints = MORGAN(smiles)
    hits = fingerprints.similar_to(fingerprints, threshold=threshold)
    count = len(smiles)
    return Neighborhoods(torch.from_numpy(hits.members), torch.from_numpy(hits.offsets), torch.arange(count), count)
