"""`pellucid encode`, `sample`, `near` and `optimize`: a latent space as a table, drawn from, and searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pellucid.capabilities import SupportsSearch
from pellucid.cli.options import check_options, shared_options, with_options
from pellucid.cli.output import Folder, Which, has_viewer, say, warn
from pellucid.cli.outputs import Force, check_outputs, is_stdout, output
from pellucid.cli.tables import TableFile, check_table, write_table
from pellucid.errors import InputError
from pellucid.numbers import counted
from pellucid.options import Options
from pellucid.registry import AnyDomain

_MOST = 1_000_000
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the random points.")]


def encode_command() -> Callable[..., None]:
    """`pellucid encode`, with the options of all domains that have a latent space."""
    return with_options(encode, shared_options(_settings))


def sample_command() -> Callable[..., None]:
    """`pellucid sample`."""
    return sample


def near_command() -> Callable[..., None]:
    """`pellucid near`."""
    return near


def optimize_command() -> Callable[..., None]:
    """`pellucid optimize`, with the options of all domains that have a latent space."""
    return with_options(optimize, shared_options(_settings))


def _settings(domain: AnyDomain) -> Sequence[type[Options]]:
    return (domain.Reading,) if isinstance(domain, SupportsSearch) else ()


def encode(
    model: Folder,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table in the format of the training data.")],
    values: Any,
    out: TableFile = None,
    which: Which = None,
    force: Force = False,
) -> None:
    """Write the latent coordinates of each row of a table behind its cells."""
    from pellucid import runs
    from pellucid.paths import readable_again

    check_table(out, inputs=[data], force=force)
    domain, loaded = _find(model, which)
    check_options(domain, values, _settings)
    reading = runs.load_reading(domain, model, values)
    with readable_again(data) as file:
        write_table(domain.predict(loaded, file, reading, domain.Predicting(), progress=has_viewer(), warn=warn), out)


def sample(
    model: Folder,
    count: Annotated[int, typer.Option(metavar="N", min=1, max=_MOST, help="Items to draw.")] = 100,
    prior: Annotated[
        Literal["standard", "fitted"],
        typer.Option(help="Where points are drawn: from N(0, I), or where those of training items are."),
    ] = "standard",
    seed: Seed = 0,
    out: TableFile = None,
    which: Which = None,
    force: Force = False,
) -> None:
    """Draw items from random points of the latent space."""
    from pellucid import _checks

    check_table(out, inputs=[], force=force)
    _checks.seed(seed)
    domain, loaded = _find(model, which)
    write_table(domain.sample(loaded, count, prior=prior, seed=seed, warn=warn), out)


def near(
    model: Folder,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="One item, such as a SMILES.")],
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Points to draw; several may be the same item.")] = 50,
    spread: Annotated[float, typer.Option(metavar="NUMBER", min=0, help="How far to go: 1 is the posterior.")] = 1.0,
    seed: Seed = 0,
    out: TableFile = None,
    which: Which = None,
    force: Force = False,
) -> None:
    """List different items near one in the latent space, the nearest points first."""
    from pellucid import _checks

    check_table(out, inputs=[], force=force)
    _checks.seed(seed)
    domain, loaded = _find(model, which)
    write_table(domain.near(loaded, item, count, spread=spread, seed=seed, warn=warn), out)


def optimize(
    model: Folder,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A table of items and their measured values.")],
    values: Any,
    target: Annotated[str, typer.Option(metavar="NAME", help="The column of the property.")],
    start: Annotated[
        str | None, typer.Option(metavar="ITEM", help="Where to start.", show_default="the best of the table")
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="The most rounds of the search.")] = 20,
    least_similarity: Annotated[
        float, typer.Option(metavar="NUMBER", min=0, max=1, help="The least similarity to the first item.")
    ] = 0.0,
    lower: Annotated[bool, typer.Option("--lower", help="Search for lower values.")] = False,
    seed: Seed = 0,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="x.csv|parquet|html", show_default="the terminal",
            help="Write the steps as a table, or their explanations as a page; repeat for both.",
        ),
    ] = None,
    which: Which = None,
    force: Force = False,
) -> None:  # fmt: skip
    """Learn a property from a table, and search the latent space for items with more of it."""
    from pellucid import _checks, runs
    from pellucid.paths import readable_again

    paths = out or []
    for path in paths:
        if _is_page(path):
            check_outputs([path], inputs=[data], force=force)
        else:
            check_table(path, inputs=[data], force=force, pages=True)
    _checks.seed(seed)
    domain, loaded = _find(model, which)
    check_options(domain, values, _settings)
    reading = runs.load_reading(domain, model, values)
    with readable_again(data) as file:
        search = domain.optimize(
            loaded, file, reading, target=target, start=start, steps=steps, least_similarity=least_similarity,
            lower=lower, seed=seed, warn=warn,
        )  # fmt: skip
    # What else is said must not come between the rows of a table that goes into a pipe.
    apart = any(map(is_stdout, paths))
    for path in paths:
        if _is_page(path):
            with output(path) as draft:
                domain.write_search(search, draft, title=f"{target}, {counted(len(search), domain.item)}")
            say(f"written: {path}", apart=apart)
        else:
            write_table(search.rows(), path, apart=apart)
    ends = {"first": 0, **({"last": -1} if len(search) > 1 else {})}
    around = [f"around the {place}:\n{search.explain(step).text()}" for place, step in ends.items()]
    say("\n\n".join([str(search), search.reasons(), *around]), apart=apart)


def _is_page(path: Path) -> bool:
    return path.suffix.lower() == ".html"


def _find(model: Path, which: str | None) -> tuple[Any, Any]:
    """The domain of a model, and the model."""
    from pellucid import registry

    domain, folder = registry.find_model(model, which)
    if not isinstance(domain, SupportsSearch):
        capable = [name for name, other in registry.domains().items() if isinstance(other, SupportsSearch)]
        raise InputError(
            f"MODEL must be a model with a latent space: {' or '.join(capable)}",
            got=f"{model}, {domain.model_noun}",
            cure=f"train one with pellucid train {capable[0]}",
        )
    return domain, domain.load(folder)
