"""Words for how much a law changes from one window to the next; see `Steadiness`."""

from __future__ import annotations

STEADY = 0.1
"""A law change below this is called steady: a neighbor's law moves predictions by less than a tenth of what they move
by themselves, a hundredth of their variance."""
DRIFTING = 0.5
"""Below this a law is drifting, and from here on changing: a quarter of the variance or more."""


def steadiness_word(change: float) -> str:
    """The word for a law change.

    Examples
    --------
    >>> [steadiness_word(change) for change in (0.02, 0.1, 0.7)]
    ['steady', 'drifting', 'changing']
    """
    if change < STEADY:
        return "steady"
    return "drifting" if change < DRIFTING else "changing"
