"""What every explanation offers, whatever it explains: words, numbers, a table, a page and a picture."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pellucid.writing import write_rows, write_text

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

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON; by default the fields of a dataclass, and the text."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"text": self.text()}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The explanation that `to_dict` was called on, also after a way through JSON."""
        return cls(**{each.name: content[each.name] for each in fields(cls)})  # type: ignore[arg-type]

    def rows(self) -> Iterator[list[Any]]:
        """A table of its numbers: the names of the columns, then the rows; by default one row of `to_dict`."""
        content = self.to_dict()
        yield list(content)
        yield list(content.values())

    def to_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write it as one HTML file that needs nothing else; by default its text.

        Parameters
        ----------
        path : str or Path
            The file to write.
        title : str, optional
            What was explained, for instance the name of a file; by default the explanation says so itself.
        """
        from pellucid.report.plain import write_texts

        write_texts({title or "explanation": self.text()}, Path(path), title=title or "Explanation")

    def plot(self, target: str | int | None = None) -> Figure:
        """The explanation as a picture, to be saved as .svg or .png; by default its text.

        Parameters
        ----------
        target : str or int, optional
            The target to draw, by name or position; by default the main ones.
        """
        from matplotlib.figure import Figure

        figure = Figure()
        # Signs of users are no mathematics.
        figure.text(0, 1, self.text(target).replace("$", r"\$"), va="top", family="monospace")
        return figure

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` as a JSON file."""
        write_text(path, json.dumps(self.to_dict(), indent=1) + "\n")

    def to_csv(self, path: str | Path) -> None:
        """Write `rows` as a CSV file."""
        write_rows(path, self.rows())

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.text()

    def _repr_svg_(self) -> str:
        stream = io.StringIO()
        self.plot().savefig(stream, format="svg", bbox_inches="tight")
        return stream.getvalue()
