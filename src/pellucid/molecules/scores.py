"""How accurate and how transparent a property model is on molecules with measured values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from torch import Tensor

from pellucid.deviations import absolute_error
from pellucid.metrics import generalized_auc, local_generalized_auc
from pellucid.molecules.tasks import Task
from pellucid.numbers import percent
from pellucid.witnesses.base import Witnesses


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PropertyScores:
    """Scores per target (K,), NaN where undefined; prints as a table."""

    targets: tuple[str, ...]
    measure: str
    """The name of the accuracy: "AUC" for classification, "RMSE", in the units of the data, for regression."""
    loss: float
    """The loss that is trained for: mean over measured values of the cross-entropy, or of the squared error in
    standard deviations."""
    accuracy: np.ndarray
    """Accuracy of the predictor against the measured values."""
    witness_accuracy: np.ndarray
    """Accuracy of each witness at its own center against the measured values."""
    local_auc: np.ndarray
    """AUC_B: generalized AUC of witness against predictor in each neighborhood of more than 2 members, averaged."""
    global_auc: np.ndarray
    """AUC_D: generalized AUC, over all centers, of each witness at its center against the predictor."""
    variations: np.ndarray = field(repr=False)
    """(n,) total variation of each neighborhood: mean over members of sum_k |f_k - g_k|, in the witnesses' units."""
    explained: float
    """Share of the predictor's variance inside the neighborhoods of more than 2 members that witnesses account for."""
    sizes: np.ndarray = field(repr=False)
    """(n,) the number of members of each neighborhood."""

    @property
    def variation(self) -> float:
        """Mean total variation over all neighborhoods."""
        return float(self.variations.mean())

    @property
    def deviation(self) -> float | None:
        """Mean total variation over the neighborhoods of more than 2 members, which alone say something; or None."""
        large = self.variations[self.sizes > 2]
        return float(large.mean()) if len(large) else None

    def to_dict(self) -> dict[str, Any]:
        """Means over the targets, and the scores of each, ready for JSON."""
        names = ("accuracy", "witness_accuracy", "local_auc", "global_auc")
        return {
            "measure": self.measure,
            "loss": self.loss,
            **{name: _mean(getattr(self, name)) for name in names},
            "variation": self.variation,
            "deviation": self.deviation,
            "explained": _plain(self.explained),
            "neighborhoods": len(self.sizes),
            "above_2_members": int((self.sizes > 2).sum()),
            "targets": list(self.targets),
            "each": {name: [_plain(v) for v in getattr(self, name)] for name in names},
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        columns = (self.accuracy, self.witness_accuracy, self.local_auc, self.global_auc)
        head = (f"{self.measure}(f, y)", f"{self.measure}(g, y)", "AUC_B(g, f)", "AUC_D(g, f)")
        wide = max(len(name) for name in (*self.targets, "mean"))
        rows = [(name, *(float(column[k]) for column in columns)) for k, name in enumerate(self.targets)]
        if len(rows) > 1:
            rows.append(("mean", *(float(_mean(column) or np.nan) for column in columns)))
        lines = [" " * wide + "".join(f"{title:>13}" for title in head)]
        lines += [f"{name:<{wide}}" + "".join(f"{value:>13.3f}" for value in values) for name, *values in rows]
        small = int((self.sizes <= 2).sum())
        lines.append(f"total variation where fitted {self.variation:.4g}, over {len(self.sizes)} neighborhoods")
        if not np.isnan(self.explained):
            lines.append(
                "variance inside the neighborhoods that the witnesses account for where fitted: "
                f"{percent(self.explained, 1)}"
            )
        if small:
            lines.append(f"{small} of them have at most 2 members, which any witness follows: they say nothing")
        return "\n".join(lines)


def score(witnesses: Witnesses, y: np.ndarray, task: Task, targets: tuple[str, ...]) -> PropertyScores:
    """Scores of witnesses fitted on whole neighborhoods, whose centers have the measured values y (n, K)."""
    hoods = witnesses.hoods
    f, g = witnesses.f[hoods.centers], witnesses.at_centers()
    local = local_generalized_auc(witnesses.f, witnesses.at_members(), hoods).numpy()
    return PropertyScores(
        targets=targets,
        measure="AUC" if task.kind == "classification" else "RMSE",
        loss=task.loss_of_values(f, task.inner(y)),
        accuracy=_accuracy(task, y, f),
        witness_accuracy=_accuracy(task, y, g),
        local_auc=_mean_of_rows(local[(hoods.sizes > 2).numpy()]),
        global_auc=generalized_auc(f, g).numpy(),
        variations=witnesses.deviations(absolute_error).numpy(),
        explained=_explained(witnesses),
        sizes=hoods.sizes.numpy(),
    )


def _explained(witnesses: Witnesses) -> float:
    hoods = witnesses.hoods
    f, large = witnesses.f[hoods.members].double(), hoods.sizes > 2
    means = hoods.sum_members(f) / hoods.sizes[:, None]
    total = hoods.sum_members((f - means[hoods.rows]).square())[large].sum()
    residual = hoods.sum_members((f - witnesses.at_members()).square())[large].sum()
    return float(1 - residual / total) if total > 0 else float("nan")


def auc(labels: np.ndarray, values: np.ndarray) -> float:
    """The usual area under the ROC curve, ties counted half; NaN without both labels. NaN labels are ignored."""
    from scipy.stats import rankdata

    measured = ~np.isnan(labels)
    positive, ranks = labels[measured] == 1, rankdata(values[measured])
    n, m = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def _accuracy(task: Task, y: np.ndarray, values: Tensor) -> np.ndarray:
    natural = task.natural(values)
    if task.kind == "classification":
        return np.array([auc(y[:, k], natural[:, k]) for k in range(y.shape[1])])
    return np.asarray(np.sqrt(_mean_of_rows(np.square(natural - y))))


def _mean_of_rows(table: np.ndarray) -> np.ndarray:
    """(K,) means of the values that are not NaN; NaN where there are none."""
    present = ~np.isnan(table)
    counts = present.sum(0)
    return np.asarray(np.where(counts, np.where(present, table, 0.0).sum(0) / np.maximum(counts, 1), np.nan))


def _mean(values: np.ndarray) -> float | None:
    return _plain(float(_mean_of_rows(values[:, None])[0]))


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
