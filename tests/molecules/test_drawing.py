import re
from dataclasses import replace
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

import pellucid as pl
from pellucid import InputError
from pellucid.molecules import Morgan
from pellucid.molecules._vector import draw_molecule, draw_substructure
from pellucid.molecules.drawing import plot_tree
from pellucid.molecules.substructures import Substructure, find_substructures
from pellucid.numbers import decimals, fixed

RINGS = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "C1CCNCC1"]
CHAINS = ["", "F", "Cl", "O", "N", "CO", "OC(=O)", "N#C", "FC(F)(F)", "CS(=O)(=O)"]
MEMBERS = [chain + ring for ring in RINGS for chain in CHAINS]


def case(*, outputs=("activity",), depth=3, morgan=None, target=None):
    morgan = morgan or Morgan()
    x, count = morgan(MEMBERS).dense(), len(MEMBERS)
    f = torch.rand((count, len(outputs)), generator=torch.Generator().manual_seed(1)) if target is None else target
    hoods = pl.Neighborhoods(torch.arange(count), torch.tensor([0, count]), torch.tensor([0]), count)
    witness = pl.TreeFamily(depth=depth).best_response(x, f, hoods).named(outputs=list(outputs))[0]
    splits = [bit for bit in witness.nodes["feature"].tolist() if bit >= 0]
    found = find_substructures(splits, MEMBERS, morgan)
    return SimpleNamespace(witness=witness, found=found, splits=splits, path=witness.path(x[0]))


def leaf_texts(witness):
    """The values of the only output, with the decimals that tell leaves apart."""
    values = witness.nodes["value"][witness.nodes["feature"] < 0, 0]
    return [fixed(value, decimals(values)) for value in values]


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def labels(figure, prefix):
    return [a.get_gid() for axes in figure.axes for a in axes.get_children() if (a.get_gid() or "").startswith(prefix)]


def within(inner, outer):
    return outer.x0 <= inner.x0 and outer.x1 >= inner.x1 and outer.y0 <= inner.y0 and outer.y1 >= inner.y1


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_every_split_has_a_picture_and_every_leaf_its_value(depth):
    c = case(depth=depth)
    figure = plot_tree(c.witness, c.found, path=c.path)
    nodes = c.witness.nodes
    splits = [f"substructure-{node}-bit-{bit}" for node, bit in enumerate(nodes["feature"]) if bit >= 0]
    assert sorted(labels(figure, "substructure")) == sorted(splits)
    leaves = nodes["feature"] < 0
    written = texts(figure)
    for text in [f"n = {size}" for size in nodes["size"][leaves]] + leaf_texts(c.witness):
        assert text in written
    assert sum(text.startswith("n = ") for text in written) == leaves.sum()
    assert written.count("absent") == written.count("present") == len(c.splits)


def test_the_path_is_marked_and_nothing_else():
    c = case()
    figure = plot_tree(c.witness, c.found, path=c.path)
    assert sorted(labels(figure, "marked-node")) == sorted(f"marked-node-{node}" for node in c.path)
    assert sorted(labels(figure, "marked-edge")) == sorted(f"marked-edge-{node}" for node in c.path[1:])
    plain = plot_tree(c.witness, c.found)
    assert labels(plain, "marked") == []
    assert "path of the molecule" in texts(figure)
    assert "path of the molecule" not in texts(plain)


@pytest.mark.parametrize("depth", [1, 2, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unbalanced", [False, True])
def test_nothing_overlaps_and_nothing_is_cut_off(depth, unbalanced):
    target = 2.0 ** -torch.arange(len(MEMBERS))[:, None] if unbalanced else None
    c = case(depth=depth, target=target)
    figure = plot_tree(c.witness, c.found, path=c.path, molecule=MEMBERS[-1], title="A tree, " * 20)
    figure.canvas.draw()
    axes, page = figure.axes[0], figure.bbox
    boxes = [p.get_window_extent() for p in axes.patches if "node" in (p.get_gid() or "")]
    boxes += [a.get_window_extent() for a in axes.collections if a.get_gid() == "molecule"]
    assert len(boxes) == len(c.witness.nodes["feature"]) + 1
    inside = [t.get_window_extent() for t in axes.texts if re.match(r"n = |[\d.e-]+$|bit ", t.get_text())]
    outside = [t.get_window_extent() for t in axes.texts]
    outside = [t for t in outside if not any(t.bounds == i.bounds for i in inside)]
    assert all(any(within(text, box) for box in boxes) for text in inside)
    for group in (boxes + outside, inside):
        for i, a in enumerate(group):
            assert within(a, page)
            assert not any(a.overlaps(b) for b in group[:i])


def test_present_is_at_the_right_and_splits_are_above_the_middle():
    c = case(depth=4)
    figure, nodes = plot_tree(c.witness, c.found), c.witness.nodes
    boxes = {int(p.get_gid().split("-")[1]): p for p in figure.axes[0].patches if p.get_gid()}
    middle = {node: box.get_x() + box.get_width() / 2 for node, box in boxes.items()}
    for node in np.flatnonzero(nodes["feature"] >= 0).tolist():
        left, right = nodes["left"][node], nodes["right"][node]
        assert middle[left] < middle[node] < middle[right]
        assert middle[node] == pytest.approx((middle[left] + middle[right]) / 2)
        assert boxes[left].get_y() > boxes[node].get_y() + boxes[node].get_height()
    leaves = sorted(middle[node] for node in np.flatnonzero(nodes["feature"] < 0))
    np.testing.assert_allclose(np.diff(leaves), leaves[1] - leaves[0])


def test_collisions_have_a_star_and_are_explained():
    c = case(morgan=Morgan(size=64))
    written = texts(plot_tree(c.witness, c.found))
    ambiguous = {bit for bit in c.splits if c.found[bit].others}
    assert ambiguous
    notes = " ".join(text for text in written if "radius" not in text)
    for bit in set(c.splits):
        assert (f"bit {bit}*" in written) == (bit in ambiguous)
        assert (f"* bit {bit} is set by" in notes) == (bit in ambiguous)
    one = next(bit for bit in c.splits if c.found[bit].others)
    assert c.found[one].others[0] in "".join(written)


def test_with_many_outputs_those_that_differ_most_are_shown():
    names = [f"NR-{k}" for k in range(12)]
    target = torch.zeros(len(MEMBERS), 12)
    oxygen = torch.tensor([float("O" in text) for text in MEMBERS])
    target[:, 4], target[:, 2], target[:, 9], target[:, 7] = 3 * oxygen, 2 * oxygen, 4 * oxygen, oxygen
    c = case(outputs=names, depth=1, target=target)
    shown = [text for text in texts(plot_tree(c.witness, c.found)) if text.startswith("NR-")]
    assert shown == ["NR-2", "NR-4", "NR-9"] * 2
    asked = texts(plot_tree(c.witness, c.found, outputs=[7, 0]))
    assert [text for text in asked if text.startswith("NR-")] == ["NR-7", "NR-0"] * 2
    assert "leaves: 2 of 12 outputs" in asked
    assert "leaves: NR-7" in texts(plot_tree(c.witness, c.found, outputs=[7]))


def test_leaves_are_shaded_by_value():
    c = case()
    boxes = {int(p.get_gid().split("-")[1]): p for p in plot_tree(c.witness, c.found).axes[0].patches if p.get_gid()}
    leaves = np.flatnonzero(c.witness.nodes["feature"] < 0)
    order = leaves[np.argsort(c.witness.nodes["value"][leaves, 0])].tolist()
    brightness = [sum(boxes[node].get_facecolor()[:3]) for node in order]
    assert brightness == sorted(brightness, reverse=True)
    assert brightness[0] > brightness[-1]


@pytest.mark.slow
def test_files_are_vectors_and_names_are_literal(tmp_path):
    c = case(outputs=["_$x_1$ & <b>"], morgan=Morgan(radius=3))
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure = plot_tree(c.witness, c.found, path=c.path, title=r"$\frac{", molecule=MEMBERS[0])
        figure.savefig(tmp_path / "tree.svg")
        figure.savefig(tmp_path / "tree.png", dpi=50)
    svg = (tmp_path / "tree.svg").read_text()
    assert "<image" not in svg
    assert r"$\frac{" in svg
    assert "leaves: _$x_1$ &amp; &lt;b&gt;" in svg
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    for text in figure.axes[0].texts:
        assert not text.get_parse_math()
        assert not text.get_usetex()


def test_a_tight_frame_cuts_nothing_off():
    c = case(depth=1)
    figure = plot_tree(c.witness, c.found, molecule="C" * 30)
    figure.canvas.draw()
    drawn = figure.axes[0].get_tightbbox()
    extents = [artist.get_window_extent() for artist in figure.axes[0].collections]
    assert all(extent.width > 10 and within(extent, drawn) for extent in extents)


@pytest.mark.slow
def test_two_trees_side_by_side(tmp_path):
    one, two = case(depth=2), case(depth=4)
    figure = Figure(figsize=(12, 5))
    left, right = figure.subplots(1, 2)
    assert plot_tree(one.witness, one.found, title="DEEP", ax=left) is figure
    assert plot_tree(two.witness, two.found, title="GAME", ax=right) is figure
    figure.savefig(tmp_path / "two.svg")
    assert len(labels(figure, "substructure")) == len(one.splits) + len(two.splits)
    figure.canvas.draw()
    for axes in (left, right):
        # Letters shrink with the tree, so that they stay in their places.
        for text in axes.texts:
            box = text.get_window_extent()
            assert axes.bbox.x0 <= box.x0
            assert axes.bbox.x1 >= box.x1
    assert left.texts[0].get_fontsize() > right.texts[0].get_fontsize()


def test_a_tree_without_splits_is_a_leaf():
    c = case(target=torch.full((len(MEMBERS), 1), 0.25))
    figure = plot_tree(c.witness, {}, path=[0])
    assert {"0.250", f"n = {len(MEMBERS)}"} <= set(texts(figure))
    assert labels(figure, "substructure") == []


def test_a_picture_has_the_atoms_of_the_substructure():
    colors = {"ground": "#00ff00", "center": "#ff00ff", "hint": "#b8b8b8"}

    def shapes(smiles, atom, radius):
        found = Substructure(bit=0, smiles="", radius=radius, molecule=smiles, atom=atom)
        picture = draw_substructure(found, **colors)
        for shape in picture.shapes:
            x, y = np.asarray(shape.path.vertices).T
            assert x.min() >= -1
            assert y.min() >= -1
            assert x.max() <= picture.width + 1
            assert y.max() <= picture.height + 1
        return picture.shapes

    def count(found, color):
        return sum(shape.face.lower() == color and len(shape.path.vertices) > 10 for shape in found)

    # The carbonyl carbon, its three neighbors, and the one bond that leaves.
    ketone = shapes("CC(=O)CCC", 1, 1)
    assert (count(ketone, "#ff00ff"), count(ketone, "#00ff00")) == (1, 3)
    assert sum(shape.edge == "#b8b8b8" for shape in ketone) == 1
    # A double bond that leaves is drawn single: at radius 0 it is not part of the substructure.
    carbonyl = shapes("CC(=O)C", 1, 0)
    assert (count(carbonyl, "#ff00ff"), count(carbonyl, "#00ff00")) == (1, 0)
    assert sum(shape.edge == "#b8b8b8" for shape in carbonyl) == 3


@pytest.mark.parametrize(
    "smiles", ["C", "[Na+].[Cl-]", "C[C@@H](O)F", "N->[Pt](Cl)Cl", "[O-][N+](=O)c1ccccc1", "CC=CF"]
)
def test_all_sorts_of_molecules_can_be_drawn(smiles):
    picture = draw_molecule(smiles)
    assert picture.shapes
    axes = Figure(figsize=(2, 2)).add_axes((0, 0, 1, 1))
    picture.draw(axes, 0.5, 0.5, 0.01, 144, "molecule")
    (artist,) = axes.collections
    assert isinstance(artist, PathCollection)
    assert len(artist.get_paths()) == len(picture.shapes)


def test_what_cannot_be_drawn_is_refused():
    c = case()
    missing = sorted(set(c.splits))[0]
    rest = {bit: found for bit, found in c.found.items() if bit != missing}
    with pytest.raises(InputError, match=f"every bit that the tree splits on. Got none for \\[{missing}\\]"):
        plot_tree(c.witness, rest)
    for path in (c.path[:-1], c.path[1:], [0, 10**6], [0, 0], [0, 10**6, *c.path[1:]]):
        with pytest.raises(InputError, match="from the root to a leaf"):
            plot_tree(c.witness, c.found, path=path)
    for outputs in ([1], [-1]):
        with pytest.raises(InputError, match="must be from 0 to 0"):
            plot_tree(c.witness, c.found, outputs=outputs)
    with pytest.raises(InputError, match="valid SMILES. Got 'C1C'"):
        plot_tree(c.witness, c.found, molecule="C1C")
    numbers = replace(c.witness, nodes=c.witness.nodes | {"threshold": c.witness.nodes["threshold"] + 2})
    with pytest.raises(InputError, match="must split on bits"):
        plot_tree(numbers, c.found)


def test_leaves_may_show_their_members_alone():
    c = case(depth=3)
    written = texts(plot_tree(c.witness, c.found, outputs=[]))
    leaves = c.witness.nodes["feature"] < 0
    assert {f"n = {size}" for size in c.witness.nodes["size"][leaves]} <= set(written)
    assert not set(leaf_texts(c.witness)) & set(written)
