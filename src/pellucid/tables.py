"""Tables in text files, as people and programs write them: a line of names, then rows of cells."""

from __future__ import annotations

import csv
import difflib
import io
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pellucid.errors import InputError, Parameter

SMILES_NAMES = ("smiles", "canonical_smiles", "smi", "structure", "mol", "molecule")
"""Names of a column of SMILES, in the order in which they are looked for; capitals do not matter."""
ID_NAMES = ("id", "ids", "index", "idx", "key", "name", "row", "number", "no", "unnamed:_0", "")
"""Names of a column that numbers or names its rows, as `plain` has them; and whatever ends in _id."""
_ROW_NAMES = (
    "id", "name", "names", "title", "compound", "compound_id", "compound_name", "molecule_id", "molecule_name",
    "mol_id", "molecule_chembl_id", "chembl_id",
)  # fmt: skip
LARGEST = 1e30
"""Numbers to learn from are not larger: their squares and sums would overflow the precision that networks have."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_BLANKS = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "nd", "n.d.")


class Table(NamedTuple):
    """The cells of a file, as text."""

    header: list[str]
    rows: list[list[str]]
    numbers: list[int]
    """The number of each row in the file, where the line of names usually is row 1."""
    comma: bool
    """Whether numbers may have a decimal comma."""
    source: str
    """The name of the file, for messages."""

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def read_table(path: str | Path | Table) -> Table:
    """The cells of a text file with a line of names; a table that was read before is given back.

    Cells are separated by commas, semicolons (then numbers may have a decimal comma) or tabs, whichever the line of
    names has most. Blank lines do not count as rows, but keep their numbers. A file that ends in .smi has no line of
    names: each line is a SMILES, a blank or tab, and a name, in columns called "smiles" and "name".
    """
    if isinstance(path, Table):
        return path
    if not isinstance(path, str | Path):
        raise InputError("The table must be a CSV file", got=f"{type(path).__name__}", cure="give its path")
    path = Path(path)
    if path.is_dir():
        raise InputError("The table must be a CSV file", got=f"{path}, which is a folder", cure="name a file in it")
    if not path.exists():
        raise InputError("The table must be a CSV file", got=f"{path}, which does not exist", cure="correct the path")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} must be text in UTF-8",
            got="other bytes: an Excel or compressed file, or another encoding",
            cure="save it as CSV in UTF-8",
        ) from None
    if path.suffix.lower() == ".smi":
        return _smi(text, path.name)
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise InputError(f"{path.name} must be a table in text", got=f"one that cannot be read: {error}") from None
    counted = [(i + 1, row) for i, row in enumerate(lines) if any(cell.strip() for cell in row)]
    if len(counted) < 2:
        raise InputError(
            f"{path.name} must have a line of names and at least one row",
            got=f"{len(counted)} lines",
            cure="is it the right file?",
        )
    header = [title.strip() for title in counted[0][1]]
    twice = sorted({title for title in header if header.count(title) > 1})
    if twice:
        raise InputError(
            f"Every column of {path.name} must have its own name", got=f"{twice[0]!r} twice", cure="rename one"
        )
    for number, row in counted[1:]:
        if len(row) != len(header):
            raise InputError(
                f"Every row of {path.name} must have {len(header)} cells, separated by {separator!r}",
                got=f"{len(row)} in row {number}",
                cure="mend it, and put texts that contain the separator in quotes",
            )
    return Table(
        header, [row for _, row in counted[1:]], [number for number, _ in counted[1:]], separator == ";", path.name
    )


def _smi(text: str, source: str) -> Table:
    lines = [(i, smi_line(line)) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    if lines and plain(lines[0][1][0]) in SMILES_NAMES:  # some programs write a line of names
        lines = lines[1:]
    if not lines:
        raise InputError(f"{source} must hold a SMILES on each line", got="none", cure="is it the right file?")
    return Table(["smiles", "name"], [list(cells) for _, cells in lines], [i for i, _ in lines], False, source)


def smi_line(line: str) -> tuple[str, str]:
    """SMILES and name of a line of a .smi file, which must not be blank.

    An extension (CXSMILES) stays with its SMILES, for whoever reads that to refuse: without it, it would be another
    molecule.

    Examples
    --------
    >>> smi_line("CCO ethanol"), smi_line("C[C@H](N)O |&1:1| racemate")
    (('CCO', 'ethanol'), ('C[C@H](N)O |&1:1| racemate', ''))
    """
    smiles, *rest = line.strip().split(maxsplit=1)
    if rest and rest[0].startswith("|"):
        return line.strip(), ""
    return smiles, rest[0] if rest else ""


def plain(name: str) -> str:
    """A name of a column without what people write differently: capitals, blanks and hyphens."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def require_column(name: str, header: Iterable[str], source: str, what: str) -> None:
    """Refuse a name that is no column, with the one that may have been meant.

    Examples
    --------
    >>> require_column("PIC50", ["smiles", "pIC50"], "a.csv", "A target")
    Traceback (most recent call last):
    pellucid.errors.InputError: A target must be a column of a.csv. Got 'PIC50'; did you mean 'pIC50'? Its columns ...
    """
    known = list(header)
    if name in known:
        return
    alike = {plain(other): other for other in reversed(known)}
    close = difflib.get_close_matches(plain(name), alike, 1)
    meant = f"did you mean {alike[close[0]]!r}? Its" if close else "its"
    raise InputError(
        f"{what} must be a column of {source}", got=f"{name!r}", cure=f"{meant} columns are {', '.join(known)}"
    )


def row_names(table: Table, column: str | None = None) -> list[str]:
    """What each row is called, "" where it has no name: in the column given, or in one whose name says so."""
    if column is not None:
        require_column(column, table.header, table.source, f"{Parameter('names'):=}")
    else:
        column = next((title for title in table.header if plain(title) in _ROW_NAMES), None)
    return [""] * len(table.rows) if column is None else [cell.strip() for cell in table.column(column)]


def value_of(cell: str, comma: bool) -> float | None:
    """A number, NaN for a blank, None for anything else."""
    text = cell.strip()
    if text.lower() in _BLANKS:
        return math.nan
    return number_of(text.replace(",", ".") if comma else text)


def number_of(text: str) -> float | None:
    """A finite number, written with a decimal point or none; None for anything else.

    Python's own `float` takes more for a number: 5_6 for 56, the digits of all scripts, infinity.

    Examples
    --------
    >>> number_of("-1.5e3"), number_of("5_6"), number_of("1e400")
    (-1500.0, None, None)
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None
