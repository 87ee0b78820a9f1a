"""Corpora from disk: checked before compiled code, which checks nothing, reads them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, final

import numpy as np
from rdkit import rdBase

from pellucid.molecules.table import Rejection
from pellucid.molecules.vae._corpus_kernel import first_wrong
from pellucid.molecules.vae.corpus_format import CONTENT, FORMAT, RAGGED, all_arrays
from pellucid.molecules.vae.trees import template
from pellucid.schemas import Between, SchemaError, Size, checked, json_of
from pellucid.stored_arrays import check_array

# Bytes of texts that are looked at in one go; and rejected rows that are read.
_CHUNK, _REJECTED = 1 << 24, 1000


@final
@dataclass(frozen=True, kw_only=True)
class _Content:
    """The JSON file of a corpus."""

    format: Literal[2]
    key: str
    labels: Annotated[tuple[str, ...], Between(0, 2**20)]
    counts: tuple[Size, ...]
    reasons: dict[str, Size]
    flattened: Size = 0


def read_corpus(path: Path) -> dict[str, Any]:
    """The fields of a `Corpus`; its arrays stay on disk."""
    raw = json_of(path / CONTENT)
    if isinstance(raw, dict) and raw.get("format") != FORMAT:
        raise SchemaError(f"its format is {raw.get('format')}, not {FORMAT}")
    content = checked(_Content, raw)
    if len(content.counts) != len(content.labels) or len(set(content.labels)) != len(content.labels):
        raise SchemaError("there is not one count for each label")
    arrays = {name: _array(path / name, *kind) for name, kind in all_arrays().items()}
    _check_ends(arrays)
    _check_trees(arrays, content.labels)
    return {
        "arrays": arrays,
        "labels": content.labels,
        "counts": content.counts,
        "rejected": _rejected(path / "rejected.csv"),
        "reasons": content.reasons,
        "flattened": content.flattened,
        "built_from": content.key,
    }


def _array(file: Path, kind: str, width: int) -> np.ndarray:
    size = file.stat().st_size
    if size % (width * np.dtype(kind).itemsize):
        raise SchemaError(f"the length of the file {file.name} is not that with which it was written")
    flat = np.memmap(file, dtype=kind, mode="r") if size else np.frombuffer(b"", kind)  # no file of nothing is mapped
    return flat if width == 1 else flat.reshape(-1, width)


def _check_ends(arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays whose lengths do not belong together."""
    count = len(arrays["rows"])
    for name in RAGGED:
        ends, length = arrays[f"{name}_ends"], len(arrays[name])
        if length != (ends[-1] if len(ends) else 0):
            raise SchemaError(f"the length of the file {name} is not that with which it was written")
        check_array(ends, [count], f"{name}_ends", kinds="i", low=0, high=length)
        if (np.diff(ends) < 0).any():
            raise SchemaError(f"{name}_ends are not ascending")
    check_array(arrays["rows"], [count], "rows", kinds="i", low=0, high=2**40)
    for name in ("parents", "sizes"):
        check_array(arrays[name], [len(arrays["labels"])], name, kinds="iu")
    texts = arrays["texts"]
    for begin in range(0, len(texts), _CHUNK):
        if texts[begin : begin + _CHUNK].max() > 127:
            raise SchemaError("its SMILES are not ASCII")


def _check_trees(arrays: dict[str, np.ndarray], labels: tuple[str, ...]) -> None:
    with rdBase.BlockLogs():
        kinds = [template(label).kinds for label in labels]
    wrong = first_wrong(
        arrays["atoms_ends"], arrays["atoms"], arrays["bonds_ends"], arrays["bonds"], arrays["labels_ends"],
        arrays["labels"], arrays["parents"], arrays["sizes"], arrays["members_ends"], arrays["members"],
        np.cumsum([0, *map(len, kinds)]), np.array([kind for atoms in kinds for kind in atoms], dtype=np.int64),
    )  # fmt: skip
    if wrong >= 0:
        raise SchemaError(f"molecule {wrong} is not one with its junction tree")


def _rejected(file: Path) -> tuple[Rejection, ...]:
    with file.open(newline="", encoding="utf-8") as stream:
        try:
            rows = list(islice(csv.reader(stream), 1, 1 + _REJECTED))
        except csv.Error as error:
            raise SchemaError(f"{file.name}: {error}") from None
    return tuple(Rejection(int(row), text, reason) for row, text, reason in rows)
