"""How recordings are read from files: a run keeps it in its folder, so that other commands read alike."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from pellucid.errors import InputError

if TYPE_CHECKING:
    import numpy as np

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


class Reading(NamedTuple):
    """What the options of a command say of the files."""

    decimal: str = "."
    header: bool | None = None
    pattern: str = "*"

    def read(self, path: str | Path, channels: Sequence[str] | None) -> Recordings:
        from pellucid.series import read

        return read(path, channels=channels, pattern=self.pattern, header=self.header, decimal=self.decimal)

    def keep(self, run: Path) -> None:
        """Write it down beside the models of a run."""
        (run / _FILE).write_text(json.dumps(self._asdict()) + "\n", encoding="utf-8")

    @classmethod
    def of(cls, model: Path, decimal: str | None, header: bool | None, pattern: str | None) -> Reading:
        """As the recordings of a model were read, unless options say otherwise."""
        kept = next((place / _FILE for place in (model, model.resolve().parent) if (place / _FILE).is_file()), None)
        found = cls()
        if kept is not None:
            try:
                found = cls(**json.loads(kept.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise InputError(f"{kept} must be as it was written. Got something else: {error}; delete it.") from None
        return cls(
            decimal=found.decimal if decimal is None else decimal,
            header=found.header if header is None else header,
            pattern=found.pattern if pattern is None else pattern,
        )


def require_others(data: Path, test: Path, pattern: str) -> None:
    """Refuse to test on what is learned from."""
    learned, tested = (
        {file.resolve(): file for file in ([path] if path.is_file() else path.glob(pattern) if path.is_dir() else [])}
        for path in (data, test)
    )
    both = [learned[file] for file in learned if file in tested and file.is_file()]
    if both:
        raise InputError(
            f"--test must be other recordings than those to learn from. Got {both[0].name} in both; move it out of "
            "one, or leave --test out: a tenth is then held out."
        )


# Words in the names of columns that are times.
_TIMES = {
    "time", "times", "t", "timestamp", "timestamps", "date", "datetime", "elapsed", "seconds", "second", "secs", "sec",
    "milliseconds", "ms", "minutes", "hours", "days", "sample", "samples", "index", "idx", "frame", "step", "row",
    "number", "no",
}  # fmt: skip


def without_times(source: Recordings) -> tuple[Recordings, list[str]]:
    """The recordings without columns that are times, and the names of these."""
    times = [
        name
        for k, name in enumerate(source.channels)
        if _TIMES & set(re.split(r"[^a-z]+", name.lower())) and all(_even(table[:, k]) for table in source.values)
    ]
    others = [name for name in source.channels if name not in times]
    return (source.select(others), times) if times and others else (source, [])


def _even(column: np.ndarray) -> bool:
    """Whether values rise in even steps, up to rounding: no further from a straight line than a step."""
    import numpy as np

    if len(column) < 3 or (np.diff(column) <= 0).any():
        return False
    line = np.linspace(column[0], column[-1], len(column))
    return bool(np.abs(column - line).max() <= (column[-1] - column[0]) / (len(column) - 1))
