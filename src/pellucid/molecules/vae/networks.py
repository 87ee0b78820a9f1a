"""The junction-tree autoencoder: from molecules to Gaussians, and from points back to trees and attachments."""

from __future__ import annotations

from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from pellucid.molecules.network import GraphNetwork, sums
from pellucid.molecules.vae.batches import (
    ATOM_FEATURES,
    BOND_FEATURES,
    AttachmentGraphs,
    DecoderBatch,
    EncoderBatch,
)
from pellucid.molecules.vae.layers import Attachments, TreeMessages, log_shares
from pellucid.molecules.vae.positions import PositionalCode, TreeCode
from pellucid.molecules.vae.vocabulary import Vocabulary


class Posterior(NamedTuple):
    """q(z | M) of B molecules: independent Gaussians, those of the tree's latent first, then those of the graph's."""

    mean: Tensor
    """(B, 2 L)."""
    log_variance: Tensor
    """(B, 2 L)."""

    def sample(self, noise: Tensor) -> Tensor:
        """(B, 2 L) points, from standard normal noise."""
        return self.mean + torch.exp(0.5 * self.log_variance) * noise

    def divergence(self) -> Tensor:
        """(B,) KL(q || standard normal) = 1/2 sum_l [ mean_l^2 + variance_l - log variance_l - 1 ]."""
        return 0.5 * (self.mean.square() + self.log_variance.exp() - self.log_variance - 1).sum(1)

    def joined(self) -> Tensor:
        """(B, 4 L) means and log-variances, as witnesses predict them."""
        return torch.cat([self.mean, self.log_variance], dim=1)

    @classmethod
    def split(cls, joined: Tensor) -> Posterior:
        """The posterior that `joined` was called on."""
        return cls(*joined.chunk(2, dim=1))


class Reconstruction(NamedTuple):
    """log p(M | z) of B molecules, in three parts: log p(T | z_T) = topology + labels, log p(G | T, z_G) = assembly.

    Each is a sum over the decisions that rebuild the molecule, given those before:
    """

    topology: Tensor
    """(B,) at every node, before each child and after the last: whether there is another child;"""
    labels: Tensor
    """(B,) the label of the root, and of every child among those that fit its parent;"""
    assembly: Tensor
    """(B,) the way in which every cluster is attached, among those that are different."""

    def total(self) -> Tensor:
        """(B,) log p(M | z)."""
        return self.topology + self.labels + self.assembly


@final
class TreeAutoencoder(nn.Module):
    """Encoder and decoder.

    Parameters
    ----------
    vocabulary : Vocabulary
        The labels of clusters.
    width : int
        The width of all hidden layers.
    latent : int
        The number L of coordinates that describe the tree, and as many that describe how it is assembled.
    depth : int
        Rounds of message passing through the graph.
    positional : bool
        Whether labels, numbers of children and attachments are also written into z place by place; see
        `PositionalCode`.
    """

    fits: Tensor

    def __init__(
        self, vocabulary: Vocabulary, *, width: int, latent: int, depth: int, positional: bool = False
    ) -> None:
        super().__init__()
        self.latent = latent
        count = len(vocabulary)
        self.graph = GraphNetwork(2 * latent, width=width, depth=depth, features=(ATOM_FEATURES, BOND_FEATURES))
        self.clusters = nn.Embedding(count, width)
        self.messages = TreeMessages(width)
        self.summary = nn.Linear(2 * width, width)
        self.tree = nn.Linear(width, 2 * latent)
        # Those of the decoder.
        self.decoder_clusters = nn.Embedding(count, width)
        self.decoder_messages = TreeMessages(width)
        self.topology = nn.Sequential(nn.Linear(2 * width + latent, width), nn.ReLU(), nn.Linear(width, 1))
        self.label = nn.Sequential(nn.Linear(width + latent, width), nn.ReLU(), nn.Linear(width, count))
        self.attachments = Attachments(width, latent, positional=positional)
        self.tree_code = TreeCode(count, width, latent) if positional else None
        self.graph_code = PositionalCode(width, latent) if positional else None
        self.shared = nn.Linear(width, width, bias=False) if positional else None
        self.register_buffer("fits", torch.from_numpy(vocabulary.fits), persistent=False)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Read weights of version 0.1 too, which called two parts of the decoder otherwise."""
        for old, new in (("told.", "decoder_clusters."), ("telling.", "decoder_messages.")):
            for key in [key for key in state_dict if key.startswith(prefix + old)]:
                state_dict[prefix + new + key.removeprefix(prefix + old)] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def encode(self, batch: EncoderBatch) -> Posterior:
        """q(z | M)."""
        return self._posterior(batch, self.messages(self.clusters(batch.labels), batch.up))

    def forward(self, batch: DecoderBatch, noise: Tensor) -> tuple[Posterior, Reconstruction]:
        """q(z | M) and log p(M | z) at one z drawn from it, given standard normal noise (B, 2 L)."""
        messages = self._messages(batch)
        posterior = self._posterior(batch.encoder, messages[: len(batch.children)])
        return posterior, self._decode(batch, posterior.sample(noise), messages)

    def reconstruction(self, batch: DecoderBatch, z: Tensor) -> Reconstruction:
        """Log p(M | z) at points z (B, 2 L)."""
        return self._decode(batch, z, self._messages(batch))

    def contexts(self, labels: Tensor, arrived: Tensor, node: Tensor) -> Tensor:
        """(T, width) vectors of the clusters in their trees, from the messages that arrive at `node`."""
        x = self.clusters(labels)
        contexts: Tensor = torch.relu(self.summary(torch.cat([x, sums(arrived, node, len(x))], dim=1)))
        return contexts

    def topology_logits(self, x: Tensor, arrived: Tensor, z: Tensor, place: Tensor, counts: Tensor) -> Tensor:
        """(rows,) log-odds that nodes have another child.

        Parameters
        ----------
        x, arrived : Tensor
            (rows, width) features of the nodes, and the sums of the messages that have arrived at them.
        z : Tensor
            (rows, L) points.
        place, counts : Tensor
            (rows,) places of the nodes, and the numbers of children that they have already.
        """
        logits: Tensor = self.topology(torch.cat([x, arrived, z], dim=1)).squeeze(1)
        return logits if self.tree_code is None else logits + self.tree_code.child_scores(z, place, counts)

    def label_logits(self, message: Tensor, z: Tensor, place: Tensor) -> Tensor:
        """(rows, labels) logits of the labels at places, from the messages that lead there; of roots from zeros."""
        logits: Tensor = self.label(torch.cat([message, z], dim=1))
        return logits if self.tree_code is None else logits + self.tree_code.label_scores(z, place)

    def attachment_scores(self, graphs: AttachmentGraphs, t: Tensor, z: Tensor, place: Tensor) -> Tensor:
        """(W,) scores of all ways to attach clusters, whose places are `place` (S,); see `Attachments`."""
        read = None if self.graph_code is None else self.graph_code.read(z.index_select(0, graphs.owner), place)
        scores: Tensor = self.attachments(graphs, t, z, read)
        return scores

    def _messages(self, batch: DecoderBatch) -> Tensor:
        """(2 E, width), those up first, which are the encoder's."""
        messages: Tensor = self.messages(self.clusters(batch.encoder.labels), batch.full)
        return messages

    def _posterior(self, batch: EncoderBatch, up: Tensor) -> Posterior:
        roots = self.contexts(batch.labels[batch.roots], up[batch.top], batch.top_owner)
        atoms = self.graph.atoms(batch.graphs)
        tree, graph = self.tree(roots), self.graph.outputs(atoms, batch.graphs)
        if self.tree_code is not None and self.graph_code is not None and self.shared is not None:
            size = len(batch)
            tree = tree + self.tree_code.write(batch.labels, batch.child_counts, batch.places, batch.owner, size)
            atom, node = batch.shared
            vectors = self.shared(atoms).index_select(0, atom)
            graph = graph + self.graph_code.write(vectors, batch.places[node], batch.owner[node], size)
        (tree_mean, tree_width), (graph_mean, graph_width) = tree.chunk(2, dim=1), graph.chunk(2, dim=1)
        # No posterior needs to be wider than the prior; a bound keeps the first steps calm.
        widths = -softplus(torch.cat([tree_width, graph_width], dim=1))
        return Posterior(torch.cat([tree_mean, graph_mean], dim=1), widths)

    def _decode(self, batch: DecoderBatch, z: Tensor, messages: Tensor) -> Reconstruction:
        z_tree, z_graph = z.chunk(2, dim=1)
        topology, labels = self._tree_terms(batch, z_tree)
        return Reconstruction(topology, labels, self._assembly_term(batch, z_graph, messages))

    def _tree_terms(self, batch: DecoderBatch, z: Tensor) -> tuple[Tensor, Tensor]:
        """Log p(T | z), of topology and labels."""
        trees = batch.encoder
        x = self.decoder_clusters(trees.labels)
        messages = self.decoder_messages(x, batch.causal)
        visit, message = batch.arrivals
        arrived = sums(messages.index_select(0, message), visit, len(batch.visits))
        owner = trees.owner[batch.visits]
        logits = self.topology_logits(
            x.index_select(0, batch.visits),
            arrived,
            z.index_select(0, owner),
            trees.places[batch.visits],
            batch.counts,
        )
        costs = binary_cross_entropy_with_logits(logits, batch.expands.to(logits), reduction="none")
        # Labels: those of the roots depend on z alone, the others also on the message that leads to them.
        down = messages[len(batch.children) :]
        label_owner = torch.cat([torch.arange(len(trees), device=z.device), trees.owner[batch.children]])
        labels = torch.cat([trees.labels[trees.roots], trees.labels[batch.children]])
        place = torch.cat([trees.places[trees.roots], trees.places[batch.children]])
        leading = torch.cat([z.new_zeros(len(trees), down.shape[1]), down])
        chances = self.label_logits(leading, z.index_select(0, label_owner), place)
        allowed = self.fits[trees.labels[batch.parents[batch.children]]]
        allowed = torch.cat([allowed.new_ones(len(trees), allowed.shape[1]), allowed])
        chances = chances.masked_fill(~allowed, -torch.inf).log_softmax(1)
        log_chances = chances.gather(1, labels[:, None]).squeeze(1)
        return -sums(costs, owner, len(trees)), sums(log_chances, label_owner, len(trees))

    def _assembly_term(self, batch: DecoderBatch, z: Tensor, messages: Tensor) -> Tensor:
        """Log p(G | T, z)."""
        trees, graphs = batch.encoder, batch.attachments
        # Up messages arrive at the parents of the nodes that they come from, down messages at those they lead to.
        node = torch.cat([batch.parents[trees.up.sources], batch.children])
        t = self.contexts(trees.labels, messages, node)
        scores = self.attachment_scores(graphs, t, z, trees.places[graphs.children])
        chances = log_shares(scores, graphs.step, len(graphs.owner))
        return sums(chances[batch.truth], graphs.owner, len(trees))
