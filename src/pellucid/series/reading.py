"""How files become recordings: options that a run keeps in its folder, so that later files are read alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

from pellucid.errors import InputError, Parameter
from pellucid.options import Options, names_in, option
from pellucid.paths import files_in, kind_of

if TYPE_CHECKING:
    from pellucid.series.data import Recordings


@final
@dataclass(frozen=True, kw_only=True)
class SeriesReading(Options):
    """How recordings are read; see `pellucid.series.read`."""

    channels: tuple[str, ...] | None = option(
        None, "A column to use; repeat for several, or separate by commas.", "--channels", "-c",
        default_text="all", training_only=True,
    )  # fmt: skip
    drop: tuple[str, ...] = option(
        (), "A column to ignore; repeat for several, or separate by commas.", default_text="clocks", training_only=True
    )
    by: str | None = option(
        None, "Each value of this column is a recording of its own.", "--recordings-by",
        metavar="COLUMN", default_text="a unit or id, if time starts anew with it", training_only=True,
    )  # fmt: skip
    pivot: str | None = option(
        None, "This column names the channel of each row: a row per sensor and time.",
        metavar="COLUMN", default_text="one column per channel", training_only=True,
    )  # fmt: skip
    fill: Literal["linear", "previous", "split"] | None = option(
        None,
        "Fill blanks (up to five in a row) linearly or with the previous value, or split the recording there.",
        default_text="refuse them",
    )
    gaps: Literal["split", "ignore"] = option("split", "Split the recording at gaps in time, or ignore them.")
    pattern: str = option("*", "Which files of a folder to read.")
    decimal: str = option(".", "The decimal sign of text files, . or ,")
    header: bool | None = option(None, "Whether the first line holds names.", default_text="if it holds no numbers")

    def read(self, path: Path, channels: Sequence[str] | None = None) -> Recordings:
        """The recordings of a file or a folder.

        Parameters
        ----------
        path : Path
            The file or the folder.
        channels : sequence of str, optional
            Channels of a trained model; by default those of the options.
        """
        from pellucid.series.files import read

        return read(
            path,
            channels=names_in(self.channels, "channels") if channels is None else channels,
            drop=names_in(self.drop, "drop") or (),
            by=self.by,
            pivot=self.pivot,
            fill=self.fill,
            gaps=self.gaps,
            pattern=self.pattern,
            header=self.header,
            decimal=self.decimal,
        )

    def read_each(self, path: Path, channels: Sequence[str]) -> tuple[list[Recordings], dict[str, InputError]]:
        """The recordings of a file, or of all files of a folder that can be read, and why the others cannot.

        Parameters
        ----------
        path : Path
            The file or the folder.
        channels : sequence of str
            Channels of a trained model.

        Returns
        -------
        (list of Recordings, dict of str to InputError)
            What was read, and the errors by the names of the files.
        """
        try:
            return [self.read(path, channels)], {}
        except InputError:
            files = files_in(path, self.pattern) if kind_of(path) == "folder" else []
            if len(files) < 2:
                raise
            sources: list[Recordings] = []
            errors: dict[str, InputError] = {}
            for file in files:
                try:
                    sources.append(self.read(file, channels))
                except InputError as error:
                    errors[file.name] = error
            if not sources:
                raise
            return sources, errors


def require_others(data: Path, test: Path, pattern: str) -> None:
    """Refuse to test on what is learned from.

    Parameters
    ----------
    data, test : Path
        Files or folders of recordings to learn from and to test on.
    pattern : str
        Which files of a folder are read.
    """
    train_files, test_files = (
        {file.resolve(): file for file in (files_in(path, pattern) if kind_of(path) == "folder" else [path])}
        for path in (data, test)
    )
    both = [train_files[file] for file in train_files if file in test_files and kind_of(file) == "file"]
    if both:
        raise InputError(
            f"{Parameter('test')} must be other recordings than those to learn from",
            got=f"{both[0].name} in both",
            cure=f"move it out of one, or leave {Parameter('test')} out: a tenth is then held out",
            parameter="test",
        )
