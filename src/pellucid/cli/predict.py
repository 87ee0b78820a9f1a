"""`pellucid predict`: what a model says of new data."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.options import OptionGroups, check_options, shared_options, with_options
from pellucid.cli.output import Folder, Which, has_viewer, say, warn
from pellucid.cli.outputs import Force, check_outputs, output
from pellucid.options import updated
from pellucid.text_tables import printable
from pellucid.writing import write_rows


def predict_command() -> Callable[..., None]:
    """The command, with the options of all domains."""
    return with_options(predict, shared_options(_GROUPS))


_GROUPS: OptionGroups = lambda domain: (domain.Reading, domain.Predicting)  # noqa: E731 - as short as its type


def predict(
    model: Folder,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file or folder in the format of the training data.")],
    values: Any,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="A CSV file.", show_default="the terminal")
    ] = None,
    which: Which = None,
    force: Force = False,
) -> None:
    """Predict new data in the format of the training data, and write a CSV file."""
    from pellucid import registry, runs
    from pellucid.paths import readable_again

    if out is not None:
        check_outputs([out], inputs=[data], force=force)
    domain, folder = registry.find_model(model, which)
    check_options(domain, values, _GROUPS)
    reading = runs.load_reading(domain, model, values)
    settings = updated(domain.Predicting(), values)
    loaded = domain.load(folder)
    with readable_again(data) as file:
        rows = list(domain.predict(loaded, file, reading, settings, progress=has_viewer(), warn=warn))
    if out is None:
        if sys.stdout.isatty():  # files and programs get every character as it is
            rows = [[printable(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
        return
    with output(out) as draft:
        write_rows(draft, rows)
    say(f"written: {out}")
