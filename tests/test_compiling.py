"""What is said while kernels are compiled."""

import time
from types import SimpleNamespace

from pellucid import _compiling


def test_a_long_compilation_is_announced_once(monkeypatch):
    monkeypatch.setattr(_compiling, "_PATIENCE", 0.02)
    said = []
    listener = _compiling._Listener(said.append)
    event = SimpleNamespace()
    for inner in (0, 3, 1):
        listener.on_start(event)
        for _ in range(inner):  # kernels that are called
            listener.on_start(event)
            listener.on_end(event)
        assert wait_for(lambda: said)
        listener.on_end(event)
        assert listener.timer is None
    assert said == ["Compiling kernels, once for this installation ..."]


def test_of_short_ones_nothing_is_said():
    said = []
    listener = _compiling._Listener(said.append)
    for _ in range(3):
        listener.on_start(SimpleNamespace())
        listener.on_end(SimpleNamespace())
    assert not said
    assert listener.timer is None


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()
