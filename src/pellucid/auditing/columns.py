"""What a column of a table is to a witness: a number, a category, or nothing that it could read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pellucid.errors import InputError
from pellucid.tables import LARGEST, Cells, value_of

LEVELS = 8
"""Levels of a category that are told apart; the rarer ones together are "other"."""
_YES, _NO = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([ap]m)?"
_DAY = "|".join(
    [
        r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}",
        r"\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})",
        rf"\d{{1,2}}[ -]?{_MONTH}[ -]?\d{{2,4}}",
        rf"{_MONTH} \d{{1,2}},? \d{{4}}",
    ]
)
_DATE = re.compile(rf"({_DAY})([t ]+{_CLOCK})?\s*(z|utc|[+-]\d{{2}}:?\d{{2}})?|{_CLOCK}")


class Column(NamedTuple):
    """One column, as witnesses read it: p numbers for each of N rows."""

    name: str
    features: tuple[str, ...]
    """(p,) names of the numbers: that of the column, or "(colour = red)" and so on."""
    values: np.ndarray
    """(N, p)."""
    codes: np.ndarray
    """(N,) the number of the level of a category, or the number itself; NaN where it was blank."""
    note: str = ""
    """What was done with the column, if anything."""
    levels: bool = False
    """Whether it is a category."""
    filled: int = 0
    """Number of blanks that were filled."""


def texts_of(cells: Sequence[str], comma: bool) -> list[str]:
    """The cells that are neither numbers nor blank."""
    return [cell.strip() for cell in cells if value_of(cell, comma) is None]


def is_date(cells: Sequence[str], comma: bool) -> bool:
    """Whether all texts are dates or times of day, and there are some."""
    texts = texts_of(cells, comma)
    return bool(texts) and all(_DATE.fullmatch(text.lower()) for text in texts)


def is_category(cells: Sequence[str], comma: bool) -> bool:
    """Whether a column holds texts, rather than numbers with a few typing errors."""
    texts = texts_of(cells, comma)
    numbers = [value for value in (value_of(cell, comma) for cell in cells) if value is not None and value == value]
    infinite = any(re.fullmatch(r"[+-]?inf(inity)?", text.lower()) for text in texts)
    return bool(texts) and not infinite and (len(texts) >= len(numbers) or len(set(numbers)) < LEVELS)


def read_column(name: str, cells: Sequence[str], rows: Sequence[int], comma: bool, source: str) -> Column:
    """A column as numbers, blanks filled.

    A number that is blank becomes the median of its column. A category becomes one column of 0 and 1 for each of its
    levels but the commonest, with which they are compared: at most eight levels, the rarer ones together are called
    "other", and blanks are a level like others. Yes and no, or true and false, are compared with no.

    Parameters
    ----------
    name : str
        Name of the column.
    cells : sequence of str
        The cells of the rows that are read.
    rows : sequence of int
        Numbers of these rows in the file, for messages.
    comma : bool
        Whether numbers may have a decimal comma.
    source : str
        Name of the file, for messages.
    """
    if not texts_of(cells, comma):
        column = _number(name, cells, comma)
        for value, row in zip(column.codes.tolist(), rows, strict=True):
            _require_moderate(value, name, row, source)
        return column
    category = is_category(cells, comma)
    for cell, row in zip(cells, rows, strict=True):
        date = value_of(cell, comma) is None and is_date([cell], comma)
        if date or (value_of(cell, comma) is None and not category):
            advice = "a date; write it as a number, such as days" if date else "fix it"
            raise InputError(
                f"Column {name!r} of {source} must hold finite numbers, or texts that repeat",
                got=f"{cell.strip()[:40]!r} in row {row}: {advice}, or choose another column",
            )
    return _category(name, cells, comma)


def read_numbers(table: Cells, names: Sequence[str], source: str, rejected: dict[int, str] | None) -> np.ndarray:
    """(rows, names) values; rows with blanks are noted in `rejected`."""
    result = np.empty((len(table.numbers), len(names)))
    for k, name in enumerate(names):
        for i, cell in enumerate(table.column(name)):
            value = value_of(cell, table.comma)
            if value is None:
                raise InputError(
                    f"Column {name!r} of {source} must hold finite numbers",
                    got=f"{cell.strip()[:40]!r} in row {table.numbers[i]}",
                    cure="fix it, or choose another column",
                )
            _require_moderate(value, name, table.numbers[i], source)
            if math.isnan(value) and rejected is not None:
                rejected.setdefault(i, f"{name!r} is blank")
            result[i, k] = value
    return result


def _require_moderate(value: float, name: str, row: int, source: str) -> None:
    """Refuse numbers whose squares, or the sums of these, are not known as numbers."""
    if abs(value) > LARGEST:
        raise InputError(
            f"Column {name!r} of {source} must hold numbers up to {LARGEST:g}",
            got=f"{value:g} in row {row}",
            cure="correct it, or use another unit",
        )


def reject_blanks(table: Cells, names: Sequence[str], rejected: dict[int, str]) -> None:
    """Note the rows with a blank in one of these columns in `rejected`."""
    for name in names:
        for i, cell in enumerate(table.column(name)):
            value = value_of(cell, table.comma)
            if value is not None and math.isnan(value):
                rejected.setdefault(i, f"{name!r} is blank")


def _number(name: str, cells: Sequence[str], comma: bool) -> Column:
    values = np.array([value_of(cell, comma) for cell in cells], dtype=np.float64)
    blank = np.isnan(values)
    if not blank.any() or blank.all():
        return Column(name, (name,), np.nan_to_num(values)[:, None], values)
    median = float(np.median(values[~blank]))
    note = f"{_cells(int(blank.sum()))} filled with the median, {median:.4g}"
    return Column(name, (name,), np.where(blank, median, values)[:, None], values, note, filled=int(blank.sum()))


def _category(name: str, cells: Sequence[str], comma: bool) -> Column:
    texts = [cell.strip() for cell in cells]
    blank = np.array([_is_blank(text, comma) for text in texts])
    # People write "none" or "?" for a level of its own: it keeps its name.
    written = {text for text, empty in zip(texts, blank, strict=True) if empty}
    blank_level = written.pop() if len(written) == 1 and "" not in written else "blank"
    texts = [blank_level if empty else text for text, empty in zip(texts, blank, strict=True)]
    counts = Counter(texts)
    levels = sorted(counts, key=lambda level: (-counts[level], level))
    notes = []
    if len(levels) > LEVELS:
        named = levels[: LEVELS - 1]
        notes.append(f"{len(levels)} levels, the {len(levels) - len(named)} rarest are 'other'")
        texts = [text if text in named else "other" for text in texts]
        levels = [*(level for level in named if level != "other"), "other"]
    base = next((level for level in levels if level.lower() in _NO), None)
    rest = {level.lower() for level in levels} - {*_YES, *_NO, blank_level.lower() if blank.any() else ""}
    base = base if base is not None and not rest else levels[0]
    others = [level for level in levels if level != base]
    listed = ", ".join(others[:-1]) + (" or " if others[1:] else "") + "".join(others[-1:])
    notes.insert(0, f"{listed} against {base}")
    if blank.any():
        notes.append(f"{_cells(int(blank.sum()))}: a level like others")
    codes = np.array([levels.index(text) for text in texts], dtype=np.float64)
    values = np.array([[float(text == level) for level in others] for text in texts]).reshape(len(texts), -1)
    features = tuple(f"({name} = {level})" for level in others)
    return Column(name, features, values, codes, "; ".join(notes), levels=True)


def _is_blank(text: str, comma: bool) -> bool:
    value = value_of(text, comma)
    return value is not None and math.isnan(value)


def _cells(count: int) -> str:
    return f"{count} blank cell{'' if count == 1 else 's'}"


def varies(values: np.ndarray) -> np.ndarray:
    """Whether numbers, or each column of them, differ by more than rounding: by more than 8 eps of the largest."""
    return np.asarray(np.ptp(values, axis=0) > 8 * np.finfo(np.float64).eps * np.abs(values).max(axis=0))
