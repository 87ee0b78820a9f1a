"""Ctrl-C after a library has taken its signal."""

import signal
import threading

import pytest

from pellucid._interrupts import restore_interrupts


def take_signal():
    from rdkit import Chem

    assert Chem.MolFromSmiles("c1ccccc1C").HasSubstructMatch(Chem.MolFromSmarts("c1ccccc1"))


def test_interrupts_work_again_after_a_search_of_rdkit():
    take_signal()
    restore_interrupts()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_the_user_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        take_signal()
        restore_interrupts()
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]


def test_other_threads_leave_the_signal_alone():
    errors = []

    def restore():
        try:
            restore_interrupts()
        except ValueError as error:
            errors.append(error)

    thread = threading.Thread(target=restore)
    thread.start()
    thread.join()
    assert not errors
