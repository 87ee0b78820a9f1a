"""Molecules for an autoencoder from tables, lists of SMILES and corpora, and encodings as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.molecules.files import smiles_column
from pellucid.molecules.table import Molecules, Rejection
from pellucid.molecules.vae._arguments import UNKNOWN_LABEL
from pellucid.molecules.vae.corpus import Corpus, corpus_of
from pellucid.numbers import counted, significant
from pellucid.row_domains import require_new
from pellucid.tables import read_pieces, read_table, row_names

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
        return _molecules_of(Corpus.open(path))
    texts: list[str] = []
    lines: list[int] = []
    titles: list[str] = []
    for piece in read_pieces(path):  # of a long table only these columns are kept
        texts += piece.column(smiles_column(piece.header, smiles, piece.source))
        lines += piece.numbers
        titles += row_names(piece, names)
    corpus, numbers = corpus_of(texts), np.array(lines)
    kept = corpus.arrays["rows"] - 1
    reasons = {rejection.row: rejection.reason for rejection in corpus.rejected}
    rejected = [
        # A corpus on disk remembers only the first thousand reasons.
        Rejection(int(numbers[row - 1]), texts[row - 1], reasons.get(row, "no junction tree"))
        for row in np.setdiff1d(np.arange(1, len(texts) + 1), corpus.arrays["rows"]).tolist()
    ]
    molecules = _molecules_of(corpus, numbers, titles, rejected)
    return replace(molecules, flattened=stereo_count([texts[i] for i in kept.tolist()]))


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


def stereo_count(texts: Sequence[str]) -> int:
    """The number of SMILES with marks of stereochemistry, which an autoencoder does not see."""
    return sum(any(mark in text for mark in "@/\\") for text in texts)


def stereo_text(count: int, total: int) -> str:
    """How many rows lost these marks."""
    return f"stereochemistry, which the encoder does not see, is dropped in {count:,} of {counted(total, 'row')}"


def warn_of_stereo(texts: Sequence[str], warn: Callable[[str], None]) -> None:
    """Say that marks of stereochemistry are dropped, if there are any."""
    if stereo := stereo_count(texts):
        warn(f"{stereo_text(stereo, len(texts))}.")


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

    warn_of_stereo([smiles], warn)
    (itself,) = model.reconstruct([smiles])
    if itself != model.flat(smiles)[0]:
        warn(f"The model does not give this molecule back, but {itself}: take what is near it with care.")
    near = model.sample_near(smiles, count, spread=spread, seed=seed)
    yield ["SMILES", "similarity"]
    for text, similarity in similarities(model, model.flat(smiles)[0], near).items():
        yield [text, significant(similarity)]


def measured_property(
    model: JunctionTreeVAE,
    path: Path,
    *,
    smiles: str | None,
    target: str,
    lower: bool,
    warn: Callable[[str], None],
) -> tuple[LatentProperty, str]:
    """A property that is learned from a column of a table, and the molecule with the best measured value.

    Parameters
    ----------
    model : JunctionTreeVAE
        A trained model.
    path : Path
        A table with a column of SMILES.
    smiles : str, optional
        The column of SMILES; by default it is found by its name.
    target : str
        The column of the property.
    lower : bool
        Whether low values are better.
    warn : callable
        Called with a sentence if rows are left out, or the property is not one that the latent space tells.
    """
    from pellucid.molecules.vae.properties import LatentProperty

    table = read_table(path)
    texts, cells = table.column(smiles_column(table.header, smiles, table.source)), table.column(target)
    values = np.array([_number(cell) for cell in cells])
    if not np.isfinite(values).any():
        raise InputError(
            f"{Parameter('target')} must be a column of numbers",
            got=f"{target!r}, where no cell is one",
            parameter="target",
        )
    rejected = {rejection.row - 1 for rejection in model.encode(texts, on_error="skip").rejected}
    usable = [i for i in range(len(texts)) if i not in rejected and np.isfinite(values[i])]
    if len(usable) < len(texts):
        warn(f"{len(texts) - len(usable)} of {counted(len(texts), 'row')} without a value or an encoding are left out.")
    head = LatentProperty.fit(model, [texts[i] for i in usable], values[usable].tolist(), name=target)
    warn(f"{head}.")
    return head, texts[(min if lower else max)(usable, key=lambda i: values[i])]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def encoding_table(
    model: JunctionTreeVAE, path: Path, *, smiles: str | None, warn: Callable[[str], None]
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
    warn : callable
        Called with a sentence if there are rows that cannot be encoded.
    """
    table = read_table(path)
    texts = table.column(smiles_column(table.header, smiles, table.source))
    encoding = model.encode(texts, on_error="skip")
    problems = {rejection.row - 1: rejection.reason for rejection in encoding.rejected}
    if problems:
        first = table.numbers[min(problems)]
        warn(
            f'{len(problems)} of {len(texts)} rows have no encoding, see the column "problem"; the first is row '
            f"{first}."
        )
    warn_of_stereo(texts, warn)
    names = model.names[: encoding.mean.shape[1]]
    header = [*table.header, *names, *(["problem"] if problems else [])]
    require_new(header, table.source)
    yield header
    for i, (row, mean) in enumerate(zip(table.rows, encoding.mean.tolist(), strict=True)):
        cells = [""] * len(names) if i in problems else list(map(significant, mean))
        yield [*row, *cells, *([problems.get(i, "")] if problems else [])]
