"""Molecules in a table of predictions: their fingerprints are the features. Chemistry is imported where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from pellucid.neighborhoods import Neighborhoods


def canonical_smiles(cells: Sequence[str], skipped: dict[int, str]) -> list[str]:
    """Molecules as the library writes them; rows that hold none are noted in `skipped`."""
    from rdkit import rdBase

    from pellucid.molecules.table import canonical

    texts = []
    with rdBase.BlockLogs():
        for i, cell in enumerate(cells):
            text, reason = canonical(cell.strip())
            if reason:
                skipped.setdefault(i, f"{cell.strip()[:40]!r}: {reason}")
            texts.append(text)
    return texts


def bit_names() -> tuple[str, ...]:
    """What the features are called."""
    from pellucid.molecules.neighborhoods import MORGAN

    return tuple(f"bit {bit}" for bit in range(MORGAN.size))


def fingerprints(smiles: Sequence[str]) -> np.ndarray:
    """(N, bits)."""
    from pellucid.molecules.neighborhoods import MORGAN

    return np.asarray(MORGAN(smiles).dense().numpy())


def similar(smiles: Sequence[str], threshold: float) -> Neighborhoods:
    """Molecules whose Tanimoto similarity is above the threshold, most similar first."""
    from pellucid.molecules.neighborhoods import MORGAN

    prints = MORGAN(smiles)
    hits = prints.similar_to(prints, threshold=threshold)
    count = len(smiles)
    return Neighborhoods(torch.from_numpy(hits.members), torch.from_numpy(hits.offsets), torch.arange(count), count)


def substructure_names(bits: Iterable[int], smiles: Sequence[str]) -> dict[int, str]:
    """The substructures that bits stand for in these molecules, as text."""
    from pellucid.molecules.neighborhoods import MORGAN
    from pellucid.molecules.substructures import find_substructures

    structures = find_substructures(bits, list(dict.fromkeys(smiles)), MORGAN)
    return {bit: " or ".join([structure.smiles, *structure.others]) for bit, structure in structures.items()}
