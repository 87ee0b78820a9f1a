import numpy as np
import pytest
import torch
from rdkit import Chem
from torch import nn

from pellucid import InputError
from pellucid.molecules import GraphNetwork, Graphs, Morgan, outputs_of

SMILES = ["CCO", "c1ccccc1C", "CC(=O)Nc1ccc(O)cc1", "C", "OC(=O)c1ccccc1"]


@pytest.fixture
def network():
    torch.manual_seed(0)
    return GraphNetwork(2, width=8, depth=3)


def their_graphs(smiles):
    """Molecules as chemprop writes them; to import it takes seconds."""
    from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer

    featurize = SimpleMoleculeMolGraphFeaturizer()
    return [featurize(Chem.MolFromSmiles(text)) for text in smiles]


def their_batch(smiles):
    from chemprop.data import BatchMolGraph

    return BatchMolGraph(their_graphs(smiles))


def by_hand(network, smiles):
    """The docstring's equations, with loops over bonds."""
    (graph,) = their_graphs([smiles])
    passing = network.message_passing
    atoms, bonds = (torch.as_tensor(np.asarray(part), dtype=torch.float32) for part in (graph.V, graph.E))
    source, target = graph.edge_index
    first = [passing.W_i(torch.cat([atoms[source[b]], bonds[b]])) for b in range(len(bonds))]
    hidden = [torch.relu(h) for h in first]
    for _ in range(passing.depth - 1):
        hidden = [
            torch.relu(
                first[b]
                + passing.W_h(
                    sum(
                        (hidden[a] for a in range(len(bonds)) if target[a] == source[b] and source[a] != target[b]),
                        torch.zeros_like(hidden[b]),
                    )
                )
            )
            for b in range(len(bonds))
        ]
    states = []
    for v in range(len(atoms)):
        arriving = sum((hidden[b] for b in range(len(bonds)) if target[b] == v), torch.zeros(passing.W_h.out_features))
        states.append(torch.relu(passing.W_o(torch.cat([atoms[v], arriving]))))
    return network.head(torch.stack(states).mean(0))


@pytest.mark.slow
def test_outputs_are_those_of_the_equations(network):
    found = network(Graphs(SMILES).batch(list(range(5))))
    assert found.shape == (5, 2)
    for row, smiles in zip(found, SMILES, strict=True):
        torch.testing.assert_close(row, by_hand(network, smiles))


class Chemprops(nn.Module):
    """The network as it was made of chemprop's own layers."""

    def __init__(self, outputs, *, width, depth, dropout=0.0, features=None):
        from chemprop.nn import BondMessagePassing, MeanAggregation

        super().__init__()
        sizes = {} if features is None else {"d_v": features[0], "d_e": features[1]}
        self.message_passing = BondMessagePassing(d_h=width, depth=depth, dropout=dropout, **sizes)
        self.mean = MeanAggregation()
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs)
        )

    def forward(self, graphs):
        return self.head(self.mean(self.message_passing(graphs, None), graphs.batch))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"features": (5, 3)}, {"depth": 6, "dropout": 0.3}])
def test_the_same_seed_gives_chemprops_initial_weights(options):
    options = {"width": 8, "depth": 3} | options
    made = []
    for kind in (GraphNetwork, Chemprops):
        torch.manual_seed(5)
        made.append((kind(2, **options).state_dict(), torch.rand(())))
    (ours, after), (theirs, after_theirs) = made
    assert list(ours) == list(theirs)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert torch.equal(after, after_theirs)  # as many random numbers were used


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 6])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_outputs_and_gradients_are_those_of_chemprops_own_forward_pass(depth, dropout):
    torch.manual_seed(0)
    network = GraphNetwork(2, width=8, depth=depth, dropout=dropout)
    theirs = Chemprops(2, width=8, depth=depth, dropout=dropout)
    theirs.load_state_dict(network.state_dict())
    graphs = their_batch(SMILES)
    results = []
    for module, batch in ((network, Graphs(SMILES).batch([0, 1, 2, 3, 4])), (theirs, graphs)):
        torch.manual_seed(1)  # of the dropout
        outputs = module(batch)
        outputs.square().sum().backward()
        results.append([outputs, *(parameter.grad for parameter in module.parameters())])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.slow
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 1, 1], [3]])
def test_batches_are_chemprops(order):
    smiles = [*SMILES[:3], "C[C@H](F)/C=C/[N+](=O)[O-]", "O.[Na+].[Cl-]"]
    theirs = their_batch([smiles[i] for i in order])
    ours = Graphs(smiles).batch(order)
    for name in ("V", "E", "edge_index", "rev_edge_index", "batch"):
        assert torch.equal(getattr(ours, name), getattr(theirs, name)), name
    assert len(ours) == len(theirs)
    assert ours.smiles == tuple(smiles[i] for i in order)


def test_a_molecule_does_not_depend_on_its_batch_or_on_how_it_is_written(network):
    graphs = Graphs([*SMILES, "Cc1ccccc1"])
    together = network(graphs.batch([1, 0, 5]))
    torch.testing.assert_close(together[0], network(graphs.batch([1]))[0])
    torch.testing.assert_close(together[0], together[2])
    torch.testing.assert_close(outputs_of(network, graphs, size=4), network(graphs.batch(torch.arange(6))).detach())


@pytest.mark.slow
def test_it_learns_to_count_oxygens():
    torch.manual_seed(0)
    network = GraphNetwork(1, width=16, depth=2)
    graphs = Graphs(SMILES)
    y = torch.tensor([[float(text.count("O"))] for text in SMILES])
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        loss = (network(graphs.batch(list(range(5)))) - y).square().mean()
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(outputs_of(network, graphs), y, atol=0.1, rtol=0)


def test_predicting_leaves_the_mode_as_it_was():
    network = GraphNetwork(1, width=8, dropout=0.5).train()
    graphs = Graphs(SMILES)
    assert torch.equal(outputs_of(network, graphs), outputs_of(network, graphs))
    assert network.training


@pytest.mark.parametrize("read", [Graphs, Morgan()])
def test_texts_that_are_no_smiles_are_told(read):
    with pytest.raises(InputError, match=r"must be valid. Got 'C\(' \(not a valid SMILES\); clean them with `prepare`"):
        read(["CC", "C("])
    with pytest.raises(InputError, match=r"Got 'CC O' \(white space inside, so that only 'CC' would be read"):
        read(["CC", "CC O"])


def test_molecules_that_are_not_there_are_told():
    with pytest.raises(InputError, match="Every index must lie between 0 and 4"):
        Graphs(SMILES).batch([5])
