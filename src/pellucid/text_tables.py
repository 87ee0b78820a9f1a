"""Tables as text, for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line below its head: the first column to the left, the others to the right.

    Examples
    --------
    >>> print(aligned(["weight", "loss"], [["none", "1.25"], ["0.3", "12.5"]]))
    weight  loss
    ------------
    none    1.25
    0.3     12.5
    """
    first, *others = (max(len(row[i]) for row in [head, *rows]) for i in range(len(head)))
    lines = [
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))])
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
