import re
from xml.etree import ElementTree

import pytest

from pellucid.molecules import Morgan
from pellucid.molecules._pictures import Pictures
from pellucid.molecules._scale import ground_steps
from pellucid.molecules.substructures import find_substructures


def drawn(smiles):
    pictures = Pictures()
    pictures.molecule(smiles)
    return ElementTree.fromstring(str(pictures.sheet()))  # noqa: S314


def letters(root):
    return sorted(text.text for text in root.iter("text"))


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("c1ccccc1", []),
        ("NCCO", ["H₂N", "OH"]),
        ("C[NH3+]", ["NH₃⁺"]),
        ("[13CH3]Cl", ["Cl", "¹³C"]),
        ("C", ["CH₄"]),
        ("CC(=O)[O-]", ["O", "O⁻"]),
        ("C1CC[C@@H]2CCCC[C@H]2C1", ["H", "H"]),  # drawn at stereocenters
    ],
)
def test_letters_are_those_of_the_atoms(smiles, expected):
    found = letters(drawn(smiles))
    # Which side hydrogens are on depends on the layout.
    assert sorted(sorted(text) for text in found) == sorted(sorted(text) for text in expected)


def test_every_bond_is_a_line():
    # Propane has two, joined to one line of three points; benzene six and three inner ones.
    (path,) = drawn("CCC").iter("path")
    assert re.fullmatch(r"M\d+ \d+l-?\d+[ -]\d+[ -]\d+[ -]\d+", path.get("d"))
    (path,) = drawn("c1ccccc1").iter("path")
    steps = [len(re.findall(r"-?\d+", part)) // 2 - 1 for part in path.get("d").split("M")[1:]]
    assert sum(steps) == 9


def test_a_molecule_is_drawn_once():
    pictures = Pictures()
    one, two = pictures.molecule("CCO"), pictures.molecule("CCO")
    assert one == two
    assert str(pictures.sheet()).count("<symbol") == 1
    assert f'href="#{re.search(r"id=.(m[0-9a-f]+)", pictures.sheet())[1]}"' in one


def test_pictures_take_their_colors_from_the_page(sulfonamides):
    pictures = Pictures()
    for smiles in sulfonamides.smiles[:12]:
        pictures.molecule(smiles)
    root = ElementTree.fromstring(str(pictures.sheet()))  # noqa: S314
    assert len(root.findall(".//{*}symbol")) == 12
    for element in root.iter():
        assert not {"style", "fill", "stroke"} & set(element.attrib)


def test_a_substructure_stands_on_the_ground_of_its_radius():
    smiles = "Cc1ccc(S(N)(=O)=O)cc1"
    bits = sorted(Morgan()([smiles]).dense()[0].nonzero().flatten().tolist())
    found = find_substructures(bits, [smiles], Morgan())
    for substructure in found.values():
        pictures = Pictures()
        pictures.substructure(substructure)
        root = ElementTree.fromstring(str(pictures.sheet()))  # noqa: S314
        grounds = [path.get("class") for path in root.iter("path") if "g" in path.get("class", "").split()]
        assert grounds == [f"g g{substructure.radius}", f"g c{substructure.radius}"]
    assert {s.radius for s in found.values()} == {0, 1, 2}


def test_a_term_stands_on_the_color_of_its_sign():
    smiles = "Cc1ccc(S(N)(=O)=O)cc1"
    bits = sorted(Morgan()([smiles]).dense()[0].nonzero().flatten().tolist())
    substructure = next(s for s in find_substructures(bits, [smiles], Morgan()).values() if s.radius == 2)
    pictures = Pictures()
    for contribution in (0.7, -1e-9, 0.0):
        pictures.substructure(substructure, ground_steps(contribution))
    root = ElementTree.fromstring(str(pictures.sheet()))  # noqa: S314
    grounds = [path.get("class") for path in root.iter("path") if "g" in path.get("class", "").split()]
    # A picture for each, and none in the blue of radius 2, which would say that it lowers the prediction.
    assert grounds == ["g p2", "g p5", "g m2", "g m5", "g zero", "g zero"]


def test_what_cannot_be_drawn_says_so():
    assert letters(drawn("not a molecule <b>")) == ["no picture"]
