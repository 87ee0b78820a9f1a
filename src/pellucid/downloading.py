"""Downloads by pooch: from a registry of addresses and checksums, whole and compared, or not at all."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Store = Callable[[Path, Path], None]
"""Writes what was downloaded (first) as it is used (second).

It raises ValueError, EOFError or OSError where it is not what was published.
"""


class OtherContentError(ValueError):
    """What was downloaded can be read, and is not what was published."""

    def __str__(self) -> str:
        return "its content has another checksum than the published one"


def fetch(address: str, draft: Path, *, sha256: str | None, store: Store, progress: bool) -> str | None:
    """Download a file, compare it with its checksum, and store it as it is used; what went wrong, if anything did.

    Parameters
    ----------
    address : str
        The address to download from.
    draft : Path
        Where it is stored, in a folder in which whatever else is left is thrown away.
    sha256 : str, optional
        Checksum of the file as it is published.
    store : Store
        Makes of it what is used.
    progress : bool
        Show a progress bar, where there is a terminal.
    """
    import pooch
    from requests import exceptions

    download = f"{draft.name}.download"

    def process(path: str, action: str, registry: Any) -> str:
        store(Path(path), draft)
        return str(draft)

    registry = pooch.create(
        path=draft.parent,
        base_url="",
        registry={download: sha256 and f"sha256:{sha256}"},
        urls={download: address},
    )
    try:
        with _progress_bar(progress) as bar, _silenced(pooch.get_logger()):
            registry.fetch(download, processor=process, downloader=pooch.HTTPDownloader(progressbar=bar))
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
    except (ValueError, EOFError, OSError) as error:
        # Before anything was stored, pooch has compared the file itself.
        if isinstance(error, OtherContentError) or "hash of downloaded file" in str(error):
            return str(OtherContentError())
        return f"what came cannot be read ({error})"
    return None


@contextmanager
def _silenced(logger: logging.Logger) -> Iterator[None]:
    """The caller says what is being downloaded."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _progress_bar(progress: bool) -> Iterator[Any]:
    """A progress bar on stderr, if that is a terminal."""
    if not progress or not sys.stderr.isatty():
        yield False
        return
    from tqdm import tqdm

    # The total is set when the download begins; until then pooch asks whether the bar is true.
    with tqdm(total=1, unit="B", unit_scale=True, ncols=79, desc="downloading", leave=False) as bar:
        yield bar
