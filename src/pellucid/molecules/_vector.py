"""Molecules and substructures as lines and areas for matplotlib: RDKit draws SVG, which is read back here."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from rdkit.Chem.Draw import rdMolDraw2D

from pellucid.molecules._depiction import cut_out, flat, name_carbon
from pellucid.molecules.substructures import Substructure, environment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pixels of a bond in RDKit's drawings; only the ratio to widths and letters matters, for pictures are scaled.
_BOND = 30.0
_INK = "#222222"
# RDKit's colors of some elements are too light to be read on a ground.
_ELEMENTS = {0: _INK, 1: _INK, 6: _INK, 7: "#1f3fd0", 8: "#c8102e", 9: "#0b7a75", 16: "#8a6100", 17: "#1b7f1b"}
_CODES = {"M": [Path.MOVETO], "L": [Path.LINETO], "Q": [Path.CURVE3] * 2, "C": [Path.CURVE4] * 3}


class Shape(NamedTuple):
    """One line or area."""

    path: Path
    face: str
    edge: str
    width: float
    """Of the line, in the units of the path."""


class Picture(NamedTuple):
    """Shapes from the lowest to the topmost, within (0, 0) and (width, height); y points down."""

    shapes: list[Shape]
    width: float
    height: float
    bond: float = _BOND
    """The length of a bond."""

    def place(self, axes: Axes, x: float, y: float, scale: float, points: float, label: str) -> None:
        """Draw it around (x, y) on axes whose y points down too.

        Parameters
        ----------
        scale : float
            Units of the axes for a unit of the picture.
        points : float
            Typographic points for a unit of the axes.
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
        """Where they are; matplotlib says nowhere, so that `bbox_inches="tight"` would cut them off."""
        return Bbox.union([path.get_extents(self.get_transform()) for path in self.get_paths()])


def draw_molecule(smiles: str) -> Picture:
    """A whole molecule."""
    molecule = flat(smiles)
    drawer = rdMolDraw2D.MolDraw2DSVG(-1, -1)
    _set_up(drawer.drawOptions())
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule, kekulize=True)
    return _read(drawer)


def draw_substructure(substructure: Substructure, *, ground: str, center: str, hint: str) -> Picture:
    """The atoms and bonds of a substructure on a colored ground, and short bonds where it is attached.

    They lie as in the whole molecule, so that a part of a ring is seen to be one. The central atom has a ground of
    its own color. Bonds that leave the substructure are drawn single, for the fingerprint does not know their order;
    aromatic bonds are dashed, for it knows them as aromatic only.
    """
    molecule = flat(substructure.molecule)
    atoms, bonds = environment(molecule, substructure.atom, substructure.radius)
    part, middle, hints = cut_out(molecule, atoms, bonds, substructure.atom)
    if not substructure.radius:
        name_carbon(part.GetAtomWithIdx(middle))
    drawer = rdMolDraw2D.MolDraw2DSVG(-1, -1)
    options: Any = drawer.drawOptions()
    _set_up(options)
    options.prepareMolsBeforeDrawing = False
    light, dark = to_rgb(ground), to_rgb(center)
    drawer.DrawMolecule(
        part,
        highlightAtoms=list(range(len(atoms))),
        highlightBonds=list(range(len(bonds))),
        highlightAtomColors={a: dark if a == middle else light for a in range(len(atoms))},
        highlightBondColors=dict.fromkeys(range(len(bonds)), light),
    )
    return _read(drawer, hints, hint)


def _set_up(options: Any) -> None:  # RDKit's annotations of these are wrong
    options.clearBackground = False
    options.includeRadicals = False
    options.addStereoAnnotation = False
    options.fixedBondLength = -1.0
    options.scalingFactor = _BOND / 1.5  # RDKit's bonds are 1.5 long
    options.bondLineWidth = 2
    options.scaleBondWidth = False
    options.fixedFontSize = 15
    options.highlightRadius = 0.36
    options.highlightBondWidthMultiplier = 9
    options.padding = 0.02
    options.standardColoursForHighlightedAtoms = True
    options.updateAtomPalette({number: to_rgb(color) for number, color in _ELEMENTS.items()})


def _read(drawer: rdMolDraw2D.MolDraw2DSVG, marked: Set[str] = frozenset(), color: str = "") -> Picture:
    """The shapes of a drawing; lines of the marked SVG classes in a color of their own."""
    drawer.FinishDrawing()
    # RDKit's own text, never a user's: the parser meets no foreign entities.
    root = ElementTree.fromstring(drawer.GetDrawingText())  # noqa: S314
    shapes: list[Shape] = []
    for element in root.iter():
        values = dict(element.attrib)
        if (path := _path(element.tag.rpartition("}")[2], values)) is None:
            continue
        values |= dict(re.findall(r"([\w-]+):([^;]+)", values.get("style", "")))
        width = float(values.get("stroke-width", "0").removesuffix("px"))
        face, edge = values.get("fill", "none"), values.get("stroke", "none") if width else "none"
        if edge != "none" and marked & set(values.get("class", "").split()):
            edge = color
        dashes = values.get("stroke-dasharray")
        pieces = _dashed(path, *(float(v) for v in dashes.split(","))) if dashes else [path]
        shapes += [Shape(piece, face, edge, width) for piece in pieces]
    return Picture(shapes, *(float(root.attrib[side].removesuffix("px")) for side in ("width", "height")))


def _path(kind: str, values: dict[str, str]) -> Path | None:
    """The outline of an element of SVG, None for one that is not to be seen."""
    if kind == "path":
        return _outline(values["d"])
    if kind == "ellipse":
        radii, middle = (np.array([float(values[k]) for k in keys]) for keys in (("rx", "ry"), ("cx", "cy")))
        circle = Path.circle()
        return Path(np.asarray(circle.vertices) * radii + middle, circle.codes)
    if kind == "polygon":
        return Path(_points(values["points"]), closed=True)
    if kind in ("svg", "rect"):
        return None
    raise RuntimeError(f"RDKit's drawing must consist of paths, ellipses and polygons. Got <{kind}>.")


def _points(text: str) -> np.ndarray:
    return np.array(re.findall(r"[-+.\d]+", text), dtype=float).reshape(-1, 2)


def _outline(text: str) -> Path:
    """A path of SVG with absolute commands."""
    vertices: list[list[float]] = []
    codes: list[np.uint8] = []
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", text):
        if letter == "Z":
            vertices.append(vertices[-1])
            codes.append(Path.CLOSEPOLY)
            continue
        points = _points(numbers)
        steps = len(points) // len(_CODES[letter])
        vertices += points.tolist()
        # More points than one after M are lines.
        codes += _CODES[letter] + ([Path.LINETO] if letter == "M" else _CODES[letter]) * (steps - 1)
    return Path(vertices, codes)


def _dashed(path: Path, on: float, off: float) -> list[Path]:
    """A straight line as whole dashes, one at either end: matplotlib's own would follow its settings."""
    begin, end = np.asarray(path.vertices)[[0, -1]]
    length = float(np.hypot(*(end - begin)))
    count = max(1, round((length + off) / (on + off)))
    whole = count * (on + off) - off
    starts = [k * (on + off) / whole for k in range(count)]
    return [Path([begin + s * (end - begin), begin + (s + on / whole) * (end - begin)]) for s in starts]
