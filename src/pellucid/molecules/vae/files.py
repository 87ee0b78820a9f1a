"""Molecules for an autoencoder from tables, lists of SMILES and corpora, and encodings as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.molecules.files import smiles_column
from pellucid.molecules.table import Molecules, Rejection, largest_fragment
from pellucid.molecules.vae._arguments import UNKNOWN_LABEL
from pellucid.molecules.vae.corpus import Corpus, corpus_of
from pellucid.molecules.vae.trees import has_stereo
from pellucid.numbers import counted, significant
from pellucid.row_domains import require_new
from pellucid.tables import LARGEST, Table, read_pieces, read_table, require_column, row_names, value_of

if TYPE_CHECKING:
    from pellucid.molecules.vae.model import JunctionTreeVAE
    from pellucid.molecules.vae.properties import LatentProperty
    from pellucid.molecules.vae.vocabulary import Vocabulary


def read_molecules(path: Path, *, smiles: str | None = None, names: str | None = None) -> Molecules:
    """The different molecules that have a junction tree, without stereochemistry, which the encoder does not see.

    Parameters
    ----------
    path : Path
        A table with a column of SMILES, a .smi file, a gzipped file of either kind, or a folder that `Corpus.build`
        wrote.
    smiles : str, optional
        The column of SMILES of a table; by default it is found by its name.
    names : str, optional
        The column of names of a table; by default one called id, name or the like, if there is one.
    """
    if (path / "corpus.json").is_file():
        for parameter, value in (("smiles", smiles), ("names", names)):
            if value is not None:
                raise InputError(
                    f"{Parameter(parameter)} is for tables, one of whose columns it names",
                    got=f"{path.name}, a corpus of junction trees",
                    cure="leave it out",
                    parameter=parameter,
                )
        corpus = Corpus.open(path)
        return replace(_molecules_of(corpus), flattened=corpus.flattened)
    texts: list[str] = []
    lines: list[int] = []
    titles: list[str] = []
    for piece in read_pieces(path):  # of a long table only these columns are kept
        texts += piece.column(smiles_column(piece.header, smiles, piece.source))
        lines += piece.numbers
        titles += row_names(piece, names)
    fragments = [largest_fragment(text) for text in texts]
    corpus = corpus_of([fragment or text for fragment, text in zip(fragments, texts, strict=True)])
    numbers = np.array(lines)
    reasons = {rejection.row: rejection.reason for rejection in corpus.rejected}
    rejected = [
        # A corpus on disk remembers only the first thousand reasons.
        Rejection(int(numbers[row - 1]), texts[row - 1], reasons.get(row, "no junction tree"))
        for row in np.setdiff1d(np.arange(1, len(texts) + 1), corpus.arrays["rows"]).tolist()
    ]
    molecules = _molecules_of(corpus, numbers, titles, rejected)
    stripped = sum(fragments[row - 1] is not None for row in corpus.arrays["rows"].tolist())
    return replace(molecules, flattened=corpus.flattened, stripped=stripped)


def _molecules_of(
    corpus: Corpus,
    numbers: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    rejected: Sequence[Rejection] | None = None,
) -> Molecules:
    """The molecules of a corpus, rows of the same one merged; `numbers` and `names` are those of the rows."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(corpus.arrays["rows"].tolist()):
        groups.setdefault(corpus.smiles(i), []).append(row)
    return Molecules(
        smiles=tuple(groups),
        y=np.zeros((len(groups), 0)),
        targets=(),
        rows=tuple(
            tuple(row if numbers is None else int(numbers[row - 1]) for row in rows) for rows in groups.values()
        ),
        names=()
        if names is None
        else tuple(
            ", ".join(dict.fromkeys(names[row - 1] for row in rows if names[row - 1])) for rows in groups.values()
        ),
        rejected=corpus.rejected if rejected is None else tuple(rejected),
    )


def summary_of(molecules: Molecules) -> str:
    """One line on what was read and what was rejected."""
    merged = sum(len(rows) - 1 for rows in molecules.rows)
    parts = [f"{counted(len(molecules), 'molecule')} with a junction tree"]
    parts += [f"{counted(merged, 'row')} merged with others of the same molecule"] if merged else []
    parts += [f"{counted(len(molecules.rejected), 'row')} rejected"] if molecules.rejected else []
    salts = counted(molecules.stripped, "salt or mixture", "salts or mixtures")
    parts += [f"{salts} reduced to the largest organic fragment"] if molecules.stripped else []
    total = sum(map(len, molecules.rows))
    parts += [stereo_text(molecules.flattened, total)] if molecules.flattened else []
    return "; ".join(parts)


def select_encodable(molecules: Molecules, vocabulary: Vocabulary, *, list_others: bool = False) -> Molecules:
    """Those whose junction trees have no labels outside the vocabulary.

    Parameters
    ----------
    molecules : Molecules
        The molecules.
    vocabulary : Vocabulary
        The labels that the encoder knows.
    list_others : bool
        List the rows of the others as rejected, besides those that were already.
    """
    corpus = corpus_of(molecules.smiles)
    index, _ = corpus.encodable(vocabulary)
    numbers = corpus.arrays["rows"] - 1
    selected = molecules.select(numbers[index])
    if not list_others:
        return selected
    others = [
        Rejection(row, molecules.smiles[numbers[i]], f"{corpus.unknown_label(i, vocabulary)!r} {UNKNOWN_LABEL}")
        for i in np.setdiff1d(np.arange(len(corpus)), index).tolist()
        for row in molecules.rows[numbers[i]]
    ]
    return replace(selected, rejected=tuple(sorted([*molecules.rejected, *others])))


def stereo_text(count: int, total: int) -> str:
    """How many rows lost their marks of stereochemistry; of a single one there is no number to tell."""
    text = "stereochemistry, which the encoder does not see, is dropped"
    return text if total == 1 else f"{text} in {count:,} of {counted(total, 'row')}"


def warn_of_stereo(texts: Sequence[str], warn: Callable[[str], None]) -> None:
    """Say that marks of stereochemistry are dropped, if there are any."""
    if stereo := sum(map(has_stereo, texts)):
        warn(f"{stereo_text(stereo, len(texts))}.")


def molecule_alone(text: str, warn: Callable[[str], None]) -> str:
    """The molecule that one SMILES stands for: of a salt the largest organic fragment. What is dropped is said."""
    fragment = largest_fragment(text)
    if fragment is not None:
        warn(f"{text} has several fragments: the largest organic one, {fragment}, is taken.")
    warn_of_stereo([fragment or text], warn)
    return fragment or text


def _fragments(table: Table, texts: Sequence[str], warn: Callable[[str], None]) -> list[str]:
    """The molecules of the rows, of salts and mixtures the largest organic fragment; how many these are is said."""
    found = [largest_fragment(text) for text in texts]
    salts = [number for number, fragment in zip(table.numbers, found, strict=True) if fragment is not None]
    if salts:
        warn(
            f"{len(salts):,} of {counted(len(texts), 'row')}, the first of them row {salts[0]}, hold several "
            "fragments: the largest organic one is taken."
        )
    return [fragment or text for fragment, text in zip(found, texts, strict=True)]


def near_table(
    model: JunctionTreeVAE, smiles: str, count: int, *, spread: float, seed: int, warn: Callable[[str], None]
) -> Iterator[Sequence[Any]]:
    """Different molecules near one, the nearest points first, with their Tanimoto similarity to it.

    Parameters
    ----------
    model : JunctionTreeVAE
        A trained model.
    smiles : str
        The molecule.
    count : int
        The number of points that are drawn.
    spread : float
        How far from the mean, in standard deviations of the posterior.
    seed : int
        Seed of the points.
    warn : callable
        Called with a sentence if the model does not give the molecule itself back.
    """
    from pellucid.molecules.vae.optimizing import similarities

    smiles = molecule_alone(smiles, warn)
    (itself,), (flat,) = model.reconstruct(smiles), model.flat(smiles)
    if itself != flat:
        warn(f"The model does not give this molecule back, but {itself}: take what is near it with care.")
    near = model.sample_near(smiles, count, spread=spread, seed=seed)
    if not near:
        warn(
            f"All {counted(count, 'point')} gave the molecule itself: a larger {Parameter('spread')} than {spread:g} "
            "goes further."
        )
    yield ["SMILES", "similarity"]
    for text, similarity in similarities(model, flat, near).items():
        yield [text, significant(similarity)]


def measured_property(
    model: JunctionTreeVAE,
    path: Path,
    *,
    smiles: str | None,
    names: str | None,
    target: str,
    warn: Callable[[str], None],
) -> LatentProperty:
    """A property that is learned from a column of a table.

    Parameters
    ----------
    model : JunctionTreeVAE
        A trained model.
    path : Path
        A table with a column of SMILES.
    smiles : str, optional
        The column of SMILES; by default it is found by its name.
    names : str, optional
        The column of names, which must be one of the table.
    target : str
        The column of the property.
    warn : callable
        Called with a sentence if rows are left out, changed or averaged.
    """
    from pellucid.molecules.vae.properties import LatentProperty

    table = read_table(path)
    texts = table.column(smiles_column(table.header, smiles, table.source))
    row_names(table, names)
    require_column(target, table.header, table.source, f"{Parameter('target')}", parameter="target")
    cells = [value_of(cell, table.comma) for cell in table.column(target)]
    values = [math.nan if value is None or abs(value) > LARGEST else value for value in cells]
    usable = [not math.isnan(value) for value in values]
    if not any(usable):
        raise InputError(
            f"{Parameter('target')} must be a column of numbers",
            got=f"{target!r}, where no cell is one",
            parameter="target",
        )
    texts = _fragments(table, texts, warn)
    rejected = model.encode(texts, on_error="skip").rejected
    for rejection in rejected:
        usable[rejection.row - 1] = False
    if not any(usable):
        raise InputError(
            f"{table.source} must have molecules with a value that the encoder can read",
            got=f"none; row {table.numbers[rejected[0].row - 1]}: {rejected[0].reason}",
            cure="use a model that was trained with molecules like these",
        )
    if not all(usable):
        warn(
            f"{usable.count(False)} of {counted(len(texts), 'row')} without a value or an encoding are left out; the "
            f"first is row {table.numbers[usable.index(False)]}."
        )
    read = [text for text, use in zip(texts, usable, strict=True) if use]
    warn_of_stereo(read, warn)
    known = list(compress(values, usable))
    measured: dict[str, set[float]] = {}
    for text, value in zip(model.flat(read), known, strict=True):
        measured.setdefault(text, set()).add(value)
    if several := sum(len(of_one) > 1 for of_one in measured.values()):
        warn(
            f"{counted(several, 'molecule')} with different values in several rows, such as those of stereoisomers: "
            "their mean is taken."
        )
    return LatentProperty.fit(model, read, known, name=target)


def encoding_table(
    model: JunctionTreeVAE, path: Path, *, smiles: str | None, names: str | None, warn: Callable[[str], None]
) -> Iterator[list[Any]]:
    """The rows of a table, each followed by the mean of every latent coordinate, or by why it cannot be encoded.

    Parameters
    ----------
    model : JunctionTreeVAE
        A trained model.
    path : Path
        A table with a column of SMILES, or a .smi file.
    smiles : str, optional
        The column of SMILES; by default it is found by its name.
    names : str, optional
        The column of names, which must be one of the table.
    warn : callable
        Called with a sentence if there are rows that cannot be encoded, or of which a part alone is.
    """
    table = read_table(path)
    texts = table.column(smiles_column(table.header, smiles, table.source))
    row_names(table, names)
    molecules = _fragments(table, texts, warn)
    encoding = model.encode(molecules, on_error="skip")
    problems = {rejection.row - 1: rejection.reason for rejection in encoding.rejected}
    if problems:
        first = table.numbers[min(problems)]
        warn(
            f'{len(problems)} of {len(texts)} rows have no encoding, see the column "problem"; the first is row '
            f"{first}."
        )
    encoded = [i for i in range(len(texts)) if i not in problems]
    warn_of_stereo([molecules[i] for i in encoded], warn)
    parts = [i for i in encoded if has_stereo(molecules[i]) or molecules[i] != texts[i]]
    taken = dict(zip(parts, model.flat([molecules[i] for i in parts]) if parts else [], strict=True))
    coordinates = model.names[: encoding.mean.shape[1]]
    further = [*(["predicted as"] if taken else []), *(["problem"] if problems else [])]
    header = [*table.header, *coordinates, *further]
    require_new(header, table.source)
    yield header
    for i, (row, mean) in enumerate(zip(table.rows, encoding.mean.tolist(), strict=True)):
        cells = [""] * len(mean) if i in problems else list(map(significant, mean))
        yield [
            *row,
            *cells,
            *([taken.get(i, "")] if taken else []),
            *([problems.get(i, "")] if problems else []),
        ]
