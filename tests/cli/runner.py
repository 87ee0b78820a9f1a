"""Commands as a person would type them."""

from typer.testing import CliRunner

from pellucid.cli import command_line


def run(*words, code=0):
    """Run a command, and expect its exit code."""
    result = CliRunner().invoke(command_line(), [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result
