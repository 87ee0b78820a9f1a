"""Whole numbers in ascending order, for compiled code: `np.sort` would take a second to compile."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def ascend(values):
    """Sort whole numbers in place (Shell's sort: those in order already cost one look each and gap)."""
    gap = 1
    while gap < len(values) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(values)):
            value, at = values[i], i
            while at >= gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3
