"""Tables in text files, as people and programs write them: a line of names, then rows of cells."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import NamedTuple

from pellucid.errors import InputError

SMILES_NAMES = ("smiles", "canonical_smiles", "smi", "structure", "mol", "molecule")
"""Names of a column of SMILES, in the order in which they are looked for; capitals do not matter."""
_BLANKS = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "nd", "n.d.")


class Table(NamedTuple):
    """The cells of a file, as text."""

    header: list[str]
    rows: list[list[str]]
    numbers: list[int]
    """The number of each row in the file, where the line of names usually is row 1."""
    comma: bool
    """Whether numbers may have a decimal comma."""

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def read_table(path: str | Path) -> Table:
    """The cells of a text file with a line of names.

    Cells are separated by commas, semicolons (then numbers may have a decimal comma) or tabs, whichever the line of
    names has most. Blank lines do not count as rows, but keep their numbers.
    """
    if not isinstance(path, str | Path) or not Path(path).is_file():
        raise InputError(f"The table must be a CSV file. Got {str(path)!r}, which is none; correct the path.")
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} must be text in UTF-8. Got other bytes: an Excel or compressed file, or another encoding; "
            "save it as CSV in UTF-8."
        ) from None
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise InputError(f"{path.name} must be a table in text. Got one that cannot be read: {error}.") from None
    counted = [(i + 1, row) for i, row in enumerate(lines) if any(cell.strip() for cell in row)]
    if len(counted) < 2:
        raise InputError(
            f"{path.name} must have a line of names and at least one row. Got {len(counted)} lines; is it the "
            "right file?"
        )
    header = [title.strip() for title in counted[0][1]]
    twice = sorted({title for title in header if header.count(title) > 1})
    if twice:
        raise InputError(f"Every column of {path.name} must have its own name. Got {twice[0]!r} twice; rename one.")
    for number, row in counted[1:]:
        if len(row) != len(header):
            raise InputError(
                f"Every row of {path.name} must have {len(header)} cells, separated by {separator!r}. Got {len(row)} "
                f"in row {number}; mend it, and put texts that contain the separator in quotes."
            )
    return Table(header, [row for _, row in counted[1:]], [number for number, _ in counted[1:]], separator == ";")


def value_of(cell: str, comma: bool) -> float | None:
    """A number, NaN for a blank, None for anything else."""
    text = cell.strip()
    if text.lower() in _BLANKS:
        return math.nan
    try:
        value = float(text.replace(",", ".") if comma else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
