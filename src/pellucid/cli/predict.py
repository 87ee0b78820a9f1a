"""`pellucid predict`: what a model says of new data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli.options import OptionGroups, check_options, shared_options, with_options
from pellucid.cli.output import Folder, Which, has_viewer, warn
from pellucid.cli.outputs import Force
from pellucid.cli.parallel import ClusterAddress, Jobs, executor_for, refuse_division
from pellucid.cli.tables import TableFile, check_table, write_table
from pellucid.options import updated


def predict_command() -> Callable[..., None]:
    """The command, with the options of all domains."""
    return with_options(predict, shared_options(_GROUPS))


_GROUPS: OptionGroups = lambda domain: (domain.Reading, domain.Predicting)  # noqa: E731 - as short as its type


def predict(
    model: Folder,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A file or folder in the format of the training data.")],
    values: Any,
    out: TableFile = None,
    which: Which = None,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    force: Force = False,
) -> None:
    """Predict new data in the format of the training data, and write a table."""
    from pellucid import registry, runs
    from pellucid.paths import readable_again
    from pellucid.row_domains import RowDomain

    check_table(out, inputs=[data], force=force)
    domain, folder = registry.find_model(model, which)
    check_options(domain, values, _GROUPS)
    reading = runs.load_reading(domain, model, values)
    settings = updated(domain.Predicting(), values)
    told: dict[str, Any] = {"progress": has_viewer(), "warn": warn}
    if not isinstance(domain, RowDomain):
        refuse_division(jobs, cluster, domain.model_noun)
        with readable_again(data) as file:
            write_table(domain.predict(domain.load(folder), file, reading, settings, **told), out)
        return
    from pellucid import bulk

    with (
        executor_for(jobs, cluster, [out] if out else []) as executor,
        readable_again(data) as file,
        bulk.shards_beside(out) as shards,
    ):
        write_table(
            bulk.predictions(domain, folder, file, reading, settings, shards=shards, executor=executor, **told), out
        )
