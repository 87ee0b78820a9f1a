"""Molecules in a table of predictions: the bits of their fingerprints are the features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from rdkit import rdBase

from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.neighborhoods import MORGAN
from pellucid.molecules.substructures import find_substructures
from pellucid.molecules.table import canonical
from pellucid.neighborhoods import Neighborhoods
from pellucid.predictions import StructureFeatures


@final
@dataclass(frozen=True, kw_only=True)
class FingerprintFeatures(StructureFeatures):
    """Fingerprints of molecules as features of witnesses."""

    fingerprints: Morgan = MORGAN

    @property
    def names(self) -> tuple[str, ...]:
        """(P,) a name for each bit."""
        return tuple(f"bit {bit}" for bit in range(self.fingerprints.size))

    def canonical(self, cells: Sequence[str]) -> tuple[list[str], dict[int, str]]:
        """Canonical SMILES, "" where there is none, and the reasons by position."""
        texts, reasons = [], {}
        with rdBase.BlockLogs():
            for i, cell in enumerate(cells):
                text, reason = canonical(cell.strip())
                texts.append(text)
                if reason:
                    reasons[i] = f"{cell.strip()[:40]!r}: {reason}"
        return texts, reasons

    def values(self, structures: Sequence[str]) -> np.ndarray:
        """(N, P) bits."""
        return np.asarray(self.fingerprints(structures).dense().numpy())

    def substructures(self, features: Iterable[int], structures: Sequence[str]) -> dict[int, str]:
        """The substructures that bits stand for in these molecules, as text."""
        structures_by_bit = find_substructures(features, list(dict.fromkeys(structures)), self.fingerprints)
        return {bit: " or ".join([each.smiles, *each.others]) for bit, each in structures_by_bit.items()}

    def neighborhoods(self, structures: Sequence[str], threshold: float) -> Neighborhoods:
        """Molecules whose Tanimoto similarity is above the threshold, most similar first."""
        prints = self.fingerprints(structures)
        hits = prints.similar_to(prints, threshold=threshold)
        count = len(structures)
        return Neighborhoods(torch.from_numpy(hits.members), torch.from_numpy(hits.offsets), torch.arange(count), count)
