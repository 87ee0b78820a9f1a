"""What stands in the folder of a run already: only what a run wrote is ever replaced, and only where a user asks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pellucid import locking, summaries
from pellucid.authorship import is_model, is_page, is_record, is_summary
from pellucid.errors import InputError, Parameter
from pellucid.storage import StoredRecord
from pellucid.summaries import MODEL_FOLDERS
from pellucid.training import folders
from pellucid.writing import is_draft

REPORT, CHECKPOINTS, READING = "report.html", "checkpoints", "reading.json"
# Text files of our models; those of others are known once they are imported.
_TEXTS = ("vocabulary.txt",)
_FOLDERS = (CHECKPOINTS, *MODEL_FOLDERS.values())


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, finished or not."""
    return is_summary(folder / summaries.FILE) or any((folder / CHECKPOINTS).glob(f"*/{folders.IDENTITY}"))


def is_begun(folder: Path) -> bool:
    """Whether a run has begun in the folder, and may be resumed."""
    return any(map(is_model_begun, (folder / CHECKPOINTS).glob("*")))


def is_learned(folder: Path) -> bool:
    """Whether there is a checkpoint to resume from."""
    return any(map(folders.is_learned, (folder / CHECKPOINTS).glob("*")))


def is_model_begun(folder: Path) -> bool:
    """Whether the training of a model has begun in its folder of folders."""
    return (folder / folders.IDENTITY).exists() or folders.is_learned(folder)


def require_free(folder: Path, *, force: bool) -> list[Path]:
    """The files of an earlier run, to be replaced; refused if there are any and nobody asks for that, or others.

    Parameters
    ----------
    folder : Path
        The folder of a new run.
    force : bool
        Whether an earlier run may be replaced.
    """
    for place in (folder, *folder.resolve().parents):
        if is_model(place) or (place != folder and is_run(place)):
            raise InputError(
                "A run has a folder of its own, which is in no other run and no model",
                got=f"{folder}, and {place} is {'a model' if is_model(place) else 'a run'}",
                cure=f"choose another folder with {Parameter('out')}",
                parameter="out",
            )
    files = list(_files(folder))
    foreign = [path for path in files if not _is_ours(path, folder)]
    if foreign:
        raise _foreign(foreign[0])
    if files and not force and (is_learned(folder) or not _only_traces(folder, files)):
        resume = f"resume that run with {Parameter('resume', True)}, " if is_begun(folder) else ""
        raise InputError(
            "The folder of a new run must hold no other run",
            got=f"{folder}",
            cure=f"{resume}replace it with {Parameter('force', True)}, or choose another folder with "
            f"{Parameter('out')}",
            parameter="resume",
        )
    return files


def require_replaceable_report(folder: Path) -> None:
    """Refuse to end an interrupted run where a report would be written over a page of others."""
    if (folder / REPORT).exists() and not _is_ours(folder / REPORT, folder):
        raise _foreign(folder / REPORT)


def _foreign(path: Path) -> InputError:
    return InputError(
        "A run replaces nothing that no run wrote",
        got=f"{path}",
        cure=f"move it, or choose another folder with {Parameter('out')}",
        parameter="out",
    )


def _only_traces(folder: Path, files: list[Path]) -> bool:
    """Whether all that is there is of a run that was killed before its first checkpoint."""
    return all((folder / CHECKPOINTS) in path.parents or is_draft(path) or path.name == locking.FILE for path in files)


def clear(folder: Path, files: list[Path]) -> None:
    """Remove an earlier run, whose files `require_free` returned; all else that is there stays."""
    for path in files:
        path.unlink(missing_ok=True)
    _remove_empty(folder, _FOLDERS)


def clear_unlearned(folder: Path) -> None:
    """Remove the checkpoint folders of models that have none yet, and folders that are empty then."""
    for place in (folder / CHECKPOINTS).glob("*"):
        names = {path.name for path in place.iterdir() if not is_draft(path)} if place.is_dir() else None
        if names is not None and names <= {folders.IDENTITY, locking.FILE}:
            shutil.rmtree(place)
    _remove_empty(folder, (CHECKPOINTS,))


def _remove_empty(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        for place in (*(folder / name).glob("*/"), folder / name):
            with suppress(OSError):
                place.rmdir()


def _files(folder: Path) -> Iterator[Path]:
    """Whatever stands where a run writes."""
    names = (summaries.FILE, REPORT, READING)
    yield from (folder / name for name in names if (folder / name).exists())
    yield from (path for path in folder.glob("*") if is_draft(path))
    for name in _FOLDERS:
        if (folder / name).is_symlink() or (folder / name).is_file():
            yield folder / name
        else:
            yield from (path for path in (folder / name).rglob("*") if path.is_symlink() or not path.is_dir())


def _is_ours(path: Path, folder: Path) -> bool:
    """Whether a run wrote this into its folder, as its content tells."""
    if path.is_symlink() or not path.is_file():
        return False
    if is_draft(path) or path.name == locking.FILE or not path.stat().st_size:
        return True
    first, *rest = path.relative_to(folder).parts
    if first in MODEL_FOLDERS.values():
        return is_record(path) or (is_model(path.parent) and (_is_tensors(path) or path.name in _texts()))
    if first == CHECKPOINTS:
        return len(rest) == 2 and (path.name in (folders.IDENTITY, folders.HISTORY) or _is_checkpoint(path))
    if path.name == REPORT:
        return is_page(path)
    return is_summary(path) if path.name == summaries.FILE else _is_object(path)


def _is_tensors(path: Path) -> bool:
    with path.open("rb") as stream:
        return path.suffix == ".safetensors" and stream.read(9)[8:] == b"{"


def _is_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint; a damaged one beside the identity of its run still is."""
    with path.open("rb") as stream:
        archive = stream.read(2) == b"PK"
    return path.name in folders.CHECKPOINTS and (archive or _is_object(path.parent / folders.IDENTITY))


def _is_object(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_text(encoding="utf-8")), dict)
    except (OSError, ValueError, RecursionError):
        return False


def _texts() -> set[str]:
    """The text files of saved models of all kinds, those included whose code is not imported yet."""
    kinds: list[type[StoredRecord]] = [StoredRecord]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {*_TEXTS, *(name for kind in kinds for name in kind.text_files())}
