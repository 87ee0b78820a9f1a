"""Neighborhoods whose members have junction trees: where witnesses of an encoder are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.vae.corpus import Corpus, Packed
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.neighborhoods import Neighborhoods

# Fewer points are not worth a corpus on disk.
_FEW = 2000


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Readable:
    """The neighborhoods of molecules that an encoder can read, without the members that it cannot."""

    hoods: Neighborhoods
    corpus: Corpus
    vocabulary: Vocabulary
    index: np.ndarray
    """(N,) the place of each point in the corpus."""
    fingerprints: Fingerprints
    kept: np.ndarray
    """(M,) of the members that were there before, which are left."""
    centers: np.ndarray
    """(n,) of the molecules that were there before, those whose neighborhoods these are."""
    points: tuple[str, ...]

    @classmethod
    def of(
        cls, around: MoleculeNeighborhoods, vocabulary: Vocabulary, morgan: Morgan, *, progress: bool = False
    ) -> Readable:
        """Leave out what has no junction tree, or one with labels that are not known."""
        many = len(around.points) >= _FEW
        corpus = Corpus.build(around.points, progress=progress) if many else Corpus.of(around.points)
        known, _ = corpus.known(vocabulary)
        place = np.full(len(around.points), -1)
        place[corpus.arrays["rows"][known] - 1] = known
        hoods = around.hoods
        readable = place >= 0
        members, rows = hoods.members.numpy(), hoods.rows.numpy()
        kept = readable[members] & readable[hoods.centers.numpy()[rows]]
        centers = np.flatnonzero(readable[hoods.centers.numpy()])
        renumber = np.cumsum(readable) - 1
        sizes = np.bincount(rows[kept], minlength=len(hoods))[centers]
        points = tuple(text for text, ok in zip(around.points, readable.tolist(), strict=True) if ok)
        return cls(
            hoods=Neighborhoods(
                torch.from_numpy(renumber[members[kept]]),
                torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])),
                torch.from_numpy(renumber[hoods.centers.numpy()[centers]]),
                len(points),
            ),
            corpus=corpus,
            vocabulary=vocabulary,
            index=place[readable],
            fingerprints=morgan.many(points, progress=progress),
            kept=np.flatnonzero(kept),
            centers=centers,
            points=points,
        )

    def packed(self, points: np.ndarray) -> Packed:
        """The junction trees of some of the points."""
        return self.corpus.packed(self.index[points], self.vocabulary)

    def surroundings(self, around: MoleculeNeighborhoods) -> MoleculeNeighborhoods:
        """What these neighborhoods were made of, without the members that are gone."""
        return MoleculeNeighborhoods(
            points=self.points,
            hoods=self.hoods,
            similarity=around.similarity[self.kept],
            origins=around.origins[self.kept],
        )
