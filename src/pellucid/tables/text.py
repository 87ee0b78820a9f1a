"""Text files as users have them: compressed or not, in the encodings that programs write, with any separator."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Literal

from pellucid.errors import InputError

Undecodable = Literal["refuse", "replace"]
"""What is done about bytes that are no text: the file is refused, or a sign of its own stands for each."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Bytes among which a zero tells that a file holds no text.
_BEGINNING = 1024
# What comes of a gzipped file that is none, or not as it was.
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)


def lines_of(path: Path, undecodable: Undecodable = "refuse") -> Iterator[str]:
    """The lines of a text file, with their ends, one after the other: however long it is, memory does not fill up.

    The text is UTF-8, with or without a mark at its beginning, or UTF-16 with one; a file called .gz is gzipped.
    """
    yield from lines_from(path, None, undecodable)


def encoding_of(path: Path) -> tuple[str, int]:
    """The encoding of a text file, and where its text begins: behind a mark, if there is one."""
    with _opened(path) as stream:
        mark = stream.peek(3)[:3]  # type: ignore[attr-defined]
    for sign, encoding in ((codecs.BOM_UTF8, "utf-8"), *zip(_UTF16, ("utf-16-le", "utf-16-be"), strict=True)):
        if mark.startswith(sign):
            return encoding, len(sign)
    return "utf-8", 0


def lines_from(path: Path, place: tuple[str, int] | None, undecodable: Undecodable = "refuse") -> Iterator[str]:
    """The lines of a text file from a place on: an encoding and the number of bytes before it; None for all lines."""
    try:
        encoding, offset = encoding_of(path) if place is None else place
        with _opened(path) as stream:
            stream.seek(offset)
            errors = "strict" if undecodable == "refuse" else "replace"
            with io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="") as lines:
                yield from lines
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} must be text in UTF-8",
            got="other bytes: an Excel or compressed file, or another encoding",
            cure="save it as CSV in UTF-8",
        ) from None
    except _DAMAGED as error:
        raise _not_gzipped(path, error) from None


def text_of(path: Path) -> str:
    """All of a text file of numbers, with plain line ends.

    Its encodings are those of `lines_of`; whatever is neither is read as Latin-1, since numbers are the same in both.
    """
    try:
        with _opened(path) as stream:
            raw = stream.read()
    except _DAMAGED as error:
        raise _not_gzipped(path, error) from None
    encoding = "utf-16" if raw[:2] in _UTF16 else "utf-8-sig"
    if encoding != "utf-16" and b"\0" in raw[:_BEGINNING]:
        raise InputError(
            f"{path.name} must be a table of numbers", got="binary data", cure="export it as text or Parquet"
        )
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _not_gzipped(path: Path, error: Exception) -> InputError:
    return InputError("The source must be a text file, and a gzipped one if it is called .gz", got=f"{path}: {error}")


def separator_of(lines: Sequence[str], *, decimal: str = ".", blanks: bool = False) -> str:
    """What stands between the cells of a table, as its first two rows have it: a tab, semicolon, comma or blanks.

    Both rows must have the same number of cells, as a reader of quoted cells counts them; of semicolons and commas the
    one that makes more of them, unless all commas stand between digits. Where no sign does, it is the commonest in
    the first row.

    Parameters
    ----------
    lines : sequence of str
        The first lines of a file, as many as two rows take.
    decimal : str
        The decimal sign, if it is known to be a comma.
    blanks : bool
        Whether blanks may separate cells.

    Examples
    --------
    >>> separator_of(['smiles,"pIC50; human; 37 C"', "CCO,5.5"]), separator_of(["a,b;c", "1,5;2"])
    (',', ';')
    """
    signs = [sign for sign in ("\t", ";", ",") if sign != decimal]
    rows = {sign: _first_rows(lines, sign) for sign in [*signs, " "]}
    even = [sign for sign in signs if _is_even(*rows[sign])]
    if "\t" in even:
        return "\t"
    if even == [";", ","] and not re.search(r"(?<!\d),|,(?!\d)", "".join(rows["\t"][1])):
        return ";"
    if even:
        return max(even, key=lambda sign: len(rows[sign][0]))
    if blanks and _is_even(*rows[" "]):
        return " "
    for row in (0, 1):
        counts = {sign: len(rows[sign][row]) for sign in signs}
        sign = max(signs, key=lambda sign: counts[sign])
        if counts[sign] > 1 and not (row == 1 and re.search(r"\d,\d", "".join(rows["\t"][1]))):
            return sign
    return "\t"


def _first_rows(lines: Iterable[str], separator: str) -> tuple[list[str], list[str]]:
    try:
        rows = list(islice((row for row in rows_of(lines, separator) if any(row)), 2))
    except InputError:  # a line of many cells with another separator is one that is too long with this
        rows = []
    return (rows[0], rows[-1]) if rows else ([], [])


def _is_even(first: Sequence[str], second: Sequence[str]) -> bool:
    # A header of numpy's has a sign of its own before the names.
    return len(second) > 1 and len(first) in (len(second), len(second) + (first[0] == "#"))


def rows_of(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The cells of each row, without the white space around them; quotes may hold separators and ends of lines."""
    if separator == " ":
        lines = (re.sub(r"[ \t]+", " ", line.strip()) for line in lines)
    try:
        for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise unreadable("The file", error) from None


def unreadable(source: str, error: Exception, row: int = 1) -> InputError:
    """What is said of a file whose cells cannot be told apart, from a row on."""
    if "field larger" in str(error):
        return InputError(
            f"{source} must be a table whose cells have at most {csv.field_size_limit():,} letters",
            got=f"a longer one in row {row}",
            cure="is a quotation mark not closed, or is it another kind of file?",
        )
    return InputError(f"{source} must be a table in text", got=f"one that cannot be read: {error}")
