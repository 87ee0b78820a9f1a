"""Which molecules are learned from, validated on and tested on: at random, or whole scaffolds at a time."""

from __future__ import annotations

from typing import Literal

from rdkit.Chem.Scaffolds import MurckoScaffold

from pellucid import splitting
from pellucid.errors import InputError, Parameter
from pellucid.molecules.table import Molecules
from pellucid.splitting import Parts

Split = Literal["random", "scaffold"]


def split(table: Molecules, seed: int, kind: Split = "random") -> Parts[Molecules]:
    """The parts of a table.

    Parameters
    ----------
    table : Molecules
        The molecules.
    seed : int
        Seed of the choice.
    kind : {"random", "scaffold"}
        "scaffold" keeps molecules of one ring system together: a harder test, and closer to what happens with the
        next series. It is unlike what bounds were learned from, so that these are not promised.
    """
    if kind not in ("random", "scaffold"):
        raise InputError(f'{Parameter("split")} must be "random" or "scaffold"', got=f"{kind!r}", parameter="split")
    scaffolds = None if kind == "random" else [_scaffold(smiles) for smiles in table.smiles]
    parts = splitting.split(len(table), seed=seed, groups=scaffolds)
    empty = [name for name, indices in parts._asdict().items() if not len(indices)]
    if scaffolds is not None and empty:
        raise InputError(
            "A split by scaffold needs several of them",
            got=f"{len(set(scaffolds))}, which leave nothing for {empty[0]}",
            cure=f"use {Parameter('split', 'random')}",
            parameter="split",
        )
    return Parts(*(table.select(indices) for indices in parts))


def _scaffold(smiles: str) -> str:
    ring: str = MurckoScaffold.MurckoScaffoldSmiles(smiles=smiles)  # type: ignore[no-untyped-call]
    return ring
