"""One row explained: its prediction, the law around it, how far that can be trusted, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from pellucid.explanations import Explanation
from pellucid.schemas import Share, as_written, checked
from pellucid.tabular.counterfactuals import Counterfactual

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, kw_only=True)
class Term:
    """What one column contributes to the law's value of a row."""

    column: str
    value: str
    """The row's value, in words."""
    usual: str
    """The mean over its nearest rows, or their commonest level."""
    contribution: float
    """What it adds to the law, against the mean over the nearest rows."""
    effect: str
    """What the law says of the column: "+0.5 per 1", "red against blue +3.1"; empty for trees."""


@final
@dataclass(frozen=True, kw_only=True)
class NearRow:
    """A row near the one explained, as it was learned from."""

    row: int
    """Its number in the table that was learned from, the first being 1; or its line in the file."""
    distance: float
    """In standard deviations."""
    measured: float | str
    prediction: float
    """What the network says, in the units of the table or as log-odds."""
    cells: dict[str, str]
    """Its values in the columns that contribute most."""
    probability: Share | None = None
    """For a classification, what the network gives to the class that is the answer at the row explained."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RowExplanation(Explanation):
    """The prediction of one row, and the law that the network follows around it. Prints as text.

    The law's value of the row is `base` plus the sum of the contributions of all `terms`. Numbers are in the units of
    the table; for a classification they are log-odds of the class that `output` names: +0.7 doubles the odds.

    Attributes
    ----------
    label : str
        What the row is called.
    output : str
        What is explained: the target, or the log-odds of a class.
    answer : str
        The prediction in words: a number or a class.
    prediction, law, base : float
        What the network says, what its law says, and the mean of the law over the nearest rows.
    interval : tuple of float, optional
        Between which numbers the measured one lies, with confidence `level`.
    probability, calibrated : float, optional
        For a classification, the probability of the answer: the network's, and as it was calibrated on held-out rows.
    terms : tuple of Term
        All columns, the strongest first.
    equation : str
        The law in the units of the table, or a tree.
    held_out_explained : float, optional
        Share of what the network does around the row that the law explains at points that it was not fitted to.
    held_out_deviation : float
        Mean distance between law and network at such points.
    bound : float, optional
        How far they are apart at most, with confidence `level`, at a further point nearby.
    why_not : str, optional
        Why there is no bound.
    stability : float, optional
        Share of the law that the laws of the nearest rows repeat: 1 where they are the same.
    stability_word : str
        The same in a word.
    neighbors : tuple of NearRow
        The nearest rows.
    counterfactuals : tuple of Counterfactual
        The smallest changes that give the answer `wanted`.
    wanted : str, optional
        What counterfactuals reach, in words.
    level : float
        The confidence of bound and interval.
    members : int
        The number of points that the law was fitted to.
    witness : str
        "linear", "sparse" or "tree".
    """

    label: str
    output: str
    answer: str
    prediction: float
    law: float
    base: float
    interval: tuple[float, float] | None
    probability: Share | None
    calibrated: Share | None
    terms: tuple[Term, ...] = field(repr=False)
    equation: str
    held_out_explained: float | None
    held_out_deviation: float
    bound: float | None
    why_not: str | None
    stability: float | None
    stability_word: str
    neighbors: tuple[NearRow, ...] = field(repr=False)
    counterfactuals: tuple[Counterfactual, ...] = field(repr=False)
    wanted: str | None
    level: Share
    members: int
    witness: str

    def text(self, target: str | int | None = None) -> str:
        """The explanation in words; there is one target."""
        from pellucid.tabular.explanation_text import text

        return text(self)

    def rows(self) -> Iterator[list[Any]]:
        """The terms as a table: the names of the columns, then a row for each."""
        yield ["column", "value", "nearest rows", "contribution", "effect", "prediction", "law", "base"]
        for term in self.terms:
            yield [
                term.column, term.value, term.usual, term.contribution, term.effect, self.prediction, self.law,
                self.base,
            ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        content = asdict(self)
        for one in content["counterfactuals"]:
            one["codes"] = [None if value != value else value for value in one["codes"]]
        return content | {"text": self.text()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RowExplanation:
        """The explanation that `to_dict` was called on, also after a way through JSON."""
        with as_written("An explanation must be as it was written", where="one", cure="explain the row again"):
            return checked(cls, content)

    def plot(self, target: str | int | None = None) -> Figure:
        """The contributions as bars; save it as .svg or .png."""
        from pellucid.tabular.drawing import plot_contributions

        return plot_contributions(self)

    def to_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write it as one HTML file that needs nothing else."""
        from pellucid.tabular.explanation_page import write

        write(self, path, title=title or self.label)

    def _repr_html_(self) -> str:
        from pellucid.tabular.explanation_page import fragment

        return str(fragment(self))
