import numpy as np
import pytest
from matplotlib.path import Path

from pellucid.molecules._depiction import depict, molecule_in_plane
from pellucid.molecules._rdkit_drawing import Step, Style, draw, read
from pellucid.molecules._vector import _path
from pellucid.molecules.substructures import Substructure

STYLE = Style(bond=40.0, letter=22, as_text=True)
HEAD = "<svg xmlns='http://www.w3.org/2000/svg' width='9px' height='8px'>"


def test_paths_ellipses_polygons_and_letters_are_read():
    drawing = read(
        HEAD + "<rect width='9' height='8'/>"
        "<path class='bond-0 atom-0' d='M 1,2 L 3,4 5,6 Q 1,1 2,2 Z' "
        "style='fill:none;stroke:#123456;stroke-width:2.0px'/>"
        "<path d='M 0,0 1,1' style='fill:#FF0000;stroke:#00FF00;stroke-width:0px;stroke-dasharray:6,4'/>"
        "<polygon points='0,0 2,0 2,2' fill='#0000FF'/><ellipse cx='5' cy='4' rx='2' ry='1' fill='#ABCDEF'/>"
        "<text class='atom-3' x='1.5' y='2.5' style='font-size:22px;fill:#000000'>N</text></svg>"
    )
    line, dashed, polygon, ellipse = drawing.outlines
    assert (drawing.width, drawing.height) == (9, 8)
    assert line.steps == (
        Step("M", ((1, 2),)), Step("L", ((3, 4),)), Step("L", ((5, 6),)), Step("Q", ((1, 1), (2, 2))), Step("Z", ())
    )  # fmt: skip
    assert (line.fill, line.stroke, line.width, line.dashes) == ("none", "#123456", 2, None)
    assert line.classes == {"bond-0", "atom-0"}
    assert dashed.steps == (Step("M", ((0, 0),)), Step("L", ((1, 1),)))
    assert (dashed.stroke, dashed.dashes) == ("none", (6, 4))  # a line without a width is none
    assert polygon.points == [(0, 0), (2, 0), (2, 2)]
    assert polygon.steps[-1].letter == "Z"
    assert drawing.letters == [(1.5, 2.5, "N", 22, 3)]
    assert np.ptp(ellipse.points, axis=0) == pytest.approx([4, 2])


def test_four_curves_are_a_circle():
    (circle,) = read(HEAD + "<ellipse cx='0' cy='0' rx='100' ry='100'/></svg>").outlines
    polygon = np.concatenate(_path(circle).to_polygons(closed_only=True))
    assert np.hypot(*polygon.T) == pytest.approx(100, rel=1e-3)


def test_what_is_not_known_is_refused():
    with pytest.raises(RuntimeError, match="paths, ellipses, polygons and texts. Got <image>"):
        read(HEAD + "<image/></svg>")


def test_atoms_are_those_that_were_drawn():
    drawing = draw(molecule_in_plane("C1CC[C@@H]2CCCC[C@H]2C1"), STYLE, whole=True)
    assert [atom.symbol for atom in drawing.atoms].count("H") == 2
    assert {drawing.atoms[letter.atom].symbol for letter in drawing.letters} == {"H"}
    lengths = [np.hypot(*np.subtract(*outline.points[:2])) for outline in drawing.outlines if len(outline.points) == 2]
    assert max(lengths) == pytest.approx(STYLE.bond, rel=0.05)


def test_a_part_has_its_own_atoms_first_and_stubs_where_it_was_attached():
    part = depict(Substructure(bit=0, smiles="", radius=1, molecule="CC(=O)CCC", atom=1))
    assert (part.atoms, part.bonds) == (4, 3)
    assert part.molecule.GetAtomWithIdx(part.center).GetDegree() == 3
    assert part.stubs == {"atom-4"}
    assert part.molecule.GetNumAtoms() == 5
    drawing = draw(part.molecule, STYLE, whole=False)
    assert sum(bool(part.stubs & outline.classes) for outline in drawing.outlines) == 1


def test_letters_may_be_areas():
    as_area = draw(
        molecule_in_plane("CO"), Style(bond=30.0, letter=15, as_text=False, colors={8: (1.0, 0.0, 0.0)}), whole=True
    )
    assert not as_area.letters
    filled = [outline for outline in as_area.outlines if outline.fill.upper() == "#FF0000"]
    assert filled
    assert all(isinstance(_path(outline), Path) for outline in filled)
