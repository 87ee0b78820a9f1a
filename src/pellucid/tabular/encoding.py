"""Rows as numbers: what networks and witnesses read, and how that is said in the units of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import InputError, Parameter
from pellucid.numbers import listed, number
from pellucid.schemas import SMALLEST, SchemaError, checked
from pellucid.stored_arrays import array_of
from pellucid.tabular.columns import Column
from pellucid.tabular.frames import Frame

# Standard deviations beyond which a number is a mistake: networks and laws compute with squares of such numbers.
_FARTHEST = 1e12


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Encoding:
    """From rows of a table to P features, and back to words.

    A number or date is one feature, and a second one says where it is blank, if blanks were seen. A column of two
    levels is one feature, 1 for the second level; one of more levels has a feature for each. A level that was never
    seen counts as the average of the levels, by how common they are.

    Networks, witnesses and the search for neighbors read features that are shifted and scaled: numbers by their mean
    and standard deviation, levels not.

    Attributes
    ----------
    columns : tuple of Column
        What was decided about each column of the table, in its order.
    shift, scale : ndarray
        (P,) the scaled feature is (feature - shift) / scale.
    """

    columns: tuple[Column, ...]
    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, columns: Sequence[Column], frame: Frame) -> Encoding:
        """An encoding whose scales are those of these rows."""
        plain = cls(columns=tuple(columns), shift=np.zeros(0), scale=np.ones(0))
        x = plain.features(plain.codes(frame))
        number = ~plain.is_indicator
        shift, scale = np.where(number, x.mean(0), 0.0), np.where(number, x.std(0), 1.0)
        scale[~(scale >= SMALLEST)] = 1.0
        return cls(columns=tuple(columns), shift=shift, scale=scale)

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The C columns that something is learned from."""
        return tuple(column for column in self.columns if column.used)

    @cached_property
    def _layout(self) -> list[tuple[int, str, bool]]:
        """For each feature its column among those used, its name, and whether it is 0 or 1."""
        layout = []
        for c, column in enumerate(self.used):
            if column.has_levels:
                levels = column.levels[1:] if len(column.levels) == 2 else column.levels
                layout += [(c, f"({column.name} = {level})", True) for level in levels]
            else:
                layout.append((c, column.name, False))
                if column.blanks:
                    layout.append((c, f"({column.name} is blank)", True))
        return layout

    @cached_property
    def feature_names(self) -> list[str]:
        """(P,)."""
        return [name for _, name, _ in self._layout]

    @cached_property
    def column_of(self) -> np.ndarray:
        """(P,) the column, among those used, that each feature belongs to."""
        return np.array([c for c, _, _ in self._layout], dtype=np.int64)

    @cached_property
    def is_indicator(self) -> np.ndarray:
        """(P,) whether a feature is 0 or 1."""
        return np.array([indicator for _, _, indicator in self._layout], dtype=bool)

    @cached_property
    def copied(self) -> np.ndarray:
        """(P,) whether values of a feature lie apart, so that sampled rows copy one and have none between."""
        steps = np.array([column.steps for column in self.used], dtype=bool)
        return np.asarray(self.is_indicator | steps[self.column_of])

    def codes(self, frame: Frame) -> np.ndarray:
        """(N, C) numbers: values, days, or positions of levels, as `Column.codes` has them."""
        names = {name: i for i, name in enumerate(frame.names)}
        absent = [column.name for column in self.used if column.name not in names]
        if absent:
            raise InputError(
                "The table must have the columns that the model was trained on",
                got=f"none called {listed([repr(name) for name in absent], 4)}",
                cure="add them, or leave their cells blank",
                parameter="X",
            )
        columns = [column.codes(frame.columns[names[column.name]]) for column in self.used]
        return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))

    def features(self, codes: np.ndarray) -> np.ndarray:
        """(N, P) features in the units of the table."""
        parts = []
        for column, values in zip(self.used, codes.T, strict=True):
            if column.has_levels:
                parts += _indicators(column, values)
            else:
                blank = np.isnan(values)
                parts.append(np.where(blank, column.median, values))
                if column.blanks:
                    parts.append(blank.astype(np.float64))
        return np.stack(parts, axis=1) if parts else np.zeros((len(codes), 0))

    def scaled(self, codes: np.ndarray) -> Tensor:
        """(N, P) scaled features, in float64; numbers that are immensely far from what was learned from are refused."""
        scaled = (self.features(codes) - self.shift) / self.scale
        far = np.argwhere(np.abs(scaled) > _FARTHEST)
        if len(far):
            row, feature = far[0].tolist()
            column = self.used[self.column_of[feature]]
            raise InputError(
                f"Column {column.name!r} must hold numbers such as were learned from, {column.text(column.lowest)} to "
                f"{column.text(column.highest)}",
                got=f"{number(float(codes[row, self.column_of[feature]]), 4)} in row {row + 1}",
                cure="correct it, or leave it blank",
                parameter="X",
            )
        return torch.from_numpy(scaled)

    def read(self, frame: Frame) -> Tensor:
        """(N, P) scaled features of the rows of a table."""
        return self.scaled(self.codes(frame))

    @cached_property
    def near_scale(self) -> np.ndarray:
        """(P,) by which features are multiplied before distances are taken: two rows with different levels in one
        column are one standard deviation apart.
        """
        counts = np.bincount(self.column_of, minlength=len(self.used))
        several = self.is_indicator & (counts[self.column_of] > 2)
        return np.where(several, np.sqrt(0.5), 1.0)

    def near(self, scaled: Tensor) -> np.ndarray:
        """(N, P) where rows lie when neighbors are looked for: far values of a column count less and less."""
        x = scaled.numpy()
        return np.asarray(np.where(self.is_indicator, x, clipped(x)) * self.near_scale)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {
            "columns": [column.to_dict() for column in self.columns],
            "shift": self.shift.tolist(),
            "scale": self.scale.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Encoding:
        """What `to_dict` gave."""
        columns = tuple(Column.from_dict(column) for column in checked(list[dict[str, Any]], content["columns"]))
        names = [column.name for column in columns]
        shift = array_of(content["shift"], [None], "shift")
        scale = array_of(content["scale"], [len(shift)], "scale", low=SMALLEST)
        encoding = cls(columns=columns, shift=shift, scale=scale)
        if len({*names}) < len(names) or not len(shift) == len(encoding.feature_names) > 0:
            raise SchemaError("the columns are not those of the features, or two have the same name")
        return encoding


def clipped(x: np.ndarray) -> np.ndarray:
    """Returns x / sqrt(1 + (x / 3)^2): numbers up to one or two stay about as they are, and none is beyond three."""
    return np.asarray(x / np.sqrt(1 + np.square(x / 3)))


def _indicators(column: Column, codes: np.ndarray) -> list[np.ndarray]:
    rows = [np.where(codes < 0, share, codes == i) for i, share in enumerate(column.shares)]
    return rows[1:] if len(rows) == 2 else rows


def check_share(value: Any, name: str) -> float:
    """A share of the rows; an error unless it is in [0, 1)."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 <= value < 1:
        raise InputError(
            f"{Parameter(name)} must be a share in [0, 1)", got=f"{value!r}", cure="try 0.15", parameter=name
        )
    return float(value)
