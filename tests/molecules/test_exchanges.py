import pytest
from rdkit import Chem

from pellucid.molecules import RGroups
from pellucid.molecules.analogs import cuts
from pellucid.molecules.exchanges import _sides, _texts, exchanged_groups


def test_exchanges_of_a_hand_made_neighborhood():
    members = [
        "COc1ccc(Cl)cc1",
        "COc1ccc(F)cc1",  # chlorine for fluorine
        "CCOc1ccc(Cl)cc1",  # methyl for ethyl: the smallest groups in which they differ
        "CNc1ccc(Cl)cc1",  # methoxy for methylamino
        "COc1cccc(Cl)c1",  # another place: what is shared would be less than half
        "CNc1ccc(F)cc1",  # two groups at once
        "COc1ccc(Cl)cc1C",  # no group in its place
    ]
    assert exchanged_groups(members) == {1: ("*Cl", "*F"), 2: ("*C", "*CC"), 3: ("*OC", "*NC")}


@pytest.mark.slow
def test_every_analog_is_an_exchange(sulfonamides):
    groups = RGroups.seen_in(sulfonamides.smiles[:20], jobs=1)
    for smiles in sulfonamides.smiles[:2]:
        analogs = list(groups.exchanged(smiles))[::5]
        pairs = exchanged_groups([smiles, *analogs])
        assert len(analogs) > 10
        # A molecule that is shared by less than a half is none.
        assert len(pairs) == pytest.approx(len(analogs), rel=0.1)


def test_a_molecule_alone_has_none():
    assert exchanged_groups(["CCO"]) == {}
    assert exchanged_groups(["C", "CC"]) == {}


@pytest.mark.slow
def test_molecules_are_cut_where_analogs_are(sulfonamides):
    for smiles in (*sulfonamides.smiles[:10], "CC(C)(C)OC(=O)N[C@@H](C)C(=O)O", "c1ccccc1"):
        molecule = Chem.MolFromSmiles(smiles)
        cut = {(c.rest, c.group) for c in cuts(molecule, largest=1000)}
        sides = {_texts(molecule, side) for side in _sides(molecule)}

        def plain(pair):
            return tuple(Chem.CanonSmiles(text.replace("[*:1]", "*")) for text in pair)

        canonical = {plain(pair) for pair in sides}
        assert {plain(pair) for pair in cut} <= canonical
        assert canonical == {plain(p) for pair in cut for p in (pair, pair[::-1])}
