"""Molecules: fingerprints, similar molecules and analogs of tables of SMILES. Needs the extra `molecules`."""

from pellucid.molecules.analogs import Groups
from pellucid.molecules.files import nav17, read
from pellucid.molecules.fingerprints import Fingerprints, Hits, Morgan
from pellucid.molecules.neighborhoods import Neighbor, Similar, Surroundings, neighbors
from pellucid.molecules.network import GraphNetwork, Graphs
from pellucid.molecules.table import Molecules, Rejection, prepare

__all__ = [
    "Fingerprints",
    "GraphNetwork",
    "Graphs",
    "Groups",
    "Hits",
    "Molecules",
    "Morgan",
    "Neighbor",
    "Rejection",
    "Similar",
    "Surroundings",
    "nav17",
    "neighbors",
    "prepare",
    "read",
]
