"""The bound by hand, and batched messages against the formulas, one node at a time."""

from math import log

import pytest
import torch
from molecules.vae.small_networks import CORPUS, LABELS, SMILES, batch, network

from pellucid.molecules.vae import Posterior, decompose
from pellucid.molecules.vae.batches import encoder_batch


def doubled(b):
    graphs = type(b.encoder.graphs)(**{**vars(b.encoder.graphs), "V": b.encoder.graphs.V.double(),
                                       "E": b.encoder.graphs.E.double()})  # fmt: skip
    return type(b)(**{**vars(b), "encoder": type(b.encoder)(**{**vars(b.encoder), "graphs": graphs})})


def test_the_bound_of_ethanol_by_hand():
    # With all weights 0 every decision is even: at CC there is a child, at CO there is none, at CC no other one.
    # The root is one of all labels, the child one of those that fit CC, and there is one way to attach it.
    net = network()
    for parameter in net.parameters():
        parameter.data.zero_()
    posterior, parts = net(doubled(batch(0)), torch.zeros(1, 6, dtype=torch.float64))
    fits = LABELS.fits[LABELS.index["CC"]].sum()
    assert parts.topology.item() == pytest.approx(3 * log(1 / 2))
    assert parts.labels.item() == pytest.approx(-log(len(LABELS)) - log(fits))
    assert parts.assembly.item() == 0
    # mean 0 and variance 1/2 in each of 2 * 3 directions
    assert posterior.divergence().item() == pytest.approx(6 * 0.5 * (0.5 + log(2) - 1))


def test_the_assembly_of_fluorotoluene_by_hand():
    # CC, then the ring, in which all atoms are alike, then CF at one of five places: Kekulé bonds tell both sides
    # of the ring apart.
    net = network()
    for parameter in net.parameters():
        parameter.data.zero_()
    _, parts = net(doubled(batch(1)), torch.zeros(1, 6, dtype=torch.float64))
    assert decompose(SMILES[1]).labels == ("CC", "C1=CC=CC=C1", "CF")
    assert parts.assembly.item() == pytest.approx(-log(5))
    assert parts.topology.item() == pytest.approx(5 * log(1 / 2))


def test_divergences_are_those_of_gaussians(generator):
    posterior = Posterior(torch.randn(4, 6, generator=generator), torch.randn(4, 6, generator=generator))
    q = torch.distributions.Normal(posterior.mean, (0.5 * posterior.log_variance).exp())
    expected = torch.distributions.kl_divergence(q, torch.distributions.Normal(0.0, 1.0)).sum(1)
    assert torch.allclose(posterior.divergence(), expected, atol=1e-5)
    assert torch.equal(Posterior.split(posterior.joined()).log_variance, posterior.log_variance)


def message(gru, x, arrived):
    """One message by the formulas of `TreeMessages`."""
    w_r, w_z, w = gru.features(x).chunk(3)
    total = sum(arrived, torch.zeros_like(x))
    kept = sum((torch.sigmoid(w_r + gru.reset(h)) * h for h in arrived), torch.zeros_like(x))
    z = torch.sigmoid(w_z + gru.update(total))
    return (1 - z) * total + z * torch.tanh(w + gru.fresh(kept))


class Naive:
    """log p(M | z) and q(z | M) of one molecule, node by node."""

    def __init__(self, net, smiles):
        self.net, self.tree = net, decompose(smiles)
        self.labels = [LABELS.index[label] for label in self.tree.labels]
        self.children = [[c for c in range(len(self.tree)) if self.tree.parents[c] == i] for i in range(len(self.tree))]

    def up(self, gru, x, node):
        return message(gru, x[node], [self.up(gru, x, c) for c in self.children[node]])

    def down(self, gru, x, node, *, everything):
        parent = self.tree.parents[node]
        arrived = [] if self.tree.parents[parent] < 0 else [self.down(gru, x, parent, everything=everything)]
        others = [c for c in self.children[parent] if c < node or (everything and c != node)]
        arrived += [self.up(gru, x, c) for c in others]
        return message(gru, x[parent], arrived)

    def mean(self):
        net, x = self.net, self.net.clusters.weight[self.labels]
        arrived = sum((self.up(net.messages, x, c) for c in self.children[0]), torch.zeros_like(x[0]))
        return net.tree(torch.relu(net.summary(torch.cat([x[0], arrived]))))[: net.latent]

    def tell(self, z):
        net, gru, x = self.net, self.net.decoder_messages, self.net.decoder_clusters.weight[self.labels]
        topology = torch.zeros((), dtype=torch.float64)
        labels = net.label(torch.cat([torch.zeros_like(x[0]), z])).log_softmax(0)[self.labels[0]]
        for node, own in enumerate(self.children):
            arrived = torch.zeros_like(x[0]) if not node else self.down(gru, x, node, everything=False)
            for k in range(len(own) + 1):
                logit = net.topology(torch.cat([x[node], arrived, z]))[0]
                topology = topology + torch.nn.functional.logsigmoid(logit if k < len(own) else -logit)
                if k < len(own):
                    h = self.down(gru, x, own[k], everything=False)
                    chances = net.label(torch.cat([h, z]))
                    chances = chances.masked_fill(~torch.from_numpy(LABELS.fits[self.labels[node]]), -torch.inf)
                    labels = labels + chances.log_softmax(0)[self.labels[own[k]]]
                    arrived = arrived + self.up(gru, x, own[k])
        return topology, labels

    def contexts(self):
        net, x = self.net, self.net.clusters.weight[self.labels]
        result = []
        for node, own in enumerate(self.children):
            arrived = sum((self.up(net.messages, x, c) for c in own), torch.zeros_like(x[0]))
            if node:
                arrived = arrived + self.down(net.messages, x, node, everything=True)
            result.append(torch.relu(net.summary(torch.cat([x[node], arrived]))))
        return torch.stack(result)


@pytest.mark.slow
def test_batched_messages_are_those_of_the_formulas(generator):
    net = network()
    everything = doubled(batch(*range(len(SMILES))))
    z = torch.randn(len(SMILES), 6, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        posterior, parts = net.encode(everything.encoder), net.reconstruction(everything, z)
        for i, text in enumerate(SMILES):
            naive = Naive(net, text)
            topology, labels = naive.tell(z[i, :3])
            assert torch.allclose(posterior.mean[i, :3], naive.mean())
            assert torch.allclose(parts.topology[i], topology)
            assert torch.allclose(parts.labels[i], labels)


def test_scores_of_attachments_are_those_of_the_formula(generator):
    # 1-fluoro-2-methylbenzene: the last step, written out.
    net = network()
    one = doubled(batch(1))
    z = torch.randn(1, 6, generator=generator, dtype=torch.float64)
    layer = net.attachments
    with torch.no_grad():
        t = Naive(net, SMILES[1]).contexts()
        ring, bond = (decompose(SMILES[1]).clusters[k] for k in (1, 2))
        taken = decompose(SMILES[1]).clusters[0]
        carbon = layer.element.weight[6] + layer.charge.weight[8]
        fluorine = layer.element.weight[9] + layer.charge.weight[8]
        first = carbon + layer.side.weight[0] + layer.cluster(t[1])
        atoms = torch.stack([first + (layer.hang(t[0]) if a in taken else 0) for a in ring])
        child = torch.stack([carbon, fluorine]) + layer.side.weight[1] + layer.cluster(t[2])
        hidden = []
        rings = [(k, (k + 1) % 6, 2 if k % 2 == 0 else 1) for k in range(6)]  # C1=CC=CC=C1
        for start, bonds in ((atoms, rings), (child, [(0, 1, 1)])):
            h = torch.relu(start)
            for _ in range(3):
                sums = torch.zeros_like(h)
                for i, j, order in bonds:
                    sums[i] += torch.relu(h[j] + layer.order.weight[order])
                    sums[j] += torch.relu(h[i] + layer.order.weight[order])
                h = torch.relu(start + layer.message(sums))
            hidden.append(h)
        place = next(k for k, a in enumerate(ring) if a in bond)
        free = [k for k, a in enumerate(ring) if a not in taken]
        scores = [
            layer.score(torch.relu(layer.pair(torch.cat([hidden[0][k], hidden[1][0]])) + layer.latent(z[0, 3:])))
            for k in [place, *(k for k in free if k != place)]
        ]
        expected = torch.cat(scores).log_softmax(0)[0]
        assert torch.allclose(net.reconstruction(one, z).assembly[0], expected)


def test_a_molecule_does_not_depend_on_its_batch(generator):
    net = network()
    noise = torch.randn(len(SMILES), 6, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        together = net(doubled(batch(*range(len(SMILES)))), noise)
        for i in range(len(SMILES)):
            alone = net(doubled(batch(i)), noise[i : i + 1])
            for a, b in zip((*together[0], *together[1]), (*alone[0], *alone[1]), strict=True):
                assert torch.allclose(a[i], b[0])


def test_encoders_need_no_more_than_trees_and_graphs():
    net, places = network().float(), range(len(SMILES))
    with torch.no_grad():
        alone = net.encode(encoder_batch(CORPUS.packed(places, LABELS)))
        assert torch.equal(alone.mean, net.encode(batch(*places).encoder).mean)
