"""Neighborhoods of molecules that an encoder can read: where its witnesses are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.vae.corpus import Corpus, PackedTrees, corpus_of
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.neighborhoods import Neighborhoods


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class EncodableNeighborhoods:
    """Neighborhoods without the molecules that an encoder cannot read; N points and M members."""

    hoods: Neighborhoods
    corpus: Corpus
    vocabulary: Vocabulary
    index: np.ndarray
    """(N,) the index of each point in the corpus."""
    fingerprints: Fingerprints
    kept_members: np.ndarray
    """(M,) the members that were kept, as positions among those of the original neighborhoods."""
    points: tuple[str, ...]

    @classmethod
    def of(
        cls, neighborhoods: MoleculeNeighborhoods, vocabulary: Vocabulary, morgan: Morgan, *, progress: bool = False
    ) -> EncodableNeighborhoods:
        """Drop every molecule that has no junction tree, or one with labels outside the vocabulary."""
        corpus = corpus_of(neighborhoods.points, progress=progress)
        encodable, _ = corpus.encodable(vocabulary)
        index = np.full(len(neighborhoods.points), -1)
        index[corpus.arrays["rows"][encodable] - 1] = encodable
        hoods = neighborhoods.hoods
        mask = index >= 0
        members, rows = hoods.members.numpy(), hoods.rows.numpy()
        member_mask = mask[members] & mask[hoods.centers.numpy()[rows]]
        centers = np.flatnonzero(mask[hoods.centers.numpy()])
        renumber = np.cumsum(mask) - 1
        sizes = np.bincount(rows[member_mask], minlength=len(hoods))[centers]
        points = tuple(text for text, ok in zip(neighborhoods.points, mask.tolist(), strict=True) if ok)
        return cls(
            hoods=Neighborhoods(
                torch.from_numpy(renumber[members[member_mask]]),
                torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])),
                torch.from_numpy(renumber[hoods.centers.numpy()[centers]]),
                len(points),
            ),
            corpus=corpus,
            vocabulary=vocabulary,
            index=index[mask],
            fingerprints=morgan.many(points, progress=progress),
            kept_members=np.flatnonzero(member_mask),
            points=points,
        )

    def packed(self, points: np.ndarray) -> PackedTrees:
        """The junction trees of the points at these positions."""
        return self.corpus.packed(self.index[points], self.vocabulary)

    def restrict(self, neighborhoods: MoleculeNeighborhoods) -> MoleculeNeighborhoods:
        """The neighborhoods that these were made from, without the members that were dropped."""
        return MoleculeNeighborhoods(
            points=self.points,
            hoods=self.hoods,
            similarity=neighborhoods.similarity[self.kept_members],
            origins=neighborhoods.origins[self.kept_members],
        )
