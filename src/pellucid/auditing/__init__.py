"""Audits: how transparent a finished predictor is, measured from its predictions alone."""

from pellucid.auditing.core import Audit, audit

__all__ = ["Audit", "audit"]
