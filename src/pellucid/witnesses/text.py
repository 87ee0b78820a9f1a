"""Witnesses as text: a linear law as a sum of terms, a tree as indented lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from pellucid.numbers import counted

if TYPE_CHECKING:
    from pellucid.witnesses.tree_witness import TreeNode

_INDENT = "    "
_NO_NOTES: Mapping[int, str] = MappingProxyType({})


def law_text(terms: Iterable[tuple[float, str]], *, digits: int = 4, minus: str = "-") -> str:
    """A linear law as a sum; terms with a weight of zero are not written.

    Parameters
    ----------
    terms : iterable of (float, str)
        Weights and the names of what they weigh; the name of the intercept is empty.
    digits : int
        Significant digits of the weights.
    minus : str
        The minus sign.

    Examples
    --------
    >>> law_text([(-0.5, ""), (2.0, "speed"), (0.0, "age"), (-0.01, "load")])
    '-0.5 + 2 speed - 0.01 load'
    >>> law_text([])
    '0'
    """
    signed = [
        (minus if weight < 0 else "+", f"{abs(weight):.{digits}g}{f' {name}' if name else ''}")
        for weight, name in terms
        if weight
    ]
    (sign, first), *others = signed or [("+", "0")]
    return " ".join([first if sign == "+" else f"{sign}{first}", *(f"{sign} {term}" for sign, term in others)])


def tree_text(
    root: TreeNode,
    *,
    split: Callable[[TreeNode], tuple[str, str]],
    leaf: Callable[[TreeNode], str],
    notes: Mapping[int, str] = _NO_NOTES,
) -> str:
    """A tree as indented lines.

    Parameters
    ----------
    root : TreeNode
        Where the tree begins.
    split : callable
        The lines above the left and the right branch of a node; see `presence` for bits.
    leaf : callable
        The values of a leaf; the number of its members follows them.
    notes : mapping of int to str
        What is written at the end of the line of a leaf, by the leaf's index.

    Examples
    --------
    >>> import pellucid as pl
    >>> tree = pl.TreeFamily(depth=1).best_response([[0.0], [1.0]], [3.0, 5.0], pl.from_lists([[0, 1]]))[0]
    >>> print(tree_text(tree.root, split=lambda node: presence("a ring"), leaf=lambda node: f"{node.value[0]:g}"))
    without a ring:
        3  (1 member)
    with a ring:
        5  (1 member)
    """

    def lines(node: TreeNode, indent: str) -> list[str]:
        if not node.branches:
            return [f"{indent}{leaf(node)}  ({counted(node.size, 'member')}){notes.get(node.index, '')}"]
        text = []
        for head, branch in zip(split(node), node.branches, strict=True):
            text += [indent + head, *lines(branch, indent + _INDENT)]
        return text

    return "\n".join(lines(root, ""))


def presence(name: str) -> tuple[str, str]:
    """The lines above the branches of a split on a bit: what it stands for is absent to the left, present to the right.

    Examples
    --------
    >>> presence("c1ccccc1")
    ('without c1ccccc1:', 'with c1ccccc1:')
    """
    return f"without {name}:", f"with {name}:"
