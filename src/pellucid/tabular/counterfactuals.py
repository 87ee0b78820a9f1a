"""Counterfactuals: the smallest changes that change the answer, found along the law, verified by the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from pellucid.numbers import significant
from pellucid.schemas import Measured
from pellucid.tabular.encoding import Encoding

# Steps along a column, and halvings of the step in which the answer changes.
_STEPS, _HALVINGS = 24, 12
# The most columns that change together, and the most counterfactuals that are kept.
_TOGETHER, _KEPT = 4, 3
# Digits of numbers: what is read is what the network was asked about.
_DIGITS = 4


@final
@dataclass(frozen=True, kw_only=True)
class Change:
    """One column of a counterfactual."""

    column: str
    before: str
    after: str


@final
@dataclass(frozen=True, kw_only=True)
class Counterfactual:
    """A row like the one explained but for a few columns, for which the network gives the answer that is wanted."""

    changes: tuple[Change, ...]
    size: float
    """How far it is, in standard deviations; another level counts as one."""
    prediction: float
    """What the network says of it: a number, or the probability of the class that is wanted."""
    codes: tuple[Measured, ...]
    """The values of all columns that are used, as `Encoding.codes` has them."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return asdict(self)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class CounterfactualSearch:
    """Looks for counterfactuals of one row.

    Along each column that may change the row goes in the direction in which its law raises what is wanted, within the
    range of the table, or to another level. The network is asked about every step, and the first one that it answers as
    wanted is made as small as it can be. Then the strongest two, three and four columns change together, each in
    proportion to its coefficient; and if nothing has been enough so far, a column of levels and one of numbers. Numbers
    have four digits, so that what is read is what the network was asked about.

    Parameters
    ----------
    encoding : Encoding
        From codes to features.
    accept : callable
        From codes (N, C) to whether the network gives the answer that is wanted, and the number to report, (N,) both.
    """

    encoding: Encoding
    accept: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

    def find(self, codes: np.ndarray, gain: np.ndarray, allowed: Sequence[str]) -> tuple[Counterfactual, ...]:
        """Up to three counterfactuals, the smallest first.

        Parameters
        ----------
        codes : ndarray
            (C,) the row.
        gain : ndarray
            (P,) by how much the law raises what is wanted for each scaled feature.
        allowed : sequence of str
            The columns that may change.
        """
        columns = [c for c, column in enumerate(self.encoding.used) if column.name in allowed]
        found: list[Counterfactual] = []
        for c in columns:
            found += self._along([c], codes, gain)
        strong = sorted(
            (c for c in columns if not self.encoding.used[c].has_levels), key=lambda c: -abs(self._slope(c, gain))
        )
        found += [one for count in range(2, min(_TOGETHER, len(strong)) + 1)
                  for one in self._along(strong[:count], codes, gain)]  # fmt: skip
        if not found:
            found += [one for row in self._other_levels(columns, codes, gain) for c in strong[:_TOGETHER]
                      for one in self._along([c], row, gain, codes)]  # fmt: skip
        kept: list[Counterfactual] = []
        for one in sorted(found, key=lambda one: (round(one.size, 9), len(one.changes))):
            # A larger change that touches the same columns and more says nothing new.
            names = {change.column for change in one.changes}
            if not any({change.column for change in other.changes} <= names for other in kept):
                kept.append(one)
        return tuple(kept[:_KEPT])

    def _slope(self, c: int, gain: np.ndarray) -> float:
        """The gain of a column of numbers for one standard deviation."""
        places = np.flatnonzero((self.encoding.column_of == c) & ~self.encoding.is_indicator)
        return float(gain[places].sum())

    def _other_levels(self, columns: Sequence[int], codes: np.ndarray, gain: np.ndarray) -> list[np.ndarray]:
        """The row with the level that the law likes best, for each column of levels that has a better one."""
        result = []
        for c in columns:
            rows = np.repeat(codes[None], 1 + len(self.encoding.used[c].levels), axis=0)
            rows[1:, c] = np.arange(len(rows) - 1)
            best = int((self.encoding.scaled(rows).numpy() @ gain).argmax())
            if len(rows) > 1 and best:
                result.append(rows[best])
        return result

    def _along(
        self, columns: Sequence[int], codes: np.ndarray, gain: np.ndarray, origin: np.ndarray | None = None
    ) -> list[Counterfactual]:
        """What is found from a row on; changes are those of the row explained, the `origin`, by default the same."""
        if len(columns) == 1 and self.encoding.used[columns[0]].has_levels:
            return self._levels(columns[0], codes)
        direction = {c: self._slope(c, gain) for c in columns}
        if not any(direction.values()):
            return []
        scale = max(abs(slope) for slope in direction.values())
        ends = {c: self._end(c, codes, slope) for c, slope in direction.items() if slope}
        # One step moves the strongest column by so many standard deviations.
        reach = max((abs(end - start) / unit for start, end, unit in ends.values()), default=0.0)
        if not reach > 0:
            return []

        def at(share: float) -> np.ndarray:
            row = codes.copy()
            for c, (start, end, unit) in ends.items():
                moved = start + share * reach * unit * direction[c] / scale
                moved = min(moved, end) if end > start else max(moved, end)
                row[c] = self._rounded(c, moved, start)
            return row

        shares = np.arange(1, _STEPS + 1) / _STEPS
        good, _ = self.accept(np.stack([at(share) for share in shares]))
        if not good.any():
            return []
        high = float(shares[int(good.argmax())])
        low = high - 1 / _STEPS
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.accept(at(middle)[None])[0][0] else (middle, high)
        return self._verified(at(high), codes if origin is None else origin)

    def _end(self, c: int, codes: np.ndarray, slope: float) -> tuple[float, float, float]:
        """Where a column starts, how far it may go in this direction, and its standard deviation."""
        column = self.encoding.used[c]
        start = column.median if np.isnan(codes[c]) else float(codes[c])
        place = int(np.flatnonzero((self.encoding.column_of == c) & ~self.encoding.is_indicator)[0])
        end = column.highest if slope > 0 else column.lowest
        beyond = (end - start) * slope < 0  # the row is outside the range already
        return start, start if beyond else end, float(self.encoding.scale[place])

    def _rounded(self, c: int, value: float, start: float) -> float:
        """A number as it is shown, rounded away from where it comes from, unless that leads out of the range of the
        table; whole numbers and dates stay whole.
        """
        if value in (start, 0.0):
            return value
        column = self.encoding.used[c]
        away, back = (np.ceil, np.floor) if value > start else (np.floor, np.ceil)
        slack = 1e-9 if value > start else -1e-9
        if column.whole:
            return float(away(value - slack))
        unit = 10.0 ** (np.floor(np.log10(abs(value))) + 1 - _DIGITS)
        shown = significant(away(value / unit - slack) * unit, _DIGITS)
        if column.lowest <= shown <= column.highest:
            return shown
        return significant(back(value / unit) * unit, _DIGITS)

    def _levels(self, c: int, codes: np.ndarray) -> list[Counterfactual]:
        others = [i for i in range(len(self.encoding.used[c].levels)) if i != codes[c]]
        rows = np.repeat(codes[None], len(others), axis=0)
        rows[:, c] = others
        good, numbers = self.accept(rows)
        best = max((int(i) for i in np.flatnonzero(good)), key=lambda i: numbers[i], default=None)
        return [] if best is None else self._verified(rows[best], codes)

    def _verified(self, row: np.ndarray, codes: np.ndarray) -> list[Counterfactual]:
        """The counterfactual, if the network gives the answer that is wanted."""
        good, numbers = self.accept(row[None])
        changed = [c for c in range(len(row)) if not _same(row[c], codes[c])]
        if not good[0] or not changed:
            return []
        used, scaled = self.encoding.used, self.encoding.scaled(np.stack([row, codes])).numpy()
        steps = np.square(scaled[0] - scaled[1]) * np.square(self.encoding.near_scale)
        changes = [
            Change(column=used[c].name, before=used[c].text(codes[c]), after=used[c].text(row[c])) for c in changed
        ]
        return [
            Counterfactual(
                changes=tuple(changes),
                size=float(np.sqrt(steps.sum())),
                prediction=float(numbers[0]),
                codes=tuple(row.tolist()),
            )
        ]


def _same(a: float, b: float) -> bool:
    return a == b or (np.isnan(a) and np.isnan(b))
