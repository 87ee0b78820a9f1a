"""Which molecules are learned from, validated on and tested on."""

import pytest
from blockers import blockers
from rdkit.Chem.Scaffolds import MurckoScaffold

from pellucid import InputError
from pellucid.molecules import prepare
from pellucid.molecules.splitting import split


@pytest.mark.slow
def test_a_split_by_scaffold_keeps_ring_systems_together():
    table = blockers().select(range(0, 1017, 3))
    parts = split(table, 0, "scaffold")
    assert sorted(smiles for part in parts for smiles in part.smiles) == sorted(table.smiles)
    rings = [{MurckoScaffold.MurckoScaffoldSmiles(smiles=smiles) for smiles in part.smiles} for part in parts]
    assert not rings[0] & rings[1]
    assert not rings[0] & rings[2]
    assert not rings[1] & rings[2]
    assert len(parts.test) == pytest.approx(34, abs=3)
    with pytest.raises(InputError, match="Got 1, which leave nothing for"):
        split(prepare([f"c1ccccc1{'C' * k}" for k in range(20)]), 0, "scaffold")
    with pytest.raises(InputError, match='`split` must be "random" or "scaffold"'):
        split(table, 0, "time")
