"""Explanations of many rows: computed together, put into words one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import InputError, Parameter
from pellucid.tables import require_column
from pellucid.tabular.aims import Aim, aim_of, checked_wanted
from pellucid.tabular.bulk import LawNumbers, LearnedRowLaws, PiecewiseLaws
from pellucid.tabular.counterfactuals import Counterfactual, CounterfactualSearch
from pellucid.tabular.explanation import NearRow, RowExplanation, Term
from pellucid.tabular.frames import Frame
from pellucid.tabular.law_text import effect, equation, usual
from pellucid.tabular.laws import is_linear, linear_coefficients
from pellucid.tabular.neighborhoods import RowNeighborhoods
from pellucid.tabular.stability import law_stability, stability_word
from pellucid.trust import Calibration, no_bound_reason
from pellucid.witnesses import Witnesses
from pellucid.writing import write_rows

if TYPE_CHECKING:
    from pellucid.tabular.model import TableModel

# Nearest rows, and columns of these, that an explanation keeps.
_NEAR, _CELLS = 8, 4


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RowExplanations(Sequence[RowExplanation]):
    """The explanations of n rows; `explanations[i]` is one of them, to be read.

    What is the same work for all rows is done at once, and only when it is asked for.

    Attributes
    ----------
    prediction : ndarray
        (n, K) what the network says, in the units of the table or as log-odds.
    contributions : ndarray
        (n, C, K) what each of the columns that are used contributes.
    held_out_explained : ndarray
        (n, K) the share of what the network does around each row that its law explains at points that it was not
        fitted to.
    bound : ndarray
        (n, K) how far law and network are apart at most, with confidence `level`; NaN where that is not known.
    stability : ndarray
        (n,) the share of each law that those of the nearest rows repeat.
    """

    model: TableModel
    codes: np.ndarray
    scaled: Tensor
    level: float
    changeable: tuple[str, ...]
    wanted: Any
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: TableModel,
        frame: Frame,
        *,
        level: float,
        changeable: Sequence[str] | None,
        wanted: Any,
        labels: Sequence[str] | None,
    ) -> RowExplanations:
        """Explanations of the rows of a table; the parameters are those of `TableModel.explain`."""
        encoding = model.encoding_
        names = [column.name for column in encoding.used]
        for name in changeable or ():
            require_column(name, names, "the table", f"{Parameter('changeable'):=}", parameter="changeable")
        if labels is not None and len(labels) != len(frame):
            raise InputError(
                f"There must be a label for each of the {len(frame)} rows", got=f"{len(labels)}", parameter="labels"
            )
        codes = encoding.codes(frame)
        return cls(
            model=model,
            codes=codes,
            scaled=encoding.scaled(codes),
            level=level,
            changeable=tuple(names if changeable is None else changeable),
            wanted=checked_wanted(wanted, model),
            labels=tuple(f"row {i + 1}" for i in range(len(frame))) if labels is None else tuple(labels),
        )

    # -- arrays --------------------------------------------------------------------------------------------------

    @cached_property
    def _laws(self) -> PiecewiseLaws:
        return PiecewiseLaws(model=self.model, scaled=self.scaled)

    @cached_property
    def _numbers(self) -> LawNumbers:
        return self._laws.numbers()

    @cached_property
    def values(self) -> np.ndarray:
        """(n, K) of the network, in standard deviations or quarter log-odds."""
        return self.model.exact_values(self.scaled)

    @cached_property
    def prediction(self) -> np.ndarray:
        """(n, K)."""
        return self.model.task_.natural(self.values)

    @cached_property
    def law(self) -> np.ndarray:
        """(n, K) what the laws say of their own rows."""
        return self.model.task_.natural(self._numbers.at_rows)

    @cached_property
    def contributions(self) -> np.ndarray:
        """(n, C, K)."""
        return self._numbers.contributions * self.model.task_.scale

    @property
    def base(self) -> np.ndarray:
        """(n, K) the mean of each law over the nearest rows."""
        return np.asarray(self.law - self.contributions.sum(1))

    @property
    def coefficients(self) -> np.ndarray | None:
        """(n, P, K) coefficients of the laws, of scaled features, in standard deviations or quarter log-odds; None for
        trees.
        """
        return self._numbers.coefficients

    @property
    def held_out_explained(self) -> np.ndarray:
        """(n, K)."""
        return self._numbers.held_out_explained

    @property
    def held_out_deviation(self) -> np.ndarray:
        """(n, K) mean distance between law and network at points that the law was not fitted to."""
        return self._numbers.held_out_deviation * self.model.task_.scale

    @property
    def deviation(self) -> np.ndarray:
        """(n, K) mean distance between law and network at the members that it was fitted to, in inner units."""
        return self._numbers.deviation

    @cached_property
    def bound(self) -> np.ndarray:
        """(n, K)."""
        calibration: Calibration | None = self.model.calibration_
        if calibration is None:
            return np.full_like(self.deviation, np.nan)
        bounds = calibration.bound(self.deviation, self.level) * self.model.task_.scale
        return np.asarray(np.where(np.isfinite(bounds), bounds, np.nan))

    @cached_property
    def intervals(self) -> np.ndarray:
        """(n, 2) between which numbers the measured one lies; NaN where that is not known."""
        return self.model.intervals_at(self.scaled, self.level)

    @cached_property
    def output(self) -> np.ndarray:
        """(n,) which of the K values is explained: that of the likeliest class, where there are several."""
        return self.values.argmax(1) if self.values.shape[1] > 1 else np.zeros(len(self), dtype=np.int64)

    @cached_property
    def stability(self) -> np.ndarray:
        """(n,)."""
        learned = LearnedRowLaws(model=self.model)
        return np.concatenate(
            [
                law_stability(neighborhoods, laws, self.output[rows], learned)
                for rows, neighborhoods, laws in self._laws.at_members(self.coefficients)
            ]
        )

    # -- tables ----------------------------------------------------------------------------------------------------

    def _columns(self) -> dict[str, list[Any]]:
        """A number or word for each row, by name; None where it is not known."""
        task, places = self.model.task_, (np.arange(len(self)), self.output)
        columns: dict[str, list[Any]] = {}
        if task.classes:
            probabilities = task.probabilities(self.prediction)
            columns[f"predicted: {task.target}"] = [task.classes[k] for k in probabilities.argmax(1).tolist()]
            columns["probability"] = probabilities.max(1).tolist()
            columns["explained"] = [task.outputs[k] for k in self.output.tolist()]
        else:
            columns[f"predicted: {task.target}"] = self.prediction[:, 0].tolist()
            columns["measured above"], columns["measured below"] = map(_known, self.intervals.T)
        columns["law"] = self.law[places].tolist()
        columns["base"] = self.base[places].tolist()
        amounts = self.contributions[places[0], :, places[1]]
        for c, column in enumerate(self.model.encoding_.used):
            columns[f"contribution: {column.name}"] = amounts[:, c].tolist()
        columns["held-out variance explained"] = _known(self.held_out_explained[places])
        columns["held-out deviation"] = _known(self.held_out_deviation[places])
        columns["bound"] = _known(self.bound[places])
        columns["stability"] = _known(self.stability)
        return columns

    def to_frame(self) -> Any:
        """All rows as a table of pandas, by their labels: prediction, law, contributions, and how far to trust them.

        `law` is `base` plus the sum of the contributions. For a classification these, the deviation and the bound are
        log-odds of the class that `explained` names.
        """
        try:
            pd = import_module("pandas")  # which Pellucid itself does not need
        except ModuleNotFoundError:
            raise InputError(
                "A table of pandas needs pandas", got="none", cure="pip install pandas, or write a file with `to_csv`"
            ) from None
        return pd.DataFrame(self._columns(), index=pd.Index(self.labels, name="row"))

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_frame` returns as a CSV file."""
        columns = self._columns()
        write_rows(path, [["row", *columns], *zip(self.labels, *columns.values(), strict=True)])

    # -- words -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[RowExplanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(len(self))[i]]
        return self._explain(range(len(self))[i])

    def __repr__(self) -> str:
        return f"RowExplanations({len(self)} rows, laws: {self.model.witness_})"

    def _explain(self, i: int) -> RowExplanation:
        model, task, k = self.model, self.model.task_, int(self.output[i])
        place, neighborhoods, laws = self._laws.of_row(i)
        bound, explained = self.bound[i, k], self.held_out_explained[i, k]
        interval = self.intervals[i]
        classes = task.probabilities(self.prediction[i : i + 1])[0] if task.classes else None
        calibrated = model.calibrated_probabilities(self.prediction[i : i + 1])[0] if task.classes else None
        aim = aim_of(model, self.wanted, self.prediction[i])
        law = laws[place]
        return RowExplanation(
            label=self.labels[i],
            output=task.outputs[k],
            answer=str(task.classes[int(classes.argmax())]) if classes is not None else f"{self.prediction[i, k]:.6g}",
            prediction=float(self.prediction[i, k]),
            law=float(self.law[i, k]),
            base=float(self.base[i, k]),
            interval=None if np.isnan(interval).any() else (float(interval[0]), float(interval[1])),
            probability=None if classes is None else float(classes.max()),
            calibrated=None if calibrated is None or classes is None else float(calibrated[int(classes.argmax())]),
            terms=self._terms(i, place, neighborhoods, laws),
            equation=equation(law, model.encoding_, task, k, self.contributions[i, :, k]),
            held_out_explained=None if np.isnan(explained) else float(explained),
            held_out_deviation=float(self.held_out_deviation[i, k]),
            bound=None if np.isnan(bound) else float(bound),
            why_not=None if not np.isnan(bound) else self._why_not(),
            stability=None if np.isnan(self.stability[i]) else float(self.stability[i]),
            stability_word=stability_word(float(self.stability[i])),
            neighbors=self._neighbors(i, place, neighborhoods, 0 if classes is None else int(classes.argmax())),
            counterfactuals=() if aim is None else self._counterfactuals(i, aim),
            wanted=None if aim is None else aim.words,
            level=self.level,
            members=neighborhoods.size,
            witness=model.witness_,
        )

    def _why_not(self) -> str:
        calibration = self.model.calibration_
        return no_bound_reason(self.level, 0 if calibration is None else len(calibration))

    def _terms(self, i: int, place: int, neighborhoods: RowNeighborhoods, laws: Witnesses) -> tuple[Term, ...]:
        encoding, k = self.model.encoding_, int(self.output[i])
        amounts = self.contributions[i, :, k]
        near = self.model.fitted_.codes[neighborhoods.nearest[place]]
        coefficients = linear_coefficients(laws)[place, :, k] if is_linear(laws) else None
        terms = []
        for c in np.argsort(-np.abs(amounts), kind="stable"):
            column = encoding.used[int(c)]
            terms.append(
                Term(
                    column=column.name,
                    value=column.text(self.codes[i, c]),
                    usual=usual(column, near[:, c]),
                    contribution=float(amounts[c]),
                    effect=""
                    if coefficients is None
                    else effect(int(c), encoding, coefficients, self.model.task_.scale, self.codes[i, c], near[:, c]),
                )
            )
        return tuple(terms)

    def _neighbors(self, i: int, place: int, neighborhoods: RowNeighborhoods, answer: int) -> tuple[NearRow, ...]:
        record, task, k = self.model.fitted_, self.model.task_, int(self.output[i])
        strongest = np.argsort(-np.abs(self.contributions[i, :, k]), kind="stable")[:_CELLS]
        places = neighborhoods.nearest[place][:_NEAR]
        if not len(places):
            return ()
        values = task.natural(self.model.values_at(record.scaled[torch.from_numpy(places)]))
        shares = task.probabilities(values)[:, answer].tolist() if task.classes else [None] * len(values)
        used = self.model.encoding_.used
        return tuple(
            NearRow(
                row=int(record.rows["number"][row]),
                distance=float(distance),
                measured=float(record.y[row]) if self.model.task == "regression" else str(record.y[row]),
                prediction=float(value),
                cells={used[int(c)].name: used[int(c)].text(record.codes[row, c]) for c in strongest},
                probability=share,
            )
            for row, distance, value, share in zip(
                places, neighborhoods.distances[place], values[:, k], shares, strict=False
            )
        )

    def _counterfactuals(self, i: int, aim: Aim) -> tuple[Counterfactual, ...]:
        place, neighborhoods, laws = self._laws.of_row(i)
        if not is_linear(laws):
            # A tree has no slopes: those of a line through the same members show the way.
            laws = self.model.witnesses(neighborhoods.of(place), "linear")
            place = 0
        search = CounterfactualSearch(encoding=self.model.encoding_, accept=aim.accept)
        return search.find(self.codes[i], aim.gain(linear_coefficients(laws)[place]), self.changeable)


def _known(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
