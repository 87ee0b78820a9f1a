"""The exceptions of Pellucid: one root, so that `except PellucidError` catches them all; and its warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType


class PellucidError(Exception):
    """Root of every error that Pellucid raises on purpose."""


class InputError(PellucidError, ValueError):
    """An argument is not what it must be; the message says what must hold, what came and the cure."""


class ConvergenceError(PellucidError, RuntimeError):
    """An iterative solver stopped before it reached its stated accuracy."""


class PellucidWarning(UserWarning):
    """Something is allowed but hardly meant; the message says what, and the cure.

    `warnings.simplefilter("ignore", pellucid.PellucidWarning)` silences them all.
    """


# Lines here are not for the user to change, so warnings point to those that called them.
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
    place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    if (*place, subject) not in _warned:
        warnings.warn(message, PellucidWarning, stacklevel=level)
        _warned.add((*place, subject))  # not reached where warnings are errors: the next one is an error again


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings: for fits that are made only to judge others, of which the same has been said."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _is_inside(frame: FrameType) -> bool:
    """Of this library, or of torch, which calls it where a game is a module."""
    return frame.f_code.co_filename.startswith(_INSIDE) or frame.f_globals.get("__name__", "").startswith("torch.")
