"""The command `pellucid`: parses, calls the library, prints. Each file of this folder holds the commands of one kind.

Heavy imports happen inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import typer

from pellucid.cli import data
from pellucid.errors import PellucidError

app = typer.Typer(
    name="pellucid",
    help="Neural predictors that agree, measurably, with a simple function around every data point.",
    no_args_is_help=True,
    rich_markup_mode=None,  # what users type and what their files hold is never markup
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"pellucid {version('pellucid')}")
        raise typer.Exit


@app.callback()
def _options(
    asked: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Neural predictors that agree, measurably, with a simple function around every data point."""


app.add_typer(data.app, name="data")


def main() -> None:
    """Run a command. Mistakes of the user end with one sentence on stderr and the exit code 1, wrong usage with 2."""
    try:
        app()
    except PellucidError as error:
        _leave(f"pellucid: {error}", 1)
    except KeyboardInterrupt as error:
        _leave(f"\npellucid: {error or 'Stopped.'}", 130)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read the output has seen enough
        raise SystemExit(141) from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        _leave(f"pellucid: The file or folder cannot be used: {error.strerror or error}{place}.", 1)


def _leave(message: str, code: int) -> None:
    sys.stdout.flush()
    print(message, file=sys.stderr)  # noqa: T201
    raise SystemExit(code)
