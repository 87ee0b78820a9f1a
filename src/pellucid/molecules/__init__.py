"""Molecules: fingerprints, similar molecules and analogs of tables of SMILES. Needs the extra `molecules`."""

from pellucid.molecules.analogs import Groups
from pellucid.molecules.explanation import Change, Explanation, Member
from pellucid.molecules.files import moses, nav17, read, tox21
from pellucid.molecules.fingerprints import Fingerprints, Hits, Morgan
from pellucid.molecules.graphs import GraphBatch, Graphs
from pellucid.molecules.neighborhoods import Neighbor, Similar, Surroundings, neighbors
from pellucid.molecules.network import GraphNetwork, outputs_of
from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.scores import Scores
from pellucid.molecules.substructures import Substructure
from pellucid.molecules.table import Molecules, Rejection, prepare

__all__ = [
    "Change",
    "Explanation",
    "Fingerprints",
    "GraphBatch",
    "GraphNetwork",
    "Graphs",
    "Groups",
    "Hits",
    "Member",
    "Molecules",
    "Morgan",
    "Neighbor",
    "PropertyModel",
    "Rejection",
    "Scores",
    "Similar",
    "Substructure",
    "Surroundings",
    "moses",
    "nav17",
    "neighbors",
    "outputs_of",
    "prepare",
    "read",
    "tox21",
]
