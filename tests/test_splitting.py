"""Parts of data: each item in one of them, the same for the same seed."""

import numpy as np
import pytest

from pellucid import InputError
from pellucid.splitting import hold_out, split


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("count", [8, 10, 101])
def test_parts_at_random_are_one_permutation_in_three(count, seed):
    parts = split(count, seed=seed)
    np.testing.assert_array_equal(np.concatenate(parts), np.random.default_rng(seed).permutation(count))
    assert [len(part) for part in parts] == np.diff([0, round(0.8 * count), round(0.9 * count), count]).tolist()


def test_the_parts_of_a_seed_stay_what_they_are():
    train, validation, test = split(10, seed=3)
    assert (train.tolist(), validation.tolist(), test.tolist()) == ([9, 6, 0, 2, 1, 4, 7, 5], [3], [8])


def test_in_order_the_last_ones_are_tested_on():
    assert [part.tolist() for part in split(20, seed=None)] == [[*range(16)], [16, 17], [18, 19]]


def test_groups_stay_together_and_the_largest_are_learned_from():
    groups = list("aaaabbbbcccdddeefghi")
    parts = split(len(groups), seed=1, groups=groups)
    assert sorted(np.concatenate(parts).tolist()) == [*range(20)]
    members = [{groups[i] for i in part} for part in parts]
    assert not members[0] & members[1] | members[0] & members[2] | members[1] & members[2]
    assert members[0] >= set("abcd")
    assert [len(part) for part in parts] == [16, 2, 2]
    others = [split(len(groups), seed=seed, groups=groups).test.tolist() for seed in range(10)]
    assert len({tuple(part) for part in others}) > 1  # equally large groups at random


def test_one_group_leaves_nothing_for_the_rest():
    assert [len(part) for part in split(10, groups=["a"] * 10)] == [10, 0, 0]


def test_too_few_items_are_refused():
    with pytest.raises(InputError, match="Got 4 in all, none of which is left for test; add more"):
        split(4)
    assert [len(part) for part in split(4, shares=(0.5, 0.25, 0.25))] == [2, 1, 1]


def test_a_share_is_held_out():
    rest, held = hold_out(50, 0.1, seed=2)
    np.testing.assert_array_equal(held, np.sort(np.random.default_rng(2).permutation(50)[:5]))
    np.testing.assert_array_equal(rest, np.setdiff1d(np.arange(50), held))
    assert [part.tolist() for part in hold_out(7, 0.01, seed=None)] == [[0, 1, 2, 3, 4, 5], [6]]
    assert [part.tolist() for part in hold_out(2, 0, seed=0)] == [[0, 1], []]
    assert [part.tolist() for part in hold_out(1, 0.5, seed=0)] == [[], [0]]
