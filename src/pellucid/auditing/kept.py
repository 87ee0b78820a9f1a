"""What files say of witnesses: coefficients or a text for a table, and everything for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor

from pellucid.witnesses.witness import Witness

# What the entries of all rows have in common.
_SHARED = ("features", "outputs", "center")


class KeptWitnesses(Protocol):
    """The witnesses of all neighborhoods in order, as files have them, where they were written down when fitted."""

    @property
    def linear(self) -> bool:
        """Whether they are coefficients."""

    def cells(self) -> Iterator[list[Any]]:
        """For each neighborhood the cells of its witness: coefficients, or its text."""

    def entries(self) -> Iterator[dict[str, Any]]:
        """For each neighborhood its witness, ready for JSON."""


def witness_entry(witness: Witness) -> dict[str, Any]:
    """A witness as one of many in a file, without what they have in common."""
    return {key: value for key, value in witness.to_dict().items() if key not in _SHARED}


def coefficients_of(theta: Tensor) -> Tensor:
    """(n, K (1 + P)) coefficients (n, 1 + P, K) as the cells of a table: those of one output after the other."""
    return theta.mT.flatten(1)
