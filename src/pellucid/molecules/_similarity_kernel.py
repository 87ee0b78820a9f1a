"""Compiled search for similar bit sets. Words are 64 bits of a fingerprint."""

from __future__ import annotations

import numpy as np
from numba import njit

from pellucid._bits import ones


@njit(nogil=True, cache=True, error_model="numpy")
def search_range(
    queries, query_counts, query_folds, query_lost, pool, pool_counts, pool_folds, pool_lost, first, last, threshold,
    begin, end, sizes,
):  # fmt: skip
    """The pool's rows with Tanimoto similarity above the threshold, for queries begin..end-1.

    Only rows first[i]..last[i]-1 of the pool have a number of bits that allows it. Folds are the sets with all
    words laid over each other in four; a set loses as many bits by it as fall onto others, so what two folds have in
    common, plus the fewer lost, bounds what the sets have in common. Few pairs need more than that. Writes the
    number of hits of each query into `sizes`; returns rows and similarities, one query after the other.
    """
    rows = np.empty(1024, dtype=np.int64)
    similarity = np.empty(1024)
    hits = 0
    share = threshold / (1.0 + threshold) * (1.0 - 1e-12)
    for i in range(begin, end):
        before = hits
        count, lost = query_counts[i], query_lost[i]
        a, b, c, d = query_folds[i, 0], query_folds[i, 1], query_folds[i, 2], query_folds[i, 3]
        for j in range(first[i], last[i]):
            bound = np.int64(
                ones(a & pool_folds[j, 0]) + ones(b & pool_folds[j, 1])
                + ones(c & pool_folds[j, 2]) + ones(d & pool_folds[j, 3])
            ) + min(lost, pool_lost[j])  # fmt: skip
            # both / (total - both) > threshold  <=>  both > threshold / (1 + threshold) total
            if bound < share * (count + pool_counts[j]):
                continue
            both = 0
            for word in range(queries.shape[1]):
                both += np.int64(ones(queries[i, word] & pool[j, word]))
            union = count + pool_counts[j] - both
            if both > threshold * union:
                if hits == len(rows):
                    rows = np.concatenate((rows, np.empty_like(rows)))
                    similarity = np.concatenate((similarity, np.empty_like(similarity)))
                rows[hits] = j
                similarity[hits] = both / union
                hits += 1
        sizes[i] = hits - before
    return rows[:hits], similarity[:hits]


TILE = 4096  # rows of the pool that stay in the cache while the queries of a shard pass by


@njit(nogil=True, cache=True, error_model="numpy")
def pairs_range(words, counts, folds, lost, last, need, begin, end):
    """The pairs i < j of rows, begin <= i < end, that have at least need[|i| + |j|] bits in common.

    Rows are sorted by their number of bits; only those before last[i] have few enough. Returns both rows of each pair
    and the bits that they have in common, tile by tile. Folds as in `search_range`.
    """
    left, right = np.empty(1024, dtype=np.int64), np.empty(1024, dtype=np.int64)
    common = np.empty(1024, dtype=np.int64)
    hits = 0
    for start in range(begin + 1, last[end - 1], TILE):
        for i in range(begin, end):
            count, lost_here = counts[i], lost[i]
            a, b, c, d = folds[i, 0], folds[i, 1], folds[i, 2], folds[i, 3]
            for j in range(max(start, i + 1), min(start + TILE, last[i])):
                bound = np.int64(
                    ones(a & folds[j, 0]) + ones(b & folds[j, 1]) + ones(c & folds[j, 2]) + ones(d & folds[j, 3])
                ) + min(lost_here, lost[j])
                least = need[count + counts[j]]
                if bound < least:
                    continue
                both = 0
                for word in range(words.shape[1]):
                    both += np.int64(ones(words[i, word] & words[j, word]))
                if both >= least:
                    if hits == len(left):
                        left = np.concatenate((left, np.empty_like(left)))
                        right = np.concatenate((right, np.empty_like(right)))
                        common = np.concatenate((common, np.empty_like(common)))
                    left[hits], right[hits], common[hits] = i, j, both
                    hits += 1
    return left[:hits], right[:hits], common[:hits]
