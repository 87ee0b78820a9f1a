"""Domains whose files are tables, each row of which is predicted and explained without the others: in any ranges."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, final

from pellucid.domains import Domain, MessageCallback, RunModel
from pellucid.errors import InputError
from pellucid.tables import Table, read_pieces

if TYPE_CHECKING:
    from pellucid.explanations import Explanation

Data = TypeVar("Data")
ModelT = TypeVar("ModelT", bound=RunModel)


@final
@dataclass(frozen=True, kw_only=True)
class PredictedRows:
    """A range of rows with their predictions."""

    header: Sequence[str] = ()
    """The names of the columns; none where there are no rows."""
    rows: Sequence[Sequence[Any]] = ()
    """Texts and numbers, as many in each as there are names."""
    unused: Sequence[str] = ()
    """Columns that are left out of the whole table if no other range uses them."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What `RowDomain.prediction_notes` is told of all ranges, ready for JSON."""

    def to_bytes(self) -> bytes:
        """A line on the range, and a line of each row, in JSON."""
        head = {"header": self.header, "unused": self.unused, "facts": self.facts}
        return "".join(json.dumps(line) + "\n" for line in (head, *self.rows)).encode()


class RowDomain(Domain[Data, ModelT]):
    """A domain of tables. Ranges of their rows are predicted and explained by whoever reads them."""

    piece: ClassVar[int] = 1024
    """Rows that are predicted at a time: numbers may differ in their last bits with the rows that stand beside."""
    explained_piece: ClassVar[int] = 256
    """Rows that are explained at a time, where there are more than `explained_at_once`."""
    explained_at_once: ClassVar[int] = 1000
    """The most rows whose explanations are in memory together, and shown all."""

    @abstractmethod
    def predict_rows(self, model: ModelT, table: Table, reading: Any, settings: Any) -> PredictedRows:
        """Rows of a table, at least one, each followed by its predictions.

        Parameters
        ----------
        model : RunModel
            A trained model.
        table : Table
            The rows.
        reading : Options
            How the file is read, of the class `Reading`.
        settings : Options
            What to predict, of the class `Predicting`.
        """

    @abstractmethod
    def check_predicting(self, settings: Any) -> None:
        """Refuse settings of `predict_rows` that do not go together."""

    def prediction_notes(self, facts: Sequence[Mapping[str, Any]]) -> list[str]:
        """Sentences about the predictions of all ranges together, from the facts of each."""
        return []

    @final
    def predict(
        self, model: ModelT, path: Path, reading: Any, settings: Any, *, progress: bool, warn: MessageCallback
    ) -> Iterator[Sequence[Any]]:
        """The rows of the table, each followed by its predictions; all of them in memory."""
        self.check_predicting(settings)
        parts = [
            self.predict_rows(model, table, reading, settings).to_bytes() for table in read_pieces(path, self.piece)
        ]
        return joined_predictions(self, lambda: parts, path.name, warn)

    @abstractmethod
    def explain_rows(self, model: ModelT, table: Table, reading: Any, settings: Any, *, level: float) -> ExplainedRows:
        """Explain the rows of a table, at least one.

        Parameters
        ----------
        model : RunModel
            A trained model.
        table : Table
            The rows.
        reading : Options
            How the file is read, of the class `Reading`.
        settings : Options
            What to explain, of the class `Explaining`.
        level : float
            The confidence of bounds.
        """

    def explanation_notes(self, facts: Sequence[Mapping[str, Any]]) -> list[str]:
        """Sentences about the explanations of all ranges together, from the facts of each."""
        return []


class ExplainedRows(NamedTuple):
    """A range of rows with their explanations."""

    labels: Sequence[str]
    explanations: Sequence[Explanation]
    deviations: Sequence[float]
    """How far witness and network are apart around each row."""
    numbers: Sequence[int]
    """The number of the row of each in its file: the first of them, where there are several."""
    facts: Mapping[str, Any] = {}
    """What `RowDomain.explanation_notes` is told of all ranges, ready for JSON."""


def joined_predictions(
    domain: RowDomain[Any, Any], parts: Callable[[], Iterable[bytes]], source: str, warn: MessageCallback
) -> Iterator[Sequence[Any]]:
    """The names of the columns, and the rows of all ranges in their order.

    Parameters
    ----------
    domain : RowDomain
        The domain.
    parts : callable
        Gives all ranges, each as `PredictedRows.to_bytes` has it; called twice, so that none need be in memory.
    source : str
        The name of the file, for messages.
    warn : callable
        Takes the notes of the domain.
    """
    heads = [head for part in parts() if (head := json.loads(part.partition(b"\n")[0]))["header"]]
    names = heads[0]["header"]
    unused = set.intersection(*(set(head["unused"]) for head in heads))
    added = {name: i for i, name in enumerate(names)}  # the last of a name: cells of the file come first
    kept = [i for i, name in enumerate(names) if not (name in unused and added[name] == i)]
    header = [names[i] for i in kept]
    require_new(header, source)
    for sentence in domain.prediction_notes([head["facts"] for head in heads]):
        warn(sentence)
    return _rows(header, kept, parts())


def require_new(header: Sequence[str], source: str) -> None:
    """Refuse a table that has columns of the names of those that are added: predictions of predictions.

    Parameters
    ----------
    header : sequence of str
        The names of all columns.
    source : str
        The name of the file.
    """
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise InputError(
            f"{source} must have no column that predictions are written into",
            got=f"{twice[0]!r}, as in a table of predictions",
            cure="predict the table that this was made of, or rename the column",
        )


def _rows(header: list[str], kept: list[int], parts: Iterable[bytes]) -> Iterator[Sequence[Any]]:
    yield header
    for part in parts:
        for line in part.splitlines()[1:]:
            row = json.loads(line)
            yield [row[i] for i in kept]
