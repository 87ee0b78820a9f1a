"""Commands as a person would type them."""

import sys

import pytest
from typer.testing import CliRunner

from pellucid.cli import command_line, main

SMALL = ["--epochs", "2", "--width", "8", "--quiet"]
# The target of the molecules; making analogs of them would be most of the work.
ACTIVITY = ["-t", "activity", "--analogs", "no"]


def run(*words, code=0):
    """Run a command, and expect its exit code."""
    result = CliRunner().invoke(command_line(), [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    # An error that nobody catches has the exit code 1, too.
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result


def exit_code(monkeypatch, *words):
    """The exit code that the shell would get: errors that are not caught become tracebacks here too."""
    monkeypatch.setattr(sys, "argv", ["pellucid", *(str(word) for word in words)])
    with pytest.raises(SystemExit) as exited:
        main()
    return exited.value.code
