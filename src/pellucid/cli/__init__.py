"""The command `pellucid`: parses, calls the library, prints. Each module holds one command.

Heavy imports happen inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import errno
import gc
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from pellucid.cli import audit, compare, data, demo, explain, latent, predict, report, score, train
from pellucid.cli.options import Command
from pellucid.cli.output import KEPT, warn
from pellucid.errors import PellucidError, PellucidWarning
from pellucid.text_tables import printable

_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """Mistakes of the user end with one sentence on stderr and the exit code 1, wrong usage with 2, Ctrl-C with 130."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of help: typer would put groups last."""
        return [name for name in _SHORT if name in self.commands]

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
            if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                _exit(
                    f"There must be room on the disk: {error.strerror}. Free some; if compiled code is what has no "
                    "room, have NUMBA_CACHE_DIR name a folder on another disk.",
                    1,
                )
            name = f" ({error.filename})" if error.filename else ""
            _exit(f"The file or folder cannot be used: {error.strerror or error}{name}.", 1)
        except ModuleNotFoundError as error:
            extra = _extra_of((error.name or "").partition(".")[0])
            if extra is None:
                raise
            _exit(f"This needs {error.name}, which is not installed; pip install 'pellucid[{extra}]'.", 1)


# Modules that are not called as their package.
_PACKAGE_OF = {"sklearn": "scikit-learn"}


def _extra_of(module: str) -> str | None:
    """The extra of Pellucid that a module comes with, as the package declares it."""
    import re
    from importlib.metadata import requires

    package = re.escape(_PACKAGE_OF.get(module, module))
    for requirement in requires("pellucid") or ():
        declared = re.match(rf"{package}\b[^;]*;.*extra == ['\"]([\w-]+)['\"]", requirement)
        if module and declared:
            return declared[1]
    return None


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
    commands: dict[str, Callable[..., None]] = {
        "demo": demo.demo_command(),
        "predict": predict.predict_command(),
        "explain": explain.explain_command(),
        "compare": compare.compare_command(),
        "report": report.report,
        "encode": latent.encode_command(),
        "sample": latent.sample_command(),
        "near": latent.near_command(),
        "optimize": latent.optimize_command(),
        "score": score.score_command(),
        "audit": audit.audit,
    }
    for name, command in commands.items():
        app.command(name, cls=Command, short_help=_SHORT[name])(command)
    app.add_typer(train.train_app(), name="train", short_help=_SHORT["train"])
    app.add_typer(data.app, name="data", short_help=_SHORT["data"])
    return app


# One line of `pellucid --help` each, in the order in which one needs them; a terminal of 80 columns has room for 60.
_SHORT = {
    "demo": "Train on data that come with Pellucid; write a report.",
    "train": "Train with and without a game, and write a report.",
    "predict": "Predict new data, and write a CSV file.",
    "explain": "Explain predictions, and how far to trust them.",
    "compare": "Compare two runs in accuracy, transparency and trust.",
    "report": "Write the report of a finished run once more.",
    "encode": "Write points of a latent space as a table.",
    "sample": "Draw items from a latent space.",
    "near": "List items near one in a latent space.",
    "optimize": "Search a latent space for more of a property.",
    "score": "Follow a machine over time: does a fault show?",
    "audit": "Audit any model from its predictions and features.",
    "data": "List data sets and download them.",
}


def main() -> None:
    """Run a command."""
    # What imports create is never freed; collecting garbage less often saves a tenth of the time of a short command.
    gc.set_threshold(100_000)
    warnings.showwarning = _show_warning
    command_line()()


def _show_warning(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
    """Warnings of Pellucid as one sentence: the line of Python that they come from says nothing to users of a shell."""
    if issubclass(category, PellucidWarning):
        warn(f"{str(message).rstrip('.')}.")
    else:
        _python_shows(message, category, *place, **options)


_python_shows = warnings.showwarning
