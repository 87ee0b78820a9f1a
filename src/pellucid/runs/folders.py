"""The folder of a run: what it must hold before a training, and how the files of its data were read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pellucid.domains import Domain
from pellucid.errors import InputError, Parameter
from pellucid.locking import locked, require_unused
from pellucid.options import Options, options_of, updated
from pellucid.runs import occupied
from pellucid.runs.occupied import CHECKPOINTS, READING
from pellucid.schemas import SchemaError, as_written, checked, json_of, shown
from pellucid.summaries import MODEL_FOLDERS, RunSummary
from pellucid.writing import remove_drafts, write_text


@contextmanager
def opened(folder: Path, *, resume: bool, force: bool = False) -> Iterator[None]:
    """The folder of a run, made if need be, unless `check_folder` refuses it, and used by nobody else meanwhile.

    Where the run ends before its first checkpoint, nothing of it is left.
    """
    check_folder(folder, resume=resume, force=force)
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            if not resume:
                occupied.clear(folder, occupied.require_free(folder, force=force))
            try:
                (folder / CHECKPOINTS).mkdir(exist_ok=True)
                yield
            finally:
                for place in (folder, *(folder / name for name in MODEL_FOLDERS.values())):
                    remove_drafts(place)  # of a run that was killed, too
                occupied.clear_unlearned(folder)
    finally:
        if not existed:
            with suppress(OSError):  # where there is something in it
                folder.rmdir()


def check_folder(folder: Path, *, resume: bool, force: bool = False, data: Path | None = None) -> None:
    """Refuse a folder that holds another run or files of others, or, to resume, one that holds no run.

    Parameters
    ----------
    folder : Path
        The folder of a run.
    resume : bool
        Whether the run in it is to be resumed.
    force : bool
        Whether the run in it is to be replaced.
    data : Path, optional
        What is learned from.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(
            "A run is a folder",
            got=f"{folder}, which is a file",
            cure=f"choose another folder with {Parameter('out')}",
            parameter="out",
        )
    if data is not None and folder.exists() and data.exists() and folder.samefile(data):
        raise InputError(
            "A run has a folder of its own",
            got=f"{folder}, the folder of the data",
            cure=f"choose another folder with {Parameter('out')}",
            parameter="out",
        )
    require_unused(folder)
    if not resume:
        occupied.require_free(folder, force=force)
    elif force:
        raise InputError(
            f"A run is either resumed or replaced: {Parameter('resume', True)} or {Parameter('force', True)}",
            got="both",
            cure="leave one out",
            parameter="force",
        )
    elif not occupied.is_begun(folder):
        raise InputError(
            "There must be an interrupted run to resume",
            got=f"none in {folder}",
            cure=f"start it without {Parameter('resume', True)}",
            parameter="resume",
        )
    else:
        occupied.require_replaceable_report(folder)


def save_reading(folder: Path, reading: Options) -> None:
    """Record how the files of a run were read."""
    values = asdict(reading)
    content = {option.name: values[option.name] for option in options_of(type(reading)) if option.saved}
    write_text(folder / READING, json.dumps(content) + "\n")


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
    path = next((p / READING for p in (folder, folder.resolve().parent) if (p / READING).is_file()), None)
    reading = domain.Reading()
    if path is not None:
        with as_written("The record of how files were read must be as it was written", where=path, cure="delete it"):
            content = checked(dict[str, Any], json_of(path))
            unknown = {*content} - {option.name for option in options_of(domain.Reading)}
            if unknown:
                raise SchemaError(f"there is no option {shown(min(unknown))}")
            reading = checked(domain.Reading, content)
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
