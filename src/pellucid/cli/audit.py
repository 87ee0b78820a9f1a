"""`pellucid audit`: audit any model from its predictions and features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.output import has_viewer, say, warn
from pellucid.cli.outputs import Force, check_outputs, output
from pellucid.cli.parallel import ClusterAddress, Jobs, executor_for
from pellucid.errors import InputError
from pellucid.options import names_in

if TYPE_CHECKING:
    from pellucid.auditing.tables import TableAudit
    from pellucid.sharding import Executor

_SUFFIXES = (".html", ".json", ".csv", ".parquet")
_SETTINGS = ("family", "ridge", "depth", "threshold", "level")


class Family(StrEnum):
    """Family of witnesses."""

    LINEAR = "linear"
    TREE = "tree"
    CONSTANT = "constant"
    AUTO = "auto"


class Blanks(StrEnum):
    """What is done with rows that have some."""

    FILL = "fill"
    DROP = "drop"


def audit(
    table: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS.csv", help="A table of predictions and features, with names.")
    ],
    prediction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Predictions; repeat for several, or separate by commas.",
            show_default="found by their names",
        ),
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What the model read, and witnesses read; repeat, or separate by commas.",
            show_default="other columns of numbers or categories that are no outcome",
        ),
    ] = None,
    truth: Annotated[str | None, typer.Option(metavar="COLUMN", help="Measured values, to report the error.")] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows with the same value here are a neighborhood.")
    ] = None,
    smiles: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Molecules, whose substructures the witnesses read.",
            show_default="found by its name, if there are no other features",
        ),
    ] = None,
    family: Annotated[
        Family | None,
        typer.Option(
            metavar="|".join(Family),
            help="Family of witnesses; auto takes the one that holds best where it was not fitted.",
            show_default="linear; tree for molecules",
        ),
    ] = None,
    ridge: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Ridge of linear witnesses, in standardized features.",
            show_default="chosen by leave-one-out; none for molecules",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Depth of the trees.",
            show_default="the deepest that the number of members supports",
        ),
    ] = None,
    neighbors: Annotated[
        int | None,
        typer.Option(metavar="N", min=3, help="Members of a neighborhood.", show_default="chosen by leave-one-out"),
    ] = None,
    blanks: Annotated[
        Blanks,
        typer.Option(
            metavar="|".join(Blanks),
            help="Blank features: fill in the median (a category has a level for them), or drop such rows.",
        ),
    ] = Blanks.FILL,
    threshold: Annotated[
        float, typer.Option(metavar="NUMBER", help="Molecules: members are more similar to the center than this.")
    ] = 0.6,
    level: Annotated[float, typer.Option(metavar="NUMBER", help="The confidence of the bounds.")] = 0.9,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Also a report (.html), or every row (.json, .csv, .parquet); may be repeated.",
        ),
    ] = None,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    force: Force = False,
) -> None:
    """Audit any model from its predictions and features.

    Around every row a simple function, its witness, is fitted to the predictions; the audit tells how well they match.
    """
    wrong = [path.name for path in out or [] if path.suffix.lower() not in _SUFFIXES]
    if wrong:
        raise typer.BadParameter(f"must end in {', '.join(_SUFFIXES)}. Got {wrong[0]}.", param_hint="--out")

    check_outputs(out or [], inputs=[table], force=force)
    from pellucid._compiling import announce
    from pellucid.auditing.reading import read_predictions, require_room
    from pellucid.auditing.tables import audit_predictions
    from pellucid.paths import kind_of, readable_again
    from pellucid.registry import structure_features
    from pellucid.tables import is_long, read_table

    def reading(cells: Any) -> Any:
        return read_predictions(
            cells,
            prediction=names_in(prediction, "prediction", cells.header) or (),
            features=names_in(features, "features", cells.header) or (),
            truth=truth,
            groups=groups,
            smiles=smiles,
            blanks=blanks.value,
            structures=structure_features,
        )

    settings: dict[str, Any] = {
        "family": None if family is None else family.value,
        "neighbors": neighbors,
        "ridge": ridge,
        "depth": depth,
        "threshold": threshold,
        "level": level,
    }
    announce(warn)
    executor = executor_for(jobs, cluster, out or [])
    with readable_again(table) as file:
        if kind_of(file) == "file" and is_long(file):
            with _settings_named():
                _audit_long(file, reading, settings, out or [], executor)
            return
        require_room(file)
        cells = read_table(file)
    predictions = reading(cells)
    with _settings_named():
        result = audit_predictions(predictions, **settings)
    _write(result, out or [])


def _audit_long(
    file: Path, reading: Callable[[Any], Any], settings: dict[str, Any], out: list[Path], executor: Executor
) -> None:
    """Audit a table with more rows than are read into memory, in shards."""
    from pellucid.bulk import shards_beside
    from pellucid.bulk.audits import audit_long_table, forget

    kinds = sorted({path.suffix.lower() for path in out} - {".html"})
    told: dict[str, Any] = {"progress": has_viewer(), "warn": warn}
    with shards_beside(out[0] if out else None) as shards, executor:
        try:
            _write(
                audit_long_table(file, reading, kinds=kinds, shards=shards, executor=executor, **told, **settings), out
            )
        finally:
            forget(shards)


def _write(result: TableAudit, out: list[Path]) -> None:
    for path in out:  # before printing, which stops when the reader of a pipe does
        with output(path) as draft:
            result.write(draft)
    say(result.text())
    if out:
        say("\n" + "\n".join(f"written: {path}" for path in out))


@contextmanager
def _settings_named() -> Iterator[None]:
    """Options that do not go together are a mistake of usage."""
    try:
        yield
    except InputError as error:
        if error.parameter in _SETTINGS:
            raise typer.BadParameter(str(error)) from error
        raise
