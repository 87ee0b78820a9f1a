"""Molecules and substructures as small SVG that takes its colors from the page; each is drawn once in a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set
from html import escape
from typing import TYPE_CHECKING

from pellucid.errors import InputError
from pellucid.molecules._depiction import depict, molecule_in_plane
from pellucid.molecules._rdkit_drawing import Atom, Drawing, Letter, Point, Style, draw
from pellucid.molecules._scale import step_class
from pellucid.molecules.substructures import Substructure

if TYPE_CHECKING:
    from markupsafe import Markup

# Units of a bond and of letters: coordinates are whole numbers, so a bond needs enough of them.
_BOND, _LETTER = 40.0, 22
# Room around a drawing, and the least that a picture shows: small molecules are not blown up.
_MARGIN = {"molecule": 6, "substructure": 15, "colored": 15}
_LEAST = {"molecule": (260, 170), "substructure": (120, 80), "colored": (260, 170)}
# Elements with a color of their own; the others are written in that of the text.
_COLORED = frozenset(["N", "O", "S", "F", "Cl", "Br", "I", "P"])
# Widths of letters in Helvetica and Arial, in units of the size; RDKit's own are one for all capitals.
_WIDTHS = {"O": 0.78, "F": 0.61, "I": 0.28, "l": 0.22, "i": 0.22, "r": 0.33, "e": 0.56, "a": 0.56}
_LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")

GridPoint = tuple[int, int]
_STYLE = Style(bond=_BOND, letter=_LETTER, as_text=True, clearance=0.06)


class Pictures:
    """Draws each molecule and substructure once, and returns references to the drawings.

    Names are derived from what is drawn, so that two collections in one document (cells of a notebook) agree.
    """

    def __init__(self) -> None:
        self._symbols: dict[str, str] = {}

    def molecule(self, smiles: str, *, label: str | None = None) -> Markup:
        """A molecule."""
        key = _key("m", smiles)
        if key not in self._symbols:
            self._symbols[key] = _draw_molecule(key, smiles)
        return _use(key, "molecule", smiles if label is None else label)

    def colored(self, smiles: str, levels: Sequence[int], *, label: str) -> Markup:
        """A molecule whose atoms stand on colored grounds.

        Parameters
        ----------
        smiles : str
            The molecule.
        levels : sequence of int
            The color of each atom, in the order of the SMILES, as a step of the scale; see `_scale`.
        label : str
            What the picture shows, for those who do not see it.
        """
        key = _key("a", f"{smiles} {list(levels)}")
        if key not in self._symbols:
            self._symbols[key] = _draw_colored(key, smiles, levels)
        return _use(key, "molecule", label)

    def substructure(self, substructure: Substructure, grounds: tuple[int, int] | None = None) -> Markup:
        """The atoms and bonds that a bit stands for, on colored grounds.

        Parameters
        ----------
        substructure : Substructure
            The atoms and bonds.
        grounds : tuple of int, optional
            The colors of the whole and of its central atom, as steps of the scale; by default those of the radius.
        """
        radius = substructure.radius % 4
        looks = (f"g{radius}", f"c{radius}") if grounds is None else (step_class(grounds[0]), step_class(grounds[1]))
        # The bit and its text tell substructures apart: wherever they lie, one picture serves.
        key = _key("s", f"{substructure.bit} {substructure.smiles} {substructure.radius} {looks[0]}")
        if key not in self._symbols:
            self._symbols[key] = _draw_substructure(key, substructure, looks)
        return _use(key, "substructure", substructure.smiles)

    def sheet(self) -> Markup:
        """The drawings, to be put once into the document."""
        from markupsafe import Markup

        # RDKit's lines and letters, escaped where they were drawn.
        content = Markup("".join(self._symbols.values()))  # noqa: S704
        return Markup('<svg class="pl-sheet" width="0" height="0" aria-hidden="true">{}</svg>').format(content)


def _key(kind: str, text: str) -> str:
    return kind + hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:8]


def _use(key: str, kind: str, label: str) -> Markup:
    from markupsafe import Markup

    return Markup('<svg class="pl-{}" role="img" aria-label="{}"><use href="#{}"/></svg>').format(kind, label, key)


def _draw_molecule(key: str, smiles: str) -> str:
    try:
        molecule = molecule_in_plane(smiles)
    except InputError:
        return f'<symbol class="pls" id="{key}" viewBox="0 0 260 170"><text x="60" y="90">no picture</text></symbol>'
    return _symbol(key, draw(molecule, _STYLE, whole=True), "molecule")


def _draw_colored(key: str, smiles: str, levels: Sequence[int]) -> str:
    drawing = draw(molecule_in_plane(smiles), _STYLE, whole=True)
    discs: dict[int, list[list[GridPoint]]] = {}
    # Hydrogens that RDKit added for the drawing come last, and have no ground.
    for atom, level in zip(drawing.atoms, levels, strict=False):
        if level:
            discs.setdefault(level, []).append([_rounded((atom.x, atom.y))] * 2)
    ground = "".join(_path(f"a {step_class(level)}", points) for level, points in sorted(discs.items()))
    # Letters have the color of the text, for the grounds already say something.
    plain = drawing._replace(atoms=[atom._replace(symbol="") for atom in drawing.atoms])
    return _symbol(key, plain, "colored", ground)


def _draw_substructure(key: str, substructure: Substructure, looks: tuple[str, str]) -> str:
    part = depict(substructure)
    drawing = draw(part.molecule, _STYLE, whole=False)
    points = [_rounded((atom.x, atom.y)) for atom in drawing.atoms]
    center = [points[part.center]] * 2
    bonds = [part.molecule.GetBondWithIdx(b) for b in range(part.bonds)]
    lines = [[points[bond.GetBeginAtomIdx()], points[bond.GetEndAtomIdx()]] for bond in bonds] or [center]
    ground = _path(f"g {looks[0]}", lines) + _path(f"g {looks[1]}", [center])
    return _symbol(key, drawing, "substructure", ground, part.stubs)


def _symbol(key: str, drawing: Drawing, kind: str, ground: str = "", stubs: Set[str] = frozenset()) -> str:
    """A drawing in as few letters as possible: one path for all lines of a kind, one text for an atom."""
    lines: dict[str, list[list[GridPoint]]] = {}
    for outline in drawing.outlines:
        if outline.classes:  # those without round off the corners, which our lines do themselves
            look = "f" if outline.fill != "none" else "h" if stubs & outline.classes else "d" if outline.dashes else ""
            lines.setdefault(look, []).append([_rounded(point) for point in outline.points])
    letters: dict[int, list[Letter]] = {}
    for letter in drawing.letters:
        letters.setdefault(letter.atom, []).append(letter)
    marks = ground + "".join(_path(look, parts) for look, parts in lines.items())
    marks += "".join(_label(drawing.atoms[atom], items) for atom, items in letters.items())
    width, height = int(drawing.width), int(drawing.height)
    (wide, high), margin = _LEAST[kind], 2 * _MARGIN[kind]
    wide, high = max(wide, width + margin), max(high, height + margin)
    box = f"{(width - wide) // 2} {(height - high) // 2} {wide} {high}"
    return f'<symbol class="pls" id="{key}" viewBox="{box}">{marks}</symbol>'


def _label(atom: Atom, letters: list[Letter]) -> str:
    """The letters of an atom as one text, or as two where RDKit puts hydrogens above or below.

    The atom's own letters lie on it; the others follow as wide as the font is, which is not RDKit's. Small letters
    are signs of the font.
    """
    rows: dict[float, list[tuple[float, str]]] = {letter.y: [] for letter in letters if not _is_small(letter)}
    for letter in letters:
        y = letter.y
        text = letter.text
        if _is_small(letter):
            y = min(rows, key=lambda row: abs(abs(row - letter.y) - 0.4 * _LETTER))
            text = text.translate(_LOWERED if letter.y > y else _RAISED)
        rows[y].append((letter.x, text))
    middle = min(rows, key=lambda row: abs(row - atom.y - 0.5 * _LETTER))
    result = ""
    for row, items in rows.items():
        items.sort()
        text = "".join(t for _, t in items)
        # RDKit centers the first letter on the atom, or the last one where the bonds are at its right.
        ends_at_atom = abs(items[0][0] + 0.3 * _LETTER - atom.x) > abs(items[-1][0] + 0.2 * _LETTER - atom.x)
        half = _WIDTHS.get(text[-1 if ends_at_atom else 0], 0.7) * _LETTER / 2
        x, y = round(atom.x + (half if ends_at_atom else -half)), round(atom.y + 0.36 * _LETTER + row - middle)
        names = " ".join([atom.symbol] * (atom.symbol in _COLORED) + ["e"] * ends_at_atom)
        result += f'<text{_class(names)} x="{x}" y="{y}">{escape(text)}</text>'
    return result


def _is_small(letter: Letter) -> bool:
    """Whether it is an index or an exponent."""
    return letter.size < 0.9 * _LETTER


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _rounded(point: Point) -> GridPoint:
    return round(point[0]), round(point[1])


def _path(look: str, lines: list[list[GridPoint]]) -> str:
    """Lines of one look as one element: areas and dashes as they are, others joined to long lines."""
    joined = lines if look in ("f", "d") else _join(lines)
    end = "z" if look == "f" else ""
    return f'<path{_class(look)} d="{"".join(_line(line) + end for line in joined)}"/>'


def _join(lines: list[list[GridPoint]]) -> list[list[GridPoint]]:
    """The same lines, each continued by the next one that begins or ends where it ends: that saves its first point."""
    remaining, result = list(lines), []
    while remaining:
        line = remaining.pop(0)
        while following := next((other for other in remaining if line[-1] in (other[0], other[-1])), None):
            remaining.remove(following)
            line = line + (following if following[0] == line[-1] else following[::-1])[1:]
        result.append(line)
    return result


def _line(points: list[GridPoint]) -> str:
    """M with the first point, then relative steps, which have fewer digits."""
    text, (x, y) = f"M{points[0][0]} {points[0][1]}", points[0]
    for i, (right, down) in enumerate(points[1:]):
        text += ("l" if not i else " " if right >= x else "") + f"{right - x}"
        text += (" " if down >= y else "") + f"{down - y}"
        x, y = right, down
    return text
