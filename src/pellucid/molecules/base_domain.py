"""What the domains of molecules share: how SMILES are read and split, and pages with a gallery of molecules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast, final

from pellucid.domains import Domain, MessageCallback, RunModel, Source, TrainingOptions
from pellucid.errors import InputError, Parameter
from pellucid.numbers import counted
from pellucid.options import Options, option
from pellucid.paths import kind_of
from pellucid.tables import Table, read_table

if TYPE_CHECKING:
    from pellucid.explanations import Explanation
    from pellucid.molecules.explanation import MoleculeExplanation
    from pellucid.molecules.table import Molecules
    from pellucid.summaries import RunSummary

ModelT = TypeVar("ModelT", bound=RunModel)

_TABLES = (".csv", ".tsv", ".txt", ".smi")
# The fewest molecules of which each part of a split gets at least one.
_FEWEST = 10


@dataclass(frozen=True, kw_only=True)
class SmilesReading(Options):
    """Which columns of a table hold molecules."""

    smiles: str | None = option(None, "The column of SMILES.", default_text="found by its name", saved=False)
    names: str | None = option(None, "The column of names.", default_text="one called id, name, ...", saved=False)


@dataclass(frozen=True, kw_only=True)
class MoleculeTraining(TrainingOptions):
    """What every training on molecules can be set to."""

    split: Literal["random", "scaffold"] = option(
        "random", "How the test molecules are chosen; scaffold keeps ring systems together."
    )
    depth: int | None = option(None, "Rounds of message passing.", default_text="what suits the data", minimum=1)
    patience: int | None = option(
        None,
        "Stop early after this many epochs without a better validation loss.",
        default_text="all epochs",
        minimum=1,
    )


class BaseMoleculeDomain(Domain["Molecules", ModelT], ABC):
    """A kind of model that learns from a table of molecules."""

    item: ClassVar[str] = "molecule"
    samples: ClassVar[str] = "molecules"
    points: ClassVar[str] = "molecules"
    example: ClassVar[str] = '"SMILES"'
    packages: ClassVar[tuple[str, ...]] = ("rdkit",)

    def check(self, settings: Any) -> None:
        """Refuse a kind of game where there is none."""
        if settings.held_out and settings.game == "none":
            raise InputError(
                f"{Parameter('held_out_game')} is for games",
                got=f"no game ({Parameter('game', 'none')})",
                cure="leave one of them out",
                parameter="held_out_game",
            )

    @abstractmethod
    def summary(self, data: Molecules) -> str:
        """What was read, in a few words."""

    @final
    def describe(self, source: Source[Molecules]) -> list[str]:
        """A line on what was read."""
        text = self.summary(source.data)
        return [f"{source.path.name}: {text}" if source.path else text]

    @final
    def rejection_text(self, data: Molecules) -> str | None:
        """How many rows cannot be used, and why the first cannot."""
        return data.rejection_text()

    @final
    def write_report(self, summary: RunSummary, path: Path) -> None:
        """A gallery of molecules below the numbers."""
        from pellucid.molecules import report

        report.write(summary, path)

    @final
    def write_explanations(self, explanations: Mapping[str, Explanation], path: Path, *, title: str) -> int:
        """A gallery."""
        from pellucid.molecules import report

        report.write_explanations(cast("Mapping[str, MoleculeExplanation]", explanations), path, title=title)
        return 0


def require_enough(molecules: Molecules, path: Path, *, which: str = "", advice: str) -> None:
    """Refuse a table with too few molecules for a run; `which` says of which kind they must be."""
    if len(molecules) < _FEWEST:
        raise InputError(
            f"At least {_FEWEST} molecules are needed, to learn from, to validate on and to test on",
            got=f"{len(molecules)} in {path.name}{which}",
            cure=f"add more, {advice} if you can",
        )


def molecules_in(what: str, reading: SmilesReading, warn: MessageCallback) -> dict[str, str]:
    """The different molecules of a table, or of a single SMILES, and the label of each."""
    path, kind = Path(what), kind_of(what)
    if kind == "folder" or (kind is None and path.suffix.lower() in _TABLES):
        raise InputError(
            "Pass a SMILES or a file",
            got=f"{what}, which {'is a folder' if kind == 'folder' else 'does not exist'}",
            cure="correct the path",
        )
    if kind is None:
        from pellucid.molecules.table import largest_fragment

        fragment = largest_fragment(what)
        if fragment is not None:
            warn(f"{what} has several fragments: the largest organic one is explained.")
        return {fragment or what: ""}
    molecules, facts = labeled_molecules(read_table(path), reading)
    for sentence in explanation_notes([facts]):
        warn(f"{path.name}: {sentence}")
    return dict(zip(molecules.smiles, molecules.labels(), strict=True))


def labeled_molecules(cells: Table, reading: SmilesReading) -> tuple[Molecules, dict[str, Any]]:
    """The different molecules of a table, and facts for `explanation_notes`."""
    from pellucid.molecules import files

    table = files.read(cells, smiles=reading.smiles, names=reading.names, targets=[], on_error="skip")
    texts = cells.column(files.smiles_column(cells.header, reading.smiles, cells.source))
    fragments = [number for number, text in zip(cells.numbers, texts, strict=True) if "." in text]
    facts = {
        "rows": len(texts),
        "rejected_count": len(table.rejected),
        "rejected": [tuple(min(table.rejected))] if table.rejected else [],
        "fragments_count": len(fragments),
        "fragments": fragments[:1],
    }
    return table, facts


def explanation_notes(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences on rows that cannot be explained, or only in part, of one range of rows or of several."""
    rows, rejected, fragments = (sum(f[key] for f in facts) for key in ("rows", "rejected_count", "fragments_count"))
    notes = []
    if rejected:
        row, *_, reason = next(first[0] for f in facts if (first := f["rejected"]))
        notes.append(f"{rejected:,} of {counted(rows, 'row')} cannot be used; the first is row {row}: {reason}.")
    if fragments:
        row = next(first[0] for f in facts if (first := f["fragments"]))
        count = f"{fragments} of {counted(rows, 'molecule')}"
        notes.append(f"{count}, the first in row {row}, of several fragments: the largest organic one is explained.")
    return notes
