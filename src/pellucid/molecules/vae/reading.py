"""What users give to an autoencoder, read as junction trees of known labels: what cannot be read is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.molecules.table import Rejection
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.numbers import counted

# Molecules that an error message lists.
_LISTED = 5


class Given(NamedTuple):
    """Molecules, and which of them can be read."""

    corpus: Corpus
    known: np.ndarray
    """The places in the corpus of those with known labels,"""
    rows: np.ndarray
    """and their places among all that were given, the first being 0."""
    total: int
    """Molecules that were given."""
    rejected: tuple[Rejection, ...]
    """Those that cannot be read; the first one given has the row 1."""
    left_out: int
    """How many these are, those included that a corpus was built without."""


def read(smiles: Any, vocabulary: Vocabulary, on_error: Literal["raise", "skip"]) -> Given:
    """A SMILES, several, or a corpus.

    Parameters
    ----------
    smiles : str, iterable of str or Corpus
        The molecules.
    vocabulary : Vocabulary
        The labels that are known.
    on_error : {"raise", "skip"}
        "raise" refuses molecules that cannot be read, "skip" tells them; there must be one that can.
    """
    require_on_error(on_error)
    corpus = smiles if isinstance(smiles, Corpus) else Corpus.of(texts_of(smiles))
    known, _ = corpus.known(vocabulary)
    numbers = corpus.arrays["rows"]
    rejected = [] if isinstance(smiles, Corpus) else list(corpus.rejected)
    for i in np.setdiff1d(np.arange(len(corpus)), known).tolist():
        reason = f"{corpus.unknown_label(i, vocabulary)!r} is not in the vocabulary"
        rejected.append(Rejection(int(numbers[i]), corpus.smiles(i), reason))
    rejected.sort()
    left_out = len(corpus) - len(known) + sum(corpus.reasons.values())
    if rejected and (on_error == "raise" or not len(known)):
        raise InputError(
            "Every molecule must have a junction tree of known labels",
            got=f"{listed(rejected, len(rejected))}. Leave these out",
            cure="`encode` and `evaluate` can go on without them",
        )
    if not len(known):
        raise InputError("There must be at least one molecule", got="none", cure="give some SMILES")
    if isinstance(smiles, Corpus):
        return Given(corpus, known, known, len(corpus), tuple(rejected), left_out)
    return Given(corpus, known, numbers[known] - 1, len(corpus) + len(corpus.rejected), tuple(rejected), left_out)


def corpus_of(source: Any, on_error: Literal["raise", "skip"], *, progress: bool) -> Corpus:
    """What an autoencoder learns from: a corpus, or SMILES or a text file of which one is built.

    Parameters
    ----------
    source : Corpus, str, Path or iterable of str
        The molecules.
    on_error : {"raise", "skip"}
        Whether rows without a junction tree are refused, or left out.
    progress : bool
        Show progress bars.
    """
    require_on_error(on_error)
    corpus = source if isinstance(source, Corpus) else Corpus.build(source, progress=progress)
    rejected = sum(corpus.reasons.values())
    if rejected and (on_error == "raise" or not len(corpus)):
        raise InputError(
            "Every row must be a molecule with a junction tree",
            got=f"{listed(corpus.rejected, rejected)}. Mend or remove these rows",
            cure=f"{Parameter('on_error', 'skip')} goes on without them, if there are others",
            parameter="on_error",
        )
    return corpus


def texts_of(smiles: Any) -> list[str]:
    """One SMILES or several as a list."""
    if isinstance(smiles, str):
        return [smiles]
    if isinstance(smiles, Path | bytes) or not isinstance(smiles, Iterable):
        raise InputError(
            "Molecules must be SMILES, or what `Corpus.build` made of a file",
            got=f"{type(smiles).__name__}",
            cure="give a list of texts",
        )
    return list(smiles)


def require_on_error(on_error: Any) -> None:
    if on_error not in ("raise", "skip"):
        raise InputError(
            f'{Parameter("on_error")} must be "raise" or "skip"',
            got=f"{on_error!r}",
            cure="choose one of these",
            parameter="on_error",
        )


def listed(rejected: Sequence[Rejection], total: int) -> str:
    """How many rows cannot be read, and the first of them."""
    shown = "; ".join(f"row {r.row} ({r.smiles!r}): {r.reason}" for r in rejected[:_LISTED])
    return f"{counted(total, 'row')} that cannot be read: {shown}{'; ...' if total > _LISTED else ''}"
