"""Molecules and substructures as lines and areas for matplotlib."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from matplotlib.transforms import Bbox

from pellucid.molecules._depiction import depict, molecule_in_plane
from pellucid.molecules._rdkit_drawing import Drawing, Outline, Point, Style, disc, draw
from pellucid.molecules.substructures import Substructure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pixels of a bond in RDKit's drawings; only the ratio to widths and letters matters, for pictures are scaled.
_BOND = 30.0
_INK = "#222222"
# RDKit's colors of some elements are too light to be read on a ground.
_ELEMENTS = {0: _INK, 1: _INK, 6: _INK, 7: "#1f3fd0", 8: "#c8102e", 9: "#0b7a75", 16: "#8a6100", 17: "#1b7f1b"}
_STYLE = Style(
    bond=_BOND, letter=15, as_text=False, colors={number: to_rgb(color) for number, color in _ELEMENTS.items()}
)
# Letters on colored atoms are black, for the colors already say something.
_PLAIN_STYLE = Style(bond=_BOND, letter=15, as_text=False, colors={number: to_rgb(_INK) for number in range(119)})
# The radius of the ground of an atom: those of bonded atoms do not touch.
_DISC = 0.42 * _BOND
_CODES = {
    "M": [Path.MOVETO], "L": [Path.LINETO], "Q": [Path.CURVE3] * 2, "C": [Path.CURVE4] * 3, "Z": [Path.CLOSEPOLY],
}  # fmt: skip


class Shape(NamedTuple):
    """One line or area."""

    path: Path
    face: str
    edge: str
    width: float
    """The width of the line, in the units of the path."""


class Picture(NamedTuple):
    """Shapes from the lowest to the topmost, within (0, 0) and (width, height); y points down."""

    shapes: list[Shape]
    width: float
    height: float
    bond: float = _BOND
    """The length of a bond."""

    def draw(self, axes: Axes, x: float, y: float, scale: float, points: float, label: str) -> None:
        """Draw it around (x, y) on axes whose y points down too.

        Parameters
        ----------
        axes : Axes
            The axes to draw on.
        x, y : float
            The middle of the picture.
        scale : float
            Units of the axes for one unit of the picture.
        points : float
            Typographic points for one unit of the axes.
        label : str
            The id of the group in SVG, and of the artist.
        """
        corner = np.array([x - scale * self.width / 2, y - scale * self.height / 2])
        paths = [Path(np.asarray(shape.path.vertices) * scale + corner, shape.path.codes) for shape in self.shapes]
        artist = _Shapes(
            paths,
            facecolors=[shape.face for shape in self.shapes],
            edgecolors=[shape.edge for shape in self.shapes],
            linewidths=[shape.width * scale * points for shape in self.shapes],
            capstyle="round",
            joinstyle="round",
            transform=axes.transData,
            zorder=4,
        )
        artist.set_gid(label)
        axes.add_collection(artist, autolim=False)


class _Shapes(PathCollection):
    """Paths in the units of the axes."""

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Where they are; matplotlib returns an empty box, with which `bbox_inches="tight"` would cut them off."""
        return Bbox.union([path.get_extents(self.get_transform()) for path in self.get_paths()])


def draw_molecule(smiles: str, colors: Sequence[str | None] | None = None) -> Picture:
    """A molecule.

    Parameters
    ----------
    smiles : str
        The molecule.
    colors : sequence of str, optional
        The color of the ground of each atom, in the order of the SMILES; None for an atom without one.
    """
    molecule = molecule_in_plane(smiles)
    if colors is None:
        return _picture(draw(molecule, _STYLE, whole=True))
    drawing = draw(molecule, _PLAIN_STYLE, whole=True)
    # Hydrogens that RDKit added for the drawing come last, and have no ground.
    grounds = [disc(atom, _DISC, color) for atom, color in zip(drawing.atoms, colors, strict=False) if color]
    return _picture(drawing._replace(outlines=grounds + drawing.outlines))


def draw_substructure(substructure: Substructure, *, ground: str, center: str, hint: str) -> Picture:
    """The atoms and bonds of a substructure on a colored ground, and short bonds where it is attached.

    The central atom has a ground of its own color. Aromatic bonds are dashed, for the fingerprint encodes them
    as aromatic only.
    """
    part = depict(substructure)
    light, dark = to_rgb(ground), to_rgb(center)
    highlights = {
        "highlightAtoms": list(range(part.atoms)),
        "highlightBonds": list(range(part.bonds)),
        "highlightAtomColors": {a: dark if a == part.center else light for a in range(part.atoms)},
        "highlightBondColors": dict.fromkeys(range(part.bonds), light),
    }
    return _picture(draw(part.molecule, _STYLE, whole=False, highlights=highlights), part.stubs, hint)


def _picture(drawing: Drawing, stubs: Set[str] = frozenset(), color: str = "") -> Picture:
    """The shapes of a drawing, with lines of stubs in their own color."""
    shapes: list[Shape] = []
    for outline in drawing.outlines:
        path = _path(outline)
        edge = color if outline.stroke != "none" and stubs & outline.classes else outline.stroke
        pieces = _dashed(path, *outline.dashes) if outline.dashes else [path]
        shapes += [Shape(piece, outline.fill, edge, outline.width) for piece in pieces]
    return Picture(shapes, drawing.width, drawing.height)


def _path(outline: Outline) -> Path:
    vertices: list[Point] = []
    codes: list[np.uint8] = []
    for letter, points in outline.steps:
        vertices += points or vertices[-1:]
        codes += _CODES[letter]
    return Path(vertices, codes)


def _dashed(path: Path, on: float, off: float) -> list[Path]:
    """A straight line as whole dashes, one at either end: matplotlib's own would follow its settings."""
    begin, end = np.asarray(path.vertices)[[0, -1]]
    length = float(np.hypot(*(end - begin)))
    count = max(1, round((length + off) / (on + off)))
    total = count * (on + off) - off
    starts = [k * (on + off) / total for k in range(count)]
    return [Path([begin + s * (end - begin), begin + (s + on / total) * (end - begin)]) for s in starts]
