"""Explanations of molecules by whatever witnesses were fitted around them."""

from __future__ import annotations

from typing import Any

from pellucid.errors import InputError
from pellucid.molecules.contribution_explanation import explain_by_contributions
from pellucid.molecules.explained_neighborhood import ExplainedNeighborhood
from pellucid.molecules.explanation import MoleculeExplanation
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.tree_explanation import explain_by_tree
from pellucid.witnesses import Witnesses
from pellucid.witnesses.linear import LinearWitnesses
from pellucid.witnesses.tree import TreeWitnesses

__all__ = ["MoleculeExplanation", "explain_each"]


def explain_each(
    witnesses: Witnesses, neighborhoods: MoleculeNeighborhoods, **reading: Any
) -> list[MoleculeExplanation]:
    """The explanations of the molecules whose neighborhoods these are, in their order.

    Parameters
    ----------
    witnesses : Witnesses
        Trees, or linear functions with a ridge, fitted on the neighborhoods.
    neighborhoods : MoleculeNeighborhoods
        The neighborhoods.
    **reading : object
        How numbers are read: `task`, `morgan`, and optionally `calibration`, `level` and `measured`, as in
        `ExplainedNeighborhood`.
    """
    parts = ExplainedNeighborhood.each_of(witnesses, neighborhoods, **reading)
    if isinstance(witnesses, TreeWitnesses):
        return [explain_by_tree(witnesses, part) for part in parts]
    if isinstance(witnesses, LinearWitnesses):
        held_out = witnesses.held_out_values()
        return [explain_by_contributions(witnesses, part, held_out[part.entries]) for part in parts]
    raise InputError("Molecules are explained by trees or by contributions", got=f"{type(witnesses).__name__}")
