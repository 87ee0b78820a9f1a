"""Layers of the junction-tree autoencoder: messages through trees, and scores of attachments."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor, nn

from pellucid.molecules.network import sums
from pellucid.molecules.vae.batches import CHARGES, ELEMENTS, AttachmentGraphs, MessagePass
from pellucid.molecules.vae.passing import new_messages, pass_messages


@final
class TreeMessages(nn.Module):
    """Messages along the edges of trees, by a gated unit with one reset gate per incoming message.

    The message from node i, which has the features x_i and receives the messages h_k:

        s = sum_k h_k,  r_k = sigmoid(W_r x_i + U_r h_k),  z = sigmoid(W_z x_i + U_z s)
        h = (1 - z) s + z tanh(W x_i + U sum_k r_k h_k)
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.features = nn.Linear(width, 3 * width)
        self.reset = nn.Linear(width, width, bias=False)
        self.update = nn.Linear(width, width, bias=False)
        self.fresh = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, order: MessagePass) -> Tensor:
        """(E, width) messages of a pass; x (T, width) are features of nodes."""
        return pass_messages(self.features(x), self.reset.weight, self.update.weight, self.fresh.weight, order)

    def step(self, features: Tensor, arrived: Tensor, target: Tensor) -> Tensor:
        """(n, width) messages from nodes with these features (n, 3 width), computed from those that have arrived.

        `target` (arrived,) is the index of the node at which each has arrived.
        """
        return new_messages(features, arrived, self.reset(arrived), target, self.update.weight, self.fresh.weight)


@final
class Attachments(nn.Module):
    """Scores of the ways in which clusters can be attached.

    The atoms v of parent and child get features from their kind, from their cluster in the whole tree (t), and from
    the clusters that already hang on them; and then from their neighbors w in the cluster, in three rounds:

        h_v <- relu(x_v + W sum_w relu(h_w + e_vw))

    A way merges atom p of the parent with atom c of the child; where a bond is shared there are two pairs of atoms.

        score(way) = u . relu(a + V' z),    a = sum over pairs of V [h_p, h_c]

    and, with a code that is read at the place k of the child,

        score(way) = u . relu(a + V' z) + mean(4 read_k(z) * R relu(a))

    Parameters
    ----------
    width : int
        The width of all vectors.
    latent : int
        The number of coordinates of z.
    positional : bool
        Whether there is such a code.
    """

    def __init__(self, width: int, latent: int, *, positional: bool = False) -> None:
        super().__init__()
        self.element, self.charge = nn.Embedding(ELEMENTS, width), nn.Embedding(CHARGES, width)
        self.order, self.side = nn.Embedding(4, width), nn.Embedding(2, width)
        self.cluster = nn.Linear(width, width)
        self.hang = nn.Linear(width, width, bias=False)
        self.message = nn.Linear(width, width, bias=False)
        self.pair = nn.Linear(2 * width, width)
        self.latent = nn.Linear(latent, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.compared = nn.Linear(width, width, bias=False) if positional else None

    def forward(self, graphs: AttachmentGraphs, t: Tensor, z: Tensor, read: Tensor | None = None) -> Tensor:
        """(W,) scores of all ways.

        Parameters
        ----------
        graphs : AttachmentGraphs
            The graphs of S steps.
        t : Tensor
            (T, width) vectors of the clusters.
        z : Tensor
            (B, latent) points of the molecules.
        read : Tensor, optional
            (S, width) what a code says at the place of each step's child.
        """
        first = self.element((graphs.kinds // 16).clamp(max=ELEMENTS - 1)) + self.charge(graphs.kinds % 16)
        first = first + self.side(graphs.child.long()) + self.cluster(t).index_select(0, graphs.nodes)
        atom, cluster = graphs.hanging
        first = first + sums(self.hang(t).index_select(0, cluster), atom, len(first))
        h = torch.relu(first)
        source, target = graphs.bonds
        order = self.order(graphs.orders)
        for _ in range(3):
            arriving = torch.relu(h.index_select(0, source) + order)
            h = torch.relu(first + self.message(sums(arriving, target, len(h))))
        p, c, q, d = graphs.ways.T
        pairs = self.pair(torch.cat([h.index_select(0, p), h.index_select(0, c)], dim=1))
        two = q >= 0
        second = self.pair(torch.cat([h[q[two]], h[d[two]]], dim=1))
        pairs = pairs.index_add(0, two.nonzero().flatten(), second)
        shift = self.latent(z).index_select(0, graphs.owner[graphs.step])
        scores: Tensor = self.score(torch.relu(pairs + shift)).squeeze(1)
        if self.compared is None or read is None:
            return scores
        compared: Tensor = self.compared(torch.relu(pairs)) * read.index_select(0, graphs.step)
        return scores + 4 * compared.mean(1)


def log_shares(scores: Tensor, group: Tensor, count: int) -> Tensor:
    """Log softmax within groups."""
    highest = scores.new_full((count,), -torch.inf).scatter_reduce(0, group, scores.detach(), "amax")
    shifted = scores - highest[group]
    return shifted - sums(shifted.exp(), group, count).log()[group]
