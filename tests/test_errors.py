"""Errors: one root, messages for every reader, and warnings that point to the line of the caller."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import pellucid
from pellucid.errors import InputError, Parameter, PellucidError, PellucidWarning, quietly, warn_once, written_as


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({}, "It must hold."),
        ({"got": "0"}, "It must hold. Got 0."),
        ({"cure": "try 1"}, "It must hold; try 1."),
        ({"got": "0", "cure": "did you mean 1?"}, "It must hold. Got 0; did you mean 1?"),
    ],
)
def test_a_message_says_what_must_hold_what_came_and_what_to_do(parts, text):
    assert str(InputError("It must hold", **parts)) == text


def test_every_error_has_the_root_and_a_class_of_python():
    errors = [getattr(pellucid, name) for name in pellucid.__all__ if name.endswith("Error")]
    assert {error.__name__ for error in errors} >= {"ConvergenceError", "InputError", "PellucidError"}
    assert all(issubclass(error, PellucidError) for error in errors)
    assert issubclass(InputError, ValueError)


def test_an_error_comes_whole_out_of_another_process():
    error = InputError("It must hold", got="0", cure="try 1", parameter="epochs")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.parameter) == (str(error), "epochs")


def test_parameters_are_written_for_their_reader():
    hidden, seen = Parameter("cache", of="Model"), Parameter("resume", True)
    assert f"{hidden} and {seen}" == "`cache` of Model and `resume=True`"
    with written_as(lambda parameter: None if parameter.name == "cache" else f"--{parameter.name}"):
        assert (f"{seen}", seen.settable) == ("--resume", True)
        assert (f"{hidden}", hidden.settable) == ("`cache` of Model", False)
        # Other threads write for other readers.
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(str, seen).result() == "`resume=True`"
    assert seen.settable
    assert str(seen) == "`resume=True`"


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


def test_a_warning_is_given_once_for_each_line_and_subject():
    def call(subject):
        warn_once(f"number {next(numbers)}", subject)

    numbers = iter(range(10))
    caught = warned(lambda: [call("a") for _ in range(3)] + [call("b")])
    assert [str(one.message) for one in caught] == ["number 0", "number 3"]
    assert {one.category for one in caught} == {PellucidWarning}
    assert {one.filename for one in caught} == {__file__}


def test_what_was_said_is_not_said_again_by_fits_that_only_judge():
    def call():
        warn_once("loud", "subject of this test")

    with quietly():
        assert warned(call) == []
    assert len(warned(call)) == 1
