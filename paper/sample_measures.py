"""Measures of generated molecules, as MOSES defines them (Polykovskiy et al. 2020), written from their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ATOMS = frozenset(("C", "N", "S", "O", "F", "Cl", "Br", "H"))
"""Elements that pass the filters."""
# Molecules whose similarities to all others are in memory together.
_BLOCK = 1000


def canonical(texts: Sequence[str]) -> list[str]:
    """Canonical SMILES of those that are valid."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecules = [Chem.MolFromSmiles(text) for text in texts]
    return [Chem.MolToSmiles(molecule) for molecule in molecules if molecule is not None]


def unique_at(valid: Sequence[str], count: int) -> float:
    """The share of different ones among the first so many."""
    first = valid[:count]
    return len(set(first)) / len(first)


def novelty(valid: Sequence[str], train: set[str]) -> float:
    """The share of the different molecules that are not among those learned from."""
    return float(np.mean([text not in train for text in set(valid)]))


def fragments(texts: Sequence[str]) -> Counter[str]:
    """How often each BRICS fragment occurs."""
    from rdkit import Chem

    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(Chem.MolToSmiles(Chem.FragmentOnBRICSBonds(Chem.MolFromSmiles(text))).split("."))
    return counts


def scaffolds(texts: Sequence[str], least_rings: int = 2) -> Counter[str]:
    """How often each Bemis-Murcko scaffold with at least so many rings occurs."""
    from rdkit import Chem
    from rdkit.Chem.Scaffolds import MurckoScaffold

    counts: Counter[str] = Counter()
    for text in texts:
        scaffold = MurckoScaffold.GetScaffoldForMol(Chem.MolFromSmiles(text))  # type: ignore[no-untyped-call]
        if scaffold.GetNumAtoms() and scaffold.GetRingInfo().NumRings() >= least_rings:
            counts[Chem.MolToSmiles(scaffold)] += 1
    return counts


def cosine(first: Mapping[str, int], second: Mapping[str, int]) -> float:
    """The cosine of the angle between two tables of counts."""
    product = sum(count * second.get(key, 0) for key, count in first.items())
    lengths = [sum(count**2 for count in counts.values()) ** 0.5 for counts in (first, second)]
    return product / (lengths[0] * lengths[1]) if all(lengths) else float("nan")


def nearest_similarity(texts: Sequence[str], reference: Sequence[str]) -> float:
    """SNN: the mean Tanimoto similarity of each molecule to its nearest neighbor in the reference."""
    from pellucid.molecules import Morgan

    morgan = Morgan(radius=2, size=1024)
    _, similarity = morgan.many(list(reference)).nearest_to(morgan.many(list(texts)))
    return float(np.mean(similarity))


def internal_diversity(texts: Sequence[str]) -> float:
    """1 - mean over all pairs, those of a molecule with itself included, of their Tanimoto similarity."""
    from pellucid.molecules import Morgan

    bits = Morgan(radius=2, size=1024).many(list(texts)).dense().numpy().astype(np.float32)
    sizes, total = bits.sum(1), 0.0
    for begin in range(0, len(bits), _BLOCK):
        # Every pair once: those on the left of the block have been counted from the other side.
        both = bits[begin : begin + _BLOCK] @ bits[begin:].T
        both /= sizes[begin : begin + _BLOCK, None] + sizes[begin:] - both
        within = both[:, : len(both)].sum(dtype=np.float64)
        total += float(2 * both.sum(dtype=np.float64) - within)
    return 1 - total / len(bits) ** 2


def passes(text: str, patterns: Sequence[Any]) -> bool:
    """No ring of eight atoms or more, no charge, no other element, and no pattern that is filtered out."""
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(text)
    if any(len(ring) >= 8 for ring in molecule.GetRingInfo().AtomRings()):
        return False
    if any(atom.GetFormalCharge() or atom.GetSymbol() not in ATOMS for atom in molecule.GetAtoms()):
        return False
    whole = Chem.AddHs(molecule)
    return not any(whole.HasSubstructMatch(pattern) for pattern in patterns)


def moments(pieces: Iterable[NDArray[np.floating]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (d,) and covariance (d, d) of a sample (N, d) that comes in pieces."""
    count, total, products = 0, np.zeros(()), np.zeros(())
    for piece in pieces:
        values = np.asarray(piece, dtype=np.float64)
        count, total, products = count + len(values), total + values.sum(0), products + values.T @ values
    mean = total / count
    return mean, (products - count * np.outer(mean, mean)) / (count - 1)


def frechet_distance(
    m1: NDArray[np.floating], c1: NDArray[np.floating], m2: NDArray[np.floating], c2: NDArray[np.floating]
) -> float:
    """Between normal distributions with means (d,) and covariances (d, d): |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)).

    The trace of the root is the sum of the roots of the eigenvalues of C1^(1/2) C2 C1^(1/2), which is symmetric.
    """
    values, vectors = np.linalg.eigh(c1)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ c2 @ root), 0))
    return float(((m1 - m2) ** 2).sum() + np.trace(c1) + np.trace(c2) - 2 * roots.sum())
