"""The way that a search in the latent space took: its steps, what is known of them, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

from pellucid import _checks
from pellucid.bounds import LEVEL
from pellucid.errors import InputError
from pellucid.molecules.exchanges import exchanged_groups
from pellucid.molecules.tree_explanation_text import reasons_text
from pellucid.numbers import counted, percent, significant
from pellucid.text_tables import aligned

if TYPE_CHECKING:
    from pellucid.molecules.tree_explanation import TreeExplanation
    from pellucid.molecules.vae.properties import LatentProperty


class Step(NamedTuple):
    """A molecule on the way."""

    smiles: str
    value: float
    """Its property."""
    similarity: float
    """Tanimoto similarity to the first molecule."""
    measured: float | None = None
    """The measured value, if the property was learned from it too."""


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Optimization:
    """The way from a molecule to one with a better value; every step is a molecule. Prints as a table."""

    name: str
    """What the property is called."""
    steps: tuple[Step, ...]
    """The first is the start."""
    tried: int
    """The number of different molecules that were compared."""
    head: LatentProperty | None = field(default=None, repr=False)
    """The property, None if values come from a function of the user's."""
    lower: bool = False
    """Whether lower values are better."""

    def __len__(self) -> int:
        return len(self.steps)

    def rows(self) -> Iterator[Sequence[Any]]:
        """The names of the columns, then a row for each step."""
        if self.head is None:
            yield ["step", "SMILES", self.name, "similarity to the first"]
            for number, step in enumerate(self.steps):
                yield [number, step.smiles, significant(step.value), significant(step.similarity)]
            return
        yield ["step", "SMILES", f"predicted: {self.name}", f"within ({percent(LEVEL)})", f"measured: {self.name}",
               "molecule", "similarity to the first"]  # fmt: skip
        bound = self.head.bound()
        within = "" if bound is None else significant(bound, 3)
        for number, (smiles, value, similarity, measured) in enumerate(self.steps):
            known = ["", "new"] if measured is None else [significant(measured), "measured"]
            yield [number, smiles, significant(value), within, *known, significant(similarity)]

    def explain(self, step: int = -1) -> TreeExplanation:
        """Why the property has the value that it has at a step: the tree of substructures that it follows around there.

        Parameters
        ----------
        step : int
            The step, 0 for the start; by default the last.
        """
        if self.head is None:
            raise InputError(
                "Values must come from a `LatentProperty` to be explained", got="a function", cure="explain its model"
            )
        number = _checks.whole(step, -len(self), "step", len(self) - 1) % len(self)
        if number not in self._explanations:
            self._explanations[number] = self.head.explain(self.steps[number].smiles)
        return self._explanations[number]

    @cached_property
    def _explanations(self) -> dict[int, TreeExplanation]:
        """Explanations of steps, once they were asked for."""
        return {}

    def reasons(self) -> str:
        """What each step changed, and what raises or lowers the property around it, as the tree there says."""
        lines = []
        for number, (smiles, value, *_) in enumerate(self.steps):
            explanation = self.explain(number)
            lines += [f"step {number}: {self.name} = {value:.4g}  {smiles}"]
            if number:
                lines += [f"  {self.change(number)}"]
            lines += [f"  {line}" for line in reasons_text(explanation)]
        return "\n".join(lines)

    def change(self, step: int) -> str:
        """What a step, 1 or later, did to the property and to the molecule."""
        before, after = self.steps[step - 1 : step + 1]
        pair = exchanged_groups([before.smiles, after.smiles]).get(1)
        what = f"{pair.into} in the place of {pair.out}" if pair else "more than one group is another"
        return f"{after.value - before.value:+.3g}: {what}"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        head, *rows = self.rows()
        table = aligned([str(cell) for cell in head], [[str(cell) for cell in row] for row in rows], left=(0, 1))
        lines = [table, self._compared(), *self.doubts()]
        return "\n".join(lines if self.head is None else [str(self.head), "", *lines])

    def _compared(self) -> str:
        better = "" if len(self) > 1 else "; none is better than the first"
        return f"{counted(self.tried, 'different molecule')} compared{better}"

    def remarks(self) -> list[str]:
        """Sentences on the search as a whole: how good the property is that was learned, and what is doubtful."""
        return ([] if self.head is None else [str(self.head)]) + [self._compared(), *self.doubts()]

    def doubts(self) -> list[str]:
        """Sentences on steps that the measured values do not support; of a function of the user's nothing is known."""
        if self.head is None:
            return []
        sentences, start, bound = [], self.steps[0], self.head.bound()
        was, reference = ("predicted", start.value) if start.measured is None else ("measured", start.measured)
        gain = (self.steps[-1].value - reference) * (-1 if self.lower else 1)
        if len(self) > 1 and gain <= 0:
            sentences.append(
                f"no step is predicted to reach what was measured at the first, {reference:.4g}: predicted values "
                "compare with one another, not with measured ones"
            )
        elif len(self) > 1 and bound is not None and gain < bound:
            sentences.append(
                f"the last step is predicted to be {gain:.3g} better than what was {was} at the first, "
                f"{reference:.4g}, which is less than predictions are off by: it may be no better"
            )
        low, high = self.head.extent
        outside = [str(number) for number, step in enumerate(self.steps) if not low <= step.value <= high]
        if outside:
            sentences.append(
                f"step{'s' * (len(outside) > 1)} {', '.join(outside)} left the range of predictions that was learned "
                f"from, {low:.4g} to {high:.4g}: there nothing says that the property goes on as before"
            )
        return sentences
