"""The command `pellucid`: parses, calls the library, prints. Each module holds one command.

Heavy imports happen inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from pellucid.cli import audit, compare, data, demo, explain, predict, report, score, train
from pellucid.cli.options import Command
from pellucid.cli.output import KEPT
from pellucid.errors import PellucidError
from pellucid.text_tables import printable

_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """Mistakes of the user end with one sentence on stderr and the exit code 1, wrong usage with 2, Ctrl-C with 130."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PellucidError as error:
            _exit(str(error), 1)
        except KeyboardInterrupt as error:
            typer.echo(err=True)  # the terminal shows ^C on the line
            _exit(str(error) or "Stopped.", 130)
        except _UsageError as error:
            error.message = printable(error.message, keep=KEPT)
            raise
        except BrokenPipeError:
            raise  # the reader of a pipe closed it
        except OSError as error:
            name = f" ({error.filename})" if error.filename else ""
            _exit(f"The file or folder cannot be used: {error.strerror or error}{name}.", 1)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in _EXTRAS:
                raise
            extra = _EXTRAS[error.name.partition(".")[0]]
            _exit(f"This needs {error.name}, which is not installed; pip install 'pellucid[{extra}]'.", 1)


# What comes with which extra of the package.
_EXTRAS = {"rdkit": "molecules", "joblib": "molecules", "matplotlib": "plot"}


def _exit(message: str, code: int) -> NoReturn:
    sys.stdout.flush()
    typer.echo(f"pellucid: {printable(message, keep=KEPT)}", err=True)
    raise typer.Exit(code)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"pellucid {version('pellucid')}")
        raise typer.Exit


def _options(
    asked: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Neural predictors that agree, measurably, with a simple function around every data point."""


def command_line() -> typer.Typer:
    """All commands, with the options of the domains that are registered now."""
    app = typer.Typer(
        name="pellucid",
        cls=_Commands,
        help="Neural predictors that agree, measurably, with a simple function around every data point.",
        no_args_is_help=True,
        rich_markup_mode=None,  # help in plain text, errors in one line
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    app.command(cls=Command)(demo.demo_command())
    app.add_typer(train.train_app(), name="train")
    commands: list[Callable[..., None]] = [
        predict.predict_command(),
        explain.explain_command(),
        score.score_command(),
        compare.compare_command(),
        report.report,
        audit.audit,
    ]
    for command in commands:
        app.command(cls=Command)(command)
    app.add_typer(data.app, name="data")
    return app


def main() -> None:
    """Run a command."""
    # What imports create is never freed; collecting garbage less often saves a tenth of the time of a short command.
    gc.set_threshold(100_000)
    command_line()()
