"""Neighborhoods of the molecules of a table of any length, analogs included: a shard of each range of rows.

Two jobs: one reads the molecules among which members are looked for, their fingerprints and their groups; the other
finds, for a range of rows, similar ones among them, and makes analogs. A shard is what `SimilarityRule.neighborhoods`
returns for its molecules; workers get the names of files.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from rdkit import rdBase

from pellucid._capacity import require_memory
from pellucid.cache import as_bytes, as_texts
from pellucid.domains import MessageCallback
from pellucid.errors import InputError
from pellucid.molecules.analogs import RGroups, count_groups
from pellucid.molecules.files import smiles_column
from pellucid.molecules.fingerprint_files import Array, FingerprintFile
from pellucid.molecules.neighborhoods import (
    MoleculeNeighborhoods,
    Neighbor,
    SimilarityRule,
    pack,
    similar_analogs,
    unpack,
)
from pellucid.molecules.table import canonical
from pellucid.numbers import counted
from pellucid.schemas import SchemaError, as_written
from pellucid.sharding import Executor, Job, Range, contents, discard, identity_of, run
from pellucid.sharding.files import read_shard_file
from pellucid.stored_arrays import read_arrays
from pellucid.tables import Table, read_range, table_ranges
from pellucid.writing import replacing, write_bytes, write_text

_PIECE = 2048
# Making analogs takes longer.
_CENTERS = 256
# Bytes of memory for each molecule among which members are looked for, in each process.
_EACH = 100.0
_ABOUT = "about.json"
_FILES = (".json", ".npy", ".txt")


class StoredNeighborhoods(NamedTuple):
    """The neighborhoods of a range of rows."""

    rows: Array
    """(rows,) the numbers of the rows that hold a molecule, as in messages: that of the line, in text."""
    places: Array
    """(rows,) which neighborhood is theirs: rows of the same molecule share one."""
    neighborhoods: MoleculeNeighborhoods | None
    """None if no row of the range holds a molecule."""


def write_neighborhoods(
    table: str | Path,
    folder: str | Path,
    *,
    given: str | Path | None = None,
    smiles: str | None = None,
    similar: SimilarityRule | None = None,
    executor: Executor | None = None,
    progress: bool = True,
    warn: MessageCallback = lambda _: None,
) -> list[Path]:
    """Write the neighborhoods of all molecules of a table in shards, and return where they are.

    Memory does not grow with the table; with `given` it grows by some 100 bytes a molecule. What is interrupted goes on
    where it was. `read_neighborhoods` reads a shard, `neighborhood_rows` makes one table of all.

    Parameters
    ----------
    table : str or Path
        A file with a column of SMILES, or a list of them (.smi). Rows without a molecule have no neighborhood.
    folder : str or Path
        Where to write.
    given : str or Path, optional
        The file of the molecules among which members are looked for, and whose groups analogs are made with; by
        default the same.
    smiles : str, optional
        The column of SMILES in both; by default it is found by its name.
    similar : SimilarityRule, optional
        Which molecules are near a molecule.
    executor : Executor, optional
        Who computes; by default this process. See `pellucid.sharding.executor_of`.
    progress : bool
        Show a progress bar, with the time that is left.
    warn : callable
        Takes sentences on what a long job takes, and on rows without a molecule.
    """
    rule = SimilarityRule() if similar is None else similar
    folder = Path(folder).resolve()
    known = _Given.write(given or table, folder / "given", smiles, rule, executor, progress=progress, warn=warn)
    ranges = table_ranges(table, _CENTERS)
    column = smiles_column(ranges.header, smiles, ranges.path.name)
    job = Job(
        name="neighborhoods",
        work=_neighborhoods_range,
        arguments={"column": column, "rule": rule, "given": known.folder},
        ranges=[Range(part.begin, part.end, ranges.place(part)) for part in ranges.ranges],
        folder=folder,
        identity=identity_of(
            {"job": "neighborhoods", "column": column, "rule": asdict(rule), "rdkit": rdBase.rdkitVersion},
            ranges.digest,
            known.identity,
        ),
        unit="molecules",
    )
    discard(folder, but=job)
    run(job, executor, progress=progress, note=warn)
    return [job.path(part) for part in job.ranges]


def read_neighborhoods(path: str | Path) -> StoredNeighborhoods:
    """The neighborhoods of a shard."""
    with as_written(
        "A shard must hold neighborhoods as `write_neighborhoods` writes them",
        where=path,
        cure="call it again: it makes what is missing or damaged",
    ):
        content = read_shard_file(Path(path))
        if content is None:
            raise SchemaError("it is missing, damaged, or no shard")
        arrays = read_arrays(io.BytesIO(content))
        count = int(arrays["centers"])
        return StoredNeighborhoods(arrays["rows"], arrays["places"], unpack(arrays, count) if count else None)


def neighborhood_rows(paths: Iterable[str | Path]) -> Iterator[Sequence[Any]]:
    """One table of all shards, the names of its columns first: for `write_rows` and `write_parquet`.

    Parameters
    ----------
    paths : iterable of str or Path
        The shards, in order.
    """
    yield "row", "molecule", "member", "similarity", "origin"
    for path in paths:
        rows, places, neighborhoods = read_neighborhoods(path)
        if neighborhoods is None:
            continue
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            for member in neighborhoods.neighbors(place):
                yield row, neighborhoods.points[place], member.smiles, f"{member.similarity:.6g}", member.origin


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Given:
    """The molecules among which members are looked for, in a folder."""

    folder: Path
    identity: str
    """Of the job that read them."""

    @classmethod
    def write(
        cls,
        table: str | Path,
        folder: Path,
        smiles: str | None,
        rule: SimilarityRule,
        executor: Executor | None,
        *,
        progress: bool,
        warn: MessageCallback,
    ) -> _Given:
        """Read them, unless they have been."""
        ranges = table_ranges(table, _PIECE)
        processes = executor.workers if executor is not None and executor.here else 1
        require_memory(
            _EACH * ranges.count * processes,
            f"The search among {ranges.count:,} molecules in {counted(processes, 'process', 'processes')}",
            cure="use fewer processes, or divide the molecules",
        )
        column = smiles_column(ranges.header, smiles, ranges.path.name)
        largest = rule.largest_group if rule.analogs else 0
        settings = {"column": column, "morgan": asdict(rule.fingerprints), "largest": largest}
        job = Job(
            name="molecules",
            work=_given_range,
            arguments={"column": column, "rule": rule},
            ranges=[Range(part.begin, part.end, ranges.place(part)) for part in ranges.ranges],
            folder=folder / "shards",
            identity=identity_of({"job": "given", "rdkit": rdBase.rdkitVersion, **settings}, ranges.digest),
            unit="molecules",
        )
        result = cls(folder=folder, identity=job.identity)
        if (folder / _ABOUT).is_file() and (folder / _ABOUT).read_bytes() == result._about():
            return result
        run(job, executor, progress=progress, note=warn)
        (folder / _ABOUT).unlink(missing_ok=True)
        count = result._join(job)
        write_bytes(folder / _ABOUT, result._about())
        discard(job.folder)
        if count < ranges.count:
            warn(f"{ranges.path.name}: {ranges.count - count:,} of {ranges.count:,} rows hold no molecule.")
        return result

    def _about(self) -> bytes:
        """Of what job the files are, and what is in them: damaged ones are made anew."""
        digests = {}
        files = {path for path in self.folder.rglob("*") if path.suffix in _FILES} - {self.folder / _ABOUT}
        for path in sorted(files):
            with path.open("rb") as stream:
                digests[path.relative_to(self.folder).as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
        return json.dumps({"identity": self.identity, "digests": digests}).encode()

    def _join(self, job: Job) -> int:
        """Write the files of all shards together; the number of molecules."""
        counts: dict[str, Counter[str]] = {}
        ends = []
        with replacing(self.folder / "smiles.txt") as draft, draft.open("wb") as stream:
            for part in _parts(job):
                texts = as_texts(part["texts"]) if len(part["words"]) else []
                stream.write("".join(texts).encode())
                ends.append(np.array([len(text.encode()) for text in texts], dtype=np.int64))
                for kind, group, count in json.loads(part["groups"].tobytes()):
                    counts.setdefault(kind, Counter())[group] += count
        lengths = np.concatenate(ends)
        if not len(lengths):
            raise InputError("There must be molecules among which members are looked for", got="none in the file")
        with replacing(self.folder / "ends.npy") as draft, draft.open("wb") as stream:
            np.save(stream, np.cumsum(lengths))
        write_text(
            self.folder / "groups.json",
            json.dumps({kind: dict(sorted(counter.items())) for kind, counter in sorted(counts.items())}),
        )
        FingerprintFile.write_parts(self.folder / "fingerprints", lambda: (part["words"] for part in _parts(job)))
        return len(lengths)

    def groups(self, rule: SimilarityRule) -> RGroups:
        """The groups that analogs are made with."""
        counts = json.loads((self.folder / "groups.json").read_text(encoding="utf-8"))
        counters = {kind: Counter(groups) for kind, groups in counts.items()}
        return RGroups.most_frequent(counters, largest=rule.largest_group, per_kind=rule.groups_per_kind)

    def similar_to(self, centers: Sequence[str], rule: SimilarityRule) -> list[list[Neighbor]]:
        """For each center those that are similar, most similar first."""
        file = FingerprintFile.open(self.folder / "fingerprints")
        hits = file.similar_to(rule.fingerprints(centers), threshold=rule.threshold)
        texts = np.memmap(self.folder / "smiles.txt", dtype=np.uint8, mode="r")
        ends = np.load(self.folder / "ends.npy", mmap_mode="r")

        def text(row: int) -> str:
            return bytes(texts[ends[row - 1] if row else 0 : ends[row]]).decode()

        return [[Neighbor(text(row), value, "given") for row, value in hits.of(i)] for i in range(len(centers))]


def _parts(job: Job) -> Iterator[dict[str, Array]]:
    for content in contents(job):
        with np.load(io.BytesIO(content)) as arrays:
            yield dict(arrays)


def _molecules(table: Table, column: str) -> list[tuple[int, str]]:
    """(number of the row, canonical SMILES) of the rows that hold a molecule."""
    with rdBase.BlockLogs():
        texts = [canonical(text)[0] for text in table.column(column)] if table.rows else []
    return [(row, text) for row, text in zip(table.numbers, texts, strict=True) if text]


def _given_range(begin: int, end: int, *, column: str, rule: SimilarityRule, **place: Any) -> bytes:
    """SMILES, fingerprints, and how often each kind of atom carries each group."""
    texts = [text for _, text in _molecules(read_range(**place), column)]
    groups = count_groups(texts, rule.largest_group) if rule.analogs else Counter()
    listed = json.dumps([[*pair, count] for pair, count in sorted(groups.items())])
    return _bytes(texts=as_bytes(texts), words=rule.fingerprints(texts).words, groups=as_bytes([listed]))


def _neighborhoods_range(
    begin: int, end: int, *, column: str, rule: SimilarityRule, given: Path, **place: Any
) -> bytes:
    """The neighborhoods of the molecules of a range, each once."""
    known = _Given(folder=given, identity="")
    molecules = _molecules(read_range(**place), column)
    index = {text: i for i, text in enumerate(dict.fromkeys(text for _, text in molecules))}
    centers = list(index)
    arrays = {}
    if centers:
        analogs = similar_analogs(centers, rule, known.groups(rule)) if rule.analogs else [[] for _ in centers]
        arrays = pack(rule.gathered(centers, known.similar_to(centers, rule), analogs))
    return _bytes(
        rows=np.array([row for row, _ in molecules], dtype=np.int64),
        places=np.array([index[text] for _, text in molecules], dtype=np.int64),
        centers=np.array(len(centers)),
        **arrays,
    )


def _bytes(**arrays: Array) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()
