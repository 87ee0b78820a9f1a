"""The code that is written place by place, against its formulas; and what comes back from it."""

import pytest
import torch
from molecules.vae.small_networks import SMILES, batch

from pellucid.molecules.vae import Corpus, TreeAutoencoder, decompose
from pellucid.molecules.vae.batches import decoder_batch
from pellucid.molecules.vae.generation import decode
from pellucid.molecules.vae.positions import PositionalCode, TreeCode


def test_a_code_is_the_sum_of_what_is_at_each_place(generator):
    torch.manual_seed(0)
    code = PositionalCode(5, 2)
    v = torch.randn(3, 5, generator=generator)
    place, owner = torch.tensor([0, 1, 100]), torch.tensor([0, 1, 1])  # places after the last share it
    p = code.places.weight
    second = code.written.weight @ (v[1] * p[1] + v[2] * p[-1]) + code.written.bias
    assert torch.allclose(code.write(v, place, owner, 2)[1], second, atol=1e-6)
    z = torch.randn(1, 2, generator=generator)
    assert torch.allclose(code.read(z, place[1:2])[0], (code.written.weight[:2].T @ z[0]) * p[1], atol=1e-6)


def test_random_codes_give_back_what_was_written(generator):
    torch.manual_seed(1)  # other numbers than the generator's
    code = PositionalCode(512, 256)
    vectors, chosen = torch.randn(20, 512, generator=generator), torch.randint(20, (6,), generator=generator)
    place, owner = torch.arange(6), torch.zeros(6, dtype=torch.int64)
    with torch.no_grad():
        z = code.write(vectors[chosen], place, owner, 1)[:, :256]
        scores = code.read(z.expand(6, 256), place) @ vectors.T
    assert torch.equal(scores.argmax(1), chosen)


def test_log_odds_of_more_children_are_those_of_their_number(generator):
    torch.manual_seed(0)
    code = TreeCode(4, 8, 3)
    z, place = torch.randn(3, 3, generator=generator), torch.tensor([0, 2, 5])
    for n in (0, 1, 8):
        with torch.no_grad():
            scores = code.gain[1] * (code.code.read(z, place) @ code.child_numbers.weight.T)
            odds = code.child_scores(z, place, torch.full((3,), n))
        chances = scores.softmax(1)
        assert torch.allclose(odds.exp(), chances[:, n + 1 :].sum(1) / chances[:, n], rtol=1e-4)


def test_batches_say_where_clusters_are_and_what_they_share():
    made = batch(1, 2)
    trees = [decompose(SMILES[1]), decompose(SMILES[2])]
    counts = [sum(p == i for p in tree.parents) for tree in trees for i in range(len(tree))]
    assert made.encoder.child_counts.tolist() == counts
    assert made.encoder.places.tolist() == [i for tree in trees for i in range(len(tree))]
    expected, shift, start = set(), 0, 0
    for tree in trees:
        for node, parent in enumerate(tree.parents):
            if parent >= 0:
                both = set(tree.clusters[node]) & set(tree.clusters[parent])
                expected |= {(atom + shift, node + start) for atom in both}
        shift, start = shift + len(tree.atoms), start + len(tree)
    assert set(map(tuple, made.encoder.shared.T.tolist())) == expected
    # At every node the children are counted from 0, and the last decision is that there are no more.
    for node, count in enumerate(counts):
        visits = made.visits == node
        assert made.counts[visits].tolist() == list(range(count + 1))
        assert made.expands[visits].tolist() == [True] * count + [False]
    # The only step with several ways: the fluorine's, around the ring.
    assert made.attachments.children.tolist() == [2]


def test_frequencies_of_drawn_trees_are_their_probabilities():
    small = Corpus.of(["CC", "CO", "CCO", "OCO"])
    labels = small.vocabulary()
    torch.manual_seed(1)
    net = TreeAutoencoder(labels, width=8, latent=2, depth=2, positional=True)
    z = torch.full((1, 4), 0.7)
    drawn = decode(net, labels, z.expand(1000, 4), torch.Generator().manual_seed(0))
    with torch.no_grad():
        chance = net.reconstruction(decoder_batch(small.packed([0, 1], labels), labels), z.expand(2, 4)).total().exp()
    for text, p in zip(["CC", "CO"], chance.tolist(), strict=True):
        assert drawn.count(text) / 1000 == pytest.approx(p, abs=4 * (p / 1000) ** 0.5)
