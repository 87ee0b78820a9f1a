"""The arrays of a corpus: how rows of SMILES are packed into them, part by part, in memory or in files."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rdkit import rdBase

from pellucid.cache import key_of
from pellucid.errors import InputError
from pellucid.molecules.files import smiles_column
from pellucid.molecules.table import Rejection
from pellucid.molecules.vae.trees import JunctionTree, UnusableMolecule, has_stereo, tree_of
from pellucid.tables import open_table

FORMAT = 2
CONTENT = "corpus.json"
"""The file of a corpus that is written last."""
# The arrays of a corpus: their type, and the length of a row.
_ARRAYS: dict[str, tuple[str, int]] = {
    "atoms": ("u1", 4),
    "bonds": ("u1", 3),
    "labels": ("<i4", 1),
    "parents": ("<i2", 1),
    "sizes": ("u1", 1),
    "members": ("u1", 1),
    "texts": ("u1", 1),
    "rows": ("<i8", 1),
}
# Those of which a molecule has several rows; where its rows end is kept for each.
RAGGED = ("atoms", "bonds", "labels", "members", "texts")


def all_arrays() -> dict[str, tuple[str, int]]:
    """The type and row length of every array, those of ends included."""
    return _ARRAYS | {f"{name}_ends": ("<i8", 1) for name in RAGGED}


class CorpusPart(NamedTuple):
    """The packed junction trees of one chunk of rows."""

    arrays: dict[str, np.ndarray]
    """As in a corpus, but `labels` index `names`, and lengths take the place of ends."""
    names: list[str]
    rejected: list[Rejection]
    flattened: int
    """Molecules whose stereochemistry was dropped."""


def pack(rows: Sequence[tuple[int, str]], largest: int) -> CorpusPart:
    """Decompose and pack (number, SMILES) rows."""
    trees: list[JunctionTree] = []
    row_numbers: list[list[int]] = []
    rejected = []
    flattened = 0
    with rdBase.BlockLogs():
        for number, text in rows:
            try:
                trees.append(tree_of(text, largest))
                row_numbers.append([number])
                flattened += has_stereo(text)
            except UnusableMolecule as reason:
                rejected.append(Rejection(number, str(text), str(reason)))
    names: dict[str, int] = {}
    values: dict[str, Any] = {
        "atoms": [tree.atoms for tree in trees],
        "bonds": [tree.bonds for tree in trees],
        "labels": [[names.setdefault(label, len(names)) for label in tree.labels] for tree in trees],
        "parents": [tree.parents for tree in trees],
        "sizes": [[len(cluster) for cluster in tree.clusters] for tree in trees],
        "members": [list(chain.from_iterable(tree.clusters)) for tree in trees],
        "texts": [np.frombuffer(tree.smiles.encode(), dtype=np.uint8) for tree in trees],
        "rows": row_numbers,
    }
    arrays = {}
    for name, (kind, width) in _ARRAYS.items():
        shape = (0,) if width == 1 else (0, width)
        arrays[name] = np.concatenate([np.zeros(shape, kind), *(np.asarray(v, dtype=kind) for v in values[name])])
    for name in RAGGED:
        arrays[f"{name}_ends"] = np.array([len(v) for v in values[name]], dtype=np.int64)
    return CorpusPart(arrays, list(names), rejected, flattened)


class _LabelNumbering:
    """Numbers labels across all parts, and counts labels, reasons and dropped stereochemistry."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.counts: Counter[int] = Counter()
        self.reasons: Counter[str] = Counter()
        self.flattened = 0
        self.ends = dict.fromkeys(RAGGED, 0)

    def renumbered(self, part: CorpusPart) -> dict[str, np.ndarray]:
        numbers = np.array([self.numbers.setdefault(name, len(self.numbers)) for name in part.names], dtype="<i4")
        labels = numbers[part.arrays["labels"]] if len(numbers) else part.arrays["labels"]
        self.counts.update(labels.tolist())
        self.reasons.update(rejection.reason for rejection in part.rejected)
        self.flattened += part.flattened
        arrays = part.arrays | {"labels": labels}
        for name in RAGGED:
            ends = np.cumsum(arrays[f"{name}_ends"]) + self.ends[name]
            self.ends[name] = int(ends[-1]) if len(ends) else self.ends[name]
            arrays[f"{name}_ends"] = ends
        return arrays

    def content(self) -> dict[str, Any]:
        return {
            "labels": tuple(self.numbers),
            "counts": tuple(self.counts[i] for i in range(len(self.numbers))),
            "reasons": dict(self.reasons),
            "flattened": self.flattened,
        }


def join_parts(parts: Iterable[CorpusPart]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of all parts in memory, and the other fields of a `Corpus`."""
    numbering = _LabelNumbering()
    arrays: list[dict[str, np.ndarray]] = []
    rejected: list[Rejection] = []
    for part in parts:
        arrays.append(numbering.renumbered(part))
        rejected += part.rejected
    joined = {name: np.concatenate([a[name] for a in arrays]) for name in all_arrays()}
    return joined, {"rejected": tuple(rejected), **numbering.content()}


def write_parts(folder: Path, parts: Iterable[CorpusPart], key: str) -> None:
    """Write the arrays of all parts into a folder as they come, and then what says that they are complete."""
    numbering = _LabelNumbering()
    with ExitStack() as stack:  # which closes all of them, also where one cannot be written to its end
        files = {name: stack.enter_context((folder / name).open("wb")) for name in all_arrays()}
        stream = stack.enter_context((folder / "rejected.csv").open("w", newline="", encoding="utf-8"))
        writer = csv.writer(stream)
        writer.writerow(Rejection._fields)
        for part in parts:
            writer.writerows(part.rejected)
            for name, values in numbering.renumbered(part).items():
                files[name].write(np.ascontiguousarray(values, dtype=all_arrays()[name][0]).tobytes())
    content = {"format": FORMAT, "key": key, **numbering.content()}
    (folder / CONTENT).write_text(json.dumps(content) + "\n")


def corpus_key(source: str | Path | Sequence[str], largest: int, limit: int | None, smiles: str | None = None) -> str:
    """A key of everything that a corpus depends on."""
    column = "" if smiles is None else f" {smiles!r}"
    return key_of(f"{FORMAT} {rdBase.rdkitVersion} {largest} {limit}{column}", _source_bytes(source))


def _source_bytes(source: str | Path | Sequence[str]) -> Iterator[bytes]:
    if not isinstance(source, str | Path):
        yield from (f"{text}\n".encode() for text in source)
        return
    yield f"file{Path(source).suffix}".encode()
    with _existing_file(source).open("rb") as stream:
        yield from iter(lambda: stream.read(1 << 20), b"")


def _existing_file(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise InputError(
            "The source must be a list of SMILES, or the path of a file of them",
            got=f"{str(path)!r}, which is not a file",
            cure="correct the path, or put a single SMILES into a list",
        )
    return path


def rows_of(source: str | Path | Sequence[str], smiles: str | None = None) -> Iterator[tuple[int, str]]:
    """(number of the row, SMILES); in files it is the number of the line, and blank lines have none."""
    if not isinstance(source, str | Path):
        yield from enumerate(source, 1)
        return
    stream = open_table(_existing_file(source), bare=smiles is None, undecodable="replace")
    column = stream.header.index(smiles_column(stream.header, smiles, stream.source))
    for number, cells in stream:
        yield number, cells[column] if column < len(cells) else ""
