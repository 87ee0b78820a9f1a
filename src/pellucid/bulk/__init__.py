"""Predictions, explanations and audits of long tables: in shards, by this process, by others or by a cluster."""

from pellucid.bulk.explanations import BulkExplanations
from pellucid.bulk.folders import shards_beside
from pellucid.bulk.predictions import predictions

__all__ = ["BulkExplanations", "predictions", "shards_beside"]
