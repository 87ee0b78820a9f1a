"""Message passing computed once for all bonds and atoms that have the same surroundings."""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid.molecules import _environments_kernel as kernel
from pellucid.molecules.graphs import GraphBatch


@final
class Lists(NamedTuple):
    """Lists of entries: which rows of a table are summed to each row of another."""

    bounds: np.ndarray
    entries: np.ndarray
    """Those of list i are entries[bounds[i] : bounds[i + 1]]."""
    back_bounds: np.ndarray
    back_entries: np.ndarray
    """The same the other way: which lists hold each entry."""

    @classmethod
    def of(cls, bounds: np.ndarray, entries: np.ndarray, count: int) -> Lists:
        """Lists of entries below `count`."""
        return cls(bounds, entries, *kernel.transposed(bounds, entries, count))

    @classmethod
    def single(cls, entries: np.ndarray, count: int) -> Lists:
        """Lists of one entry each."""
        return cls.of(np.arange(len(entries) + 1), entries, count)

    def back(self) -> Lists:
        """The other way."""
        return Lists(self.back_bounds, self.back_entries, self.bounds, self.entries)


class Level(NamedTuple):
    """The C classes of bonds after a round of messages, or of atoms in the end."""

    kinds: Lists
    """The kind of each class: of the bond with the atom where it begins, or of the atom."""
    arriving: Lists
    """The classes, of the level before, of the messages that arrive."""


@final
class Environments(NamedTuple):
    """Classes of directed bonds, and of atoms, with equal surroundings, whose messages are therefore equal.

    After t rounds the message along a bond depends on what is at most t bonds behind it. Bonds of many molecules
    have that in common, above all of analogs, which differ in one group. A class is the kind of bond (or atom) and the
    multiset of the classes, one round earlier, of the messages that arrive: found exactly, without any fingerprint.
    """

    bonds: Tensor
    """A bond of each kind."""
    atoms: Tensor
    """An atom of each kind."""
    rounds: tuple[Level, ...]
    """Of the rounds after the first, in which bonds have the class of their kind."""
    last: Level
    """Of the atoms."""
    numbers: Lists
    """The class of each atom."""

    @classmethod
    def of(cls, graphs: GraphBatch, depth: int) -> Environments:
        """Those of a batch of graphs, for so many rounds."""
        source, target = graphs.edge_index.contiguous().numpy()
        reverse, atoms, bonds = graphs.rev_edge_index.numpy(), np.arange(len(graphs.V)), np.arange(len(graphs.E))
        atom_kinds, atom_examples = _kinds(graphs.V.numpy())
        bond_kinds, bond_examples = _kinds(np.stack([atom_kinds[source], _kinds(graphs.E.numpy())[0]], axis=1))
        into = Lists.single(target, len(atoms))
        arrivals, arriving = into.back_bounds, into.back_entries
        numbers, count = bond_kinds, len(bond_examples)
        # What arrives at the end of a chain goes no further: only the last message along such a bond is needed.
        inner = bonds[np.diff(arrivals)[target] > 1]
        rounds = []
        for t in range(1, depth):
            chosen = bonds if t == depth - 1 else inner
            keys = kernel.surroundings(chosen, bond_kinds, source, arrivals, arriving, reverse, numbers)
            found, level, following = _level(keys, len(bond_examples), count)
            numbers = np.full(len(bonds), -1)
            numbers[chosen] = found
            count = following
            rounds.append(level)
        nothing = np.full(len(atoms), -1)
        keys = kernel.surroundings(atoms, atom_kinds, atoms, arrivals, arriving, nothing, numbers)
        found, last, following = _level(keys, len(atom_examples), count)
        return cls(
            torch.from_numpy(bond_examples), torch.from_numpy(atom_examples), tuple(rounds), last,
            Lists.single(found, following),
        )  # fmt: skip


def _kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's kind, and a row of each kind."""
    rows = np.ascontiguousarray(rows)
    bits = rows.view(f"u{rows.itemsize}").reshape(-1)
    found: tuple[np.ndarray, np.ndarray] = kernel.distinct(rows.shape[1] * np.arange(len(rows) + 1), bits)
    return found


def _level(keys: tuple[np.ndarray, np.ndarray], kinds: int, before: int) -> tuple[np.ndarray, Level, int]:
    """The number of each row of keys, the level of these numbers, and how many they are."""
    numbers, examples = kernel.distinct(*keys)
    own, bounds, entries = kernel.split(*keys, examples)
    return numbers, Level(Lists.single(own, kinds), Lists.of(bounds, entries, before)), len(examples)


class _Sums(torch.autograd.Function):
    """Sums of the rows of each list."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, lists: Lists) -> Tensor:
        ctx.lists = lists
        out = values.new_empty(len(lists.bounds) - 1, values.shape[1])
        kernel.list_sums(values.detach().contiguous().numpy(), lists.bounds, lists.entries, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return list_sums(gradient, ctx.lists.back()), None


class _Clipped(torch.autograd.Function):
    """relu(values + first[kinds]), in place of values that nobody else needs."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, first: Tensor, kinds: Lists) -> Tensor:
        ctx.mark_dirty(values)
        kernel.add_and_clip(values.detach().numpy(), first.detach().contiguous().numpy(), kinds.entries)
        ctx.kinds = kinds
        ctx.save_for_backward(values)
        return values

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (values,) = ctx.saved_tensors
        passed = torch.ops.aten.threshold_backward(gradient, values, 0)
        return passed, list_sums(passed, ctx.kinds.back()), None


def list_sums(values: Tensor, lists: Lists) -> Tensor:
    """(lists, width) the sum of the rows of each list."""
    result: Tensor = _Sums.apply(values, lists)  # type: ignore[no-untyped-call]
    return result


def passed_on(level: Level, first: Tensor, bonds: Tensor, weights: Tensor) -> Tensor:
    """(C, width) relu(first + W sum of the bonds that arrive), of each class of a level."""
    summed = list_sums(bonds, level.arriving) @ weights.T
    result: Tensor = _Clipped.apply(summed, first, level.kinds)  # type: ignore[no-untyped-call]
    return result
