"""What counterfactuals are to reach: another class, or a range of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pellucid.errors import InputError, Parameter

if TYPE_CHECKING:
    from pellucid.tabular.model import TableModel


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Aim:
    """What the counterfactuals of one row are to reach."""

    model: TableModel
    words: str
    """The class, or the range of numbers."""
    output: int = 0
    """Position of the class."""
    sign: float = 1.0
    """Whether the prediction is to rise, 1, or to fall, -1."""
    low: float = -np.inf
    high: float = np.inf

    def gain(self, slopes: np.ndarray) -> np.ndarray:
        """(P,) by how much a law with these slopes (P, K) comes nearer for each scaled feature."""
        if len(self.model.task_.classes) == 2:
            return np.asarray(slopes[:, 0] * (1 if self.output else -1))
        return np.asarray(self.sign * slopes[:, self.output])

    def accept(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(N,) whether the network gives the answer that is wanted for rows (N, C), and the number to report."""
        task = self.model.task_
        values = task.natural(self.model.exact_values(self.model.encoding_.scaled(codes)))
        if task.classes:
            probabilities = task.probabilities(values)
            return probabilities.argmax(1) == self.output, probabilities[:, self.output]
        return (values[:, 0] >= self.low) & (values[:, 0] <= self.high), values[:, 0]


def aim_of(model: TableModel, wanted: Any, prediction: np.ndarray) -> Aim | None:
    """What counterfactuals of a row are to reach; None if there is nothing to reach.

    Parameters
    ----------
    model : TableModel
        The model.
    wanted : object, optional
        What `checked_wanted` returned; None is the likeliest other class.
    prediction : ndarray
        (K,) of the row, in the units of the table or as log-odds.
    """
    classes = model.task_.classes
    if classes:
        order = np.argsort(-model.task_.probabilities(prediction[None])[0], kind="stable")
        if len(order) < 2:
            return None
        other = int(order[1]) if wanted is None else classes.index(wanted)
        return None if other == order[0] else Aim(model=model, words=str(classes[other]), output=other)
    if wanted is None or wanted[0] <= prediction[0] <= wanted[1]:
        return None
    low, high = wanted
    ends = (("at least", low), ("at most", high))
    words = " and ".join(f"{word} {end:g}" for word, end in ends if np.isfinite(end))
    return Aim(model=model, words=words, sign=1.0 if prediction[0] < low else -1.0, low=low, high=high)


def checked_wanted(wanted: Any, model: TableModel) -> Any:
    """What counterfactuals are to reach, as users say it: a class, or the ends of a range, infinite for None."""
    if wanted is None:
        return None
    if model.task == "classification":
        wanted = wanted.item() if isinstance(wanted, np.generic) else wanted
        if wanted not in model.task_.classes:
            raise InputError(
                f"{Parameter('wanted')} must be one of the classes, {', '.join(map(str, model.task_.classes[:8]))}",
                got=f"{wanted!r}",
                parameter="wanted",
            )
        return wanted
    try:
        low, high = wanted
        pair = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
    except (TypeError, ValueError):
        pair = (np.nan, np.nan)
    if not pair[0] <= pair[1]:
        raise InputError(
            f"{Parameter('wanted')} must be two numbers, between which the prediction is to be; either may be None",
            got=f"{wanted!r}",
            cure="try (None, 100)",
            parameter="wanted",
        )
    return pair
