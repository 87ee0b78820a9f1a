"""The folder of a run, with the checkpoints of one training alone.

identity.json   the settings and data of the run, which a resumed one must share
last.ckpt       what an interrupted run resumes from
best.ckpt       the best epoch so far, where there are validation data
result.ckpt     the epoch that was kept, once the run is finished
history.json    the losses of every epoch; a run is finished once it is there
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pellucid.errors import InputError, Parameter
from pellucid.locking import locked
from pellucid.schemas import Measured, SchemaError, checked, json_of
from pellucid.training.fits import History
from pellucid.writing import remove_drafts, write_text

IDENTITY, HISTORY = "identity.json", "history.json"
LAST, BEST, RESULT = CHECKPOINTS = ("last.ckpt", "best.ckpt", "result.ckpt")


@contextmanager
def opened(folder: Path | None, identity: Mapping[str, Any], *, resume: bool) -> Iterator[Path]:
    """The folder of a run, made if need be and marked with the run's identity; None is one for the time being."""
    if folder is None:
        if resume:
            raise InputError(
                "To resume a run, its folder must be given",
                got="none",
                cure=f"pass {Parameter('folder'):=}",
                parameter="folder",
            )
        with tempfile.TemporaryDirectory(prefix="pellucid-") as temporary:
            yield Path(temporary)
        return
    if folder.is_file():
        raise InputError(
            f"{Parameter('folder')} must be a folder",
            got=f"{folder}, which is a file",
            cure="choose another folder",
            parameter="folder",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        remove_drafts(folder)
        _check_identity(folder, identity, resume)
        yield folder


def write_history(folder: Path, history: History) -> None:
    """Record that a run is finished."""
    write_text(folder / HISTORY, json.dumps(history) + "\n")


def read_history(folder: Path) -> History | None:
    """The losses of a finished run; None if it is not, or if the file is damaged: it is made again."""
    path = folder / HISTORY
    try:
        return checked(list[dict[str, int | Measured]], json_of(path))
    except (FileNotFoundError, SchemaError):
        return None


def is_learned(folder: Path) -> bool:
    """Whether there is something to resume from: a run that ended before its first checkpoint left nothing."""
    return any((folder / name).exists() for name in CHECKPOINTS)


def _check_identity(folder: Path, identity: Mapping[str, Any], resume: bool) -> None:
    """Refuse to mix two runs in one folder, or to resume with other settings or data."""
    record = folder / IDENTITY
    learned = is_learned(folder)
    if learned and not resume:
        raise InputError(
            "The folder of a new run must hold no other run",
            got=f"{folder}",
            cure=f"resume that run with {Parameter('resume', True)}, or choose another folder",
            parameter="resume",
        )
    if learned:
        before, now = _read_identity(record), json.loads(json.dumps(identity))
        changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if changed:
            name = changed[0]
            got = (
                "other data"
                if name == "data"
                else f"another {Parameter(name)}: {now.get(name)!r} for {before.get(name)!r}"
            )
            raise InputError(
                "A resumed run must have the settings and data of the interrupted one",
                got=got,
                cure="restore it, or start anew in another folder",
            )
    elif record.exists() and record.stat().st_size and not _is_identity(record, identity):
        raise InputError(
            "The folder of a run must hold no files of others",
            got=f"{record}, which no run wrote",
            cure="move it, or choose another folder",
            parameter="folder",
        )
    write_text(record, json.dumps(identity, indent=1) + "\n")


def _is_identity(record: Path, identity: Mapping[str, Any]) -> bool:
    """Whether a file is the identity of a run, of which nothing else is left: it has names of settings."""
    try:
        return not identity.keys().isdisjoint(checked(dict[str, Any], json_of(record)))
    except SchemaError:
        return False


def _read_identity(record: Path) -> dict[str, Any]:
    try:
        return checked(dict[str, Any], json_of(record))
    except (FileNotFoundError, SchemaError):
        raise InputError(
            "The folder of a run must be as it was written",
            got=f"{record.parent} without {record.name}, or with a damaged one",
            cure="copy or move all of its files, or start anew in another folder",
        ) from None
