"""Options of commands that divide their work: among processes, or among the workers of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pellucid.errors import InputError, Parameter

if TYPE_CHECKING:
    from pellucid.sharding import Executor

Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Tables: divide the work among so many processes.", show_default="this one alone"
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS|local",
        help="Tables: divide the work among the workers of a Dask cluster, or of one on this machine.",
    ),
]


def executor_for(jobs: int | None, cluster: str | None, outputs: list[Path]) -> Executor:
    """Who does the work of a command.

    Parameters
    ----------
    jobs : int, optional
        The number of processes.
    cluster : str, optional
        The address of a cluster.
    outputs : list of Path
        What is written; shards lie beside it, where workers of other machines find them.
    """
    from pellucid.sharding import executor_of

    if cluster not in (None, "local") and not outputs:
        raise InputError(
            f"{Parameter('cluster')} needs a file to write, beside which its workers leave what they have done",
            got="none",
            cure=f"name one with {Parameter('out')}, on a disk that all machines share",
            parameter="cluster",
        )
    return executor_of(jobs, cluster)


def refuse_division(jobs: int | None, cluster: str | None, what: str) -> None:
    """Refuse options of division for what cannot be divided, which is named in `what`."""
    for name, value in (("jobs", jobs), ("cluster", cluster)):
        if value is not None:
            raise InputError(f"{Parameter(name)} is for tables of rows", got=what, cure="leave it out", parameter=name)
