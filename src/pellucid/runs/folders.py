"""The folder of a run: what it must hold before a training, and how the files of its data were read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pellucid import summaries
from pellucid.domains import Domain
from pellucid.errors import InputError, Parameter
from pellucid.options import Options, options_of, updated
from pellucid.summaries import RunSummary
from pellucid.writing import write_text

REPORT, CHECKPOINTS, _READING = "report.html", "checkpoints", "reading.json"


def open_folder(folder: Path, *, resume: bool) -> None:
    """Create the folder of a run, unless `check_folder` refuses it."""
    check_folder(folder, resume=resume)
    (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)


def check_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds another run, or, to resume, one that holds none."""
    if folder.is_file():
        raise InputError(
            "A run is a folder",
            got=f"{folder}, which is a file",
            cure=f"choose another folder with {Parameter('out')}",
            parameter="out",
        )
    begun = any((folder / CHECKPOINTS).glob("*/identity.json"))
    if not resume and (begun or (folder / summaries.FILE).exists()):
        raise InputError(
            "The folder of a new run must hold no other run",
            got=f"{folder}",
            cure=f"resume that run with {Parameter('resume', True)}, or choose another folder with {Parameter('out')}",
            parameter="resume",
        )
    if resume and not begun:
        raise InputError(
            "There must be an interrupted run to resume",
            got=f"none in {folder}",
            cure=f"start it without {Parameter('resume', True)}",
            parameter="resume",
        )


def save_reading(folder: Path, reading: Options) -> None:
    """Record how the files of a run were read."""
    values = asdict(reading)
    content = {option.name: values[option.name] for option in options_of(type(reading)) if option.saved}
    write_text(folder / _READING, json.dumps(content) + "\n")


def load_reading(domain: Domain[Any, Any], folder: Path, values: Mapping[str, Any]) -> Any:
    """How the files of a run were read, with the changes that a user asks for.

    Parameters
    ----------
    domain : Domain
        The domain of the run.
    folder : Path
        The folder of the run, or of one of its models.
    values : mapping of str to object
        Other values of the options; None changes nothing.
    """
    path = next((p / _READING for p in (folder, folder.resolve().parent) if (p / _READING).is_file()), None)
    reading = domain.Reading()
    if path is not None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            reading = domain.Reading(**{k: tuple(v) if isinstance(v, list) else v for k, v in content.items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} must be as it was written", got=f"something else: {error}", cure="delete it"
            ) from None
    return updated(reading, values)


def digest(items: Iterable[bytes]) -> str:
    """A fingerprint of test data, whatever the order of the items and the names of their files.

    Examples
    --------
    >>> digest([b"CCO 1", b"CCN 2"]) == digest([b"CCN 2", b"CCO 1"]) != digest([b"CCN 2"])
    True
    """
    digests = sorted(hashlib.sha256(item).digest() for item in items)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def same_test_data(first: RunSummary, second: RunSummary) -> bool | None:
    """Whether two runs were tested on the same data; None if an earlier version wrote one of them."""
    digests = [summary.data.test_digest for summary in (first, second)]
    return None if None in digests else digests[0] == digests[1]
