"""Where data sets are found on this computer."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache, where data sets are kept once they have been read or downloaded."""
    import pooch

    return Path(pooch.os_cache("pellucid"))


def find_data(*names: str) -> Path | None:
    """The first of these files or folders that exists in `$PELLUCID_DATA` or in the cache."""
    given = os.environ.get("PELLUCID_DATA")
    for folder in [*([Path(given)] if given else []), cache_folder()]:
        for name in names:
            if (folder / name).exists():
                return folder / name
    return None
