"""Says that kernels are being compiled, which takes long the first time and is kept on the disk."""

from __future__ import annotations

from collections.abc import Callable
from threading import Timer
from typing import Any

from numba.core import event

# Seconds of one compilation after which something is said: those of small kernels are over by then.
_PATIENCE = 1.0
_listeners: list[_Listener] = []


class _Listener(event.Listener):
    """Kernels call others, which are compiled in between: only the outermost counts."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.depth = say, 0
        self.timer: Timer | None = None
        self.said = False

    def on_start(self, event: Any) -> None:
        """A kernel begins to be compiled."""
        if self.depth == 0 and not self.said:
            self.timer = Timer(_PATIENCE, self._speak)
            self.timer.daemon = True
            self.timer.start()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """A kernel has been compiled."""
        self.depth -= 1
        if self.depth == 0 and self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _speak(self) -> None:
        if not self.said:
            self.said = True
            self.say("Compiling kernels, once for this installation ...")


def announce(say: Callable[[str], None]) -> None:
    """Call `say` once, when a kernel takes more than a second to compile.

    Parameters
    ----------
    say : callable
        Takes a sentence.
    """
    if not _listeners:
        _listeners.append(_Listener(say))
        event.register("numba:compile", _listeners[0])  # type: ignore[no-untyped-call]
