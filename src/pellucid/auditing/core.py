"""The audit of any predictor, from its predictions at points and neighborhoods of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid._point_checks import check_points
from pellucid.auditing.measuring import Measures, held_out_deviations, measure, require_room
from pellucid.comparing import FamilyComparison, compare_families
from pellucid.deviations import Deviation, squared_error
from pellucid.errors import InputError, Parameter
from pellucid.metrics import generalized_auc
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.numbers import percent
from pellucid.trust import FEWEST, LEVEL, Calibration, HeldOut, check_level, held_out, median_bounds, no_bound_reason
from pellucid.verdicts import NEAR_ZERO
from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.refitted import respond
from pellucid.witnesses.witness import Witness

# Squares of larger numbers overflow.
_LARGEST = 1e150
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_CURE = "Take larger neighborhoods, a ridge, fewer features, or another family"


def _mean(scores: Tensor) -> float | None:
    mean = float(scores.nanmean())
    return None if math.isnan(mean) else mean


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value


def _share(value: float | None) -> str:
    return "undefined" if value is None else percent(value, 1)


def _named(quantiles: dict[float, float]) -> dict[str, float]:
    return {f"{q:.0%}": value for q, value in quantiles.items()}


def _score(value: float | None, otherwise: str = "undefined") -> str:
    return otherwise if value is None else f"{value:.4f}"


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Audit:
    """How well a family's witnesses match a predictor; prints as a table."""

    deviations: Tensor = field(repr=False)
    """(n,) D_i of each neighborhood, at the members that its witness was fitted to; see `held_out_deviations`."""
    local_auc: Tensor = field(repr=False)
    """(n, K) generalized AUC between witness and predictor inside each neighborhood, NaN where undefined."""
    global_auc: Tensor
    """(K,) generalized AUC between each witness at its center and the predictor, over all centers."""
    rmse: float
    """Root mean squared error between predictor and witness at the centers."""
    explained: float
    """Share of the predictor's variance inside the neighborhoods that the witnesses account for; NaN if there is none.
    Witnesses were fitted to these very values, so that noise is explained, too, the more of it the fewer members there
    are: look at `held_out.explained()`, where it is not."""
    witnesses: Witnesses = field(repr=False)
    family: WitnessFamily = field(repr=False)
    judges: Tensor | None = field(default=None, repr=False)
    """The neighborhoods that held-out measures and bounds come from; None for all."""
    cure: str = field(default=_CURE, repr=False)
    """What to do where they explain next to nothing."""
    deviation: Deviation = field(default=squared_error, repr=False)
    """The measure of the deviations."""
    comparison: FamilyComparison | None = field(default=None, repr=False)
    """How the family was chosen, if it was."""
    measures: Measures | None = field(default=None, repr=False)
    """What was measured at the members, if it was kept."""

    @cached_property
    def held_out_deviations(self) -> Tensor:
        """(n,) D_i of each neighborhood at members that its witness was not fitted to: exact for linear witnesses, by
        folds for others; see `WitnessFamily.held_out_values`.
        """
        known = None if self.measures is None else self.measures.held_out
        return held_out_deviations(self.witnesses, self.family, self.deviation) if known is None else known

    def quantiles(self, *, held_out: bool = False) -> dict[float, float]:
        """Quantiles of the deviations, where the witnesses were fitted or held out."""
        deviations = self.held_out_deviations if held_out else self.deviations
        values = np.quantile(deviations.double().numpy(), _QUANTILES)
        return dict(zip(_QUANTILES, values.tolist(), strict=True))

    def __getitem__(self, i: int) -> Witness:
        """The witness of neighborhood i, to be read, with its bound."""
        return self.witness(i)

    def witness(self, i: int, level: float = LEVEL) -> Witness:
        """The witness of neighborhood i, to be read, with its bound of this confidence."""
        return self.witnesses.trusted(self.calibration, check_level(level))[i]

    def worst(self, count: int = 5) -> list[int]:
        """The neighborhoods that deviate most, worst first."""
        return torch.argsort(self.deviations, descending=True, stable=True)[:count].tolist()

    @cached_property
    def _measures(self) -> Measures:
        return measure(self.witnesses, self.deviation) if self.measures is None else self.measures

    @property
    def at_centers(self) -> Tensor:
        """(n, K) the value of each witness at its center."""
        return self.witnesses.at_centers() if self.measures is None else self.measures.at_centers

    @cached_property
    def distances(self) -> np.ndarray:
        """(n, K) mean of |predictor - witness| over the members of each neighborhood, for each output."""
        return np.asarray(self._measures.distances.cpu().numpy())

    @cached_property
    def rmse_by_output(self) -> np.ndarray:
        """(n, K) root mean squared error between predictor and witness over the members of each neighborhood."""
        return np.asarray(self._measures.squares.sqrt().cpu().numpy())

    def relative(self) -> np.ndarray:
        """(n,) `distances` in standard deviations of each output, averaged over outputs: ranks neighborhoods."""
        spread = self.witnesses.f.double().std(0, correction=0).cpu().numpy()
        return np.asarray((self.distances / np.where(spread > 0, spread, 1.0)).mean(1))

    @cached_property
    def held_out(self) -> HeldOut:
        """What witnesses say of members that they were not fitted to."""
        hoods = self.witnesses.hoods
        hoods = hoods if self.judges is None else hoods.select(self.judges)
        return held_out(self.witnesses.f, self.witnesses.x, hoods, self.family)

    def caution(self) -> str:
        """A warning if next to nothing is explained at held-out members; otherwise an empty text.

        Next to nothing is less than 5 % of the variance, or less than a constant explains.
        """
        share = _mean(torch.from_numpy(self.held_out.explained()))
        if share is None or share >= NEAR_ZERO:
            return ""
        return (
            f"held-out variance explained is {_share(share)}: at members that it was not fitted to, a witness says "
            f"{'little more' if share > 0 else 'no more'} than a constant, so do not read witnesses as the predictor's "
            f"laws. {self.cure}"
        )

    @cached_property
    def calibration(self) -> Calibration:
        """How far the witnesses can be trusted, learned from these neighborhoods; see `pellucid.calibrate`."""
        if self._all_equal:  # one neighborhood, however often it is counted, calibrates nothing
            gaps, deviations, alone, spread, *_ = self.held_out
            return Calibration.of(HeldOut(gaps[:0], deviations[:0], alone[:0], spread))
        return Calibration.of(self.held_out)

    @cached_property
    def _all_equal(self) -> bool:
        """Whether every neighborhood holds all points."""
        hoods = self.witnesses.hoods
        return int(hoods.sizes.min()) == hoods.n_points

    def bound(self, level: float = LEVEL) -> np.ndarray:
        """(n, K) what |predictor - witness| does not exceed, with this confidence, at a further point of each
        neighborhood, which its witness was not fitted to; NaN where that is not known: in neighborhoods of fewer than
        three members, or too few for the coefficients of a witness, where there are too few neighborhoods for the
        level, and where a bound would be as wide as the predictions range. See `why_not`.
        """
        bounds = self.calibration.bound(self.distances, level, self.witnesses.hoods.sizes.cpu().numpy())
        bounds[~np.isfinite(bounds)] = np.nan
        bounds[self._saturated | (self.witnesses.hoods.sizes < FEWEST).cpu().numpy()] = np.nan
        return bounds

    def why_not(self, level: float = LEVEL) -> str:
        """Why there are no bounds of this confidence, in one sentence."""
        if self._all_equal:
            return (
                "how far it can be trusted is not known: every neighborhood holds all points, so that there is one "
                "witness and nothing to learn it from; take smaller neighborhoods"
            )
        large = (self.witnesses.hoods.sizes >= FEWEST).cpu().numpy()
        saturated = bool(self._saturated[large].all())
        return no_bound_reason(level, len(self.calibration), enough=bool(large.any()), saturated=saturated)

    @cached_property
    def _saturated(self) -> np.ndarray:
        known = None if self.measures is None else self.measures.saturated
        return np.asarray((self.witnesses.saturated() if known is None else known).cpu().numpy())

    def to_dict(self, level: float = LEVEL) -> dict[str, Any]:
        """The summary in plain numbers, ready for JSON; None where no pair of predictions is ordered."""
        return {
            "neighborhoods": len(self.deviations),
            "held_out_variance_explained": _mean(torch.from_numpy(self.held_out.explained())),
            "explained_where_fitted": _none_if_nan(self.explained),
            "held_out_deviation": float(self.held_out_deviations.double().mean()),
            "held_out_deviation_quantiles": _named(self.quantiles(held_out=True)),
            "deviation_where_fitted": float(self.deviations.double().mean()),
            "deviation_where_fitted_quantiles": _named(self.quantiles()),
            "rmse_at_centers": self.rmse,
            "auc_local": _mean(self.local_auc),
            "auc_global": _mean(self.global_auc),
            "level": check_level(level),
            "bound": self._median_bounds(level),
            "families": None if self.comparison is None else [score.to_dict() for score in self.comparison.scores],
        }

    def _median_bounds(self, level: float) -> list[float | None]:
        """The median of the known bounds, for each output."""
        return [_none_if_nan(value) for value in median_bounds(self.bound(level)).tolist()]

    def to_html(self, path: str | Path, *, title: str = "Audit", names: Sequence[str] | None = None) -> None:
        """Write it as one HTML file that needs nothing else; see `pellucid.report.write_audit`."""
        from pellucid.report import write_audit

        write_audit(self, path, title=title, names=names)

    def _repr_html_(self) -> str:
        from pellucid.report.audit import fragment

        return str(fragment(self))

    def _output_suffixes(self) -> list[str]:
        """Names of the outputs to append to labels; empty if there is only one."""
        outputs = self.witnesses.f.shape[1]
        names = self.witnesses.output_names or [f"f{k}" for k in range(outputs)]
        return [""] if outputs == 1 else [f": {name}" for name in names]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, level: float = LEVEL) -> str:
        """The summary as a table, with bounds of this confidence."""
        summary = self.to_dict(level)
        sizes = self.witnesses.hoods.sizes.cpu().numpy()
        rows = [
            ("held-out variance explained", _share(summary["held_out_variance_explained"])),
            ("variance explained where fitted", _share(summary["explained_where_fitted"])),
            ("neighborhoods", f"{len(self.deviations)}"),
            ("members, median (largest)", f"{np.median(sizes):g} ({sizes.max():g})"),
            ("held-out deviation, mean", f"{summary['held_out_deviation']:.4g}"),
            *(
                (f"held-out deviation, {name} quantile", f"{value:.4g}")
                for name, value in summary["held_out_deviation_quantiles"].items()
            ),
            ("deviation where fitted, mean", f"{summary['deviation_where_fitted']:.4g}"),
            ("rmse at the centers", f"{self.rmse:.4g}"),
            *(
                (f"bound near a center, {percent(level)}{name}", _score(value, "not known"))
                for name, value in zip(self._output_suffixes(), summary["bound"], strict=True)
            ),
            ("generalized AUC, local", _score(summary["auc_local"])),
            ("generalized AUC, global", _score(summary["auc_global"])),
        ]
        width = max(len(label) for label, _ in rows)
        lines = [f"{label:<{width}}  {value:>10}" for label, value in rows]
        families = [] if self.comparison is None else ["", self.comparison.text()]
        return "\n".join([*lines, *families, *([self.caution()] if self.caution() else [])])


def audit(
    f: Any,
    x: Any,
    hoods: BaseNeighborhoods,
    family: WitnessFamily | Literal["auto"],
    *,
    deviation: Deviation = squared_error,
    features: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    judges: Sequence[int] | Tensor | None = None,
) -> Audit:
    """Fit witnesses to finished predictions and report how far they can be trusted.

    Needs no training and no gradients: f may come from any model, scikit-learn's included. Of very many neighborhoods
    (more than four million members) no more than a part is in memory at a time: witnesses are then fitted again
    whenever they are asked, and are the same.

    Parameters
    ----------
    f : array_like
        (N,) or (N, K) predictions at all points.
    x : array_like
        (N, P) features that the witnesses read.
    hoods : BaseNeighborhoods
        The n neighborhoods over the N points.
    family : WitnessFamily or {"auto"}
        Where the witnesses come from. "auto" takes the one of `pellucid.comparing.CANDIDATES` that holds best at
        members that it was not fitted to, in half of the neighborhoods; the other half are the judges.
    deviation : Deviation
        The measure d(f, g) of the deviations.
    features, outputs : sequence of str, optional
        Names to print witnesses with; by default those of a table's columns.
    judges : sequence of int or Tensor, optional
        The neighborhoods that held-out measures and bounds come from, by their indices; by default all. If some of
        them chose the family's settings, use the others: see `pellucid.choosing`.
    """
    features = list(x.columns) if features is None and hasattr(x, "columns") else features
    outputs = list(f.columns) if outputs is None and hasattr(f, "columns") else outputs
    x, f = check_points(x, f, hoods)
    f = f.detach()
    if f.abs().max() > _LARGEST:
        raise InputError(
            f"{Parameter('f')} must hold numbers of at most {_LARGEST:g}: squares would overflow",
            got=f"{float(f.abs().max()):g}",
            cure="use other units",
            parameter="f",
        )
    if judges is not None:
        judges = _checks.indices(judges, "judges")
        _checks.in_range(judges, len(hoods), "`judges`", "neighborhoods")
    comparison = None
    if isinstance(family, str) and family == "auto":
        comparison = compare_families(f, x, hoods, judges=judges)
        family, judges = comparison.family, comparison.others
    if not isinstance(family, WitnessFamily):
        raise InputError(
            f'{Parameter("family")} must be a witness family, such as LinearFamily(), or "auto"',
            got=f"{family!r}",
            parameter="family",
        )
    require_room(hoods, f.shape[1])
    witnesses = respond(family, x, f, hoods).named(features, outputs)
    measures = measure(witnesses, deviation)
    return assembled(witnesses, measures, family=family, judges=judges, deviation=deviation, comparison=comparison)


def assembled(witnesses: Witnesses, measures: Measures, **facts: Any) -> Audit:
    """The audit of witnesses that have been measured.

    Parameters
    ----------
    witnesses : Witnesses
        The witnesses.
    measures : Measures
        What was measured at their members.
    **facts : object
        Further fields of the audit.
    """
    at_centers = witnesses.f[witnesses.hoods.centers]
    return Audit(
        deviations=measures.deviations,
        local_auc=measures.local_auc,
        global_auc=generalized_auc(at_centers, measures.at_centers),
        rmse=float((at_centers.double() - measures.at_centers.double()).square().mean().sqrt()),
        explained=measures.explained,
        measures=measures,
        witnesses=witnesses,
        **facts,
    )
