"""Families of witnesses and their fitted members."""

from pellucid.witnesses.base import Witnesses, WitnessFamily
from pellucid.witnesses.custom import BestOf, fit_each
from pellucid.witnesses.linear import ConstantFamily, LinearFamily, lag_names, lagged
from pellucid.witnesses.sparse import SparseLinearFamily
from pellucid.witnesses.tree import TreeFamily, effective_depth
from pellucid.witnesses.witness import Witness

__all__ = [
    "BestOf",
    "ConstantFamily",
    "LinearFamily",
    "SparseLinearFamily",
    "TreeFamily",
    "Witness",
    "WitnessFamily",
    "Witnesses",
    "effective_depth",
    "fit_each",
    "lag_names",
    "lagged",
]
