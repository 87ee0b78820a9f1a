"""From points of the latent space to molecules: first the tree, cluster by cluster, then how it is assembled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pellucid.molecules.network import sums
from pellucid.molecules.vae._schedule_kernel import schedule
from pellucid.molecules.vae.assembly import Growing
from pellucid.molecules.vae.batches import Pass, Schedule, local
from pellucid.molecules.vae.layers import log_shares
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.trees import LARGEST
from pellucid.molecules.vae.vocabulary import Vocabulary

MOST = 100
"""Clusters that a molecule may get."""


class _Telling:
    """One tree while it is told."""

    def __init__(self, label: int) -> None:
        self.labels = [label]
        self.parents = [-1]
        self.at = 0
        self.arrived: list[list[int]] = [[]]
        """The messages that have arrived at each node; at all but the root that of its parent first."""

    def add(self, label: int, message: int) -> None:
        self.labels.append(label)
        self.parents.append(self.at)
        self.arrived.append([message])
        self.at = len(self.labels) - 1

    def back(self, message: int) -> None:
        self.at = self.parents[self.at]
        self.arrived[self.at].append(message)

    def below(self) -> list[int]:
        """Those from the children of the present node."""
        return self.arrived[self.at][1 if self.at else 0 :]


@torch.no_grad()
def decode(
    network: TreeAutoencoder, vocabulary: Vocabulary, z: Tensor, generator: torch.Generator | None = None
) -> list[str]:
    """SMILES of the molecules at points z (B, 2 L): at every step what is most likely, or a draw with a generator.

    A cluster that fits nowhere any more, or would make the molecule too large, is left out with what hangs on it.
    All molecules are valid.
    """
    z = z.to(network.fits.device)
    z_tree, z_graph = z.chunk(2, dim=1)
    trees = _tell(network, z_tree, generator)
    return _assemble(network, vocabulary, trees, z_graph, generator)


def _choose(chances: Tensor, generator: torch.Generator | None) -> list[int]:
    """One column of each row of log-probabilities."""
    if generator is None:
        return chances.argmax(1).tolist()
    return torch.multinomial(chances.exp().cpu(), 1, generator=generator).flatten().tolist()


def _tell(network: TreeAutoencoder, z: Tensor, generator: torch.Generator | None) -> list[_Telling]:
    width = network.told.embedding_dim
    none = z.new_zeros(len(z), width)
    trees = [_Telling(i) for i in _choose(network.label(torch.cat([none, z], dim=1)).log_softmax(1), generator)]
    features = network.telling.features(network.told.weight)
    store, made = z.new_zeros(4 * max(len(z), 1), width), 0
    active = list(range(len(z)))
    while active:
        at = torch.tensor([trees[i].labels[trees[i].at] for i in active], device=z.device)
        here = [trees[i].arrived[trees[i].at] for i in active]
        arrived = sums(store[_flat(here)], _owners(here, z.device), len(active))
        inputs = torch.cat([network.told(at), arrived, z[active]], dim=1)
        chance = torch.sigmoid(network.topology(inputs).squeeze(1)).cpu()
        drawn = torch.rand(len(active), generator=generator) if generator else torch.full((len(active),), 0.5)
        allowed = network.fits[at]
        able = allowed.any(1)  # a label that nothing fits has no children
        expand = [
            bool(go) and len(trees[i].labels) < MOST
            for i, go in zip(active, ((chance > drawn) & able.cpu()).tolist(), strict=True)
        ]
        # A message to a child rests on all that has arrived, one to the parent on what came from below.
        rests = [here[k] if expand[k] else trees[i].below() for k, i in enumerate(active)]
        old = store[_flat(rests)]
        new = network.telling.step(features[at], old, network.telling.reset(old), _owners(rests, z.device))
        while made + len(new) > len(store):
            store = torch.cat([store, torch.zeros_like(store)])
        store[made : made + len(new)] = new
        chances = network.label(torch.cat([new, z[active]], dim=1))
        labels = _choose(chances.masked_fill(~allowed & able[:, None], -torch.inf).log_softmax(1), generator)
        going = []
        for k, i in enumerate(active):
            if expand[k]:
                trees[i].add(labels[k], made + k)
            elif trees[i].at:
                trees[i].back(made + k)
            else:
                continue  # back at the root, and no more children: the tree is told
            going.append(i)
        active, made = going, made + len(new)
    return trees


def _flat(lists: list[list[int]]) -> list[int]:
    return [item for inner in lists for item in inner]


def _owners(lists: list[list[int]], device: torch.device) -> Tensor:
    counts = torch.tensor([len(inner) for inner in lists], dtype=torch.int64)
    return torch.repeat_interleave(torch.arange(len(lists)), counts).to(device)


def _assemble(
    network: TreeAutoencoder,
    vocabulary: Vocabulary,
    trees: list[_Telling],
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
    return [molecule.smiles() for molecule in assembly.growing]


class _Step(NamedTuple):
    """A cluster that is to be attached."""

    molecule: int
    parent: int
    """Among the clusters that have grown."""
    ways: np.ndarray


class _Assembly:
    """Molecules while they are assembled from their trees, all at the same time."""

    def __init__(self, network: TreeAutoencoder, vocabulary: Vocabulary, trees: list[_Telling], z: Tensor) -> None:
        self.network, self.vocabulary, self.trees, self.z = network, vocabulary, trees, z
        # Nodes are numbered over all trees.
        self.starts = np.cumsum([0] + [len(tree.labels) for tree in trees])
        self.labels = np.array(_flat([tree.labels for tree in trees]), dtype=np.int64)
        starts = self.starts.tolist()
        parents = [parent + start if parent >= 0 else -1
                   for tree, start in zip(trees, starts, strict=False) for parent in tree.parents]  # fmt: skip
        self.contexts = _contexts(network, self.labels, np.array(parents, dtype=np.int64))
        self.growing = [Growing(vocabulary, tree.labels[0]) for tree in trees]
        # Where the nodes of a tree are among the clusters that have grown, and the other way round.
        self.grown: list[dict[int, int]] = [{0: 0} for _ in trees]
        self.told: list[list[int]] = [[start] for start in starts[:-1]]

    def steps(self, node: int) -> list[_Step]:
        """Of all trees that have such a node, and where it can be attached."""
        offsets = self.vocabulary.templates.offsets
        found = []
        for i, tree in enumerate(self.trees):
            if node < len(tree.labels) and tree.parents[node] in self.grown[i]:
                label, parent = tree.labels[node], self.grown[i][tree.parents[node]]
                ways = self.growing[i].ways(parent, label)
                if len(ways) and self.growing[i].n_atoms + offsets[label + 1] - offsets[label] <= LARGEST:
                    found.append(_Step(i, parent, ways))
        return found

    def chances(self, node: int, steps: list[_Step]) -> list[Tensor]:
        """The log-probabilities of each step's ways."""
        if not steps:
            return []
        whose = np.array([step.molecule for step in steps])
        counts = [len(step.ways) for step in steps]
        hanging = [
            (k, atom, self.told[step.molecule][cluster])
            for k, step in enumerate(steps)
            for atom, cluster in self.growing[step.molecule].hanging(step.parent)
        ]
        graphs = local(
            self.vocabulary,
            self.labels,
            np.array([self.told[step.molecule][step.parent] for step in steps]),
            self.starts[whose] + node,
            np.concatenate([step.ways for step in steps]),
            np.repeat(np.arange(len(steps)), counts),
            np.array(hanging, dtype=np.int64).reshape(-1, 3),
            whose,
        ).to(self.z.device)
        scores = self.network.attachments(graphs, self.contexts, self.z)
        return list(log_shares(scores, graphs.step, len(steps)).split(counts))

    def attach(self, node: int, step: _Step, way: int) -> None:
        """Let the molecule grow by this node."""
        i = step.molecule
        self.grown[i][node] = self.growing[i].attach(step.parent, self.trees[i].labels[node], step.ways[way])
        self.told[i].append(int(self.starts[i]) + node)


def _contexts(network: TreeAutoencoder, labels: np.ndarray, parents: np.ndarray) -> Tensor:
    """What the clusters of whole trees are, from messages in both directions."""
    device = network.fits.device
    order = Schedule(*schedule(parents))
    up, down = order.up, order.down
    told = torch.from_numpy(labels).to(device)
    x = network.clusters(told)
    messages = network.messages(x, Pass.of(up, order.up_bounds, order.up_pairs, 0).to(device))
    messages = network.messages(
        x, Pass.of(parents[down], order.down_bounds, order.full_pairs, len(up)).to(device), messages
    )
    return network.contexts(told, messages, torch.from_numpy(np.concatenate([parents[up], down])).to(device))
