"""Batches of junction trees as tensors: what the encoder reads, and what the decoder is trained to generate."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self, final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from pellucid.errors import InputError
from pellucid.molecules.graphs import GraphBatch
from pellucid.molecules.vae._assembly_kernel import true_attachments
from pellucid.molecules.vae._schedule_kernel import schedule
from pellucid.molecules.vae.corpus import PackedTrees, ranges
from pellucid.molecules.vae.vocabulary import Vocabulary

# Numbers of values of each field of an atom: element, charge, hydrogens, aromatic, neighbors.
ELEMENTS, CHARGES, _HYDROGENS, _NEIGHBORS = 100, 17, 5, 8
ATOM_FEATURES = ELEMENTS + CHARGES + _HYDROGENS + 2 + _NEIGHBORS
BOND_FEATURES = 5


class _Movable:
    """A record of tensors that can move to another device."""

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        moved = {name: value.to(device) for name, value in values if isinstance(value, Tensor | GraphBatch | _Movable)}
        return replace(self, **moved)  # type: ignore[type-var]


class MessageLevel(NamedTuple):
    """Messages that can be computed at the same time."""

    begin: int
    end: int
    """Their numbers."""
    first: int
    last: int
    """Rows of the pass's pairs that belong to them."""


class Schedule(NamedTuple):
    """The result of `_schedule_kernel.schedule`; see there."""

    up: np.ndarray
    up_bounds: np.ndarray
    up_pairs: np.ndarray
    down: np.ndarray
    down_bounds: np.ndarray
    causal_pairs: np.ndarray
    full_pairs: np.ndarray
    visits: np.ndarray
    expands: np.ndarray
    visit_pairs: np.ndarray


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class MessagePass(_Movable):
    """Messages in the order in which they are computed."""

    sources: Tensor
    """(E,) the node that each comes from."""
    target: Tensor
    """(pairs,) a message, in ascending order,"""
    origin: Tensor
    """(pairs,) and one that it depends on."""
    levels: tuple[MessageLevel, ...]

    @classmethod
    def up(cls, order: Schedule) -> MessagePass:
        """Messages up."""
        return cls._of(order.up, order.up_bounds, order.up_pairs)

    @classmethod
    def both(cls, parents: np.ndarray, order: Schedule, down_pairs: np.ndarray) -> MessagePass:
        """Messages up, and then down."""
        return cls._of(
            np.concatenate([order.up, parents[order.down]]),
            np.concatenate([order.up_bounds, len(order.up) + order.down_bounds]),
            np.concatenate([order.up_pairs, down_pairs]),
        )

    @classmethod
    def _of(cls, sources: np.ndarray, bounds: np.ndarray, pairs: np.ndarray) -> MessagePass:
        target = pairs[:, 0].copy()
        cuts = np.searchsorted(target, bounds)
        levels = zip(bounds[:-1].tolist(), bounds[1:].tolist(), cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        return cls(
            sources=torch.from_numpy(sources),
            target=torch.from_numpy(target),
            origin=torch.from_numpy(pairs[:, 1].copy()),
            levels=tuple(MessageLevel(*level) for level in levels if level[1] > level[0]),
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class EncoderBatch(_Movable):
    """B molecules as the encoder reads them: their graphs and their trees."""

    graphs: GraphBatch
    labels: Tensor
    """(T,) labels of all nodes of all trees."""
    owner: Tensor
    """(T,) the molecule of each node."""
    roots: Tensor
    """(B,) the root node of each tree."""
    up: MessagePass
    top: Tensor
    """Messages that arrive at roots, and"""
    top_owner: Tensor
    """the molecules that these belong to."""
    places: Tensor
    """(T,) the number of each node in its tree, depth first."""
    child_counts: Tensor
    """(T,)"""
    shared: Tensor
    """(2, ...) atoms that clusters share with their parents, and the nodes of these clusters."""

    def __len__(self) -> int:
        return len(self.roots)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class AttachmentGraphs(_Movable):
    """The small graphs in which the ways to attach clusters are scored, one for each step of an assembly.

    A graph holds the atoms of the parent's cluster in the order of its label, then those of the child's.
    """

    kinds: Tensor
    """(L,) kinds of the atoms."""
    nodes: Tensor
    """(L,) the cluster that each belongs to."""
    child: Tensor
    """(L,) whether it is an atom of the child."""
    bonds: Tensor
    """(2, directed bonds) from which atom to which."""
    orders: Tensor
    """(directed bonds,) 1, 2 or 3."""
    hanging: Tensor
    """(2, ...) atom, and a cluster that already hangs on it."""
    ways: Tensor
    """(W, 4) atoms that become one: the first with the second, the third with the fourth, or -1."""
    step: Tensor
    """(W,) the step that each way belongs to; ways of a step stand together."""
    owner: Tensor
    """(S,) the molecule of each step."""
    children: Tensor
    """(S,) the node that is attached in each step."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class DecoderBatch(_Movable):
    """B molecules with all decisions of the decoder that rebuild them."""

    encoder: EncoderBatch
    causal: MessagePass
    """Messages up, and down as the decoder computes them, without later siblings."""
    full: MessagePass
    """Messages up, and down with all siblings, when the tree is complete."""
    parents: Tensor
    """(T,) -1 for roots."""
    children: Tensor
    """(E,) the nodes that the messages down lead to, whose labels the decoder chooses."""
    visits: Tensor
    """(2 T - B,) the node at which a decision is made,"""
    expands: Tensor
    """whether there is another child,"""
    counts: Tensor
    """the number of children so far, and"""
    arrivals: Tensor
    """(2, ...) visit, and a message that has arrived."""
    attachments: AttachmentGraphs
    truth: Tensor
    """(S,) the true way of each step: a row of the ways of `attachments`."""

    def __len__(self) -> int:
        return len(self.encoder)


def _global_parents(packed: PackedTrees) -> np.ndarray:
    starts = np.repeat(packed.node_offsets[:-1], np.diff(packed.node_offsets))
    return np.where(packed.parents >= 0, packed.parents + starts, -1)


def encoder_batch(packed: PackedTrees) -> EncoderBatch:
    """Junction trees as the encoder reads them."""
    parents = _global_parents(packed)
    return _encoder_batch(packed, parents, Schedule(*schedule(parents)))


def _encoder_batch(packed: PackedTrees, parents: np.ndarray, order: Schedule) -> EncoderBatch:
    up = order.up
    owner = np.repeat(np.arange(len(packed.node_offsets) - 1), np.diff(packed.node_offsets))
    top = np.flatnonzero(parents[parents[up]] < 0)
    return EncoderBatch(
        graphs=_graphs(packed),
        labels=torch.from_numpy(packed.labels),
        owner=torch.from_numpy(owner),
        roots=torch.from_numpy(packed.node_offsets[:-1].copy()),
        up=MessagePass.up(order),
        top=torch.from_numpy(top),
        top_owner=torch.from_numpy(owner[up[top]]),
        places=torch.from_numpy(np.arange(len(owner)) - packed.node_offsets[owner]),
        child_counts=torch.from_numpy(np.bincount(parents[parents >= 0], minlength=len(parents))),
        shared=torch.from_numpy(_shared_atoms(packed, parents, owner)),
    )


def _shared_atoms(packed: PackedTrees, parents: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """(2, ...) atoms, numbered over all molecules, that are in a cluster and in its parent; and the cluster's node."""
    node = np.repeat(np.arange(len(parents)), np.diff(packed.member_offsets))
    atom = packed.members + packed.atom_offsets[owner[node]]
    total = packed.atom_offsets[-1]
    shared = np.isin(parents[node] * total + atom, node * total + atom)
    return np.stack([atom[shared], node[shared]])


def _graphs(packed: PackedTrees) -> GraphBatch:
    counts = np.diff(packed.atom_offsets)
    atoms = torch.from_numpy(packed.atoms.astype(np.int64))
    shift = np.repeat(packed.atom_offsets[:-1], np.diff(packed.bond_offsets))
    ends = torch.from_numpy(packed.bonds[:, :2].astype(np.int64) + shift[:, None])
    degree = torch.bincount(ends.flatten(), minlength=len(atoms))
    fields = ((ELEMENTS, atoms[:, 0]), (CHARGES, atoms[:, 1]), (_HYDROGENS, atoms[:, 2]), (2, atoms[:, 3]))
    columns = [one_hot(v.clamp(max=n - 1), n) for n, v in (*fields, (_NEIGHBORS, degree))]
    codes = torch.from_numpy(packed.bonds[:, 2].astype(np.int64))
    # Kekulé orders too: they say nothing of chemistry, but the decoder has to generate them.
    bonds = torch.cat([one_hot((codes & 3) - 1, 3), codes[:, None] >> torch.tensor([2, 3]) & 1], dim=1).float()
    forward = 2 * torch.arange(len(codes))
    return GraphBatch(
        V=torch.cat(columns, dim=1).float(),
        E=bonds.repeat_interleave(2, dim=0),
        edge_index=torch.stack([ends, ends.flip(1)], dim=1).reshape(-1, 2).T,
        rev_edge_index=torch.stack([forward + 1, forward], dim=1).flatten(),
        batch=torch.repeat_interleave(torch.arange(len(counts)), torch.from_numpy(counts)),
        smiles=("",) * len(counts),
    )


def decoder_batch(packed: PackedTrees, vocabulary: Vocabulary) -> DecoderBatch:
    """Junction trees with the decisions that rebuild them."""
    parents = _global_parents(packed)
    order = Schedule(*schedule(parents))
    encoder = _encoder_batch(packed, parents, order)
    kinds = 16 * packed.atoms[:, 0].astype(np.int64) + packed.atoms[:, 1]
    bonds = packed.bonds.astype(np.int64)
    bonds[:, 2] &= 3
    steps, counts, ways, hanging, wrong = true_attachments(
        packed.atom_offsets, kinds, packed.bond_offsets, bonds, packed.node_offsets, packed.labels, packed.parents,
        packed.member_offsets, packed.members, *vocabulary.templates,
    )  # fmt: skip
    if wrong >= 0:
        raise InputError(
            "Every tree must be that of its molecule",
            got=f"another one for molecule {encoder.owner[wrong]} of a batch",
            cure="build the corpus again",
        )
    step = np.repeat(np.arange(len(steps)), counts)
    visits = np.arange(len(order.visits))
    return DecoderBatch(
        encoder=encoder,
        causal=MessagePass.both(parents, order, order.causal_pairs),
        full=MessagePass.both(parents, order, order.full_pairs),
        parents=torch.from_numpy(parents),
        children=torch.from_numpy(order.down),
        visits=torch.from_numpy(order.visits),
        expands=torch.from_numpy(order.expands),
        # The visits of a node stand together.
        counts=torch.from_numpy(visits - np.searchsorted(order.visits, order.visits)),
        arrivals=torch.from_numpy(order.visit_pairs.T.copy()),
        attachments=attachment_graphs(
            vocabulary, packed.labels, parents[steps], steps, ways, step, hanging,
            encoder.owner.numpy()[steps],
        ),
        truth=torch.from_numpy(np.cumsum(counts) - counts),
    )  # fmt: skip


def attachment_graphs(
    vocabulary: Vocabulary,
    labels: np.ndarray,
    parents: np.ndarray,
    children: np.ndarray,
    ways: np.ndarray,
    step: np.ndarray,
    hanging: np.ndarray,
    owner: np.ndarray,
) -> AttachmentGraphs:
    """The graphs of steps, whose nodes are `parents` and `children`; the kernel returns `ways` and `hanging`."""
    offsets, template_kinds = vocabulary.templates.offsets, vocabulary.templates.kinds
    pairs = np.stack([labels[parents], labels[children]], axis=1).ravel()
    sizes = offsets[pairs + 1] - offsets[pairs]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    source = ranges(offsets[pairs], offsets[pairs + 1])
    degrees = vocabulary.bond_offsets[pairs + 1] - vocabulary.bond_offsets[pairs]
    edges = ranges(vocabulary.bond_offsets[pairs], vocabulary.bond_offsets[pairs + 1])
    shift = np.repeat(starts[:-1], degrees)
    table = vocabulary.bonds[edges]
    step_starts = starts[:-1].reshape(-1, 2)
    atoms = np.where(ways >= 0, ways + step_starts[step][:, [0, 1, 0, 1]], -1)
    nodes = np.stack([parents, children], axis=1).ravel()
    return AttachmentGraphs(
        kinds=torch.from_numpy(template_kinds[source]),
        nodes=torch.from_numpy(np.repeat(nodes, sizes)),
        child=torch.from_numpy(np.repeat(np.arange(len(pairs)) % 2 == 1, sizes)),
        bonds=torch.from_numpy((table[:, :2] + shift[:, None]).T.copy()),
        orders=torch.from_numpy(table[:, 2].copy()),
        hanging=torch.from_numpy(np.stack([hanging[:, 1] + step_starts[hanging[:, 0], 0], hanging[:, 2]])),
        ways=torch.from_numpy(atoms),
        step=torch.from_numpy(step),
        owner=torch.from_numpy(owner),
        children=torch.from_numpy(children),
    )
