"""The sodium-channel blockers that come with RDKit, read once for all tests: that takes most of a second."""

from functools import cache

from pellucid.molecules import nav17

blockers = cache(nav17)
