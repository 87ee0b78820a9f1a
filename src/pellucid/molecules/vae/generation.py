"""From points of the latent space to molecules: first the tree, cluster by cluster, then how it is assembled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pellucid.molecules.network import sums
from pellucid.molecules.vae._schedule_kernel import schedule
from pellucid.molecules.vae.assembly import PartialMolecule
from pellucid.molecules.vae.batches import MessagePass, Schedule, attachment_graphs
from pellucid.molecules.vae.layers import log_shares
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.trees import MAX_ATOMS
from pellucid.molecules.vae.vocabulary import Vocabulary

MAX_CLUSTERS = 100
"""The most clusters that a molecule may get."""


class _PartialTree:
    """One tree while it is generated, depth first."""

    def __init__(self, label: int) -> None:
        self.labels = [label]
        self.parents = [-1]
        self.current = 0
        self.arrived: list[list[int]] = [[]]
        """The messages that have arrived at each node; at all but the root that of its parent first."""

    def add(self, label: int, message: int) -> None:
        """Go down to a new child of the current node."""
        self.labels.append(label)
        self.parents.append(self.current)
        self.arrived.append([message])
        self.current = len(self.labels) - 1

    def back(self, message: int) -> None:
        """Go back up to the parent of the current node."""
        self.current = self.parents[self.current]
        self.arrived[self.current].append(message)

    def below(self) -> list[int]:
        """The messages from the children of the current node."""
        return self.arrived[self.current][1 if self.current else 0 :]


@torch.no_grad()
def decode(
    network: TreeAutoencoder, vocabulary: Vocabulary, z: Tensor, generator: torch.Generator | None = None
) -> list[str]:
    """SMILES of the molecules at points z (B, 2 L): every step takes what is most likely, or draws with a generator.

    A cluster that fits nowhere any more, or would make the molecule too large, is dropped with what hangs on it.
    All molecules are valid.
    """
    z = z.to(network.fits.device)
    z_tree, z_graph = z.chunk(2, dim=1)
    trees = _generate_trees(network, z_tree, generator)
    return _assemble(network, vocabulary, trees, z_graph, generator)


def _choose(chances: Tensor, generator: torch.Generator | None) -> list[int]:
    """One column of each row of log-probabilities."""
    if generator is None:
        return chances.argmax(1).tolist()
    return torch.multinomial(chances.exp().cpu(), 1, generator=generator).flatten().tolist()


def _generate_trees(network: TreeAutoencoder, z: Tensor, generator: torch.Generator | None) -> list[_PartialTree]:
    width = network.decoder_clusters.embedding_dim
    none = z.new_zeros(len(z), width)
    first = torch.zeros(len(z), dtype=torch.int64, device=z.device)
    trees = [_PartialTree(i) for i in _choose(network.label_logits(none, z, first).log_softmax(1), generator)]
    features = network.decoder_messages.features(network.decoder_clusters.weight)
    store, used = z.new_zeros(4 * max(len(z), 1), width), 0
    active = list(range(len(z)))
    while active:
        labels = torch.tensor([trees[i].labels[trees[i].current] for i in active], device=z.device)
        inbox = [trees[i].arrived[trees[i].current] for i in active]
        arrived = sums(store[_flat(inbox)], _owners(inbox, z.device), len(active))
        place, count, following = torch.tensor(
            [(trees[i].current, len(trees[i].below()), len(trees[i].labels)) for i in active], device=z.device
        ).T
        logits = network.topology_logits(network.decoder_clusters(labels), arrived, z[active], place, count)
        chance = torch.sigmoid(logits).cpu()
        bar = torch.rand(len(active), generator=generator) if generator else torch.full((len(active),), 0.5)
        allowed = network.fits[labels]
        able = allowed.any(1)  # a label that nothing fits has no children
        expand = [
            bool(expands) and len(trees[i].labels) < MAX_CLUSTERS
            for i, expands in zip(active, ((chance > bar) & able.cpu()).tolist(), strict=True)
        ]
        # A message to a child depends on all that has arrived, one to the parent on what came from below.
        senders = [inbox[k] if expand[k] else trees[i].below() for k, i in enumerate(active)]
        old = store[_flat(senders)]
        new = network.decoder_messages.step(features[labels], old, _owners(senders, z.device))
        while used + len(new) > len(store):
            store = torch.cat([store, torch.zeros_like(store)])
        store[used : used + len(new)] = new
        chances = network.label_logits(new, z[active], following)
        child_labels = _choose(chances.masked_fill(~allowed & able[:, None], -torch.inf).log_softmax(1), generator)
        unfinished = []
        for k, i in enumerate(active):
            if expand[k]:
                trees[i].add(child_labels[k], used + k)
            elif trees[i].current:
                trees[i].back(used + k)
            else:
                continue  # back at the root, and no more children: the tree is complete
            unfinished.append(i)
        active, used = unfinished, used + len(new)
    return trees


def _flat(lists: list[list[int]]) -> list[int]:
    return [item for inner in lists for item in inner]


def _owners(lists: list[list[int]], device: torch.device) -> Tensor:
    counts = torch.tensor([len(inner) for inner in lists], dtype=torch.int64)
    return torch.repeat_interleave(torch.arange(len(lists)), counts).to(device)


def _assemble(
    network: TreeAutoencoder,
    vocabulary: Vocabulary,
    trees: list[_PartialTree],
    z: Tensor,
    generator: torch.Generator | None,
) -> list[str]:
    assembly = _Assembly(network, vocabulary, trees, z)
    for node in range(1, max((len(tree.labels) for tree in trees), default=0)):
        steps = assembly.steps(node)
        several = [step for step in steps if len(step.ways) > 1]
        chosen = {step.molecule: _choose(chances[None], generator)[0]
                  for step, chances in zip(several, assembly.chances(node, several), strict=True)}  # fmt: skip
        for step in steps:
            assembly.attach(node, step, chosen.get(step.molecule, 0))
    return [molecule.smiles() for molecule in assembly.molecules]


class _Step(NamedTuple):
    """A cluster to attach to a molecule."""

    molecule: int
    parent: int
    """The cluster of the molecule that it is attached to."""
    ways: np.ndarray


class _Assembly:
    """The assembly of many molecules from their trees at the same time."""

    def __init__(self, network: TreeAutoencoder, vocabulary: Vocabulary, trees: list[_PartialTree], z: Tensor) -> None:
        self.network, self.vocabulary, self.trees, self.z = network, vocabulary, trees, z
        # Nodes are numbered over all trees.
        self.starts = np.cumsum([0] + [len(tree.labels) for tree in trees])
        self.labels = np.array(_flat([tree.labels for tree in trees]), dtype=np.int64)
        starts = self.starts.tolist()
        parents = [parent + start if parent >= 0 else -1
                   for tree, start in zip(trees, starts, strict=False) for parent in tree.parents]  # fmt: skip
        self.contexts = _contexts(network, self.labels, np.array(parents, dtype=np.int64))
        self.molecules = [PartialMolecule(vocabulary, tree.labels[0]) for tree in trees]
        # The cluster of the molecule that a node of its tree has become, and the node of each cluster.
        self.cluster_of: list[dict[int, int]] = [{0: 0} for _ in trees]
        self.node_of: list[list[int]] = [[start] for start in starts[:-1]]

    def steps(self, node: int) -> list[_Step]:
        """The steps that attach this node, in all trees that have it and molecules where it fits."""
        offsets = self.vocabulary.templates.offsets
        steps = []
        for i, tree in enumerate(self.trees):
            if node < len(tree.labels) and tree.parents[node] in self.cluster_of[i]:
                label, parent = tree.labels[node], self.cluster_of[i][tree.parents[node]]
                ways = self.molecules[i].ways(parent, label)
                if len(ways) and self.molecules[i].n_atoms + offsets[label + 1] - offsets[label] <= MAX_ATOMS:
                    steps.append(_Step(i, parent, ways))
        return steps

    def chances(self, node: int, steps: list[_Step]) -> list[Tensor]:
        """The log-probabilities of each step's ways."""
        if not steps:
            return []
        owner = np.array([step.molecule for step in steps])
        counts = [len(step.ways) for step in steps]
        hanging = [
            (k, atom, self.node_of[step.molecule][cluster])
            for k, step in enumerate(steps)
            for atom, cluster in self.molecules[step.molecule].hanging(step.parent)
        ]
        graphs = attachment_graphs(
            self.vocabulary,
            self.labels,
            np.array([self.node_of[step.molecule][step.parent] for step in steps]),
            self.starts[owner] + node,
            np.concatenate([step.ways for step in steps]),
            np.repeat(np.arange(len(steps)), counts),
            np.array(hanging, dtype=np.int64).reshape(-1, 3),
            owner,
        ).to(self.z.device)
        place = torch.full((len(steps),), node, device=self.z.device)
        scores = self.network.attachment_scores(graphs, self.contexts, self.z, place)
        return list(log_shares(scores, graphs.step, len(steps)).split(counts))

    def attach(self, node: int, step: _Step, way: int) -> None:
        """Attach this node to its molecule."""
        i = step.molecule
        self.cluster_of[i][node] = self.molecules[i].attach(step.parent, self.trees[i].labels[node], step.ways[way])
        self.node_of[i].append(int(self.starts[i]) + node)


def _contexts(network: TreeAutoencoder, labels: np.ndarray, parents: np.ndarray) -> Tensor:
    """Vectors of the clusters of complete trees, from messages in both directions."""
    device = network.fits.device
    order = Schedule(*schedule(parents))
    label_tensor = torch.from_numpy(labels).to(device)
    both = MessagePass.both(parents, order, order.full_pairs).to(device)
    messages = network.messages(network.clusters(label_tensor), both)
    targets = torch.from_numpy(np.concatenate([parents[order.up], order.down])).to(device)
    return network.contexts(label_tensor, messages, targets)
