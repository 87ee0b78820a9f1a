"""The compiled trees against two oracles: a plain one that tries every split, and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from pellucid.witnesses._tree_columns import argsort
from pellucid.witnesses._tree_growth import TILE
from pellucid.witnesses._tree_kernel import Trees, grow, walk

CRITERIA = ["squared", "absolute"]
KINDS = ["bits", "real", "few", "mixed"]


# --------------------------------------------------------------------------------------------- the oracles


def center(y, criterion):
    return y.mean(0) if criterion == "squared" else np.median(y, 0)


def impurity(y, criterion):
    apart = y - center(y, criterion)
    return (apart**2 if criterion == "squared" else np.abs(apart)).sum()


def plain_tree(x, y, depth, criterion, min_leaf=1):
    """Every split of every node, tried one by one. Nodes in preorder, the leaf of each row, and whether any
    choice was a close call (several best splits), in which case other trees are just as greedy."""
    nodes, leaf, close = [], np.zeros(len(x), int), False

    def visit(rows, levels):
        nonlocal close
        here, number = y[rows], len(nodes)
        node = {"feature": -1, "threshold": 0.0, "left": -1, "right": -1, "size": len(rows)}
        node["value"] = center(here, criterion)
        nodes.append(node)
        leaf[rows] = number
        if levels == 0 or (here == here[0]).all():
            return
        whole, best, costs = impurity(here, criterion), np.inf, []
        for feature in range(x.shape[1]):
            column = x[rows, feature].astype(float)
            for low, high in pairwise(np.unique(column)):
                goes_left = column <= low
                if min(goes_left.sum(), (~goes_left).sum()) < min_leaf:
                    continue
                cost = impurity(here[goes_left], criterion) + impurity(here[~goes_left], criterion)
                costs.append(cost)
                if cost < best - 1e-12 * whole:
                    best = cost
                    node["feature"], node["threshold"] = feature, (low + high) / 2
        if not costs:
            return
        close |= (np.array(costs) < min(costs) + 1e-9 * whole).sum() > 1
        goes_left = x[rows, node["feature"]] <= node["threshold"]
        node["left"] = len(nodes)
        visit(rows[goes_left], levels - 1)
        node["right"] = len(nodes)
        visit(rows[~goes_left], levels - 1)

    visit(np.arange(len(x)), depth)
    return {key: np.array([node[key] for node in nodes]) for key in nodes[0]}, leaf, close


def sklearn_tree(x, y, depth, criterion, min_leaf=1):
    model = DecisionTreeRegressor(max_depth=depth, criterion=criterion + "_error", min_samples_leaf=min_leaf)
    fitted = model.fit(x, y).tree_
    inner = fitted.children_left >= 0
    return {
        "feature": np.where(inner, fitted.feature, -1),
        "threshold": np.where(inner, fitted.threshold, 0.0),
        "left": fitted.children_left,
        "right": fitted.children_right,
        "size": fitted.n_node_samples,
        "value": fitted.value[:, :, 0],
    }, fitted.apply(x.astype(np.float32))


def assert_same_tree(tree, leaf, expected, expected_leaf):
    for name in ("feature", "left", "right", "size"):
        np.testing.assert_array_equal(getattr(tree, name), expected[name], err_msg=name)
    np.testing.assert_allclose(tree.threshold, expected["threshold"], rtol=1e-12)
    np.testing.assert_allclose(tree.value, expected["value"], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(leaf, expected_leaf)


# ------------------------------------------------------------------------------------------------- helpers


def grow_one(x, y, depth, criterion, min_leaf=1):
    """One neighborhood that holds all points."""
    m = len(x)
    return grow(x, y, np.arange(m), np.array([0, m]), np.array([depth]), criterion, min_leaf)


def part(trees, i):
    """Tree i of several, in the form of `grow_one`."""
    nodes = slice(trees.node_offsets[i], trees.node_offsets[i + 1])
    return Trees(np.array([0, nodes.stop - nodes.start]), *(array[nodes] for array in trees[1:-1]), trees.leaf)


def features(rng, kind, m, p):
    if kind == "bits":
        return (rng.random((m, p)) < rng.random(p)).astype(np.uint8)
    if kind == "few":
        return rng.integers(0, 5, (m, p)).astype(np.uint8)
    x = rng.normal(size=(m, p)).astype(np.float32)
    if kind == "mixed":
        x[:, ::2] = np.where(rng.random((m, len(x[0, ::2]))) < 0.5, -1.5, 2.25)
        x[:, 1::4] = rng.integers(-1, 3, (m, len(x[0, 1::4])))
        return x.astype(np.float64)
    return x


# ------------------------------------------------------------------------------- splits, values and leaves


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_trees_are_those_of_the_oracles(kind, criterion):
    rng = np.random.default_rng([KINDS.index(kind), CRITERIA.index(criterion)])
    compared = 0
    for _ in range(40):
        m, p, k, depth = rng.integers(2, 32), rng.integers(1, 9), rng.integers(1, 4), rng.integers(1, 6)
        x, y = features(rng, kind, m, p), rng.normal(size=(m, k))
        tree = grow_one(x, y, depth, criterion)
        plain, leaf, close = plain_tree(x, y, depth, criterion)
        assert_same_tree(tree, tree.leaf, plain, leaf)
        if not close:
            assert_same_tree(tree, tree.leaf, *sklearn_tree(x, y, depth, criterion))
            compared += 1
    assert compared >= 8


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_trees_with_a_least_leaf_are_those_of_the_oracles(kind, criterion):
    rng = np.random.default_rng([KINDS.index(kind), CRITERIA.index(criterion), 1])
    compared, changed = 0, 0
    for _ in range(40):
        m, p, k, depth = rng.integers(2, 50), rng.integers(1, 9), rng.integers(1, 4), rng.integers(1, 6)
        min_leaf = int(rng.integers(2, 8))
        x, y = features(rng, kind, m, p), rng.normal(size=(m, k))
        tree = grow_one(x, y, depth, criterion, min_leaf)
        plain, leaf, close = plain_tree(x, y, depth, criterion, min_leaf)
        assert_same_tree(tree, tree.leaf, plain, leaf)
        assert tree.size.min() >= min(min_leaf, m)
        changed += grow_one(x, y, depth, criterion).size.min() < min_leaf
        if not close:
            assert_same_tree(tree, tree.leaf, *sklearn_tree(x, y, depth, criterion, min_leaf))
            compared += 1
    assert compared >= 8
    assert changed >= 20


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("min_leaf", [1, 9])
@pytest.mark.parametrize(("kind", "m", "p"), [("bits", 70, 40), ("bits", 300, 12), ("mixed", 270, 6)])
def test_large_nodes(kind, m, p, min_leaf, criterion):
    """More members than bits in a word (64) and than a byte can count (255)."""
    rng = np.random.default_rng(m)
    x, y = features(rng, kind, m, p), rng.normal(size=(m, 2))
    tree = grow_one(x, y, 4, criterion, min_leaf)
    plain, leaf, close = plain_tree(x, y, 4, criterion, min_leaf)
    assert_same_tree(tree, tree.leaf, plain, leaf)
    if not close:
        assert_same_tree(tree, tree.leaf, *sklearn_tree(x, y, 4, criterion, min_leaf))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_more_columns_than_a_tile(criterion):
    rng = np.random.default_rng(5)
    x, y = features(rng, "bits", 40, 2 * TILE + 17), rng.normal(size=(40, 1))
    x[:, -1] = np.arange(40) % 2
    y[:, 0] = 0.01 * y[:, 0] + x[:, -1]  # so that the best split is in the last, incomplete tile
    tree = grow_one(x, y, 2, criterion)
    plain, leaf, _ = plain_tree(x, y, 2, criterion)
    assert plain["feature"][0] == x.shape[1] - 1
    assert_same_tree(tree, tree.leaf, plain, leaf)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(CRITERIA), st.sampled_from(KINDS), st.integers(1, 4))
def test_ties_go_to_the_lowest_feature_and_threshold(seed, criterion, kind, min_leaf):
    """Duplicate and complementary columns, outputs with few values: ties everywhere."""
    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 14), rng.integers(1, 4)
    x = features(rng, kind, m, 4)
    x = np.ascontiguousarray(np.concatenate([x, x.max() - x[:, ::-1], x], axis=1)[:, rng.permutation(12)])
    y = rng.integers(-2, 3, (m, k)) * 0.1
    tree = grow_one(x, y, 4, criterion, min_leaf)
    plain, leaf, _ = plain_tree(x, y, 4, criterion, min_leaf)
    assert_same_tree(tree, tree.leaf, plain, leaf)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_split_that_does_not_improve_is_taken(dtype, criterion):
    """Exclusive or: no first split helps, the second level solves it; the first feature wins the tie."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]).astype(dtype)
    y = np.array([[0.0], [1.0], [1.0], [0.0]])
    tree = grow_one(x, y, 2, criterion)
    np.testing.assert_array_equal(tree.feature, [0, 1, -1, -1, 1, -1, -1])
    np.testing.assert_array_equal(tree.left, [1, 2, -1, -1, 5, -1, -1])
    np.testing.assert_array_equal(tree.right, [4, 3, -1, -1, 6, -1, -1])
    np.testing.assert_array_equal(tree.threshold, [0.5, 0.5, 0, 0, 0.5, 0, 0])
    np.testing.assert_array_equal(tree.value[:, 0], [0.5, 0.5, 0, 1, 0.5, 1, 0])
    np.testing.assert_array_equal(tree.leaf, [2, 3, 5, 6])


# ------------------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("criterion", CRITERIA)
def test_nothing_to_split(criterion):
    rng = np.random.default_rng(0)
    x, y = features(rng, "real", 6, 3), rng.normal(size=(6, 2))
    for leaf in (
        grow_one(x[:1], y[:1], 3, criterion),  # one member
        grow_one(x, np.full((6, 2), 0.1), 3, criterion),  # a pure node
        grow_one(np.ones((6, 3), np.float32), y, 3, criterion),  # constant features
        grow_one(np.ones((6, 0), np.uint8), y, 3, criterion),  # no features
        grow_one(x, y, 3, criterion, 4),  # no side can have four members
        grow_one(x, y, 3, criterion, 100),
    ):
        np.testing.assert_array_equal(leaf.feature, [-1])
        np.testing.assert_array_equal(leaf.leaf, np.zeros(leaf.size[0]))
    np.testing.assert_array_equal(grow_one(x, np.full((6, 2), 0.1), 3, criterion).value, [[0.1, 0.1]])
    np.testing.assert_array_equal(grow_one(x[:1], y[:1], 3, criterion).value, y[:1])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_members(criterion):
    x = np.array([[3.0, 1.0, 5.0], [3.0, 2.0, 4.0]])
    tree = grow_one(x, np.array([[1.0], [4.0]]), 5, criterion)
    np.testing.assert_array_equal(tree.feature, [1, -1, -1])
    np.testing.assert_array_equal(tree.threshold, [1.5, 0, 0])
    np.testing.assert_array_equal(tree.value[:, 0], [2.5, 1, 4])


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_points_that_no_feature_separates_stay_together(kind, criterion):
    rng = np.random.default_rng(3)
    x, y = np.repeat(features(rng, kind, 7, 3), 3, axis=0), rng.normal(size=(21, 2))
    tree = grow_one(x, y, 20, criterion)
    plain, leaf, _ = plain_tree(x, y, 20, criterion)
    assert_same_tree(tree, tree.leaf, plain, leaf)
    assert (tree.leaf.reshape(7, 3) == tree.leaf.reshape(7, 3)[:, :1]).all()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_a_large_offset_does_not_change_the_splits(kind, criterion):
    rng = np.random.default_rng(11)
    for _ in range(5):
        x, y = features(rng, kind, 30, 6), rng.integers(-999, 999, (30, 2)) / 1024
        near, far = grow_one(x, y, 4, criterion), grow_one(x, y + 2.0**30, 4, criterion)
        np.testing.assert_array_equal(near.feature, far.feature)
        np.testing.assert_array_equal(near.threshold, far.threshold)
        np.testing.assert_allclose(near.value + 2.0**30, far.value, rtol=1e-15)


def test_thresholds_separate_neighboring_floats():
    for low, high in [(1.0, np.nextafter(1.0, 2.0)), (0.0, 5e-324), (-1.7e308, 1.7e308), (-5e-324, 0.0)]:
        x = np.array([[low], [high]])
        tree = grow_one(x, np.array([[0.0], [1.0]]), 1, "squared")
        assert low <= tree.threshold[0] < high
        np.testing.assert_array_equal(walk(tree, np.array([0, 0]), x), tree.leaf)
        more = np.array([[low], [high], [high], [-1.75e308]])
        longer = grow_one(more, np.array([[0.0], [1.0], [1.0], [0.0]]), 1, "absolute")
        assert low <= longer.threshold[0] < high


@pytest.mark.parametrize("m", [1, 2, 11, 12, 13, 24, 25, 60, 200])
def test_argsort_is_stable(m):
    values = np.random.default_rng(m).integers(0, 9, m).astype(float)
    order, spare = np.empty(m, np.uint32), np.empty(m, np.uint32)
    argsort(values, order, spare)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))


# -------------------------------------------------------------------------------------- many neighborhoods


def many(rng, kind, n=30, points=60):
    x, y = features(rng, kind, points, 12), rng.normal(size=(points, 3))
    members = [rng.permutation(points)[: rng.integers(1, 40)] for _ in range(n)]
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in members])])
    return x, y, members, offsets, rng.integers(1, 6, n)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_many_neighborhoods_at_once(kind, criterion):
    x, y, members, offsets, depths = many(np.random.default_rng(7), kind)
    flat = np.concatenate(members)
    trees = grow(x, y, flat, offsets, depths, criterion)
    for i, mine in enumerate(members):
        alone = grow_one(x[np.sort(mine)], y[np.sort(mine)], depths[i], criterion)
        for one, other in zip(part(trees, i)[:-1], alone[:-1], strict=True):
            np.testing.assert_array_equal(one, other)
    which = np.repeat(np.arange(len(members)), np.diff(offsets))
    np.testing.assert_array_equal(walk(trees, which, x[flat]), trees.leaf)
    assert (trees.feature[trees.leaf] == -1).all()
    np.testing.assert_array_equal(
        np.bincount(trees.leaf, minlength=len(trees.size))[trees.feature < 0], trees.size[trees.feature < 0]
    )
    for other in (grow(x, y, flat, offsets, depths, criterion, threads=threads) for threads in (2, 3)):
        for one, two in zip(trees, other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_members_does_not_matter(kind, criterion):
    rng = np.random.default_rng(13)
    x, y, members, offsets, depths = many(rng, kind)
    one = grow(x, y, np.concatenate(members), offsets, depths, criterion)
    shuffles = [rng.permutation(len(mine)) for mine in members]
    shuffled = np.concatenate([mine[order] for mine, order in zip(members, shuffles, strict=True)])
    two = grow(x, y, shuffled, offsets, depths, criterion)
    for a, b in zip(one[:-1], two[:-1], strict=True):
        np.testing.assert_array_equal(a, b)
    moved = np.concatenate([start + order for start, order in zip(offsets, shuffles, strict=False)])
    np.testing.assert_array_equal(one.leaf[moved], two.leaf)


def test_no_neighborhoods():
    none = np.array([], np.int64)
    trees = grow(np.ones((4, 2), np.uint8), np.ones((4, 1)), none, np.array([0]), none, "squared")
    assert len(trees.feature) == len(trees.leaf) == 0
