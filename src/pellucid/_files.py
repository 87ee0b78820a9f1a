"""Where data sets are found on this computer."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache, where data sets are kept once they have been read or downloaded."""
    import pooch

    return Path(pooch.os_cache("pellucid"))


def find_data(name: str) -> Path | None:
    """A file or folder of this name in `$PELLUCID_DATA`, or else in the cache."""
    given = os.environ.get("PELLUCID_DATA")
    places = [folder / name for folder in [*([Path(given)] if given else []), cache_folder()]]
    return next((place for place in places if place.exists()), None)
