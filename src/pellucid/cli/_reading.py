"""How recordings are read from files: a run keeps it in its folder, so that other commands read alike."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pellucid.errors import InputError

if TYPE_CHECKING:
    from pellucid.series import Recordings

_FILE = "reading.json"
_AS_TRAINED = "as the model's"
Decimal = Annotated[
    str | None, typer.Option(help="Recordings: the decimal sign of text, . or ,", show_default=_AS_TRAINED)
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Recordings: whether the first line holds names.", show_default=_AS_TRAINED
    ),
]
Pattern = Annotated[
    str | None, typer.Option(help="Recordings: which files of a folder to read.", show_default=_AS_TRAINED)
]


class Filling(StrEnum):
    """What is done about blanks."""

    LINEAR = "linear"
    PREVIOUS = "previous"
    SPLIT = "split"


class Gaps(StrEnum):
    """What is done about gaps in time."""

    SPLIT = "split"
    IGNORE = "ignore"


_FILL = "Blanks: a straight line or the value before for up to five in a row, or cut there."
_GAPS = "Where time jumps: cut the recording, or go on."
Fill = Annotated[Filling | None, typer.Option(help=f"Recordings. {_FILL}", show_default=_AS_TRAINED)]
Gap = Annotated[Gaps | None, typer.Option("--gaps", help=f"Recordings. {_GAPS}", show_default=_AS_TRAINED)]
# The same of a command that trains.
TrainFill = Annotated[Filling | None, typer.Option(help=_FILL, show_default="refuse them")]
TrainGap = Annotated[Gaps, typer.Option("--gaps", help=_GAPS)]


class Reading(NamedTuple):
    """What the options of a command say of the files."""

    decimal: str = "."
    header: bool | None = None
    pattern: str = "*"
    drop: Sequence[str] = ()
    by: str | None = None
    pivot: str | None = None
    fill: str | None = None
    gaps: str = "split"

    def read(self, path: str | Path, channels: Sequence[str] | None) -> Recordings:
        from pellucid.series import read

        return read(path, channels=channels, **self._asdict())

    def keep(self, run: Path) -> None:
        """Write it down beside the models of a run."""
        (run / _FILE).write_text(json.dumps(self._asdict()) + "\n", encoding="utf-8")

    @classmethod
    def of(cls, model: Path, decimal: str | None, header: bool | None, pattern: str | None,
           fill: str | None = None, gaps: str | None = None) -> Reading:  # fmt: skip
        """As the recordings of a model were read, unless options say otherwise."""
        kept = next((place / _FILE for place in (model, model.resolve().parent) if (place / _FILE).is_file()), None)
        found = cls()
        if kept is not None:
            try:
                found = cls(**json.loads(kept.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{kept} must be as it was written", got=f"something else: {error}", cure="delete it"
                ) from None
        typed: dict[str, Any] = {"decimal": decimal, "header": header, "pattern": pattern, "fill": fill, "gaps": gaps}
        return found._replace(**{name: value for name, value in typed.items() if value is not None})


def require_others(data: Path, test: Path, pattern: str) -> None:
    """Refuse to test on what is learned from."""
    learned, tested = (
        {file.resolve(): file for file in ([path] if path.is_file() else path.glob(pattern) if path.is_dir() else [])}
        for path in (data, test)
    )
    both = [learned[file] for file in learned if file in tested and file.is_file()]
    if both:
        raise InputError(
            "--test must be other recordings than those to learn from",
            got=f"{both[0].name} in both",
            cure="move it out of one, or leave --test out: a tenth is then held out",
        )


def decisions(source: Recordings) -> list[str]:
    """What was decided when recordings were read, a sentence each, with the columns to name so as to keep them all."""
    from pellucid.cli.output import as_typed

    names = [*(name for name, reason in source.ignored if not reason.startswith("holds")), *source.channels]
    keep = f"--channels {shlex.quote(','.join(names))}"
    return [as_typed(sentence.replace("`channels=`", keep)) for sentence in source.decisions()]
