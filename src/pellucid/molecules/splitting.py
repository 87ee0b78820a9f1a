"""Which molecules are learned from, validated on and tested on: at random, or whole scaffolds at a time."""

from __future__ import annotations

from typing import Literal

import numpy as np
from rdkit.Chem.Scaffolds import MurckoScaffold

from pellucid.domains import Parts
from pellucid.errors import InputError, Parameter
from pellucid.molecules.table import Molecules
from pellucid.splits import random_parts

Split = Literal["random", "scaffold"]


def split(table: Molecules, seed: int, kind: Split = "random") -> Parts[Molecules]:
    """The parts of a table.

    Parameters
    ----------
    table : Molecules
        What is divided.
    seed : int
        Seed of the choice.
    kind : {"random", "scaffold"}
        "scaffold" keeps molecules of one ring system together: a harder test, and closer to what happens with the
        next series. It is unlike what bounds were learned from, so that these are not promised.
    """
    if kind == "random":
        return Parts(*(table.select(places) for places in random_parts(len(table), seed)))
    if kind != "scaffold":
        raise InputError(f'{Parameter("split")} must be "random" or "scaffold"', got=f"{kind!r}", parameter="split")
    scaffolds: dict[str, list[int]] = {}
    for i, smiles in enumerate(table.smiles):
        ring = MurckoScaffold.MurckoScaffoldSmiles(smiles=smiles)  # type: ignore[no-untyped-call]
        scaffolds.setdefault(ring, []).append(i)
    # The largest first, so that the last parts hold rare scaffolds; equally large ones at random.
    chance = np.random.default_rng(seed).permutation(len(scaffolds))
    groups = sorted(zip(chance, scaffolds.values(), strict=True), key=lambda group: (-len(group[1]), group[0]))
    sizes = [len(part) for part in random_parts(len(table), seed)]
    parts: list[list[int]] = [[], [], []]
    for _, members in groups:
        room = next((k for k, part in enumerate(parts) if len(part) + len(members) <= sizes[k]), 0)
        parts[room] += members
    empty = [name for name, part in zip(Parts._fields, parts, strict=True) if not part]
    if empty:
        raise InputError(
            "A split by scaffold needs several of them",
            got=f"{len(scaffolds)}, which leave nothing for {empty[0]}",
            cure=f"use {Parameter('split', 'random')}",
            parameter="split",
        )
    return Parts(*(table.select(np.array(part)) for part in parts))
