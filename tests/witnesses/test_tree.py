import json
from textwrap import dedent

import numpy as np
import pytest
import torch
from helpers import random_hoods
from sklearn.tree import DecisionTreeRegressor

import pellucid as pl


def problem(generator, binary=False):
    x = torch.randn(60, 5, generator=generator).double()
    if binary:
        x = (x > 0.5).to(torch.uint8)
    f = torch.randn(60, 3, generator=generator, dtype=torch.float64)
    return x, f, random_hoods(30, 60, generator, 25)


@pytest.mark.parametrize("depth", [1, 3, pl.effective_depth(), pl.effective_depth(-2), lambda m: 1 + m % 2])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("min_leaf", [1, 3])
def test_trees_equal_scikit_learn(depth, binary, min_leaf, generator):
    x, f, hoods = problem(generator, binary)
    fitted = pl.TreeFamily(depth=depth, min_leaf=min_leaf).best_response(x, f, hoods)
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        deepest = depth(len(own)) if callable(depth) else depth
        model = DecisionTreeRegressor(max_depth=deepest, min_samples_leaf=min_leaf, random_state=0)
        model.fit(x[own].numpy(), f[own].numpy())
        values = model.predict(x[own].numpy())
        expected = np.square(values - f[own].numpy()).sum(1).mean()
        assert float(fitted.deviations()[i]) == pytest.approx(expected, abs=1e-12)
        if not binary:  # equal bits tie, and then the trees may differ
            np.testing.assert_allclose(fitted[i](x[own]), values, atol=1e-12)


@pytest.mark.parametrize("criterion", ["squared", "absolute"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64])
def test_values_at_members_centers_and_of_single_witnesses_agree(criterion, dtype, generator):
    x, f, hoods = problem(generator, binary=True)
    x = x.to(dtype)
    fitted = pl.TreeFamily(criterion=criterion).best_response(x, f, hoods)
    torch.testing.assert_close(fitted.at_members(), fitted.evaluate(hoods.rows, x[hoods.members]))
    for i in range(len(hoods)):
        own = hoods.members_of(i)
        part = slice(*hoods.offsets[i : i + 2].tolist())
        torch.testing.assert_close(fitted[i](x[own]), fitted.at_members()[part])
        torch.testing.assert_close(fitted[i](x[hoods.centers[i : i + 1]]), fitted.at_centers()[i : i + 1])


def test_absolute_trees_have_median_leaves_and_deviate_less_in_total_variation(generator):
    x, f, hoods = problem(generator)
    squared, absolute = (
        pl.TreeFamily(depth=2, criterion=c).best_response(x, f, hoods) for c in ("squared", "absolute")
    )
    means = [w.deviations(pl.absolute_error).mean() for w in (squared, absolute)]
    assert means[1] < means[0]
    nodes = absolute[0].nodes
    own = hoods.members_of(0)
    np.testing.assert_allclose(nodes["value"][0], np.median(f[own].numpy(), axis=0))


def test_a_planted_tree_is_recovered(generator):
    x = torch.randint(0, 2, (200, 6), generator=generator, dtype=torch.uint8)
    f = (4.0 * x[:, 2] + (1 - 2.0 * x[:, 2]) * x[:, 4]).double()
    fitted = pl.TreeFamily(depth=2).best_response(x, f, pl.from_lists([range(200)], centers=[0]))
    assert fitted.deviations().max() < 1e-25
    assert fitted[0].nodes["feature"].tolist() == [2, 4, -1, -1, 4, -1, -1]


def test_a_witness_reads_as_an_indented_tree_and_converts_to_plain_values():
    x = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], dtype=torch.uint8)
    f = torch.tensor([[0.0, 1.0], [1.0, 1.0], [5.0, 2.0], [7.0, 2.0], [7.0, 2.0]], dtype=torch.float64)
    hoods = pl.from_lists([range(5)], centers=[3])
    witness = pl.TreeFamily(depth=2).best_response(x, f, hoods).named(["acid", "ring"], ["toxic", "soluble"])[0]
    expected = """\
        if acid <= 0.5:
            if ring <= 0.5:
                toxic = 0, soluble = 1  (1 member)
            else:  # ring > 0.5
                toxic = 1, soluble = 1  (1 member)
        else:  # acid > 0.5
            if ring <= 0.5:
                toxic = 5, soluble = 2  (1 member)
            else:  # ring > 0.5
                toxic = 7, soluble = 2  (2 members)
          around point 3: 5 members, rmse 0 from the predictor where fitted"""
    assert str(witness) == dedent(expected)
    assert repr(witness) == str(witness)
    assert witness.depth == 2
    assert witness(x[:0]).shape == (0, 2)
    with pytest.raises(pl.PellucidError, match="one point with 2 features. Got 4 numbers"):
        witness.path(x[:2])
    assert [witness.nodes["feature"][n] for n in witness.path(x[2])] == [0, 1, -1]
    plain = json.loads(json.dumps(witness.to_dict()))
    assert plain["kind"] == "tree"
    assert plain["nodes"]["feature"] == [0, 1, -1, -1, 1, -1, -1]
    assert plain["nodes"]["size"] == [5, 2, 1, 1, 3, 1, 2]


def test_thresholds_between_large_numbers_are_told_apart():
    years = torch.tensor([[2018.0], [2019.0], [2020.0], [2021.0]], dtype=torch.float64)
    witness = pl.TreeFamily(depth=1).best_response(years, (years > 2019.5).double(), pl.from_lists([range(4)]))[0]
    assert witness.text().startswith("if x0 <= 2019.5:")


def test_a_depth_beyond_all_bounds_grows_the_full_tree(generator):
    x, f, hoods = problem(generator)
    assert pl.TreeFamily(depth=10**30).best_response(x, f, hoods).deviations().max() < 1e-25


def test_the_depth_rule_is_the_papers():
    rule = pl.effective_depth(delta=-1)
    for m in range(1, 400):
        assert rule(m) == max(int(np.ceil(np.log2(m))) - 2, 1)


@pytest.mark.parametrize("depth", [0, -3, 1.5, None, True])
def test_a_depth_below_one_is_refused(depth):
    with pytest.raises(pl.PellucidError, match="`depth` of TreeFamily must be a whole number >= 1"):
        pl.TreeFamily(depth=depth)


def test_a_rule_that_gives_no_depth_and_an_unknown_criterion_are_refused(generator):
    x, f, hoods = problem(generator)
    with pytest.raises(pl.PellucidError, match="Got 0; for a witness without splits use ConstantFamily"):
        pl.TreeFamily(depth=lambda m: 0).best_response(x, f, hoods)
    with pytest.raises(pl.PellucidError, match='"squared" or "absolute". Got \'gini\''):
        pl.TreeFamily(criterion="gini")


def test_a_least_leaf_beyond_all_bounds_leaves_a_constant(generator):
    x, f, hoods = problem(generator)
    fitted = pl.TreeFamily(min_leaf=10**30).best_response(x, f, hoods)
    torch.testing.assert_close(fitted.at_members(), pl.ConstantFamily().best_response(x, f, hoods).at_members())


@pytest.mark.parametrize("min_leaf", [0, -1, 1.5, None, True])
def test_a_least_leaf_below_one_is_refused(min_leaf):
    with pytest.raises(pl.InputError, match="`min_leaf` must be a whole number >= 1"):
        pl.TreeFamily(min_leaf=min_leaf)


@pytest.mark.parametrize("shrinkage", [-1, float("inf"), float("nan"), "none", None, True])
def test_a_shrinkage_that_is_none_is_refused(shrinkage):
    with pytest.raises(pl.InputError, match='`shrinkage` of TreeFamily must be a finite number >= 0, or "auto"'):
        pl.TreeFamily(shrinkage=shrinkage)
