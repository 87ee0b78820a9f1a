"""Data sets: what they are, where they are published, where they are on this computer. Domains list their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import final

from pellucid import cache, downloading
from pellucid.errors import InputError


def find_data(name: str) -> Path | None:
    """A file or folder of this name in `$PELLUCID_DATA`, or else in the cache."""
    chosen = os.environ.get("PELLUCID_DATA")
    folders = [*([Path(chosen)] if chosen else []), cache.cache_folder()]
    return next((folder / name for folder in folders if (folder / name).exists()), None)


@final
@dataclass(frozen=True, kw_only=True)
class Published:
    """A file that is published at an address, and kept on this computer once it has been downloaded."""

    title: str
    name: str
    """Below `$PELLUCID_DATA` and the cache."""
    address: str
    sha256: str | None
    """Checksum of the file as it is published; None where copies differ, and `store` compares what they say."""
    store: downloading.Store
    """Makes of the download what is used."""
    by_hand: str
    """What to do after a download by hand, with {place} for where it is kept."""

    @property
    def place(self) -> Path:
        """Where it is kept after a download."""
        return cache.cache_folder() / self.name

    def find(self) -> Path | None:
        """Where it is on this computer."""
        return find_data(self.name)

    def fetch(self, *, progress: bool = True) -> Path:
        """Where it is on this computer, after a download if need be: whole and compared, or not at all.

        Parameters
        ----------
        progress : bool
            Show a progress bar, where there is a terminal.
        """
        path = self.find()
        if path is not None:
            return path
        with cache.new_file(self.place) as draft:
            flaw = downloading.fetch(self.address, draft, sha256=self.sha256, store=self.store, progress=progress)
            if flaw is not None:
                raise InputError(
                    f"The data of {self.title} must be on this computer",
                    got=f"none, and {self.address} could not be downloaded: {flaw}. Try again, or download it by hand "
                    f"and {self.by_hand.format(place=self.place)}",
                )
        return self.place


@final
@dataclass(frozen=True, kw_only=True)
class DataSet:
    """One line of `pellucid data list`."""

    name: str
    what: str
    size: str
    find: Callable[[], Path | None]
    """Where it is on this computer."""
    use: str
    """How it is read in Python."""
    published: Callable[[], Sequence[Published]] = tuple
    """The files to download; none of what comes with a package."""
    packed_folder: str | None = None
    """The folder of the archive to unpack by hand, where Python cannot read its formats."""
    pack: Callable[[Path], Path] | None = None
    """Reads the folder that was unpacked by hand, and keeps it in the cache as a file, which it returns."""


def installed(package: str, *below: str) -> Path | None:
    """A file that comes with a package, if that is installed."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*below)
    return path if path.exists() else None
