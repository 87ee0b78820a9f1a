"""The vocabulary of a model: the labels of its clusters, saved as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from rdkit import rdBase

from pellucid.errors import InputError
from pellucid.molecules.vae.trees import Template, capacity, template
from pellucid.numbers import counted
from pellucid.schemas import SchemaError, Size, checked
from pellucid.writing import write_text

MOST_LABELS = 50_000
"""The most labels: which of them fit together is a table of all pairs."""


class Templates(NamedTuple):
    """The atoms and bonds of all labels, one after the other, as the compiled kernel reads them."""

    offsets: np.ndarray
    """(V + 1,) label v has the atoms offsets[v] .. offsets[v + 1] - 1."""
    kinds: np.ndarray
    colors: np.ndarray
    """Atoms of a label that a symmetry exchanges have the same color."""
    used: np.ndarray
    """The sum of each atom's bond orders."""
    capacities: np.ndarray
    """The most that this sum may be."""
    squares: np.ndarray
    """(V,) where each label's matrix of bond orders begins."""
    adjacency: np.ndarray


@final
@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Labels of clusters with the number of times that each was seen, the most frequent first."""

    counts: Mapping[str, int]
    labels: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        ordered = sorted(self.counts, key=lambda label: (-self.counts[label], label))
        if not ordered:
            raise InputError("A vocabulary must have labels", got="none", cure="build it from molecules")
        object.__setattr__(self, "labels", tuple(ordered))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        more = ", ..." if len(self) > 5 else ""
        return f"Vocabulary({counted(len(self), 'label')}: {', '.join(self.labels[:5])}{more})"

    @cached_property
    def index(self) -> dict[str, int]:
        """The index of each label."""
        return {label: i for i, label in enumerate(self.labels)}

    def missing(self, labels: Iterable[str]) -> str | None:
        """The first of these labels that is not in the vocabulary."""
        return next((label for label in labels if label not in self.index), None)

    def to_text(self) -> str:
        """One line per label: its SMILES, a tab, how often it was seen."""
        return "".join(f"{label}\t{self.counts[label]}\n" for label in self.labels)

    @classmethod
    def from_text(cls, text: str) -> Vocabulary:
        """The vocabulary that `to_text` wrote."""
        try:
            rows = [line.split("\t") for line in text.splitlines()]
            if len(rows) > MOST_LABELS:
                raise SchemaError(f"{len(rows):,} labels, more than {MOST_LABELS:,}")
            vocabulary = cls({label: checked(Size, int(count), label) for label, count in rows})
            with rdBase.BlockLogs():
                for label in vocabulary.labels:
                    template(label)
        except ValueError as error:
            raise InputError(
                "A vocabulary must be a text with a label, a tab and a number on each line", got=f"{error}"
            ) from None
        return vocabulary

    def save(self, path: str | Path) -> None:
        """Write `to_text` to a file."""
        write_text(path, self.to_text())

    @classmethod
    def load(cls, path: str | Path) -> Vocabulary:
        """Read what `save` wrote."""
        try:
            return cls.from_text(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("A vocabulary must be a text file", got=f"{path}: {error}") from None

    @cached_property
    def templates(self) -> Templates:
        """Atoms and bonds of all labels, as flat arrays."""
        from pellucid.molecules.vae._assembly_kernel import refine

        kinds, colors, used, matrices = [], [], [], []
        for label in self.labels:
            cluster: Template = template(label)
            size = len(cluster.kinds)
            matrix = np.zeros((size, size), dtype=np.int64)
            for i, j, order in cluster.bonds:
                matrix[i, j] = matrix[j, i] = order
            color = np.array(cluster.kinds, dtype=np.uint64)
            bonds = np.array(cluster.bonds, dtype=np.int64).reshape(-1, 3)
            refine(color, bonds, np.ones(len(bonds), dtype=bool))
            kinds.append(cluster.kinds)
            colors.append(color)
            used.append(matrix.sum(0))
            matrices.append(matrix.ravel())
        sizes = np.array([len(k) for k in kinds])
        flat = np.concatenate([np.array(k, dtype=np.int64) for k in kinds])
        return Templates(
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            kinds=flat,
            colors=np.concatenate(colors),
            used=np.concatenate(used),
            capacities=np.array([capacity(int(kind)) for kind in flat], dtype=np.int64),
            squares=np.concatenate([[0], np.cumsum(sizes**2)])[:-1],
            adjacency=np.concatenate(matrices),
        )

    @cached_property
    def bonds(self) -> np.ndarray:
        """(directed bonds of all labels, 3): from which atom of its label to which, and the order."""
        rows = [(*ends, order) for label in self.labels for i, j, order in template(label).bonds
                for ends in ((i, j), (j, i))]  # fmt: skip
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    @cached_property
    def bond_offsets(self) -> np.ndarray:
        """(V + 1,) where each label's bonds begin."""
        return np.concatenate([[0], np.cumsum([2 * len(template(label).bonds) for label in self.labels])])

    @cached_property
    def fits(self) -> np.ndarray:
        """(V, V) whether a cluster of the second label can be attached to one of the first."""
        from pellucid.molecules.vae._assembly_kernel import pairwise_fits

        fits = np.zeros((len(self), len(self)), dtype=bool)
        pairwise_fits(*self.templates, fits)
        return fits
