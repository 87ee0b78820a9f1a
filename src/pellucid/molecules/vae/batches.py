"""What the networks read of a batch of junction trees, as tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self, final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from pellucid.errors import InputError
from pellucid.molecules.graphs import GraphBatch
from pellucid.molecules.vae._assembly_kernel import teach
from pellucid.molecules.vae._schedule_kernel import schedule
from pellucid.molecules.vae.corpus import Packed, ranges
from pellucid.molecules.vae.vocabulary import Vocabulary

# Numbers of values of each field of an atom: element, charge, hydrogens, aromatic, neighbors.
ELEMENTS, CHARGES, _HYDROGENS, _NEIGHBORS = 100, 17, 5, 8
ATOM_FEATURES = ELEMENTS + CHARGES + _HYDROGENS + 2 + _NEIGHBORS
BOND_FEATURES = 5


class _Movable:
    """Can be brought to another device."""

    def to(self, device: torch.device | str) -> Self:
        values = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        moved = {name: value.to(device) for name, value in values if isinstance(value, Tensor | GraphBatch | _Movable)}
        return replace(self, **moved)  # type: ignore[type-var]


class Level(NamedTuple):
    """Messages that can be computed at the same time."""

    begin: int
    end: int
    """Their numbers, less that of the first message of the pass."""
    first: int
    last: int
    """Rows of the pass's pairs that belong to them."""


class Schedule(NamedTuple):
    """What `_schedule_kernel.schedule` returns; see there."""

    up: np.ndarray
    up_bounds: np.ndarray
    up_pairs: np.ndarray
    down: np.ndarray
    down_bounds: np.ndarray
    taught_pairs: np.ndarray
    full_pairs: np.ndarray
    visits: np.ndarray
    expands: np.ndarray
    visit_pairs: np.ndarray


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Pass(_Movable):
    """Messages in the order in which they are made."""

    sources: Tensor
    """(E,) the node that each comes from."""
    target: Tensor
    """(pairs,) a message, less the number of the first one of this pass,"""
    origin: Tensor
    """(pairs,) and one that it rests on."""
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, sources: np.ndarray, bounds: np.ndarray, pairs: np.ndarray, first: int) -> Pass:
        target = pairs[:, 0] - first
        cuts = np.searchsorted(target, bounds)
        levels = zip(bounds[:-1].tolist(), bounds[1:].tolist(), cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        return cls(
            sources=torch.from_numpy(sources),
            target=torch.from_numpy(target),
            origin=torch.from_numpy(pairs[:, 1].copy()),
            levels=tuple(Level(*level) for level in levels if level[1] > level[0]),
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded(_Movable):
    """What the encoders read of B molecules."""

    graphs: GraphBatch
    labels: Tensor
    """(T,) of all nodes of all trees."""
    owner: Tensor
    """(T,) the molecule of each."""
    roots: Tensor
    """(B,) nodes."""
    up: Pass
    top: Tensor
    """Messages that arrive at roots, and"""
    top_owner: Tensor
    """the molecules that these belong to."""

    def __len__(self) -> int:
        return len(self.roots)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Local(_Movable):
    """All that has to be known to score how clusters are attached.

    Each step has a small graph: the atoms of the parent's cluster in the order of its label, then those of the child's.
    """

    kinds: Tensor
    """(L,) of the atoms."""
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


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Taught(_Movable):
    """B molecules with everything that the decoder has to say."""

    encoded: Encoded
    down: Pass
    """Messages as the decoder makes them, which knows no later siblings;"""
    full: Pass
    """and as they are when the whole tree is known."""
    parents: Tensor
    """(T,) -1 for roots."""
    reached: Tensor
    """(E,) the nodes that the down messages lead to, whose labels are to be told."""
    visits: Tensor
    """(2 T - B,) the node at which a decision is made,"""
    expands: Tensor
    """whether there is another child, and"""
    seen: Tensor
    """(2, ...) visit, and a message that has arrived."""
    local: Local
    truth: Tensor
    """(S,) the way in which each step really goes: a row of the local ways."""

    def __len__(self) -> int:
        return len(self.encoded)


def _global_parents(packed: Packed) -> np.ndarray:
    starts = np.repeat(packed.node_offsets[:-1], np.diff(packed.node_offsets))
    return np.where(packed.parents >= 0, packed.parents + starts, -1)


def encoded(packed: Packed) -> Encoded:
    """What the encoders read."""
    parents = _global_parents(packed)
    return _encoded(packed, parents, Schedule(*schedule(parents)))


def _encoded(packed: Packed, parents: np.ndarray, order: Schedule) -> Encoded:
    up = order.up
    owner = np.repeat(np.arange(len(packed.node_offsets) - 1), np.diff(packed.node_offsets))
    top = np.flatnonzero(parents[parents[up]] < 0)
    return Encoded(
        graphs=_graphs(packed),
        labels=torch.from_numpy(packed.labels),
        owner=torch.from_numpy(owner),
        roots=torch.from_numpy(packed.node_offsets[:-1].copy()),
        up=Pass.of(up, order.up_bounds, order.up_pairs, 0),
        top=torch.from_numpy(top),
        top_owner=torch.from_numpy(owner[up[top]]),
    )


def _graphs(packed: Packed) -> GraphBatch:
    counts = np.diff(packed.atom_offsets)
    atoms = torch.from_numpy(packed.atoms.astype(np.int64))
    shift = np.repeat(packed.atom_offsets[:-1], np.diff(packed.bond_offsets))
    ends = torch.from_numpy(packed.bonds[:, :2].astype(np.int64) + shift[:, None])
    degree = torch.bincount(ends.flatten(), minlength=len(atoms))
    fields = ((ELEMENTS, atoms[:, 0]), (CHARGES, atoms[:, 1]), (_HYDROGENS, atoms[:, 2]), (2, atoms[:, 3]))
    columns = [one_hot(v.clamp(max=n - 1), n) for n, v in (*fields, (_NEIGHBORS, degree))]
    codes = torch.from_numpy(packed.bonds[:, 2].astype(np.int64))
    # Kekulé orders too: they say nothing of chemistry, but the decoder has to tell them.
    bonds = torch.cat([one_hot((codes & 3) - 1, 3), codes[:, None] >> torch.tensor([2, 3]) & 1], dim=1).float()
    forth = 2 * torch.arange(len(codes))
    return GraphBatch(
        V=torch.cat(columns, dim=1).float(),
        E=bonds.repeat_interleave(2, dim=0),
        edge_index=torch.stack([ends, ends.flip(1)], dim=1).reshape(-1, 2).T,
        rev_edge_index=torch.stack([forth + 1, forth], dim=1).flatten(),
        batch=torch.repeat_interleave(torch.arange(len(counts)), torch.from_numpy(counts)),
        smiles=("",) * len(counts),
    )


def taught(packed: Packed, vocabulary: Vocabulary) -> Taught:
    """What the decoder has to say."""
    parents = _global_parents(packed)
    order = Schedule(*schedule(parents))
    edges = len(order.down)
    whole = _encoded(packed, parents, order)
    kinds = 16 * packed.atoms[:, 0].astype(np.int64) + packed.atoms[:, 1]
    bonds = packed.bonds.astype(np.int64)
    bonds[:, 2] &= 3
    steps, counts, ways, hanging, wrong = teach(
        packed.atom_offsets, kinds, packed.bond_offsets, bonds, packed.node_offsets, packed.labels, packed.parents,
        packed.member_offsets, packed.members, *vocabulary.templates,
    )  # fmt: skip
    if wrong >= 0:
        raise InputError(
            "Every tree must be that of its molecule",
            got=f"another one for molecule {whole.owner[wrong]} of a batch",
            cure="build the corpus again",
        )
    step = np.repeat(np.arange(len(steps)), counts)
    return Taught(
        encoded=whole,
        down=Pass.of(parents[order.down], order.down_bounds, order.taught_pairs, edges),
        full=Pass.of(parents[order.down], order.down_bounds, order.full_pairs, edges),
        parents=torch.from_numpy(parents),
        reached=torch.from_numpy(order.down),
        visits=torch.from_numpy(order.visits),
        expands=torch.from_numpy(order.expands),
        seen=torch.from_numpy(order.visit_pairs.T.copy()),
        local=local(
            vocabulary, packed.labels, parents[steps], steps, ways, step, hanging,
            whole.owner.numpy()[steps],
        ),
        truth=torch.from_numpy(np.cumsum(counts) - counts),
    )  # fmt: skip


def local(
    vocabulary: Vocabulary,
    labels: np.ndarray,
    parents: np.ndarray,
    children: np.ndarray,
    ways: np.ndarray,
    step: np.ndarray,
    hanging: np.ndarray,
    owner: np.ndarray,
) -> Local:
    """The small graphs of steps: `parents` and `children` are their nodes, `ways` and `hanging` as from the kernel."""
    offsets, template_kinds = vocabulary.templates.offsets, vocabulary.templates.kinds
    both = np.stack([labels[parents], labels[children]], axis=1).ravel()
    sizes = offsets[both + 1] - offsets[both]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    source = ranges(offsets[both], offsets[both + 1])
    degrees = vocabulary.bond_offsets[both + 1] - vocabulary.bond_offsets[both]
    edges = ranges(vocabulary.bond_offsets[both], vocabulary.bond_offsets[both + 1])
    shift = np.repeat(starts[:-1], degrees)
    table = vocabulary.bonds[edges]
    here = starts[:-1].reshape(-1, 2)
    atoms = np.where(ways >= 0, ways + here[step][:, [0, 1, 0, 1]], -1)
    nodes = np.stack([parents, children], axis=1).ravel()
    return Local(
        kinds=torch.from_numpy(template_kinds[source]),
        nodes=torch.from_numpy(np.repeat(nodes, sizes)),
        child=torch.from_numpy(np.repeat(np.arange(len(both)) % 2 == 1, sizes)),
        bonds=torch.from_numpy((table[:, :2] + shift[:, None]).T.copy()),
        orders=torch.from_numpy(table[:, 2].copy()),
        hanging=torch.from_numpy(np.stack([hanging[:, 1] + here[hanging[:, 0], 0], hanging[:, 2]])),
        ways=torch.from_numpy(atoms),
        step=torch.from_numpy(step),
        owner=torch.from_numpy(owner),
    )
