"""The results of a run: scores, coverage of the bounds, and the examples of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.domains import Domain, Evaluation, ExplainedPoint
from pellucid.summaries import BOUND, HELD_OUT, Example, TrustSummary
from pellucid.trust import median_bounds


def scores(evaluation: Evaluation, level: float) -> dict[str, Any]:
    """The scores of a model, with the held-out variance explained, that of the domain where it has one, and the bound.

    Parameters
    ----------
    evaluation : Evaluation
        The model on the test data.
    level : float
        The confidence of the bound.
    """
    bounds = _median_bounds(evaluation, level)
    return {
        HELD_OUT: finite_mean(evaluation.held_out.explained()),
        BOUND: None if bounds is None else finite_mean(bounds),
        **evaluation.scores,
    }


def trust_summary(evaluations: Mapping[str, Evaluation], level: float) -> TrustSummary:
    """Coverage on test neighborhoods and median bounds of each model, in the units of the data."""
    bound, coverage, calibrated = {}, {}, []
    for name, evaluation in evaluations.items():
        bounds = _median_bounds(evaluation, level)
        if evaluation.calibration is not None and bounds is not None:
            bound[name] = finite_or_none(bounds)
            coverage[name] = finite_or_none(evaluation.calibration.coverage(evaluation.held_out, level))
            calibrated.append(len(evaluation.calibration))
    return TrustSummary(
        level=level,
        calibrated=min(calibrated, default=0),
        tested=min(len(evaluation.held_out.gaps) for evaluation in evaluations.values()),
        coverage=coverage,
        bound=bound,
    )


def _median_bounds(evaluation: Evaluation, level: float) -> np.ndarray | None:
    """(K,) the median bound of each output over the test neighborhoods, in the units of the data."""
    calibration, held_out = evaluation.calibration, evaluation.held_out
    if calibration is None:
        return None
    bounds = calibration.bound(held_out.deviations, level, held_out.sizes) * evaluation.units
    return median_bounds(bounds[held_out.telling])


def report_examples(points: Sequence[ExplainedPoint], domain: Domain[Any, Any]) -> tuple[Example, ...]:
    """The explanations that a report shows, the most trustworthy first."""
    selection = select_examples(
        [point.deviation for point in points], count=domain.max_examples, extremes=domain.max_extremes
    )
    return tuple(
        Example(
            rank=rank,  # type: ignore[arg-type]
            place=points[index].label,
            measured=None if points[index].measured is None else tuple(points[index].measured or ()),
            explanation=points[index].explanation.to_dict(),
        )
        for index, rank in selection
    )


def select_examples(
    deviations: Sequence[float] | np.ndarray, *, count: int = Domain.max_examples, extremes: int = Domain.max_extremes
) -> list[tuple[int, str]]:
    """Indices and ranks of the examples of a report, the most trustworthy first: both ends, and others evenly between.

    Parameters
    ----------
    deviations : array_like
        (n,) deviations of the candidates.
    count : int
        Largest number of examples.
    extremes : int
        Largest number of examples with the rank "most", and of those with the rank "least".

    Examples
    --------
    >>> select_examples([0.3, 0.1, 0.2])
    [(1, 'most'), (2, 'others'), (0, 'least')]
    """
    order = np.argsort(np.asarray(deviations), kind="stable")
    chosen = np.unique(np.round(np.linspace(0, len(order) - 1, min(count, len(order)))).astype(int))
    extremes = min(extremes, len(chosen) // 2)
    ranks = ["most"] * extremes + ["others"] * (len(chosen) - 2 * extremes) + ["least"] * extremes
    return [(int(order[index]), rank) for index, rank in zip(chosen, ranks, strict=True)]


def finite_mean(values: np.ndarray) -> float | None:
    """The mean of the finite values; None if there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def finite_or_none(values: np.ndarray) -> tuple[float | None, ...]:
    """Numbers ready for JSON: None in place of NaN and infinity."""
    return tuple(float(value) if np.isfinite(value) else None for value in values)
