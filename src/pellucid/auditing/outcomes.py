"""Columns that came after the prediction: outcomes of a study that no model could have read.

What a model read cannot be told from its predictions, but two things give an outcome away. With measured values t and
predictions f, a model that reads a column c and is any good has taken from it what it says of t: for f = E[t | c, ...]

    corr(c, f)^2 >= corr(c, t)^2,        corr(f, t)^2 >= corr(c, t)^2,

and likewise for least squares with an intercept. A column that is clearly closer to the truth than the predictions are,
or closer to the truth than to the predictions, was not read by the model, or not well. The other thing is names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from pellucid.auditing.columns import Column
from pellucid.errors import Parameter
from pellucid.tables import normalized

# Words in the names of a time until something happens, and of whether it did: together they are an outcome.
_TIMES = re.compile(r"\w*time|times|surv|survival|followup|lenfol|duration|tte|ttp|os|pfs|dfs|rfs|efs")
_EVENTS = re.compile(
    r"events?|f?stat|status|\w*cens|censor(ed|ing)?|death|dead|died|deceased|relapsed?|recurrence|fail(ed|ure)|mortality"
    r"|survived"
)
# Names that are outcomes on their own.
_OUTCOMES = re.compile(r"outcomes?|survived|died|deceased|death|(event|survival)_time|time_to_event")
OUTCOME = "by its name an outcome"
# Fewest rows on which columns are compared with the truth.
_ROWS = 20
# How much closer to the truth than to the predictions is suspicious; and, for columns above the second number, how much
# closer than the predictions are: a nearly perfect model may well be less close than the one column that decides all.
_CLEARLY, _STRONG, _BEYOND = 0.1, 0.25, 0.02
# Rank correlation with the predictions above which a column may be the measured values.
_ALIKE = 0.9


def named_outcomes(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Columns whose names say that they are outcomes, and why.

    Parameters
    ----------
    columns : mapping of str to sequence of str
        The cells of each column, blanks left out.
    """
    words = {name: re.split(r"[_.\s]+", normalized(name)) for name in columns}
    events = [
        name for name, parts in words.items() if any(map(_EVENTS.fullmatch, parts)) and len({*columns[name]}) == 2
    ]
    times = [name for name, parts in words.items() if any(map(_TIMES.fullmatch, parts)) and name not in events]
    reasons = {name: OUTCOME for name in columns if _OUTCOMES.fullmatch(normalized(name))}
    if events and times:
        reasons |= dict.fromkeys(events, f"{OUTCOME}, with {times[0]!r}")
        reasons |= dict.fromkeys(times, f"{OUTCOME}, with {events[0]!r}")
    keep = f"keep it with {Parameter('features'):=} if the model read it"
    return {name: f"{why}: {keep}" for name, why in reasons.items()}


def revealing(columns: Sequence[Column], f: np.ndarray, truth: np.ndarray, truth_name: str) -> dict[str, str]:
    """Columns that say more of the truth than a model that read them would leave unsaid, and why.

    Parameters
    ----------
    columns : sequence of Column
        The candidates for features.
    f : ndarray
        (N, K) predictions.
    truth : ndarray
        (N,) measured values, NaN where there is none.
    truth_name : str
        Name of the measured values.
    """
    measured = ~np.isnan(truth)
    if measured.sum() < _ROWS or np.ptp(truth[measured]) == 0:
        return {}
    model = max(squared_correlation(f[measured, k], truth[measured]) for k in range(f.shape[1]))
    # Chance alone moves a squared correlation by about 2 / sqrt(rows).
    clearly = max(_CLEARLY, 2 / np.sqrt(measured.sum()))
    reasons = {}
    for column in columns:
        rows = measured & ~np.isnan(column.codes)
        if rows.sum() < _ROWS:
            continue
        codes = column.codes[rows]
        near_truth = squared_correlation(codes, truth[rows], levels=column.levels)
        near_model = max(squared_correlation(codes, f[rows, k], levels=column.levels) for k in range(f.shape[1]))
        if near_truth > max(_STRONG, model + _BEYOND) and 1 - near_truth < (1 - model) / 2:
            why = f"closer to {truth_name} than the predictions are"
        elif near_truth - near_model > clearly:
            why = f"much closer to {truth_name} than to the predictions"
        else:
            continue
        shares = f"squared rank correlation {near_truth:.2f} with {truth_name}, {near_model:.2f} with the predictions"
        keep = f"keep it with {Parameter('features'):=}"
        reasons[column.name] = f"{why}, as no column is that a model reads well ({shares}): {keep}"
    return reasons


def alike(columns: Sequence[Column], f: np.ndarray) -> dict[str, float]:
    """Numbers that rise and fall with the predictions, as measured values do, and their rank correlation."""
    correlations = {}
    for column in columns:
        rows = ~np.isnan(column.codes)
        if column.levels or rows.sum() < _ROWS:
            continue
        share = max(squared_correlation(column.codes[rows], f[rows, k]) for k in range(f.shape[1]))
        if share**0.5 > _ALIKE:
            correlations[column.name] = share**0.5
    return correlations


def squared_correlation(c: np.ndarray, t: np.ndarray, *, levels: bool = False) -> float:
    """Squared rank correlation of two columns; of the levels of a category the share of the variance of the ranks of t
    between them, less what chance gives.
    """
    a, b = _ranks(c), _ranks(t)
    if a.std() == 0 or b.std() == 0:
        return 0.0
    if not levels:
        return float(np.corrcoef(a, b)[0, 1] ** 2)
    _, inverse, counts = np.unique(c, return_inverse=True, return_counts=True)
    means = np.bincount(inverse, b) / counts
    within = np.square(b - means[inverse]).sum() / max(1, len(b) - len(counts))
    return float(max(0.0, 1 - within / b.var(ddof=1)))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse], dtype=np.float64)
