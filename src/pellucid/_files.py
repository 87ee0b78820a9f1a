"""Where data sets are found on this computer, and how they get there."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from pellucid.errors import InputError


def cache_folder() -> Path:
    """The user's cache, where data sets are kept once they have been read or downloaded."""
    import pooch

    return Path(pooch.os_cache("pellucid"))


def find_data(name: str) -> Path | None:
    """A file or folder of this name in `$PELLUCID_DATA`, or else in the cache."""
    given = os.environ.get("PELLUCID_DATA")
    places = [folder / name for folder in [*([Path(given)] if given else []), cache_folder()]]
    return next((place for place in places if place.exists()), None)


@final
@dataclass(frozen=True, kw_only=True)
class Published:
    """A file that is published at an address, and kept on this computer once it has been downloaded."""

    title: str
    name: str
    """Below `$PELLUCID_DATA` and the cache."""
    address: str
    store: Callable[[Path, Path], str]
    """Writes what was downloaded (first) as it is used (second), and gives the checksum of its content; raises
    ValueError, EOFError or OSError where that cannot be read."""
    sha256: str | None
    """What that checksum must be, if it is known."""
    by_hand: str
    """What to do after a download by hand, with {place} for where it is kept."""

    @property
    def place(self) -> Path:
        """Where it is kept after a download."""
        return cache_folder() / self.name

    def find(self) -> Path | None:
        """Where it is on this computer."""
        return find_data(self.name)

    def fetch(self, *, progress: bool = True) -> Path:
        """Where it is on this computer, after a download if need be: whole and compared, or not at all."""
        path = self.find()
        if path is not None:
            return path
        place = self.place
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="download-", dir=place.parent) as folder:
            download, draft = Path(folder) / "download", Path(folder) / place.name
            flaw = _download(self.address, download, progress)
            if flaw is None:
                try:
                    found = self.store(download, draft)
                    if self.sha256 in (None, found):
                        draft.replace(place)
                        return place
                    flaw = f"its content has another checksum than the published one, {found[:12]}"
                except (ValueError, EOFError, OSError) as error:
                    flaw = f"what came cannot be read ({error})"
        raise InputError(
            f"The data of {self.title} must be on this computer",
            got=(
                f"none, and {self.address} could not be downloaded: {flaw}. Try again, or download it by "
                f"hand and {self.by_hand.format(place=place)}"
            ),
        )


def _download(address: str, file: Path, progress: bool) -> str | None:
    """Fetch an address; what went wrong, if anything did."""
    import logging

    import pooch
    from requests import exceptions

    logger = pooch.get_logger()
    level, bar = logger.level, _bar(progress)
    logger.setLevel(logging.WARNING)  # the caller says what is being downloaded
    try:
        downloader = pooch.HTTPDownloader(progressbar=bar)
        pooch.retrieve(address, None, fname=file.name, path=file.parent, downloader=downloader)
    except exceptions.HTTPError as error:
        return f"the server answered {str(error).partition(' for url')[0]}"
    except exceptions.Timeout:
        return "the server did not answer in time"
    except exceptions.ChunkedEncodingError:
        return "the connection broke off"
    except exceptions.ConnectionError as error:
        return "the connection broke off" if "IncompleteRead" in str(error) else "there is no connection to the server"
    except exceptions.RequestException as error:
        return str(error).rstrip(".")
    finally:
        logger.setLevel(level)
        if bar is not False:
            bar.close()
    return None


def _bar(progress: bool) -> Any:
    """A progress bar on stderr, if that is a terminal."""
    if not progress or not sys.stderr.isatty():
        return False
    from tqdm import tqdm

    # The total is set when the download begins; until then pooch asks whether the bar is true.
    return tqdm(total=1, unit="B", unit_scale=True, ncols=79, desc="downloading", leave=False)
