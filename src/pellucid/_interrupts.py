"""Ctrl-C, where a compiled library has taken its signal away from Python."""

from __future__ import annotations

import signal
import threading


def restore_interrupts() -> None:
    """Let Ctrl-C interrupt the program again, as Python believes that it does.

    RDKit takes the signal in its longer searches (substructures, matched pairs) and does not give it back: from then
    on Ctrl-C does nothing, while `signal.getsignal` still names the handler of before.
    """
    if threading.current_thread() is threading.main_thread() and (handler := signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, handler)
