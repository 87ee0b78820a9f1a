"""Messages computed once for equal surroundings are those of the plain formula."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from rdkit import Chem

from pellucid.molecules import GraphNetwork, Graphs
from pellucid.molecules._environments import Environments, Lists, list_sums, passed_on
from pellucid.molecules.network import BondMessages

ANALOGS = ["CC(=O)Nc1ccc(O)cc1", "CC(=O)Nc1ccc(F)cc1", "CCC(=O)Nc1ccc(O)cc1", "C[C@H](F)/C=C/[N+](=O)[O-]"]
BATCHES = {
    "analogs": ANALOGS,
    "one twice": [ANALOGS[0], ANALOGS[0]],
    "no bonds": ["C", "[Na+].[Cl-]", "C"],
    "some without bonds": ["C", "CC", *ANALOGS],
    "one atom": ["C"],
    "rings of one kind": ["C1CCCCC1", "C1CC1"],
    "empty": [],
}


def both(network, batch, monkeypatch):
    """Outputs and gradients, as bonds of equal surroundings share them and by the plain formula."""
    results = []
    for formula in (network.message_passing._shared, network.message_passing._plain):
        with monkeypatch.context() as patch:
            patch.setattr(BondMessages, "forward", lambda _, graphs, formula=formula: formula(graphs))
            network.zero_grad(set_to_none=True)
            atoms = network.atoms(batch)
            outputs = network.outputs(atoms, batch)
            (outputs.square().sum() + atoms.sin().sum()).backward()
            gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
        results.append([atoms, outputs, *gradients])
    return zip(*results, strict=True)


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
@pytest.mark.parametrize("smiles", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_and_gradients_are_those_of_the_plain_formula(smiles, depth, dtype, monkeypatch):
    torch.manual_seed(0)
    network = GraphNetwork(2, width=9, depth=depth).to(dtype)
    batch = Graphs(smiles).batch(list(range(len(smiles))))
    for ours, expected in both(network, batch, monkeypatch):
        assert ours.dtype == dtype
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("depth", [1, 3])
def test_gradients_of_any_order_are_those_of_finite_differences(depth):
    torch.manual_seed(0)
    passing = BondMessages((72, 14), width=3, depth=depth, dropout=0.0).double()
    graphs = Graphs(["CC(C)=O", "CCO", "C"]).batch([0, 1, 2]).to_precision(torch.float64)
    names, values = zip(*((name, value.detach()) for name, value in passing.named_parameters()), strict=True)

    def atoms(*parameters):
        return torch.func.functional_call(passing, dict(zip(names, parameters, strict=True)), (graphs,))

    parameters = tuple(value.clone().requires_grad_() for value in values)
    assert passing._shares(graphs)
    assert torch.autograd.gradcheck(atoms, parameters, fast_mode=True)
    assert torch.autograd.gradgradcheck(atoms, parameters, fast_mode=True)


def test_a_level_has_the_gradients_of_finite_differences():
    generator = torch.Generator().manual_seed(0)
    first, bonds, weights = (
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((3, 4), (5, 4), (4, 4))
    )
    graphs = Graphs(ANALOGS).batch([0, 1, 2, 3])
    (level, *_) = Environments.of(graphs, 2).rounds
    lists = Lists.of(np.array([0, 2, 2, 3, 6]), np.array([0, 4, 1, 1, 2, 1]), 5)
    level = level._replace(kinds=Lists.single(np.array([0, 2, 2, 1]), 3), arriving=lists)

    def values(first, bonds, weights):
        return passed_on(level, first, bonds, weights)

    expected = torch.relu(
        first[[0, 2, 2, 1]]
        + torch.stack([bonds[[0, 4]].sum(0), 0 * bonds[0], bonds[1], bonds[[1, 2, 1]].sum(0)]) @ weights.T
    )
    torch.testing.assert_close(values(first, bonds, weights), expected)
    assert torch.autograd.gradcheck(values, (first, bonds, weights))
    assert torch.autograd.gradgradcheck(values, (first, bonds, weights))


def test_sums_of_lists_are_those_of_loops():
    values = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    parts = [[0], [], [3, 3, 1], [2, 0]]
    lists = Lists.of(np.cumsum([0, *map(len, parts)]), np.concatenate(parts).astype(np.int64), 4)
    torch.testing.assert_close(list_sums(values, lists), torch.stack([values[part].sum(0) for part in parts]))
    holding = [[i for i, part in enumerate(parts) for entry in part if entry == k] for k in range(4)]
    torch.testing.assert_close(list_sums(values, lists.back()), torch.stack([values[p].sum(0) for p in holding]))


def surroundings(molecule, bond, rounds):
    """A directed bond's kind and what arrives behind it, nested."""
    source, target = bond
    atom, between = molecule.GetAtomWithIdx(source), molecule.GetBondBetweenAtoms(source, target)
    kind = (
        atom.GetAtomicNum(), atom.GetTotalDegree(), atom.GetFormalCharge(), atom.GetIsAromatic(),
        str(atom.GetHybridization()), atom.GetTotalNumHs(), str(between.GetBondType()), between.IsInRing(),
        between.GetIsConjugated(),
    )  # fmt: skip
    behind = [other.GetIdx() for other in atom.GetNeighbors() if other.GetIdx() != target]
    return kind, () if rounds == 0 else tuple(sorted(surroundings(molecule, (i, source), rounds - 1) for i in behind))


def test_classes_are_as_many_as_there_are_different_surroundings():
    smiles = [*ANALOGS[:3], "CCO", "c1ccccc1CCO", "C"]
    found = Environments.of(Graphs(smiles).batch(list(range(6))), 4)
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    bonds = [
        (molecule, ends)
        for molecule in molecules
        for bond in molecule.GetBonds()
        for ends in ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()), (bond.GetEndAtomIdx(), bond.GetBeginAtomIdx()))
    ]
    assert len(found.bonds) == len({surroundings(*bond, 0) for bond in bonds})
    for rounds, level in enumerate(found.rounds, start=1):
        # Only the last round needs bonds to atoms at which chains end.
        needed = [
            (molecule, ends)
            for molecule, ends in bonds
            if rounds == 3 or len(molecule.GetAtomWithIdx(ends[1]).GetNeighbors()) > 1
        ]
        assert len(level.arriving.bounds) - 1 == len({surroundings(*bond, rounds) for bond in needed})


def test_what_kernels_cannot_compute_is_left_to_the_plain_formula(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(BondMessages, "_shared", refuse)
    graphs = Graphs(ANALOGS).batch([0, 1])
    dropping = GraphNetwork(1, width=4, dropout=0.5)
    dropping(graphs)
    with pytest.raises(AssertionError):
        dropping.eval()(graphs)
    network = GraphNetwork(1, width=4)
    with pytest.raises(AssertionError):
        network(graphs)
    features = graphs.V.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(network(replace(graphs, V=features)).sum(), features)
    assert gradient.abs().sum() > 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        network(graphs)
    with torch.no_grad():
        torch.compile(network, backend="eager")(graphs)
    weights = {name: value.detach() for name, value in network.named_parameters()}
    found = torch.func.grad(lambda weights: torch.func.functional_call(network, weights, (graphs,)).sum())(weights)
    assert all(torch.isfinite(value).all() for value in found.values())
    network.bfloat16()(graphs)
