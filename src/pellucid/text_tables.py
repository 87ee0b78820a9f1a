"""Tables as text, for terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Control characters, marks that turn the direction of writing, and halves of characters that no terminal can show.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    r"""The text with control characters written out: what users named cannot move the cursor or change colors.

    Parameters
    ----------
    text : str
        Any text.
    keep : str
        Characters that stay as they are, such as the ends of lines.

    Examples
    --------
    >>> print(printable("red\x1b[31m\n"))
    red\x1b[31m\n
    """
    return _UNPRINTABLE.sub(lambda match: match[0] if match[0] in keep else _written_out(match[0]), text)


def _written_out(character: str) -> str:
    if "\ud800" <= character <= "\udfff":  # a byte of a name that is no text, as Python reads it
        return f"\\x{ord(character) & 0xFF:02x}"
    return character.encode("unicode_escape").decode()


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> str:
    """A table with a line below its head: the columns of `left` to the left, the others to the right.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        Cells of the rows.
    left : sequence of int
        Indices of the columns that are aligned to the left; by default the first.

    Examples
    --------
    >>> print(aligned(["weight", "loss"], [["none", "1.25"], ["0.3", "12.5"]]))
    weight  loss
    ------------
    none    1.25
    0.3     12.5
    """
    head, rows = [printable(cell) for cell in head], [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
