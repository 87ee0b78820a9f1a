"""Neighborhoods of molecules: similar ones among those given, from a pool, and analogs made for the purpose."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np
import torch
from rdkit import rdBase

from pellucid import _checks
from pellucid.cache import Arrays, Cache, as_bytes, as_texts, remembered
from pellucid.errors import InputError, Parameter
from pellucid.molecules._parallel import in_chunks
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.table import canonicals
from pellucid.neighborhoods import Neighborhoods

FORMAT = 2
MORGAN = Morgan()
ORIGINS = ("itself", "given", "pool", "analog")
# Groups of fewer molecules are collected at once.
_FEW = 200


class Neighbor(NamedTuple):
    """One member of a molecule's neighborhood."""

    smiles: str
    similarity: float
    """Tanimoto similarity to the center."""
    origin: str
    """"itself", "given", "pool", or "analog"."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MoleculeNeighborhoods:
    """The neighborhoods of n molecules, over N points: the centers first, then all other members."""

    points: tuple[str, ...] = field(repr=False)
    """Canonical SMILES of the N points."""
    hoods: Neighborhoods
    similarity: np.ndarray = field(repr=False)
    """(M,) of each member to its center."""
    origins: np.ndarray = field(repr=False)
    """(M,) places in `ORIGINS`."""

    def __len__(self) -> int:
        return len(self.hoods)

    def __repr__(self) -> str:
        sizes = self.hoods.sizes.numpy()
        some = sizes[sizes > 2]
        text = f"{len(some) / len(sizes):.0%} with more than 2 members"
        text += f", median of those {np.median(some):g}, largest {some.max()}" if len(some) else ""
        return f"MoleculeNeighborhoods({len(self)} molecules, {len(self.points)} points; {text})"

    def neighbors(self, i: int) -> list[Neighbor]:
        """The members of neighborhood i, most similar first; the molecule itself leads."""
        begin, end = self.hoods.offsets[i : i + 2].tolist()
        members = self.hoods.members[begin:end].tolist()
        return [
            Neighbor(self.points[m], float(self.similarity[begin + k]), ORIGINS[self.origins[begin + k]])
            for k, m in enumerate(members)
        ]


@final
@dataclass(frozen=True, kw_only=True)
class SimilarityRule:
    """Which molecules are near a molecule: those with a Tanimoto similarity above the threshold.

    Parameters
    ----------
    fingerprints : Morgan
        What similarity is measured with.
    threshold : float
        Members are more similar to the center than this.
    most : int
        Members that a neighborhood may have; the most similar ones are kept, real molecules before analogs.
    analogs : bool
        Whether to make analogs by exchanging groups.
    largest_group, groups_per_kind : int
        Groups of at most so many heavy atoms are exchanged, for the so many most frequent ones that hang on the same
        kind of atom in the molecules given.
    """

    fingerprints: Morgan = MORGAN
    threshold: float = 0.6
    most: int = 300
    analogs: bool = True
    largest_group: int = 8
    groups_per_kind: int = 20

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise InputError(
                f"{Parameter('threshold')} of SimilarityRule must be between 0 and 1",
                got=f"{self.threshold!r}",
                cure="0.6 is usual",
                parameter="threshold",
            )
        for name in ("most", "largest_group", "groups_per_kind"):
            _checks.whole(getattr(self, name), 1, name)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SimilarityRule:
        """What `dataclasses.asdict` made of one."""
        rest = {name: value for name, value in content.items() if name != "fingerprints"}
        return cls(fingerprints=Morgan(**content["fingerprints"]), **rest)

    def groups(
        self, smiles: Sequence[str], *, progress: bool = False, jobs: int | None = None, cache: Cache = "default"
    ) -> RGroups:
        """What can be exchanged, as seen in these molecules; cached as neighborhoods are, see `around`."""
        if not self.analogs:
            return RGroups(by_kind={}, largest=self.largest_group)

        def make() -> Arrays:
            found = RGroups.seen_in(
                smiles, largest=self.largest_group, per_kind=self.groups_per_kind, progress=progress, jobs=jobs
            )
            return {"groups": as_bytes([json.dumps(found.by_kind)])}

        depends = {
            "format": FORMAT,
            "rdkit": rdBase.rdkitVersion,
            "largest": self.largest_group,
            "per_kind": self.groups_per_kind,
            "molecules": list(smiles),
        }
        content = remembered(cache if len(smiles) >= _FEW else "none", "molecules/groups", depends, make)
        return RGroups.from_lists(json.loads(as_texts(content["groups"])[0]), self.largest_group)

    def around(
        self,
        centers: Sequence[str],
        given: Sequence[str],
        groups: RGroups,
        *,
        pool: Sequence[str] = (),
        jobs: int | None = None,
        progress: bool = True,
        cache: Cache = "default",
    ) -> MoleculeNeighborhoods:
        """The neighborhoods of `centers`.

        Parameters
        ----------
        centers : sequence of str
            Canonical SMILES, each different.
        given : sequence of str
            Labeled molecules among which members are found, canonical SMILES.
        groups : RGroups
            Where analogs come from.
        pool : sequence of str
            Unlabeled molecules among which members are found, too.
        jobs : int, optional
            Processes that make analogs; by default one per core.
        progress : bool
            Whether to show a progress bar.
        cache : Cache
            A folder for finished neighborhoods, found again under a key of everything that they depend on; "default"
            is in the user's cache, "none" keeps nothing.
        """
        depends = {
            "format": FORMAT,
            "rdkit": rdBase.rdkitVersion,
            "settings": asdict(self),
            "groups": {kind: list(texts) for kind, texts in groups.by_kind.items()},
            "molecules": [list(centers), list(given), list(pool)],
        }

        def make() -> Arrays:
            return _pack(self._around(list(centers), list(given), list(pool), groups, jobs, progress))

        return _unpack(remembered(cache, "molecules/neighborhoods", depends, make), len(centers))

    def _around(
        self, centers: list[str], given: list[str], pool: list[str], groups: RGroups, jobs: int | None, progress: bool
    ) -> MoleculeNeighborhoods:
        own = self.fingerprints(centers)
        real = dict.fromkeys(given, "given") | {text: "pool" for text in pool if text not in set(given)}
        names = list(real)
        hits = _known(self.fingerprints, tuple(names)).similar_to(own, threshold=self.threshold) if names else None
        places = {text: i for i, text in enumerate(centers)}
        points = list(centers)
        members: list[int] = []
        similarity: list[float] = []
        origins: list[int] = []
        offsets = [0]
        for i, made in enumerate(self._analogs(centers, groups, jobs, progress)):
            found: dict[str, tuple[float, str]] = {centers[i]: (1.0, "itself")}
            if hits is not None:
                part = slice(hits.offsets[i], hits.offsets[i + 1])
                for j, value in zip(hits.members[part], hits.similarity[part], strict=True):
                    found.setdefault(names[j], (float(value), real[names[j]]))
            for text, value in made:
                found.setdefault(text, (value, "analog"))
            # Real molecules before analogs where there are too many; then the most similar first, as they come.
            kept = list(found.items())[: self.most]
            for text, (value, origin) in [kept[0], *sorted(kept[1:], key=lambda item: -item[1][0])]:
                if text not in places:
                    places[text] = len(points)
                    points.append(text)
                members.append(places[text])
                similarity.append(value)
                origins.append(ORIGINS.index(origin))
            offsets.append(len(members))
        hoods = Neighborhoods(torch.tensor(members), torch.tensor(offsets), torch.arange(len(centers)), len(points))
        return MoleculeNeighborhoods(
            points=tuple(points), hoods=hoods, similarity=np.array(similarity), origins=np.array(origins, dtype=np.int8)
        )

    def _analogs(
        self, centers: list[str], groups: RGroups, jobs: int | None, progress: bool
    ) -> list[list[tuple[str, float]]]:
        """For each center its analogs above the threshold, most similar first."""
        if not groups.by_kind:
            return [[] for _ in centers]
        parts = in_chunks(_make, centers, self, groups, jobs=jobs, title="making analogs", progress=progress)
        return [made for part in parts for made in part]


@lru_cache(maxsize=2)
def _known(morgan: Morgan, smiles: tuple[str, ...]) -> Fingerprints:
    """Made once for all molecules whose neighbors are looked for among the same ones."""
    return morgan.many(smiles)


def neighbors(
    smiles: str, given: Sequence[str], *, similar: SimilarityRule | None = None, pool: Sequence[str] = ()
) -> list[Neighbor]:
    """The neighborhood of one molecule among those given, a pool, and analogs of its own; most similar first.

    Examples
    --------
    >>> for member in neighbors("CCCCO", ["CCCCCO", "CCCCN", "c1ccccc1"], similar=SimilarityRule(threshold=0.5)):
    ...     print(f"{member.smiles:<10}{member.similarity:.2f}  {member.origin}")
    CCCCO     1.00  itself
    CCCCCO    0.77  given
    CCCCCCO   0.71  analog
    CCCO      0.58  analog
    """
    (text,) = canonicals([smiles], "smiles")
    similar = similar or SimilarityRule()
    known = list(dict.fromkeys(canonicals(given, "given", least=0)))
    more = list(dict.fromkeys(canonicals(pool, "pool", least=0)))
    around = similar.around([text], known, similar.groups(known), pool=more, jobs=1, progress=False, cache="none")
    return around.neighbors(0)


def _make(centers: list[str], similar: SimilarityRule, groups: RGroups) -> list[list[tuple[str, float]]]:
    result: list[list[tuple[str, float]]] = []
    for center in centers:
        made = list(groups.exchanged(center))
        if not made:
            result.append([])
            continue
        hits = similar.fingerprints(made).similar_to(similar.fingerprints([center]), threshold=similar.threshold)
        best = sorted((-float(s), made[j]) for j, s in zip(hits.members, hits.similarity, strict=True))
        result.append([(text, -s) for s, text in best[: similar.most]])
    return result


def _pack(around: MoleculeNeighborhoods) -> Arrays:
    return {
        "points": as_bytes(list(around.points)),
        "members": around.hoods.members.numpy(),
        "offsets": around.hoods.offsets.numpy(),
        "similarity": around.similarity,
        "origins": around.origins,
    }


def _unpack(content: Arrays, centers: int) -> MoleculeNeighborhoods:
    points = tuple(as_texts(content["points"]))
    members, offsets = torch.from_numpy(content["members"]), torch.from_numpy(content["offsets"])
    return MoleculeNeighborhoods(
        points=points,
        hoods=Neighborhoods(members, offsets, torch.arange(centers), len(points)),
        similarity=content["similarity"],
        origins=content["origins"],
    )
