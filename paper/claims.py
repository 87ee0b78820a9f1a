"""Statements about several seeds: the paper's number, ours with its interval, and whether the statement holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from paper.runs import half_width

YES, NO, UNKNOWN = "holds", "**does not hold**", "cannot be told"


class Claim(NamedTuple):
    """A statement, the paper's numbers for it, ours, and the verdict."""

    text: str
    paper: str
    ours: str
    verdict: str


def verdict(differences: np.ndarray, *, least: float = 0.0) -> str:
    """Whether paired differences are above `least`, by their 95 % interval: below 0 for what is "at least" as good."""
    if len(differences) < 2:
        return UNKNOWN
    mean, half = differences.mean(), half_width(differences)
    if mean + half < least:
        return NO
    return YES if mean - half > least else UNKNOWN


def of_one_run(holds: bool) -> str:
    """A verdict without an interval: what one run shows, and no more."""
    return f"{YES if holds else NO} in one run"


def table_of(claims: Sequence[Claim]) -> str:
    """A row for each statement."""
    rows = ["| claim | the paper | ours | verdict |", "|---|---|---|---|"]
    return "\n".join([*rows, *(f"| {c.text} | {c.paper} | {c.ours} | {c.verdict} |" for c in claims)])
