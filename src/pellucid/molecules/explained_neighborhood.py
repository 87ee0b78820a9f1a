"""What explanations of all kinds need of one molecule's neighborhood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from torch import Tensor

from pellucid.bins import SizeBin
from pellucid.builders import from_lists
from pellucid.metrics import local_generalized_auc
from pellucid.molecules.certainty import Certainty
from pellucid.molecules.explanation import Member
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, Neighbor
from pellucid.molecules.tasks import Task
from pellucid.trust import FEWEST, LEVEL, Calibration, check_level, known_bounds
from pellucid.witnesses import Witnesses


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExplainedNeighborhood:
    """One of the neighborhoods that witnesses were fitted on, and how its numbers are read.

    Parameters
    ----------
    neighborhoods : MoleculeNeighborhoods
        The neighborhoods of the molecules.
    index : int
        The index of the one to be explained.
    f, g : Tensor
        (m, K) values of predictor and witness at its members.
    targets : tuple of str
        Names of the K targets.
    task : Task
        How the witnesses' values become those of the data.
    morgan : Morgan
        The fingerprints that the witnesses read.
    calibration : Calibration, optional
        The calibration that bounds are computed from; without one there are none.
    level : float
        The confidence of the bound.
    measured : mapping of str to ndarray
        (K,) measured values by SMILES.
    certainty : Certainty, optional
        How sure the prediction of the molecule is.
    analogs : bool
        Whether analogs were made of the molecule.
    held_out : Tensor, optional
        (m, K) at each member the value of the witness that was fitted without it.
    """

    neighborhoods: MoleculeNeighborhoods
    index: int
    f: Tensor
    g: Tensor
    targets: tuple[str, ...]
    task: Task
    morgan: Morgan
    calibration: Calibration | None = None
    level: float = LEVEL
    measured: Mapping[str, np.ndarray] = field(default_factory=dict)
    certainty: Certainty | None = None
    analogs: bool = False
    held_out: Tensor | None = None

    @classmethod
    def each_of(
        cls,
        witnesses: Witnesses,
        neighborhoods: MoleculeNeighborhoods,
        *,
        certainties: Sequence[Certainty] | None = None,
        held_out: Tensor | None = None,
        **shared: Any,
    ) -> list[ExplainedNeighborhood]:
        """All neighborhoods that the witnesses were fitted on, in their order.

        Parameters
        ----------
        witnesses : Witnesses
            The witnesses.
        neighborhoods : MoleculeNeighborhoods
            The neighborhoods.
        certainties : sequence of Certainty, optional
            How sure the prediction of each molecule is.
        held_out : Tensor, optional
            (M, K) at each member of each neighborhood the value of the witness that was fitted without it.
        **shared : object
            Further fields.
        """
        hoods, g, targets = neighborhoods.hoods, witnesses.at_members(), tuple(witnesses[0].output_names)
        f = witnesses.f[hoods.members]
        shared["level"] = check_level(shared.get("level", LEVEL))
        limits = hoods.offsets.tolist()
        return [
            cls(
                neighborhoods=neighborhoods,
                index=i,
                f=f[a:b],
                g=g[a:b],
                targets=targets,
                certainty=None if certainties is None else certainties[i],
                held_out=None if held_out is None else held_out[a:b],
                **shared,
            )
            for i, (a, b) in enumerate(pairwise(limits))
        ]

    @property
    def entries(self) -> slice:
        """Where its members are among those of all neighborhoods."""
        return slice(*self.neighborhoods.hoods.offsets[self.index : self.index + 2].tolist())

    @cached_property
    def neighbors(self) -> list[Neighbor]:
        """The members; the molecule itself leads."""
        return self.neighborhoods.neighbors(self.index)

    @property
    def smiles(self) -> list[str]:
        """The members as SMILES; the molecule itself leads."""
        return [neighbor.smiles for neighbor in self.neighbors]

    def fields(self, of_members: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
        """The fields that all explanations have; `of_members` are further fields of each member."""
        values, answers, size = self.task.natural(self.f), self.task.natural(self.g), len(self.neighbors)
        bound, calibrated = None, SizeBin(0)
        if self.calibration is not None:
            calibrated = self.calibration.size_bin(size, self.level)
            deviation = (self.f - self.g).abs().double().mean(0).numpy()
            if size >= FEWEST:
                bound = known_bounds(self.calibration.bound(deviation, self.level, size) * self.task.scale)
        left_out = None if self.held_out is None else self.task.natural(self.held_out.double())
        return {
            "smiles": self.neighbors[0].smiles,
            "targets": self.targets,
            "prediction": values[0],
            "members": tuple(
                Member(
                    *neighbor,
                    values[j],
                    answers[j],
                    measured=self.measured.get(neighbor.smiles),
                    held_out=None if left_out is None else left_out[j],
                    **(of_members[j] if of_members else {}),
                )
                for j, neighbor in enumerate(self.neighbors)
            ),
            "deviation": np.abs(values - answers).mean(0),
            "local_auc": _local_auc(self.f, self.g),
            "level": self.level,
            "bound": bound,
            "calibrated": calibrated.count,
            "calibrated_sizes": (calibrated.least, calibrated.most),
            "analogs": self.analogs,
            "held_out_deviation": None if left_out is None else np.abs(values - left_out).mean(0),
            "held_out_explained": None if self.held_out is None else _explained(self.f, self.held_out),
            "certainty": self.certainty,
        }


def _explained(f: Tensor, held_out: Tensor) -> np.ndarray:
    """(K,) 1 - sum |f_j - g_j|^2 / sum |f_j - mean of the others|^2."""
    f, held_out, m = f.double(), held_out.double(), len(f)
    total = ((f - f.mean(0)) * m / max(m - 1, 1)).square().sum(0).numpy()
    missed = (f - held_out).square().sum(0).numpy()
    return np.where(total > 0, 1 - missed / np.where(total > 0, total, 1.0), np.nan)


def _local_auc(f: Tensor, g: Tensor) -> np.ndarray:
    """(K,) generalized AUC of one neighborhood."""
    return np.asarray(local_generalized_auc(f, g, from_lists([range(len(f))], centers=[0]))[0].numpy())
