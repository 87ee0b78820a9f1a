"""Neighborhoods of molecules: similar ones among labeled molecules and a pool, and analogs made for the purpose."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np
import torch
from rdkit import rdBase

from pellucid import _checks
from pellucid._capacity import announce, require_memory
from pellucid.cache import Arrays, Cache, as_bytes, as_texts, cached_arrays
from pellucid.errors import InputError, Parameter
from pellucid.molecules._parallel import in_chunks
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.table import canonicals
from pellucid.neighborhoods import Neighborhoods
from pellucid.numbers import percent
from pellucid.schemas import SchemaError, checked, shown

FORMAT = 3
MORGAN = Morgan()
ORIGINS = ("itself", "given", "pool", "analog")
# The groups of fewer molecules are not cached.
_MIN_CACHED = 200
# From so many molecules on, some of them show beforehand what the analogs of all take.
_MANY, _SAMPLE = 2000, 20
# Bytes of memory for an analog, with its graph and fingerprint.
_POINT = 1300.0


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
    """(M,) Tanimoto similarity of each member to its center."""
    origins: np.ndarray = field(repr=False)
    """(M,) indices in `ORIGINS`."""

    def __len__(self) -> int:
        return len(self.hoods)

    def __repr__(self) -> str:
        sizes = self.hoods.sizes.numpy()
        large = sizes[sizes > 2]
        text = f"{percent(len(large) / len(sizes), 0)} with more than 2 members"
        text += f", median of those {np.median(large):g}, largest {large.max()}" if len(large) else ""
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
        The fingerprints that similarity is computed from.
    threshold : float
        The Tanimoto similarity to the center that members exceed.
    most : int
        The most members that a neighborhood may have; the most similar ones are kept, real molecules before analogs.
    analogs : bool
        Whether to make analogs by exchanging groups.
    largest_group, groups_per_kind : int
        Groups of at most `largest_group` heavy atoms are exchanged for the `groups_per_kind` most frequent ones that
        hang on the same kind of atom.
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
        """The rule that `dataclasses.asdict` was called on."""
        for kind, part in ((cls, content), (Morgan, content["fingerprints"])):
            if {*part} != {each.name for each in fields(kind)}:  # no default must take the place of what was renamed
                raise SchemaError(f"a {kind.__name__} has other fields than {shown(list(part))}")
        return checked(cls, content, "similar")

    def groups(
        self, smiles: Sequence[str], *, progress: bool = False, jobs: int | None = None, cache: Cache = "default"
    ) -> RGroups:
        """The groups that can be exchanged, as seen in these molecules; cached as in `neighborhoods`."""
        if not self.analogs:
            return RGroups(by_kind={}, largest=self.largest_group)

        def make() -> Arrays:
            groups = RGroups.seen_in(
                smiles, largest=self.largest_group, per_kind=self.groups_per_kind, progress=progress, jobs=jobs
            )
            return {"groups": as_bytes([json.dumps(groups.by_kind)])}

        depends = {
            "format": FORMAT,
            "rdkit": rdBase.rdkitVersion,
            "largest": self.largest_group,
            "per_kind": self.groups_per_kind,
            "molecules": list(smiles),
        }
        content = cached_arrays(cache if len(smiles) >= _MIN_CACHED else "none", "molecules/groups", depends, make)
        return RGroups.from_lists(json.loads(as_texts(content["groups"])[0]), self.largest_group)

    def neighborhoods(
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
            Labeled molecules among which members are looked for, as canonical SMILES.
        groups : RGroups
            The groups that analogs are made with: the first `groups_per_kind` of each kind.
        pool : sequence of str
            Unlabeled molecules among which members are looked for too, as canonical SMILES.
        jobs : int, optional
            The number of processes that make analogs; by default one per core.
        progress : bool
            Show a progress bar.
        cache : Cache
            A folder in which finished neighborhoods are stored under a key of everything that they depend on; "default"
            is one in the user's cache, "none" stores nothing.
        """
        groups = groups.first(self.groups_per_kind)
        depends = {
            "format": FORMAT,
            "rdkit": rdBase.rdkitVersion,
            "settings": asdict(self),
            "groups": {kind: list(texts) for kind, texts in groups.by_kind.items()},
            "molecules": [list(centers), list(given), list(pool)],
        }

        def make() -> Arrays:
            return pack(self._search(list(centers), list(given), list(pool), groups, jobs, progress))

        return unpack(cached_arrays(cache, "molecules/neighborhoods", depends, make), len(centers))

    def _search(
        self, centers: list[str], given: list[str], pool: list[str], groups: RGroups, jobs: int | None, progress: bool
    ) -> MoleculeNeighborhoods:
        center_prints = self.fingerprints(centers)
        real = dict.fromkeys(given, "given") | {text: "pool" for text in pool if text not in set(given)}
        names = list(real)
        known: list[list[Neighbor]] = [[] for _ in centers]
        if names:
            pool_prints = _fingerprints_of(self.fingerprints, tuple(names))
            hits = pool_prints.similar_to(center_prints, threshold=self.threshold)
            known = [
                [Neighbor(names[row], value, real[names[row]]) for row, value in hits.of(i)]
                for i in range(len(centers))
            ]
        return self.gathered(centers, known, self._analogs(centers, groups, jobs, progress))

    def gathered(
        self,
        centers: Sequence[str],
        known: Iterable[Iterable[Neighbor]],
        analogs: Iterable[Iterable[tuple[str, float]]],
    ) -> MoleculeNeighborhoods:
        """Neighborhoods of what was found: at most `most` members each, the most similar first.

        Parameters
        ----------
        centers : sequence of str
            Canonical SMILES, each different.
        known : iterable
            For each center the real molecules that are similar, most similar first.
        analogs : iterable
            For each center its analogs with their similarity, most similar first.
        """
        index = {text: i for i, text in enumerate(centers)}
        points = list(centers)
        members: list[int] = []
        similarity: list[float] = []
        origins: list[int] = []
        offsets = [0]
        for center, real, made in zip(centers, known, analogs, strict=True):
            candidates: dict[str, tuple[float, str]] = {center: (1.0, "itself")}
            for text, value, origin in real:
                candidates.setdefault(text, (value, origin))
            for text, value in made:
                candidates.setdefault(text, (value, "analog"))
            # Real molecules before analogs where there are too many; then the most similar first, as they come.
            kept = list(candidates.items())[: self.most]
            for text, (value, origin) in [kept[0], *sorted(kept[1:], key=lambda item: -item[1][0])]:
                if text not in index:
                    index[text] = len(points)
                    points.append(text)
                members.append(index[text])
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
        if not (self.analogs and groups.by_kind):
            return [[] for _ in centers]
        if len(centers) >= _MANY:
            self._foresee(centers, groups, jobs)
        parts = in_chunks(similar_analogs, centers, self, groups, jobs=jobs, title="making analogs", progress=progress)
        return [analogs for part in parts for analogs in part]

    def _foresee(self, centers: list[str], groups: RGroups, jobs: int | None) -> None:
        """Say how long analogs take, by some of them, and refuse those that memory cannot hold."""
        sample = centers[:: len(centers) // _SAMPLE]
        similar_analogs(sample[:1], self, groups)  # compiles
        start = time.perf_counter()
        count = sum(map(len, similar_analogs(sample, self, groups))) * len(centers) / len(sample)
        seconds = (time.perf_counter() - start) * len(centers) / len(sample) / (jobs or os.cpu_count() or 1)
        what, fewer = f"Making some {count:,.0f} analogs of {len(centers):,} molecules", "take fewer molecules"
        require_memory(_POINT * count, what, cure=f"{fewer}, or `write_neighborhoods`, which leaves them on the disk")
        announce(seconds, _POINT * count, what, cure=f"To wait for less, {fewer}, or fewer `groups_per_kind`")


@lru_cache(maxsize=2)
def _fingerprints_of(morgan: Morgan, smiles: tuple[str, ...]) -> Fingerprints:
    """Computed once for all centers whose neighbors are looked for among the same molecules."""
    return morgan.many(smiles)


def neighbors(
    smiles: str, given: Sequence[str], *, similar: SimilarityRule | None = None, pool: Sequence[str] = ()
) -> list[Neighbor]:
    """The neighborhood of one molecule: `given` molecules, those of a pool, and analogs; most similar first.

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
    rule = similar or SimilarityRule()
    labeled = list(dict.fromkeys(canonicals(given, "given", least=0)))
    unlabeled = list(dict.fromkeys(canonicals(pool, "pool", least=0)))
    neighborhoods = rule.neighborhoods(
        [text], labeled, rule.groups(labeled), pool=unlabeled, jobs=1, progress=False, cache="none"
    )
    return neighborhoods.neighbors(0)


def similar_analogs(centers: list[str], rule: SimilarityRule, groups: RGroups) -> list[list[tuple[str, float]]]:
    """For each center its analogs above the threshold, most similar first."""
    result: list[list[tuple[str, float]]] = []
    for center in centers:
        analogs = list(groups.exchanged_molecules(center))
        if not analogs:
            result.append([])
            continue
        around = rule.fingerprints(made for _, made in analogs)
        hits = around.similar_to(rule.fingerprints([center]), threshold=rule.threshold)
        best = sorted((-float(s), analogs[j][0]) for j, s in zip(hits.members, hits.similarity, strict=True))
        result.append([(text, -s) for s, text in best[: rule.most]])
    return result


def pack(neighborhoods: MoleculeNeighborhoods) -> Arrays:
    """Neighborhoods as arrays, for files."""
    return {
        "points": as_bytes(list(neighborhoods.points)),
        "members": neighborhoods.hoods.members.numpy(),
        "offsets": neighborhoods.hoods.offsets.numpy(),
        "similarity": neighborhoods.similarity,
        "origins": neighborhoods.origins,
    }


def unpack(content: Mapping[str, np.ndarray], centers: int) -> MoleculeNeighborhoods:
    """The neighborhoods of so many molecules that `pack` made arrays of."""
    points = tuple(as_texts(content["points"]))
    members, offsets = torch.from_numpy(content["members"]), torch.from_numpy(content["offsets"])
    return MoleculeNeighborhoods(
        points=points,
        hoods=Neighborhoods(members, offsets, torch.arange(centers), len(points)),
        similarity=content["similarity"],
        origins=content["origins"],
    )
