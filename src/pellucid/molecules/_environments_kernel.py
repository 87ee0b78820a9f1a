"""Compiled: which directed bonds and atoms of a batch of molecules have the same surroundings, and sums over lists."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _same(bounds, keys, i, j):
    """Whether two rows of keys are equal."""
    length = bounds[i + 1] - bounds[i]
    if bounds[j + 1] - bounds[j] != length:
        return False
    for k in range(length):
        if keys[bounds[i] + k] != keys[bounds[j] + k]:
            return False
    return True


@njit(nogil=True, cache=True)
def distinct(bounds, keys):
    """Numbers rows of keys by what they hold, in the order in which they are first seen.

    Returns
    -------
    numbers : (rows,) the number of each row.
    examples : the first row of each number.
    """
    rows = len(bounds) - 1
    size = 2
    while size < 2 * rows:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    numbers, examples = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    count = 0
    for i in range(rows):
        code = np.uint64(0)
        for k in range(bounds[i], bounds[i + 1]):
            # The bits of a number like 1.0 are all high ones: folded back to the low ones, which choose the slot.
            code = (code ^ np.uint64(keys[k])) * np.uint64(0x9E3779B97F4A7C15)
            code ^= code >> np.uint64(47)
        slot = np.int64(code & np.uint64(size - 1))
        while table[slot] >= 0 and not _same(bounds, keys, examples[table[slot]], i):
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = count
            examples[count] = i
            count += 1
        numbers[i] = table[slot]
    return numbers, examples[:count].copy()


@njit(nogil=True, cache=True)
def transposed(bounds, entries, count):
    """For each of `count` entries the lists that hold it, as often as they do."""
    other = np.zeros(count + 1, dtype=np.int64)
    for entry in entries:
        other[entry + 1] += 1
    other = np.cumsum(other)
    free = other.copy()
    lists = np.empty(len(entries), dtype=np.int64)
    for i in range(len(bounds) - 1):
        for k in range(bounds[i], bounds[i + 1]):
            lists[free[entries[k]]] = i
            free[entries[k]] += 1
    return other, lists


@njit(nogil=True, cache=True)
def surroundings(chosen, kinds, at, arrivals, arriving, but, numbers):
    """Of each chosen bond (or atom) its kind, and the numbers of the bonds that arrive at `at`, without the one `but`.

    Returns
    -------
    bounds, keys : of each chosen one the kind, then the numbers in ascending order.
    """
    bounds = np.zeros(len(chosen) + 1, dtype=np.int64)
    length = len(chosen)
    for e in chosen:
        length += arrivals[at[e] + 1] - arrivals[at[e]]
    keys = np.empty(length, dtype=np.int64)
    n = 0
    for i, e in enumerate(chosen):
        keys[n] = kinds[e]
        n += 1
        for b in arriving[arrivals[at[e]] : arrivals[at[e] + 1]]:
            if b == but[e]:
                continue
            k = n
            while k > bounds[i] + 1 and keys[k - 1] > numbers[b]:
                keys[k] = keys[k - 1]
                k -= 1
            keys[k] = numbers[b]
            n += 1
        bounds[i + 1] = n
    return bounds, keys[:n]


@njit(nogil=True, cache=True)
def split(bounds, keys, examples):
    """The kinds and the lists of numbers of these rows of `surroundings`."""
    kinds, others = np.empty(len(examples), dtype=np.int64), np.zeros(len(examples) + 1, dtype=np.int64)
    for c, i in enumerate(examples):
        kinds[c] = keys[bounds[i]]
        others[c + 1] = others[c] + bounds[i + 1] - bounds[i] - 1
    entries = np.empty(others[-1], dtype=np.int64)
    for c, i in enumerate(examples):
        entries[others[c] : others[c + 1]] = keys[bounds[i] + 1 : bounds[i + 1]]
    return kinds, others, entries


@njit(nogil=True, cache=True)
def list_sums(values, bounds, entries, out):
    """The sum of the rows of each list."""
    width = values.shape[1]
    for i in range(len(bounds) - 1):
        to = out[i]
        first, last = bounds[i], bounds[i + 1]
        if first == last:
            to[:] = 0
            continue
        row = values[entries[first]]
        if last - first == 1:
            for j in range(width):
                to[j] = row[j]
            continue
        other = values[entries[first + 1]]
        for j in range(width):
            to[j] = row[j] + other[j]
        for k in range(first + 2, last):
            row = values[entries[k]]
            for j in range(width):
                to[j] += row[j]


@njit(nogil=True, cache=True)
def add_and_clip(values, first, kinds):
    """In place: relu(values + first[kinds])."""
    zero = values.dtype.type(0)
    for i in range(len(values)):
        to, row = values[i], first[kinds[i]]
        for j in range(values.shape[1]):
            value = to[j] + row[j]
            to[j] = zero if value < zero else value  # not a number stays so
