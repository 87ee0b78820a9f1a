"""Molecules: fingerprints, similar molecules and analogs of tables of SMILES. Needs the extra `molecules`."""

from pellucid.molecules.analogs import RGroups
from pellucid.molecules.explanation import Change, Member, MoleculeExplanation
from pellucid.molecules.files import moses, nav17, read, tox21
from pellucid.molecules.fingerprints import Fingerprints, Hits, Morgan
from pellucid.molecules.graphs import GraphBatch, Graphs
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, Neighbor, SimilarityRule, neighbors
from pellucid.molecules.network import GraphNetwork, outputs_of
from pellucid.molecules.preparing import prepare
from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.scores import PropertyScores
from pellucid.molecules.substructures import Substructure
from pellucid.molecules.table import Molecules, Rejection

__all__ = [
    "Change",
    "Fingerprints",
    "GraphBatch",
    "GraphNetwork",
    "Graphs",
    "Hits",
    "Member",
    "MoleculeExplanation",
    "MoleculeNeighborhoods",
    "Molecules",
    "Morgan",
    "Neighbor",
    "PropertyModel",
    "PropertyScores",
    "RGroups",
    "Rejection",
    "SimilarityRule",
    "Substructure",
    "moses",
    "nav17",
    "neighbors",
    "outputs_of",
    "prepare",
    "read",
    "tox21",
]
