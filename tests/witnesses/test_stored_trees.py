"""Trees from files are trees, and no way through them goes round in a circle."""

import pytest

from pellucid.schemas import SchemaError
from pellucid.witnesses.stored_trees import nodes_of, path_of

TREE = {
    "feature": [3, -1, 0, -1, -1],
    "threshold": [0.5, None, 0.5, None, None],
    "left": [1, -1, 3, -1, -1],
    "right": [2, -1, 4, -1, -1],
    "value": [[1.0], [2.0], [3.0], [4.0], [5.0]],
    "size": [9, 4, 5, 2, 3],
}


def test_a_tree_is_read_as_it_was_written():
    nodes = nodes_of(TREE, features=4, outputs=1)
    assert nodes["left"].tolist() == TREE["left"]
    assert nodes["value"].tolist() == TREE["value"]
    assert path_of([0, 2, 3], nodes) == (0, 2, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": [0, -1, 3, -1, -1]}, "not the branches of one tree"),  # a circle
        ({"left": [2, -1, 3, -1, -1]}, "not the branches of one tree"),  # a node with two parents: 2^n ways
        ({"left": [1, -1, 7, -1, -1]}, "not the branches of one tree"),
        ({"left": [1, -1, 3.5, -1, -1]}, "tree.left is not a list of whole numbers"),
        ({"feature": [4, -1, 0, -1, -1]}, "not that of nodes over 4 features"),
        ({"feature": [-2, -1, 0, -1, -1]}, "not that of nodes over 4 features"),
        ({"feature": []}, "has the shape"),
        ({"value": [[1.0, 2.0]] * 5}, "tree.value has the shape \\(5, 2\\), not 5 x 1"),
        ({"size": "x"}, "tree.size is 'x', not a list"),
    ],
)
def test_what_is_no_tree_is_refused(change, message):
    with pytest.raises(SchemaError, match=message):
        nodes_of({**TREE, **change}, features=4, outputs=1)


def test_a_chain_that_is_too_deep_is_refused():
    count = 201
    split = [i % 2 == 0 and i < count - 1 for i in range(count)]
    chain = {
        "feature": [0 if s else -1 for s in split],
        "threshold": [0.5] * count,
        "left": [i + 1 if s else -1 for i, s in enumerate(split)],
        "right": [i + 2 if s else -1 for i, s in enumerate(split)],
        "value": [[0.0]] * count,
        "size": [1] * count,
    }
    with pytest.raises(SchemaError, match="100 splits on a path, more than 64"):
        nodes_of(chain, features=1, outputs=1)


@pytest.mark.parametrize("path", [[], [2, 3], [0], [0, 2], [0, 3], [0, 2, 3, 4], [0, -4]])
def test_a_path_leads_from_the_root_to_a_leaf(path):
    with pytest.raises(SchemaError, match="path"):
        path_of(path, nodes_of(TREE, features=4, outputs=1))
