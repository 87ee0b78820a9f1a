"""Tables as text, for terminals."""

from __future__ import annotations

from collections.abc import Sequence


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
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
