"""Where commands write: never over what they read or into a run, and over files of ours only where a user asks."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.authorship import CREATOR, is_model, same_kind
from pellucid.errors import InputError, Parameter
from pellucid.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Force = Annotated[bool, typer.Option("--force", help="Replace files that Pellucid wrote.")]


def check_outputs(paths: Sequence[Path], *, inputs: Sequence[Path], force: bool) -> None:
    """Refuse files that are read or are part of a run or model, and those that exist, unless replacing is asked for.

    Parameters
    ----------
    paths : sequence of Path
        The files to write.
    inputs : sequence of Path
        The files and folders to read; what does not exist is none.
    force : bool
        Whether files may be replaced; that these are ours is known when there is something to compare them with.
    """
    for path in paths:
        _check_place(path, inputs)
        if _holds_something(path) and not force:
            raise InputError(
                "What is written must be a new file",
                got=f"{path}, which exists",
                cure=f"replace it with {Parameter('force', True)}, or choose another name",
                parameter="out",
            )


def _check_place(path: Path, inputs: Sequence[Path]) -> None:
    from pellucid.runs import is_run

    if path.is_dir():
        raise InputError(
            "What is written must be a file", got=f"the folder {path}", cure="add a name to it", parameter="out"
        )
    if not path.parent.is_dir():
        raise InputError(
            "The folder of what is written must exist", got=f"{path.parent}", cure="create it first", parameter="out"
        )
    for source in inputs:
        if _is_part(path, source):
            raise InputError(
                "What is written must be another file than what is read",
                got=f"{path}",
                cure="choose another name",
                parameter="out",
            )
    for folder in path.resolve().parents:
        if is_model(folder) or is_run(folder):
            raise InputError(
                "The folder of a run or model holds nothing else",
                got=f"{path}",
                cure="choose another folder",
                parameter="out",
            )


def _is_part(path: Path, source: Path) -> bool:
    """Whether a file is one that is read, by whatever name."""
    try:
        if not path.is_file() or not source.exists():
            return False
        return path.samefile(source) or (source.is_dir() and path.resolve().parent.samefile(source))
    except OSError:  # a text that is too long for a path
        return False


def _holds_something(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def is_stdout(path: Path) -> bool:
    """Whether what is written to a path comes where `say` prints: /dev/stdout is such a path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except OSError:  # there is no such file, or no descriptor
        return False


@contextmanager
def output(path: Path) -> Iterator[Path]:
    """A draft to be written, which takes the place of a file that does not exist, or is of the same kind.

    Parameters
    ----------
    path : Path
        A file that `check_outputs` has let pass.
    """
    with replacing(path) as draft:
        yield draft
        if _holds_something(path) and not same_kind(path, draft):
            raise InputError(
                "Only what Pellucid wrote is replaced",
                got=f"{path}, which is something else",
                cure=f"delete it (rm {quoted(path)}), or choose another name",
                parameter="out",
            )


def save_figure(figure: Figure, path: Path, **settings: object) -> None:
    """Write a picture that says that it is ours."""
    key = "Creator" if path.suffix.lower() == ".svg" else "Software"
    figure.savefig(path, metadata={key: CREATOR}, **settings)  # type: ignore[arg-type]


def quoted(path: str | Path) -> str:
    """A path as a shell takes it, also one that begins with a dash."""
    text = os.fspath(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
