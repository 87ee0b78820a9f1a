from textwrap import dedent

import pytest
import torch

import pellucid as pl
from pellucid.witnesses.text import law_text, presence, tree_text
from pellucid.witnesses.tree_witness import TreeNode


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([(0.5, ""), (2.0, "a"), (-0.25, "b")], "0.5 + 2 a - 0.25 b"),
        ([(-0.5, ""), (-2.0, "a")], "-0.5 - 2 a"),
        ([(0.0, ""), (-2.0, "a"), (0.0, "b"), (1.0, "c")], "-2 a + 1 c"),
        ([(0.0, ""), (0.0, "a")], "0"),
        ([], "0"),
        ([(1.0, "x - y"), (-1e-9, "z")], "1 x - y - 1e-09 z"),
    ],
)
def test_a_law_is_a_sum_of_its_terms(terms, expected):
    assert law_text(terms) == expected


def test_a_law_has_the_digits_and_the_minus_sign_asked_for():
    assert law_text([(-0.123456, ""), (-2.0, "x[t-1]")], digits=2, minus="\u2212") == "\u22120.12 \u2212 2 x[t-1]"


def small_tree():
    leaves = [TreeNode(index=index, size=index, value=(float(index),)) for index in (2, 3, 4)]
    inner = TreeNode(index=1, size=5, value=(2.6,), feature=7, threshold=0.5, branches=(leaves[0], leaves[1]))
    return TreeNode(index=0, size=9, value=(3.2,), feature=1, threshold=0.5, branches=(inner, leaves[2]))


def test_a_tree_is_written_from_left_to_right_with_its_notes():
    root = small_tree()
    assert [node.index for node in root.walk()] == [0, 1, 2, 3, 4]
    assert [leaf.index for leaf in root.leaves()] == [2, 3, 4]
    assert (root.depth, root.branches[0].depth, root.branches[1].depth) == (2, 1, 0)
    expected = """\
        without bit 1:
            without bit 7:
                2  (2 members)
            with bit 7:
                3  (3 members)  <--
        with bit 1:
            4  (4 members)"""
    written = tree_text(
        root,
        split=lambda node: presence(f"bit {node.feature}"),
        leaf=lambda node: f"{node.value[0]:g}",
        notes={3: "  <--"},
    )
    assert written == dedent(expected)


def test_the_nodes_of_a_witness_are_its_arrays():
    generator = torch.Generator().manual_seed(0)
    x, f = torch.rand(40, 3, generator=generator), torch.rand(40, 2, generator=generator)
    witness = pl.TreeFamily(depth=3).best_response(x, f, pl.from_lists([range(40)], centers=[0]))[0]
    nodes = witness.nodes
    walked = {node.index: node for node in witness.root.walk()}
    assert sorted(walked) == list(range(len(nodes["feature"])))
    for index, node in walked.items():
        assert (node.feature, node.size) == (nodes["feature"][index], nodes["size"][index])
        assert node.value == tuple(nodes["value"][index])
        assert node.is_leaf == (nodes["feature"][index] < 0)
        if not node.is_leaf:
            assert node.threshold == nodes["threshold"][index]
            assert [branch.index for branch in node.branches] == [nodes["left"][index], nodes["right"][index]]
            assert sum(branch.size for branch in node.branches) == node.size


def test_bits_are_read_by_the_substructures_that_they_stand_for():
    x = torch.tensor([[0], [0], [1]], dtype=torch.uint8)
    witness = pl.TreeFamily(depth=1).best_response(x, torch.tensor([1.0, 1, 5]), pl.from_lists([range(3)]))[0]
    assert witness.text(substructures={0: "c1ccccc1"}) == (
        "without c1ccccc1:\n    f = 1  (2 members)\nwith c1ccccc1:\n    f = 5  (1 member)"
    )
