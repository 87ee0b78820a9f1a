"""Predictions of any model in a table, beside the features that witnesses read: what `pellucid audit` judges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

import numpy as np

from pellucid import _molecule_features, _roles
from pellucid.builders import from_lists, nearest
from pellucid.columns import Column, read_column, read_numbers, skip_blanks, varies
from pellucid.errors import InputError, Parameter
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.outcomes import OUTCOME, alike, revealing
from pellucid.tables import Table, read_table, require_column, value_of
from pellucid.witnesses.scaled import ScaledLinearFamily

# Fewer rows have no neighborhoods to speak of.
_FEWEST = 3
# Rows and columns that a message lists.
_LISTED, _COLUMNS = 5, 20


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
    named: bool = True
    """Whether the features were named, and not all columns that might be some."""
    notes: tuple[tuple[str, str], ...] = ()
    """What was done with columns that are not simply numbers: categories, and blanks that were filled."""
    categories: tuple[tuple[int, int], ...] = ()
    """Where the levels of each category begin and end among the features."""
    alike: tuple[tuple[str, float], ...] = ()
    """Features that may be measured values, as they rise and fall with the predictions, and their rank correlation."""
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
        lines = [f"{self.source}: {len(self)} rows", f"predictions: {', '.join(self.outputs)}", self._read()]
        if not self.named and self.smiles is None:
            lines.append(
                f"  they must be what the model read: if not, name those that are with {Parameter('features'):=}"
            )
        lines += [f"  {name}: {note}" for name, note in self.notes]
        if self.truth_name is not None:
            lines.append(f"measured values: {self.truth_name}")
        if self.left_out:
            listed = [f"  {name}: {why}" for name, why in self.left_out[:_COLUMNS]]
            more = len(self.left_out) - _COLUMNS
            lines += ["columns left out:", *listed, *([f"  and {more} more"] if more > 0 else [])]
        if self.skipped:
            skips = "; ".join(f"row {row}: {why}" for row, why in self.skipped[:_LISTED])
            lines.append(f"rows left out: {len(self.skipped)} ({skips}{'; ...' if self.skipped[_LISTED:] else ''})")
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

    @property
    def step(self) -> np.ndarray:
        """(P,) what counts as one step of each feature: the standard deviation of a number, and the difference of two
        values where there are only two, as of the levels of categories; 1 where it is constant up to rounding.
        """
        low, high = self.x.min(axis=0), self.x.max(axis=0)
        step = self.x.std(axis=0)
        if self.smiles is None:
            step = np.where(((self.x == low) | (self.x == high)).all(axis=0), high - low, step)
        return np.where(varies(self.x), step, 1.0)

    def places(self) -> np.ndarray:
        """(N, Q) where rows lie, to measure how far they are apart: features in their steps, see `step`.

        Two rows that differ in a category are 1 apart in it, whichever its levels: as far as rows that differ by one
        standard deviation of a number. For that a category of more than two levels has a column for each of them,
        divided by the root of 2; a flag that is rarely set would otherwise outweigh everything else.
        """
        # Measured from the lowest, so that what is constant in a neighborhood stays so to the last digit.
        x = (self.x - self.x.min(axis=0)) / self.step
        several = [(start, end) for start, end in self.categories if end - start > 1]
        for start, end in several:
            x[:, start:end] /= math.sqrt(2)
        bases = [(1 - self.x[:, start:end].sum(1, keepdims=True)) / math.sqrt(2) for start, end in several]
        return np.concatenate([x, *bases], axis=1)

    def linear_family(self, ridge: float = 0.0) -> ScaledLinearFamily:
        """Linear witnesses that read all features alike, in their steps, and are written in their units."""
        return ScaledLinearFamily(step=self.step, ridge=ridge)

    def neighborhoods(self, *, neighbors: int, threshold: float = 0.6) -> BaseNeighborhoods:
        """Who is near whom.

        Rows of the same group, one neighborhood each, where there are groups; molecules with a Tanimoto similarity
        above the threshold; otherwise the nearest rows (the row itself first), as `places` has them.
        """
        if self.groups is not None:
            return self._grouped()
        if self.smiles is not None:
            return _molecule_features.similar(self.smiles, threshold)
        return nearest(self.places(), k=min(neighbors, len(self)))

    def _grouped(self) -> Neighborhoods:
        """One neighborhood for each group; its center is the member nearest to the mean of its features."""
        members: dict[str, list[int]] = {}
        for i, group in enumerate(self.groups or ()):
            members.setdefault(group, []).append(i)
        x = self.places()
        centers = [rows[int(np.argmin(((x[rows] - x[rows].mean(0)) ** 2).sum(1)))] for rows in members.values()]
        return from_lists(list(members.values()), centers, n_points=len(self))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are features; a category is one of them. None for molecules."""
        if self.smiles is not None:
            return ()
        later = {i for start, end in self.categories for i in range(start + 1, end)}
        first = {start: self.features[start][1:].partition(" = ")[0] for start, end in self.categories}
        return tuple(first.get(i, name) for i, name in enumerate(self.features) if i not in later)

    def _read(self) -> str:
        what = ", ".join(self.columns) if self.smiles is None else f"{len(self.features)} bits of fingerprints"
        return f"features: {what}"


def read_predictions(
    path: str | Path,
    *,
    prediction: Sequence[str] = (),
    features: Sequence[str] = (),
    truth: str | None = None,
    groups: str | None = None,
    smiles: str | None = None,
    blanks: Literal["fill", "drop"] = "fill",
) -> Predictions:
    """Predictions and features from a text file with a line of names; see `pellucid.tables.read_table`.

    Columns of texts that repeat are categories, see `pellucid.columns.read_column`. Rows without a prediction or a
    group are left out, and listed.

    Parameters
    ----------
    path : str or Path
        The file.
    prediction : sequence of str
        The columns of predictions; by default those whose name says so.
    features : sequence of str
        The columns that witnesses read: those that the model read. By default all others that hold numbers or
        categories, without names, numberings, dates, constants, columns that are mostly blank, what looks like
        measured values, and what gives itself away as an outcome, see `pellucid.outcomes`.
    truth : str, optional
        A column of measured values: no feature; the error of the predictions is reported.
    groups : str, optional
        A column that says which rows are a neighborhood.
    smiles : str, optional
        A column of molecules whose fingerprints are the features; used by default where there is one and there are no
        other features.
    blanks : {"fill", "drop"}
        Among the features: "fill" puts the median of the column, and makes blanks of a category a level of their own;
        "drop" leaves these rows out.
    """
    if blanks not in ("fill", "drop"):
        raise InputError(f"{Parameter('blanks')} must be 'fill' or 'drop'", got=f"{blanks!r}", parameter="blanks")
    table = read_table(path)
    source = Path(path).name
    for option, asked_for in {
        "prediction": prediction,
        "features": features,
        "truth": [truth] if truth is not None else [],
        "groups": [groups] if groups is not None else [],
        "smiles": [smiles] if smiles is not None else [],
    }.items():
        for name in asked_for:
            require_column(name, table.header, source, f"{Parameter(option):=}")
    outputs = list(dict.fromkeys(prediction)) or _roles.find_predictions(table, source)
    others = [name for name in table.header if name not in (*outputs, truth, groups, smiles)]
    asked = list(dict.fromkeys(features))
    chosen, left_out = _roles.choose_features(table, others, asked, smiles, outputs)
    clash = set(chosen) & {*outputs, truth, groups}
    if clash:
        raise InputError("A column must be one thing", got=f"{sorted(map(str, clash))[0]!r} twice", cure="name it once")
    if not chosen and smiles is None:
        smiles = _roles.find_smiles(source, left_out)
        left_out = [(name, why) for name, why in left_out if name != smiles]
    skipped: dict[int, str] = {}
    f = read_numbers(table, outputs, source, skipped)
    known = None if truth is None else read_numbers(table, [truth], source, None)[:, 0]
    if known is not None and np.isnan(known).all():
        raise InputError(
            f"{Parameter('truth'):=} must hold measured values",
            got=f"{truth!r}, which is blank",
            cure="choose another column",
            parameter="truth",
        )
    labels = None if groups is None else [cell.strip() for cell in table.column(groups)]
    for i, label in enumerate(labels or []):
        if not label:
            skipped.setdefault(i, f"{groups!r} is blank")
    molecules = None if smiles is None else _molecule_features.canonical_smiles(table.column(smiles), skipped)
    if blanks == "drop":
        skip_blanks(table, chosen, skipped)
    kept = [i for i in range(len(table.rows)) if i not in skipped]
    if len(kept) < _FEWEST:
        raise InputError(
            f"{source} must have at least {_FEWEST} complete rows",
            got=f"{len(kept)} of {len(table.rows)}"
            + "".join(f"; row {table.numbers[i]}: {why}" for i, why in sorted(skipped.items())[:1]),
            cure=f"leave out columns with blanks by naming the others with {Parameter('features'):=}"
            if skipped
            else "add some",
        )
    rows = tuple(table.numbers[i] for i in kept)
    columns: list[Column] = []
    outcome = False  # whether it is clear which column was to be predicted
    if smiles is None:
        cells = {name: table.column(name) for name in chosen}
        columns = [read_column(name, [c[i] for i in kept], rows, table.comma, source) for name, c in cells.items()]
        if not asked:
            measured = _measured(table, truth, left_out, kept)
            outcome = measured is not None or any(why.startswith(OUTCOME) for _, why in left_out)
            columns, outcomes = _without_outcomes(columns, f[kept], measured)
            left_out += outcomes
            if not columns:
                _roles.find_smiles(source, left_out)
    names = tuple(feature for column in columns for feature in column.features)
    x = np.concatenate([column.values for column in columns], axis=1) if columns else np.empty((len(kept), 0))
    texts = tuple(molecules[i] for i in kept) if molecules else None
    return Predictions(
        source=source,
        outputs=tuple(outputs),
        f=f[kept],
        features=names if texts is None else _molecule_features.bit_names(),
        x=x if texts is None else _molecule_features.fingerprints(texts),
        rows=rows,
        truth=None if known is None else known[kept],
        truth_name=truth,
        groups=None if labels is None else tuple(labels[i] for i in kept),
        smiles=texts,
        named=bool(asked),
        notes=tuple((column.name, column.note) for column in columns if column.note),
        categories=_ranges(columns),
        alike=() if asked or outcome else tuple(alike(columns, f[kept]).items()),
        left_out=tuple(left_out),
        skipped=tuple((table.numbers[i], why) for i, why in sorted(skipped.items())),
    )


def _measured(
    table: Table, truth: str | None, left_out: Sequence[tuple[str, str]], kept: Sequence[int]
) -> tuple[str, np.ndarray] | None:
    """A column of measured values, named or not, to hold the others against."""
    names = [truth] if truth is not None else [name for name, why in left_out if why == _roles.measured_reason()]
    for name in names:
        values = [value_of(cell, table.comma) for cell in table.column(name)]
        if None not in values:
            return name, np.array(values, dtype=np.float64)[list(kept)]
    return None


def _without_outcomes(
    columns: list[Column], f: np.ndarray, measured: tuple[str, np.ndarray] | None
) -> tuple[list[Column], list[tuple[str, str]]]:
    """The columns that a model may have read, and the others with the reason."""
    if measured is None:
        return columns, []
    name, truth = measured
    reasons = revealing(columns, f, truth, name)
    return [column for column in columns if column.name not in reasons], list(reasons.items())


def _ranges(columns: Sequence[Column]) -> tuple[tuple[int, int], ...]:
    """Where the levels of each category begin and end."""
    ends = np.cumsum([len(column.features) for column in columns]).tolist()
    pairs = zip(columns, ends, strict=True)
    return tuple((end - len(column.features), end) for column, end in pairs if column.levels)
