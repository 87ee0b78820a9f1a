"""RDKit's drawings as plain shapes, which `_vector` writes for matplotlib and `_pictures` for pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final
from xml.etree import ElementTree

from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

Point = tuple[float, float]
Color = tuple[float, float, float]
# Four curves are a circle if their control points are this share of the radius away from the ends.
_CIRCLE = 0.5522847498


@final
@dataclass(frozen=True, kw_only=True)
class Style:
    """How RDKit draws; lengths are in the units of the drawing."""

    bond: float
    """The length of a bond."""
    letter: int
    """The size of letters."""
    as_text: bool
    """Whether letters are texts; otherwise they are areas."""
    colors: Mapping[int, Color] | None = None
    """Colors of elements, by their atomic numbers; by default all are black, and a bond is one line."""
    clearance: float = 0.0
    """The extra space around letters, beyond RDKit's own, in its units."""


class Step(NamedTuple):
    """A part of an outline: M begins a line at a point, L is straight, Q and C are curves, Z closes the line."""

    letter: str
    points: tuple[Point, ...]


class Outline(NamedTuple):
    """One line or area."""

    steps: tuple[Step, ...]
    fill: str
    """A color, or "none"."""
    stroke: str
    """A color, or "none"."""
    width: float
    """The width of the line."""
    dashes: tuple[float, float] | None
    """The lengths of dashes and of gaps; None for a solid line."""
    classes: frozenset[str]
    """The atoms and bonds that it belongs to, as RDKit calls them: "atom-3", "bond-0"."""

    @property
    def points(self) -> list[Point]:
        """All points, in their order."""
        return [point for step in self.steps for point in step.points]


class Letter(NamedTuple):
    """One letter, where letters are texts."""

    x: float
    """Its left end."""
    y: float
    """The line that it stands on."""
    text: str
    size: float
    atom: int
    """The atom that it belongs to."""


class Atom(NamedTuple):
    """Where an atom lies."""

    symbol: str
    x: float
    y: float


class Drawing(NamedTuple):
    """Shapes from the lowest to the topmost, within (0, 0) and (width, height); y points down."""

    outlines: list[Outline]
    letters: list[Letter]
    atoms: list[Atom]
    """Those of the molecule as it was drawn: at stereocenters RDKit adds hydrogens."""
    width: float
    height: float


def draw(molecule: Chem.Mol, style: Style, *, whole: bool, highlights: Mapping[str, Any] | None = None) -> Drawing:
    """Draw a molecule with RDKit.

    Parameters
    ----------
    molecule : Mol
        A molecule with coordinates in the plane.
    style : Style
        The style of the drawing.
    whole : bool
        Whether it is a complete molecule, with alternating double bonds in rings and hydrogens at stereocenters; a part
        of one is drawn as it is.
    highlights : mapping of str to object, optional
        Atoms and bonds with colored grounds, as keywords of RDKit's `DrawMolecule`.
    """
    drawer: Any = rdMolDraw2D.MolDraw2DSVG(-1, -1, -1, -1, style.as_text)
    _set_up(drawer.drawOptions(), style)
    if whole:  # prepared here, not by the drawer, so that hydrogens that are added are among the atoms
        molecule = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=True)
    drawer.DrawMolecule(molecule, **(highlights or {}))
    positions = [drawer.GetDrawCoords(atom.GetIdx()) for atom in molecule.GetAtoms()]
    atoms = [Atom(atom.GetSymbol(), p.x, p.y) for atom, p in zip(molecule.GetAtoms(), positions, strict=True)]
    drawer.FinishDrawing()
    return read(drawer.GetDrawingText(), atoms)


def _set_up(options: Any, style: Style) -> None:  # RDKit's annotations of these are wrong
    options.prepareMolsBeforeDrawing = False
    options.clearBackground = False
    options.includeRadicals = False
    options.addStereoAnnotation = False
    options.fixedBondLength = -1.0
    options.scalingFactor = style.bond / 1.5  # RDKit's bonds are 1.5 long
    options.bondLineWidth = 2
    options.scaleBondWidth = False
    options.fixedFontSize = style.letter
    options.additionalAtomLabelPadding = style.clearance
    options.highlightRadius = 0.36
    options.highlightBondWidthMultiplier = 9
    options.padding = 0.02
    if style.colors is None:
        options.useBWAtomPalette()
    else:
        options.standardColoursForHighlightedAtoms = True
        options.updateAtomPalette(dict(style.colors))


def read(svg: str, atoms: Sequence[Atom] = ()) -> Drawing:
    """The shapes of a drawing that RDKit wrote as SVG."""
    # RDKit's own text, never a user's: the parser meets no foreign entities.
    root = ElementTree.fromstring(svg)  # noqa: S314
    outlines, letters = [], []
    for element in root.iter():
        kind, values = element.tag.rpartition("}")[2], dict(element.attrib)
        values |= dict(re.findall(r"([\w-]+):([^;]+)", values.get("style", "")))
        classes = frozenset(values.get("class", "").split())
        if kind == "text":
            atom = next(int(name.removeprefix("atom-")) for name in classes if name.startswith("atom-"))
            size = float(values["font-size"].removesuffix("px"))
            letters.append(Letter(float(values["x"]), float(values["y"]), element.text or "", size, atom))
        elif kind not in ("svg", "rect"):
            width = float(values.get("stroke-width", "0").removesuffix("px"))
            stroke = values.get("stroke", "none") if width else "none"
            dashes = (
                tuple(float(v) for v in values["stroke-dasharray"].split(",")) if "stroke-dasharray" in values else ()
            )
            outlines.append(
                Outline(
                    _steps(kind, values),
                    values.get("fill", "none"),
                    stroke,
                    width,
                    (dashes[0], dashes[1]) if dashes else None,
                    classes,
                )
            )
    width, height = (float(root.attrib[side].removesuffix("px")) for side in ("width", "height"))
    return Drawing(outlines, letters, list(atoms), width, height)


def _steps(kind: str, values: Mapping[str, str]) -> tuple[Step, ...]:
    """The outline of an element of SVG."""
    if kind == "path":
        return tuple(
            step for command in re.findall(r"([A-Za-z])([^A-Za-z]*)", values["d"]) for step in _command(*command)
        )
    if kind == "ellipse":
        return _ellipse(*(float(values[name]) for name in ("cx", "cy", "rx", "ry")))
    if kind == "polygon":
        first, *others = _points(values["points"])
        return Step("M", (first,)), *(Step("L", (point,)) for point in others), Step("Z", ())
    raise RuntimeError(f"RDKit's drawing must consist of paths, ellipses, polygons and texts. Got <{kind}>.")


def disc(atom: Atom, radius: float, fill: str) -> Outline:
    """The colored ground of one atom.

    Parameters
    ----------
    atom : Atom
        Where the atom lies.
    radius : float
        The radius of the disc, in the units of the drawing.
    fill : str
        Its color.
    """
    return Outline(_ellipse(atom.x, atom.y, radius, radius), fill, "none", 0.0, None, frozenset())


def _command(letter: str, numbers: str) -> list[Step]:
    """A command of a path, which may repeat itself; more points than one after M are lines."""
    points, size = _points(numbers), {"M": 1, "L": 1, "Q": 2, "C": 3, "Z": 0}[letter]
    if not size:
        return [Step(letter, ())]
    parts = [tuple(points[i : i + size]) for i in range(0, len(points), size)]
    return [Step("L" if letter == "M" and i else letter, part) for i, part in enumerate(parts)]


def _ellipse(cx: float, cy: float, rx: float, ry: float) -> tuple[Step, ...]:
    def at(x: float, y: float) -> Point:
        return cx + rx * x, cy + ry * y

    c = _CIRCLE
    return (
        Step("M", (at(1, 0),)),
        Step("C", (at(1, c), at(c, 1), at(0, 1))),
        Step("C", (at(-c, 1), at(-1, c), at(-1, 0))),
        Step("C", (at(-1, -c), at(-c, -1), at(0, -1))),
        Step("C", (at(c, -1), at(1, -c), at(1, 0))),
        Step("Z", ()),
    )


def _points(text: str) -> list[Point]:
    numbers = [float(number) for number in re.findall(r"[-+.\d]+", text)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))
