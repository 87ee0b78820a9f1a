"""The exceptions of Pellucid: one root, so that `except PellucidError` catches them all; and its warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, final


class PellucidError(Exception):
    """Root of every error that Pellucid raises on purpose."""


class InputError(PellucidError, ValueError):
    """An argument is not what it must be.

    Parameters
    ----------
    must : str
        What must hold, a sentence without its full stop.
    got : str, optional
        What came instead.
    cure : str, optional
        What to do about it.
    parameter : str, optional
        The name of the parameter to change, where it is one.

    Examples
    --------
    >>> str(InputError(f"{Parameter('epochs')} must be at least 1", got="0", cure="try 20", parameter="epochs"))
    '`epochs` must be at least 1. Got 0; try 20.'
    """

    def __init__(
        self, must: str, *, got: str | None = None, cure: str | None = None, parameter: str | None = None
    ) -> None:
        super().__init__(must, got, cure, parameter)
        self.must, self.got, self.cure, self.parameter = must, got, cure, parameter

    def __str__(self) -> str:
        came = "" if self.got is None else f". Got {self.got}"
        text = f"{self.must}{came}{'' if self.cure is None else f'; {self.cure}'}"
        return text if text.endswith("?") else f"{text}."

    def __reduce__(self) -> tuple[Any, ...]:
        """As Python pickles exceptions, between processes: with the arguments by name."""
        return _input_error, self.args


def _input_error(must: str, got: str | None, cure: str | None, parameter: str | None) -> InputError:
    return InputError(must, got=got, cure=cure, parameter=parameter)


@final
@dataclass(frozen=True)
class Parameter:
    """A parameter that a message mentions, written for its reader: as in Python by default.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object, optional
        The value to set it to.
    of : str, optional
        The class that it belongs to.

    Examples
    --------
    >>> f"{Parameter('level')}, {Parameter('level'):=}, {Parameter('resume', True)}, {Parameter('width', of='Network')}"
    '`level`, `level=`, `resume=True`, `width` of Network'
    >>> with written_as(lambda parameter: f"--{parameter.name}"):
    ...     f"set {Parameter('level'):=}"
    'set --level'
    """

    name: str
    value: Any = ...
    of: str | None = None

    @property
    def settable(self) -> bool:
        """Whether the reader can set it."""
        writer = _writer.get()
        return writer is None or writer(self) is not None

    def __format__(self, spec: str) -> str:
        writer = _writer.get()
        written = None if writer is None else writer(self)
        if written is not None:
            return written
        value = spec if self.value is ... else f"={self.value!r}"
        return f"`{self.name}{value}`" + (f" of {self.of}" if self.of else "")

    def __str__(self) -> str:
        return format(self)


_writer: ContextVar[Callable[[Parameter], str | None] | None] = ContextVar("_writer", default=None)


@contextmanager
def written_as(writer: Callable[[Parameter], str | None]) -> Iterator[None]:
    """Write parameters in messages as `writer` does, such as options of a command.

    `writer` returns None for parameters that the reader cannot set.
    """
    token = _writer.set(writer)
    try:
        yield
    finally:
        _writer.reset(token)


class ConvergenceError(PellucidError, RuntimeError):
    """An iterative solver stopped before it reached its stated accuracy."""


class PellucidWarning(UserWarning):
    """Something is allowed but hardly meant; the message says what, and the cure.

    `warnings.simplefilter("ignore", pellucid.PellucidWarning)` silences them all.
    """


# Users cannot change lines of this library, so warnings point to the lines that called it.
_INSIDE = str(Path(__file__).parent)
_warned: set[tuple[str, int, str]] = set()
_silent = ContextVar("_silent", default=False)


def warn_once(message: str, subject: str) -> None:
    """Warn at the line outside the library that led here, once for each line and subject.

    Python itself remembers messages: a training loop whose numbers change from step to step would be flooded.
    """
    if _silent.get():
        return
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    line = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    if (*line, subject) not in _warned:
        warnings.warn(message, PellucidWarning, stacklevel=level)
        _warned.add((*line, subject))  # not reached where warnings are errors: the next one is an error again


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress `warn_once`, for fits that only judge others about which the same warning was given."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _is_inside(frame: FrameType) -> bool:
    """Whether the frame is one of this library, or of what calls it in between: torch, for games that are modules, and
    functools, for properties that are computed once.
    """
    module = frame.f_globals.get("__name__", "")
    return frame.f_code.co_filename.startswith(_INSIDE) or module == "functools" or module.startswith("torch.")
