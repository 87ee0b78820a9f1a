"""The role of each column of a table: predictions, measured values, features, or none of these, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pellucid.auditing.columns import is_category, is_date, texts_of, varies
from pellucid.auditing.outcomes import named_outcomes
from pellucid.errors import InputError, Parameter
from pellucid.tables import ID_NAMES, SMILES_NAMES, Cells, normalized, value_of

# How columns are recognized; capitals, blanks and hyphens do not matter.
_PREDICTIONS = re.compile(r"(.*_)?pred(s|ict(ed|ions?))?([_:.\d].*)?|predict(ed|ion).*|y_?hat([_:.\d].*)?")
_PROBABILITIES = re.compile(r"(.*_)?prob(s|as?|abilit(y|ies))?([_:.\d(\[].*)?")
_SCORES = ("score", "scores", "f")
_TRUTHS = ("truth", "ground_truth", "y_true", "measured", "observed", "actual", "target", "label")
# What the name of a prediction has beside that of what it predicts: "predicted: wear", "wear_pred".
_AFFIX = re.compile(r"^(pred(s|icted|ictions?)?|y_?hat)[_:.]+|[_:.]+(pred(s|icted|ictions?)?|y_?hat)$")
_NUMBERING = "numbers the rows"
# Columns that a message lists.
_LISTED = 5
# Columns that `pellucid predict` writes beside its predictions, and that name no target.
_COMPANIONS = ("members", "note", "problem", "nearest training molecule", "similarity to it")


def find_predictions(table: Cells, source: str) -> list[str]:
    """The columns whose names say that they are predictions; failing that probabilities; failing that scores."""
    names = [name for name in table.header if _PREDICTIONS.fullmatch(normalized(name))]
    names = names or [name for name in table.header if _PROBABILITIES.fullmatch(normalized(name))]
    for score in _SCORES:
        names = names or [name for name in table.header if normalized(name) == score]
    if not names:
        raise InputError(
            f"{source} must have a column of predictions, named prediction or the like",
            got=f"{', '.join(table.header)}",
            cure=f"name it with {Parameter('prediction'):=}",
            parameter="prediction",
        )
    return names


def choose_features(
    table: Cells, others: list[str], requested: list[str], smiles: str | None, outputs: list[str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The columns that witnesses read, and the others with the reason."""
    if requested or smiles is not None:
        return requested, []
    flaws = {name: _flaw(table, name, others, outputs) for name in others}
    if all(flaws.values()):  # better a numbering, which may well be a time, than nothing
        flaws = {name: "" if why == _NUMBERING else why for name, why in flaws.items()}
    flaws |= named_outcomes(_WrittenCells(table, [name for name in others if not flaws[name]]))
    return [name for name in others if not flaws[name]], [(name, why) for name, why in flaws.items() if why]


def find_smiles(source: str, ignored: Sequence[tuple[str, str]]) -> str:
    """The column of SMILES of a table that has no other features."""
    molecules = {normalized(name): name for name, why in reversed(ignored) if why == _molecules_reason()}
    for name in SMILES_NAMES:
        if name in molecules:
            return molecules[name]
    reasons = ", ".join(f"{name} ({why})" for name, why in ignored[:_LISTED]) or "no other columns"
    raise InputError(
        f"{source} must have features beside the predictions: columns of numbers or categories, or one of SMILES",
        got=f"{reasons}",
        cure=f"add what the model reads, or name the columns with {Parameter('features'):=}",
        parameter="features",
    )


def _written(table: Cells, name: str) -> list[str]:
    """The cells of a column that are not blank."""
    cells = (cell.strip() for cell in table.column(name))
    return [cell for cell in cells if (value := value_of(cell, table.comma)) is None or value == value]


class _WrittenCells(Mapping[str, Sequence[str]]):
    """The cells of columns that are not blank, of which none are in memory until they are asked for."""

    def __init__(self, table: Cells, names: Sequence[str]) -> None:
        self.table, self.names = table, names

    def __getitem__(self, name: str) -> list[str]:
        return _written(self.table, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _flaw(table: Cells, name: str, others: Sequence[str], outputs: Sequence[str]) -> str:
    """Why a column is no feature, unless a user names it."""
    # As `pellucid predict` writes them: "predicted: wear", and beside it perhaps "tree: wear" and others.
    targets = {output.partition(": ")[2] for output in outputs} - {""}
    if targets and (name.partition(": ")[2] in targets or name in _COMPANIONS):
        return "comes with the predictions"
    cells, written = table.column(name), _written(table, name)
    texts = texts_of(cells, table.comma)
    if texts and normalized(name) in SMILES_NAMES:
        return _molecules_reason()
    if not written:
        return "blank"
    if _PROBABILITIES.fullmatch(normalized(name)):
        return f"looks like a prediction; name it with {Parameter('prediction'):=} or {Parameter('features'):=}"
    if normalized(name) in ID_NAMES or normalized(name).endswith("_id"):
        return "an identifier"
    if texts:
        why = _flaw_of_texts(table, name, written)
        if why:
            return why
    elif len(written) == len(cells) > 2 and set(np.diff([float(_value(table, c)) for c in cells])) == {1.0}:
        return _NUMBERING
    if len({*written}) == 1 or not (texts or varies(np.array([_value(table, cell) for cell in written]))):
        return "always the same"
    label, coordinate = normalized(name), any(normalized(other) == "x" for other in others)
    names = [normalized(output) for output in outputs]
    predicted = targets | {_AFFIX.sub("", output) for output in names if _AFFIX.search(output)}
    if name in targets or label in predicted or label in _TRUTHS or (label == "y" and not coordinate):
        return measured_reason()
    if 2 * len(written) < len(cells):
        return f"blank in {len(cells) - len(written)} of {len(cells)} rows; name it with {Parameter('features'):=}"
    return ""


def _value(table: Cells, cell: str) -> float:
    value = value_of(cell, table.comma)
    return np.nan if value is None else value


def _flaw_of_texts(table: Cells, name: str, written: Sequence[str]) -> str:
    """Why a column with texts is no category."""
    texts = texts_of(table.column(name), table.comma)
    if is_date(texts, table.comma):
        return "dates; write them as numbers, such as days, to use them"
    if not is_category(table.column(name), table.comma):
        row = next(n for n, c in zip(table.numbers, table.column(name), strict=True) if c.strip() == texts[0])
        return f"{texts[0][:20]!r} in row {row} is not a number; correct it, or leave the cell blank"
    levels = len(set(written))
    if levels > 2 and 2 * levels > len(written):
        return f"a name: {levels} different texts in {len(written)} rows"
    return ""


def measured_reason() -> str:
    """Why a column that looks like measured values is ignored."""
    return f"looks like measured values; name it with {Parameter('truth'):=}, or with {Parameter('features'):=}"


def _molecules_reason() -> str:
    return f"molecules; read their substructures with {Parameter('smiles'):=}"
