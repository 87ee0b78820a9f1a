"""What every explanation offers, whatever it explains: words, numbers, a table, a page and a picture."""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Explanation(ABC):
    """One prediction and its witness. Prints as text; notebooks show it as HTML.

    A target is one output of the model: a property of molecules, a channel of recordings.
    """

    @abstractmethod
    def text(self, target: str | int | None = None) -> str:
        """The explanation in words.

        Parameters
        ----------
        target : str or int, optional
            The target to speak of, by name or position; by default the main ones.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The explanation that `to_dict` was called on, also after a way through JSON."""

    @abstractmethod
    def rows(self) -> Iterator[list[Any]]:
        """A table of its numbers: the names of the columns, then the rows."""

    @abstractmethod
    def to_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write it as one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or Path
            The file to write.
        title : str, optional
            What was explained, for instance the name of a file; by default the explanation says so itself.
        """

    @abstractmethod
    def plot(self, target: str | int | None = None) -> Figure:
        """The explanation as a picture, to be saved as .svg or .png.

        Parameters
        ----------
        target : str or int, optional
            The target to draw, by name or position; by default the main ones.
        """

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` as a JSON file."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def to_csv(self, path: str | Path) -> None:
        """Write `rows` as a CSV file."""
        with Path(path).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(self.rows())

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_svg_(self) -> str:
        stream = io.StringIO()
        self.plot().savefig(stream, format="svg", bbox_inches="tight")
        return stream.getvalue()
