"""Predictions of any model beside the features that witnesses read: what `pellucid audit` judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, final

import numpy as np

from pellucid._searched import PointSearch, SearchedNeighborhoods
from pellucid.auditing.columns import varies
from pellucid.builders import from_lists, nearest
from pellucid.errors import Parameter
from pellucid.neighborhoods import BaseNeighborhoods, Neighborhoods
from pellucid.witnesses.scaled import ScaledLinearFamily

# Rows and columns that a message lists.
_LISTED, _COLUMNS = 5, 20


class StructureFeatures(Protocol):
    """What witnesses read of structures that are written as text, such as molecules; a domain provides it."""

    @property
    def names(self) -> tuple[str, ...]:
        """(P,) names of the features."""
        ...

    def canonical(self, cells: Sequence[str]) -> tuple[list[str], dict[int, str]]:
        """The structure of each cell in canonical form, and the reasons by the indices of cells that hold none."""
        ...

    def values(self, structures: Sequence[str]) -> np.ndarray:
        """(N, P) features of N structures, as `canonical` has them."""
        ...

    def substructures(self, features: Iterable[int], structures: Sequence[str]) -> dict[int, str]:
        """What features stand for in these structures, by the indices of the features."""
        ...

    def neighborhoods(self, structures: Sequence[str], threshold: float) -> Neighborhoods:
        """For each structure, those whose similarity is above the threshold, the most similar first."""
        ...


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
    """The molecules whose fingerprints the features are, if they are."""
    structures: StructureFeatures | None = None
    """The source of these fingerprints."""
    named: bool = True
    """Whether a user named the features, rather than the reader chose them."""
    notes: tuple[tuple[str, str], ...] = ()
    """Names of columns, and what was done with them: categories, and blanks that were filled."""
    categories: tuple[tuple[int, int], ...] = ()
    """First and last (exclusive) feature of each category."""
    alike: tuple[tuple[str, float], ...] = ()
    """Features that may be measured values, as they rise and fall with the predictions, and their rank correlation."""
    ignored: tuple[tuple[str, str], ...] = ()
    """Ignored columns, each with the reason."""
    rejected: tuple[tuple[int, str], ...] = ()
    """Numbers of rejected rows, each with the reason."""
    search: PointSearch | None = None
    """Of long tables the search for the nearest rows, by their `coordinates`: then none are kept."""

    def __len__(self) -> int:
        return len(self.f)

    def __repr__(self) -> str:
        return f"Predictions({self.summary()})"

    def summary(self) -> str:
        """What was read and what was not, one line each."""
        lines = [f"{self.source}: {len(self)} rows", f"predictions: {', '.join(self.outputs)}", self._features_line()]
        if not self.named and self.smiles is None:
            lines.append(
                f"  they must be what the model read: if not, name those that are with {Parameter('features'):=}"
            )
        lines += [f"  {name}: {note}" for name, note in self.notes]
        if self.truth_name is not None:
            lines.append(f"measured values: {self.truth_name}")
        if self.ignored:
            listed = [f"  {name}: {why}" for name, why in self.ignored[:_COLUMNS]]
            more = len(self.ignored) - _COLUMNS
            lines += ["ignored columns:", *listed, *([f"  and {more} more"] if more > 0 else [])]
        if self.rejected:
            reasons = "; ".join(f"row {row}: {why}" for row, why in self.rejected[:_LISTED])
            etc = "; ..." if self.rejected[_LISTED:] else ""
            lines.append(f"rejected rows: {len(self.rejected)} ({reasons}{etc})")
        return "\n".join(lines)

    def errors(self) -> dict[str, float]:
        """Root mean squared error of the output against the measured values, if there are any.

        Of several outputs there is none: probabilities of classes, say, are not all compared with one column.
        """
        if self.truth is None or len(self.outputs) > 1:
            return {}
        measured = ~np.isnan(self.truth)
        squares = (self.f[measured] - self.truth[measured, None]) ** 2
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

    def coordinates(self) -> np.ndarray:
        """(N, Q) coordinates of the rows, whose distances say how near they are: features in units of their `step`.

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

    def linear_family(self, ridge: float | Literal["auto"] = 0.0) -> ScaledLinearFamily:
        """Linear witnesses that read all features alike, in their steps, and are written in their units."""
        return ScaledLinearFamily(step=self.step, ridge=ridge)

    def neighborhoods(self, *, neighbors: int, threshold: float = 0.6) -> BaseNeighborhoods:
        """The neighborhoods of the rows.

        If there are groups, one neighborhood for each; of molecules, those with a Tanimoto similarity above the
        threshold; otherwise the nearest rows (the row itself first), by their `coordinates`.
        """
        if self.groups is not None:
            return self._grouped()
        if self.smiles is not None and self.structures is not None:
            return self.structures.neighborhoods(self.smiles, threshold)
        if self.search is not None:
            return SearchedNeighborhoods(self.search, k=min(neighbors, len(self)))
        return nearest(self.coordinates(), k=min(neighbors, len(self)))

    def substructures(self, features: Iterable[int], rows: Sequence[int] | None = None) -> dict[int, str]:
        """What features of molecules stand for, by the indices of the features; empty for other features.

        Parameters
        ----------
        features : iterable of int
            Indices of the features.
        rows : sequence of int, optional
            Indices of the molecules in which to look for them; by default all.
        """
        if self.smiles is None or self.structures is None:
            return {}
        molecules = self.smiles if rows is None else [self.smiles[i] for i in rows]
        return self.structures.substructures(features, molecules)

    def _grouped(self) -> Neighborhoods:
        """One neighborhood for each group; its center is the member nearest to the mean of its features."""
        members: dict[str, list[int]] = {}
        for i, group in enumerate(self.groups or ()):
            members.setdefault(group, []).append(i)
        x = self.coordinates()
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

    def _features_line(self) -> str:
        names = ", ".join(self.columns) if self.smiles is None else f"{len(self.features)} bits of fingerprints"
        return f"features: {names}"
