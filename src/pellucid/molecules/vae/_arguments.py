"""Arguments of an autoencoder's methods: molecules become junction trees, and those that cannot be used are listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.molecules.preparing import require_on_error
from pellucid.molecules.table import Rejection
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.numbers import counted

# Molecules that an error message lists.
_LISTED = 5
UNKNOWN_LABEL = "is not in the vocabulary"


class EncodableMolecules(NamedTuple):
    """Molecules, and which of them the encoder can read."""

    corpus: Corpus
    indices: np.ndarray
    """Indices in the corpus of those whose labels are all in the vocabulary."""
    rows: np.ndarray
    """Their positions in the argument, starting at 0."""
    total: int
    """The number of molecules in the argument."""
    rejected: tuple[Rejection, ...]
    """Those that the encoder cannot read; rows start at 1."""
    rejected_count: int
    """The number of rejected molecules, including those that a corpus was built without."""

    def smiles(self) -> list[str]:
        """Canonical SMILES of those that the encoder can read, without stereochemistry, which it does not see."""
        return [self.corpus.smiles(int(i)) for i in self.indices]


def encodable_molecules(
    smiles: Any, vocabulary: Vocabulary, on_error: Literal["raise", "skip"], least: int = 1
) -> EncodableMolecules:
    """Read a SMILES, several, or a corpus.

    Parameters
    ----------
    smiles : str, iterable of str or Corpus
        The molecules.
    vocabulary : Vocabulary
        The labels that the encoder knows.
    on_error : {"raise", "skip"}
        "raise" refuses molecules that the encoder cannot read, "skip" lists them.
    least : int
        The fewest that it must be able to read.
    """
    require_on_error(on_error)
    corpus = smiles if isinstance(smiles, Corpus) else Corpus.of(_smiles_list(smiles))
    index, _ = corpus.encodable(vocabulary)
    numbers = corpus.arrays["rows"]
    rejected = [] if isinstance(smiles, Corpus) else list(corpus.rejected)
    for i in np.setdiff1d(np.arange(len(corpus)), index).tolist():
        reason = f"{corpus.unknown_label(i, vocabulary)!r} {UNKNOWN_LABEL}"
        rejected.append(Rejection(int(numbers[i]), corpus.smiles(i), reason))
    rejected.sort()
    rejected_count = len(corpus) - len(index) + sum(corpus.reasons.values())
    alone = not isinstance(smiles, Corpus) and len(corpus) + len(corpus.rejected) == 1
    if rejected and (on_error == "raise" or len(index) < least):
        raise InputError(
            "Every molecule must have a junction tree of known labels",
            got=f"{rejected[0].smiles!r}: {rejected[0].reason}"
            if alone
            else f"{_rejected_rows(rejected, len(rejected))}. Remove these",
            cure=_cure(rejected[0].reason, alone, on_error),
        )
    if not len(index) and not rejected:
        raise InputError("There must be at least one molecule", got="none", cure="pass a list of SMILES")
    if isinstance(smiles, Corpus):
        return EncodableMolecules(corpus, index, index, len(corpus), tuple(rejected), rejected_count)
    total = len(corpus) + len(corpus.rejected)
    return EncodableMolecules(corpus, index, numbers[index] - 1, total, tuple(rejected), rejected_count)


def _cure(reason: str, alone: bool, on_error: Literal["raise", "skip"]) -> str:
    if alone:
        return "train with molecules that have it" if reason.endswith(UNKNOWN_LABEL) else "correct it"
    if on_error == "skip":
        return "pass at least one that can be read"
    return '`encode(..., on_error="skip")` goes on without them'


def training_corpus(source: Any, on_error: Literal["raise", "skip"], *, progress: bool) -> Corpus:
    """The corpus that an autoencoder learns from.

    Parameters
    ----------
    source : Corpus, str, Path or iterable of str
        A corpus, or the SMILES or the text file to build one from.
    on_error : {"raise", "skip"}
        Whether rows without a junction tree are refused or rejected.
    progress : bool
        Show progress bars.
    """
    require_on_error(on_error)
    corpus = source if isinstance(source, Corpus) else Corpus.build(source, progress=progress)
    rejected = sum(corpus.reasons.values())
    if rejected and (on_error == "raise" or not len(corpus)):
        raise InputError(
            "Every row must be a molecule with a junction tree",
            got=f"{_rejected_rows(corpus.rejected, rejected)}. Fix or remove these rows",
            cure=f"{Parameter('on_error', 'skip')} goes on without them, if there are others",
            parameter="on_error",
        )
    return corpus


def _smiles_list(smiles: Any) -> list[str]:
    """One SMILES or several as a list."""
    if isinstance(smiles, str):
        return [smiles]
    if isinstance(smiles, Path | bytes) or not isinstance(smiles, Iterable):
        raise InputError(
            "Molecules must be SMILES, or what `Corpus.build` made of a file",
            got=f"{type(smiles).__name__}",
            cure="pass a list of texts",
        )
    return list(smiles)


def _rejected_rows(rejected: Sequence[Rejection], total: int) -> str:
    """The number of rows that cannot be read, and the first of them."""
    first = "; ".join(f"row {r.row} ({r.smiles!r}): {r.reason}" for r in rejected[:_LISTED])
    return f"{counted(total, 'row')} that cannot be read: {first}{'; ...' if total > _LISTED else ''}"
