"""Shrunk trees against a recursion over scikit-learn's, and the choice of the shrinkage against its definition."""

import json

import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeRegressor

import pellucid as pl
from pellucid.witnesses._tree_shrinkage import SHRINKAGES

CRITERIA = ["squared", "absolute"]


def problem(generator, k=5, n=60):
    """One feature, so that no two splits are alike, and several outputs, so that no two are equally good."""
    x = torch.randn(n, 1, generator=generator, dtype=torch.float64)
    f = x[:, :1].sign() + torch.randn(n, k, generator=generator, dtype=torch.float64)
    lists = [torch.randperm(n, generator=generator)[: 1 + 2 * i] for i in range(20)]
    return x, f, pl.from_lists(lists, n_points=n)


def sklearn_tree(x, f, depth, criterion, min_leaf=1):
    model = DecisionTreeRegressor(
        max_depth=depth, criterion=criterion + "_error", min_samples_leaf=min_leaf, random_state=0
    )
    return model.fit(x.numpy(), f.numpy()).tree_


def shrunk_values(tree, shrinkage):
    """By recursion from the root: what each node says is what its parent says and a share of what is new."""
    plain, values = tree.value[:, :, 0], np.empty(tree.value.shape[:2])

    def visit(node, value):
        values[node] = value
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                visit(child, value + (plain[child] - plain[node]) / (1 + shrinkage / tree.n_node_samples[node]))

    visit(0, plain[0])
    return values


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("min_leaf", [1, 3])
@pytest.mark.parametrize("shrinkage", [0.5, 10, 1e4])
def test_all_nodes_have_the_values_of_the_recursion(shrinkage, min_leaf, criterion, generator):
    x, f, hoods = problem(generator)
    family = pl.TreeFamily(depth=4, criterion=criterion, min_leaf=min_leaf, shrinkage=shrinkage)
    fitted = family.best_response(x, f, hoods)
    assert fitted.shrinkage.tolist() == [shrinkage] * len(hoods)
    deepest = 0
    for i in range(len(hoods)):
        members = hoods.members_of(i)
        tree = sklearn_tree(x[members], f[members], 4, criterion, min_leaf)
        np.testing.assert_array_equal(fitted[i].nodes["size"], tree.n_node_samples)
        np.testing.assert_allclose(fitted[i].nodes["value"], shrunk_values(tree, shrinkage), atol=1e-12)
        part = slice(*hoods.offsets[i : i + 2].tolist())
        expected = shrunk_values(tree, shrinkage)[tree.apply(x[members].numpy().astype(np.float32))]
        np.testing.assert_allclose(fitted.at_members()[part], expected, atol=1e-12)
        deepest = max(deepest, tree.max_depth)
    assert deepest == 4


def test_an_example_by_hand():
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    f = torch.tensor([[0.0], [2.0], [7.0], [7.0]], dtype=torch.float64)
    witness = pl.TreeFamily(depth=2, shrinkage=4.0).best_response(x, f, pl.from_lists([range(4)]))[0]
    # Root 4 with 4 members: half of -3 and of 3. Then a node of 2 members: a third of -1 and of 1.
    np.testing.assert_allclose(witness.nodes["value"][:, 0], [4, 2.5, 2.5 - 1 / 3, 2.5 + 1 / 3, 5.5])
    assert witness.text() == (
        "if x0 <= 0.5:\n    if x1 <= 0.5:\n        f = 2.167  (1 member)\n    else:  # x1 > 0.5\n"
        "        f = 2.833  (1 member)\nelse:  # x0 > 0.5\n    f = 5.5  (2 members)"
    )
    plain = json.loads(json.dumps(witness.to_dict()))
    assert plain["nodes"]["value"] == witness.nodes["value"].tolist()
    np.testing.assert_allclose(witness(x)[:, 0], [2.5 - 1 / 3, 2.5 + 1 / 3, 5.5, 5.5])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_shrinkage_leaves_the_trees_alone_and_all_of_it_leaves_the_root(criterion, generator):
    x, f, hoods = problem(generator)
    plain, none, most = (
        pl.TreeFamily(criterion=criterion, **settings).best_response(x, f, hoods)
        for settings in ({}, {"shrinkage": 0}, {"shrinkage": 1e30})
    )
    assert torch.equal(plain.at_members(), none.at_members())
    roots = torch.from_numpy(most.trees.value[most.trees.node_offsets[:-1]])
    torch.testing.assert_close(most.at_members(), roots[hoods.rows])


def held_out_of_definition(x, f, members, criterion, min_leaf, folds):
    """(G, m, K): for each shrinkage of the grid, values of trees grown without the fold of each member."""
    m = len(members)
    fold, values = np.arange(m) % min(folds, m), np.empty((len(SHRINKAGES), m, f.shape[1]))
    for k in range(min(folds, m)):
        rest, out = members[fold != k], members[fold == k]
        tree = sklearn_tree(x[rest], f[rest], pl.effective_depth()(len(rest)), criterion, min_leaf)
        leaves = tree.apply(x[out].numpy().astype(np.float32))
        for number, shrinkage in enumerate(SHRINKAGES):
            values[number, fold == k] = shrunk_values(tree, shrinkage)[leaves]
    return values


def choice_of_definition(x, f, members, criterion, min_leaf):
    """The place in the grid of the shrinkage with the least error at members held out; there must be no tie."""
    gaps = np.abs(held_out_of_definition(x, f, members, criterion, min_leaf, folds=5) - f[members].numpy())
    errors = (gaps**2 if criterion == "squared" else gaps).sum((1, 2))
    assert np.sort(errors)[1] > errors.min() * (1 + 1e-6)
    return int(errors.argmin())


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("min_leaf", [1, 2])
def test_the_choice_has_the_least_error_at_members_held_out(criterion, min_leaf, generator):
    x, f, _ = problem(generator, n=80)
    lists = [torch.randperm(80, generator=generator)[:m] for m in (9, 12, 17, 25, 33, 40, 40, 48, 60, 71)]
    hoods = pl.from_lists(lists, n_points=80)
    family = pl.TreeFamily(criterion=criterion, min_leaf=min_leaf, shrinkage="auto")
    fitted = family.best_response(x, f, hoods)
    for i in range(len(hoods)):
        best = choice_of_definition(x, f, hoods.members_of(i), criterion, min_leaf)
        assert float(fitted.shrinkage[i]) == SHRINKAGES[best]
        part = slice(*hoods.offsets[i : i + 2].tolist())
        alone = pl.TreeFamily(criterion=criterion, min_leaf=min_leaf, shrinkage=SHRINKAGES[best])
        torch.testing.assert_close(fitted.at_members()[part], alone.best_response(x, f, hoods).at_members()[part])
    assert len(set(fitted.shrinkage.tolist())) > 1


@pytest.mark.slow
def test_values_held_out_have_not_been_seen_by_the_choice(generator):
    x, f, _ = problem(generator)
    hoods = pl.nearest(torch.randn(60, 9, generator=generator), k=24).select(slice(8))
    family = pl.TreeFamily(shrinkage="auto")
    fitted = family.best_response(x, f, hoods)
    values, changed = fitted.held_out_values(folds=4).reshape(8, 24, 5), 0
    for i in range(8):
        members = hoods.members_of(i)
        for k in range(4):
            rest, out = members[torch.arange(24) % 4 != k], members[k::4]
            best = choice_of_definition(x, f, rest, "squared", 1)
            tree = sklearn_tree(x[rest], f[rest], pl.effective_depth()(18), "squared")
            expected = shrunk_values(tree, SHRINKAGES[best])[tree.apply(x[out].numpy().astype(np.float32))]
            np.testing.assert_allclose(values[i, k::4], expected, atol=1e-12)
            changed += SHRINKAGES[best] != fitted.shrinkage[i]
    assert changed >= 4  # so often all members together choose otherwise


@pytest.mark.parametrize("folds", [2, 5, 11])
def test_values_held_out_at_a_fixed_shrinkage(folds, generator):
    x, f, _ = problem(generator, k=1)
    hoods = pl.nearest(x, k=30)
    values = pl.TreeFamily(shrinkage=3.0).held_out_values(x, f, hoods, folds=folds)
    for i in range(0, len(hoods), 7):
        expected = held_out_of_definition(x, f, hoods.members_of(i), "squared", 1, folds)[SHRINKAGES.index(3.0)]
        np.testing.assert_allclose(values[30 * i : 30 * i + 30], expected, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_equally_good_shrinkages_go_to_the_largest(criterion):
    x = torch.arange(8.0, dtype=torch.float64)[:, None]
    f = torch.tensor([3.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], dtype=torch.float64)[:, None]
    # One member: no others. Two: their trees are one leaf. Equal values: nothing to shrink.
    hoods = pl.from_lists([[0], [0, 1], range(2, 8)], n_points=8)
    family = pl.TreeFamily(criterion=criterion, shrinkage="auto")
    fitted = family.best_response(x, f, hoods)
    assert fitted.shrinkage.tolist() == [100.0] * 3
    # A node of two members keeps 2 / 102 of a split.
    expected = torch.tensor([3, 4 - 1 / 51, 4 + 1 / 51] + [1.0] * 6, dtype=torch.float64)
    torch.testing.assert_close(fitted.at_members()[:, 0], expected)
    assert family.held_out_values(x, f, hoods)[:, 0].tolist() == [3, 5, 3] + [1] * 6


def test_a_step_is_not_shrunk_and_noise_is():
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(120, 5, generator=generator, dtype=torch.float64)
    step, noise = (x[:, :1] > 0).double(), torch.randn(120, 1, generator=generator, dtype=torch.float64)
    hoods = pl.from_lists([range(120)])
    family = pl.TreeFamily(depth=6, shrinkage="auto")
    assert family.best_response(x, step, hoods).shrinkage.tolist() == [0.0]
    assert family.best_response(x, noise, hoods).shrinkage.tolist() == [100.0]


def test_values_have_the_type_of_the_predictions(generator):
    x, f, hoods = problem(generator)
    family = pl.TreeFamily(shrinkage="auto")
    single = family.held_out_values(x, f.float(), hoods)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), family.held_out_values(x, f, hoods), rtol=1e-5, atol=1e-5)
