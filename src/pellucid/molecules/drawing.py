"""A tree over the bits of fingerprints as chemists read it: every split is the picture of a substructure."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid.errors import InputError
from pellucid.molecules._canvas import EDGE, GROUNDS, HINT, PATH, SMALL, Canvas
from pellucid.molecules._layout import (
    CAPTION,
    COLUMN,
    LEAST,
    LINE,
    MARGIN,
    MOLECULE,
    NAME,
    NOTE,
    PICTURE,
    SIGN,
    TEXT,
    TITLE,
    VALUE,
    Layout,
    fit,
    flow,
    wrap,
)
from pellucid.molecules.substructures import Substructure
from pellucid.witnesses.tree_witness import TreeNode, TreeWitness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WARNING = "#b3261e"
_SHADES = "Purples"
# The most outputs that leaves show by default.
_MAX_OUTPUTS = 3
# The most substructures that are named where a bit stands for several.
_OTHERS = 3


def plot_tree(
    witness: TreeWitness,
    substructures: Mapping[int, Substructure],
    *,
    path: Sequence[int] = (),
    title: str = "",
    molecule: str | None = None,
    outputs: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a tree: at each split a substructure, absent to the left and present to the right.

    Pictures are vectors, in SVG and PDF too. A substructure has the color of its radius; the central atom is
    darker, grey lines lead to the rest of the molecule. Bits that several substructures set have a star, which is
    explained below the tree.

    Parameters
    ----------
    witness : TreeWitness
        A tree fitted on fingerprints: feature i is bit i.
    substructures : mapping of int to Substructure
        The substructure of every bit that the tree splits on; see `find_substructures`.
    path : sequence of int
        The nodes to mark, from the root to a leaf: `witness.path(fingerprint)`.
    title : str
        Text above the tree.
    molecule : str, optional
        SMILES of a molecule, drawn in the upper left corner.
    outputs : sequence of int, optional
        The indices of the outputs that leaves show; by default the three that differ most between leaves. With none of
        them, leaves show only the number of their members.
    ax : Axes, optional
        The axes to fill; set the size of the figure first. By default the tree gets a figure of its own, whose size
        grows with the tree (`figure.get_size_inches()` is how large axes should be).
    """
    from matplotlib.figure import Figure

    from pellucid.molecules._vector import draw_molecule

    _require_bits(witness, substructures)
    _require_path(witness, path)
    tree = Layout(witness, _choose_outputs(witness, outputs))
    # The tree moves to the right where the molecule would lie on it.
    room = MOLECULE[0] + MARGIN if molecule else 0.0
    indent = max(0.0, room - tree.free(MOLECULE[1]))
    width = max(indent + tree.width, room + MARGIN, LEAST)
    indent += (width - indent - tree.width) / 2
    titles = wrap(title, width, TITLE, bold=True) if title else []
    top = MARGIN + len(titles) * 0.24 + (0.08 if titles else 0)
    bottom = top + max(tree.height, MOLECULE[1] if molecule else 0) + 0.22
    legend = flow(_legend(tree, substructures, bool(path)), width)
    columns = max(1, int(width / COLUMN))
    column = width / columns
    notes = [line for text in _collisions(tree, substructures) for line in wrap(text, column - MARGIN, NOTE)]
    rows = -(-len(notes) // columns)
    size = width + 2 * MARGIN, bottom + 0.16 * (len(legend) + rows) + MARGIN
    if ax is None:
        ax = Figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
    page = Canvas(ax, size)
    for k, line in enumerate(titles):
        page.write(MARGIN, MARGIN + 0.24 * k + 0.1, line, TITLE, weight="bold", ha="left")
    if molecule:
        page.picture(draw_molecule(molecule), MARGIN + MOLECULE[0] / 2, top + MOLECULE[1] / 2, MOLECULE, "molecule")
    _draw_edges(page, tree, MARGIN + indent, top, set(path))
    for node in tree.nodes:
        x, y, marked = MARGIN + indent + tree.x[node.index], top + tree.top(node), node.index in path
        if node.is_leaf:
            _draw_leaf(page, tree, node, x, y, marked)
        else:
            _draw_split(page, node.index, substructures[node.feature], x, y, marked)
    for k, items in enumerate(legend):
        for x, sign, text in items:
            _draw_sign(page, sign, MARGIN + x, bottom + 0.16 * k + 0.08)
            page.write(MARGIN + x + (SIGN if sign else 0), bottom + 0.16 * k + 0.08, text, NOTE, color=SMALL, ha="left")
    for k, line in enumerate(notes):
        x, y = MARGIN + column * (k // rows), bottom + 0.16 * (len(legend) + k % rows) + 0.08
        page.write(x, y, line, NOTE, color=_WARNING, ha="left")
    return ax.figure.figure


def _require_bits(witness: TreeWitness, substructures: Mapping[int, Substructure]) -> None:
    splits = [node for node in witness.root.walk() if not node.is_leaf]
    bits = {node.feature for node in splits}
    if missing := sorted(bits - set(substructures)):
        raise InputError(
            "`substructures` must have every bit that the tree splits on",
            got=f"none for {missing}",
            cure="find them with `find_substructures(bits, members, morgan)`",
            parameter="substructures",
        )
    if not all(0 <= node.threshold < 1 for node in splits):
        raise InputError(
            "The tree must split on bits, 0 or 1",
            got="a threshold outside of these",
            cure="fit the witness on fingerprints, `Morgan()(molecules).dense()`",
        )


def _require_path(witness: TreeWitness, path: Sequence[int]) -> None:
    if not path:
        return
    steps = [int(index) for index in path]
    node = witness.root if steps[0] == witness.root.index else None
    for index in steps[1:]:
        node = None if node is None else next((branch for branch in node.branches if branch.index == index), None)
    if node is None or not node.is_leaf:
        raise InputError(
            "`path` must lead from the root to a leaf",
            got=f"{steps}",
            cure="`witness.path(fingerprint)` does",
            parameter="path",
        )


def _choose_outputs(witness: TreeWitness, outputs: Sequence[int] | None) -> list[int]:
    """The outputs that leaves show."""
    count = len(witness.output_names)
    if outputs is not None:
        chosen = [operator.index(k) for k in outputs]
        if not all(0 <= k < count for k in chosen):
            raise InputError(f"`outputs` must be from 0 to {count - 1}", got=f"{chosen}", parameter="outputs")
        return chosen
    spread = np.ptp([leaf.value for leaf in witness.root.leaves()], axis=0)
    return sorted(np.argsort(-spread, kind="stable")[:_MAX_OUTPUTS].tolist())


def _draw_edges(page: Canvas, tree: Layout, indent: float, top: float, path: set[int]) -> None:
    for node in tree.nodes:
        for branch, word in zip(node.branches, ("absent", "present"), strict=False):
            marked = branch.index in path
            start, end = top + tree.top(node) + tree.box(node)[1], top + tree.top(branch)
            x = [indent + tree.x[k.index] for k in (node, node, branch, branch)]
            y = [start, start + 0.17, start + 0.17, end]
            style = {"color": PATH, "zorder": 2} if marked else {"color": EDGE, "zorder": 1}
            page.line(x, y, 3.0 if marked else 0.9, gid=f"{'marked-' if marked else ''}edge-{branch.index}", **style)
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8 * page.scale}
            look = {"color": PATH, "weight": "bold"} if marked else {"color": SMALL}
            page.write(x[-1], (y[-2] + end) / 2, word, NOTE, bbox=ground, **look)


def _draw_split(page: Canvas, node: int, substructure: Substructure, x: float, y: float, marked: bool) -> None:
    page.box(x, y, (PICTURE[0], PICTURE[1] + CAPTION), "white", node, marked=marked)
    room, label = (PICTURE[0] - 0.12, PICTURE[1] - 0.08), f"substructure-{node}-bit-{substructure.bit}"
    page.substructure(substructure, x, y + PICTURE[1] / 2, room, label)
    look = {"color": _WARNING, "weight": "bold"} if substructure.others else {"color": SMALL}
    star = "*" if substructure.others else ""
    page.write(x, y + PICTURE[1] + CAPTION / 2 - 0.03, f"bit {substructure.bit}{star}", NOTE, **look)


def _draw_leaf(page: Canvas, tree: Layout, leaf: TreeNode, x: float, y: float, marked: bool) -> None:
    face, ink = "white", "black"
    if len(tree.outputs) == 1:
        (k,) = tree.outputs
        face, ink = _shade(leaf.value[k], [other.value[k] for other in tree.leaves])
    page.box(x, y, tree.leaf, face, leaf.index, marked=marked)
    left, right = x - tree.leaf[0] / 2 + 0.07, x + tree.leaf[0] / 2 - 0.07
    for k, (name, text) in enumerate(zip(tree.names, tree.texts[leaf.index], strict=True)):
        middle = y + 0.06 + LINE * (k + 0.5)
        if len(tree.outputs) == 1:
            page.write(x, middle, text, VALUE, color=ink, weight="bold")
        else:
            page.write(left, middle, fit(name, NAME, TEXT), TEXT, ha="left")
            page.write(right, middle, text, TEXT, ha="right")
    page.write(x, y + 0.06 + LINE * (len(tree.names) + 0.5), f"n = {leaf.size}", TEXT, color=ink)


def _shade(value: float, values: Sequence[float]) -> tuple[str, str]:
    """The ground of a leaf, darker for higher values, and the color of letters on it."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    low, high = min(values), max(values)
    shade = 0.05 + 0.65 * ((value - low) / (high - low) if high > low else 0.0)
    return to_hex(colormaps[_SHADES](shade)), "white" if shade > 0.55 else "black"


def _legend(tree: Layout, substructures: Mapping[int, Substructure], path: bool) -> list[tuple[str, str]]:
    """Signs and what they mean."""
    used = [substructures[node.feature] for node in tree.nodes if not node.is_leaf]
    radii = sorted({substructure.radius for substructure in used})
    items = [(str(radius), f"radius {radius}") for radius in radii]
    if used:
        items += [
            ("", "darker: central atom"),
            ("hint", "bond to the rest of the molecule"),
            ("dashed", "aromatic bond"),
        ]
    if path:
        items.append(("path", "path of the molecule"))
    items.append(("", "n: members of the neighborhood"))
    total = len(tree.root.value)
    if len(tree.outputs) == 1:
        items.append(("", f"leaves: {tree.names[0]}"))
    elif 0 < len(tree.outputs) < total:
        items.append(("", f"leaves: {len(tree.outputs)} of {total} outputs"))
    return items


def _draw_sign(page: Canvas, sign: str, x: float, y: float) -> None:
    from matplotlib.patches import Circle

    if sign == "hint":
        page.line([x + 0.02, x + SIGN - 0.06], [y, y], 1.4, color=HINT)
    elif sign == "path":
        page.line([x, x + SIGN - 0.06], [y, y], 3.0, color=PATH)
    elif sign == "dashed":
        page.line([x, x + SIGN - 0.06], [y - 0.02, y - 0.02], 1.0, color="black")
        for k in range(3):
            page.line([x + 0.02 + 0.055 * k, x + 0.045 + 0.055 * k], [y + 0.025] * 2, 1.0, color="black")
    elif sign:
        for color, radius in zip(GROUNDS[int(sign) % len(GROUNDS)], (0.065, 0.033), strict=True):
            page.ax.add_patch(Circle((x + 0.1, y), radius, facecolor=color, edgecolor="none"))


def _collisions(tree: Layout, substructures: Mapping[int, Substructure]) -> list[str]:
    """A sentence for each bit that stands for several substructures."""
    texts = []
    for bit in dict.fromkeys(node.feature for node in tree.nodes if not node.is_leaf):
        if others := substructures[bit].others:
            more = f" and {len(others) - _OTHERS} more" if len(others) > _OTHERS else ""
            texts.append(
                f"* bit {bit} is set by {substructures[bit].smiles} or by: {',  '.join(others[:_OTHERS])}{more}"
            )
    return texts
