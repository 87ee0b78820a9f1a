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
        How numbers are read: `task`, `morgan`, and optionally `calibration`, `level`, `measured`, `analogs` and
        `certainties`, as in `ExplainedNeighborhood.each_of`.
    """
    if not isinstance(witnesses, TreeWitnesses | LinearWitnesses):
        raise InputError("Molecules are explained by trees or by contributions", got=f"{type(witnesses).__name__}")
    parts = ExplainedNeighborhood.each_of(witnesses, neighborhoods, held_out=witnesses.held_out_values(), **reading)
    if isinstance(witnesses, TreeWitnesses):
        return [explain_by_tree(witnesses, part) for part in parts]
    return [explain_by_contributions(witnesses, part) for part in parts]
