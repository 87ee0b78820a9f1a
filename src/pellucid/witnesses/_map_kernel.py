"""Merges the maps of all neighborhoods into the rows of one sparse matrix, in one compiled call."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def count_columns(members, offsets, rows, order, starts, begin, end, counts):
    """Write how many points (N) share a neighborhood with each of the points begin..end-1; 1 where none holds it."""
    seen = np.full(len(starts) - 1, -1, np.int64)
    for j in range(begin, end):
        count = 0
        for e in order[starts[j] : starts[j + 1]]:
            i = rows[e]
            for other in members[offsets[i] : offsets[i + 1]]:
                if seen[other] != j:
                    seen[other] = j
                    count += 1
        counts[j] = max(count, 1)


@njit(cache=True, nogil=True)
def merge_rows(members, offsets, rows, order, starts, maps, places, pointer, begin, end, columns, values):
    """Write the rows begin..end-1 of sum_i E_i' map_i E_i / m_i, each divided by the sum of its 1/m_i.

    maps holds one m_i x m_i map after the other, the i-th from places[i] on. Row j is written to columns and values
    from pointer[j] on; where no neighborhood holds a point, it is that of the identity.
    """
    slot = np.full(len(starts) - 1, -1, np.int64)
    for j in range(begin, end):
        first, free, coverage = pointer[j], pointer[j], 0.0
        for e in order[starts[j] : starts[j + 1]]:
            i = rows[e]
            m = offsets[i + 1] - offsets[i]
            place = places[i] + (e - offsets[i]) * m
            coverage += 1.0 / m
            for k in range(m):
                other = members[offsets[i] + k]
                if slot[other] < first:  # not yet in this row: slots of earlier rows are smaller
                    slot[other] = free
                    columns[free] = other
                    values[free] = 0.0
                    free += 1
                values[slot[other]] += maps[place + k] / m
        if free == first:
            columns[free], values[free] = j, 1.0
            continue
        for s in range(first, free):
            values[s] /= coverage
