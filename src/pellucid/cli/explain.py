"""`pellucid explain`: why a model says what it says, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.options import OptionGroups, check_options, shared_options, with_options
from pellucid.cli.output import Folder, Which, has_viewer, say, warn
from pellucid.cli.outputs import Force, check_outputs, output, save_figure
from pellucid.cli.parallel import ClusterAddress, Jobs, executor_for, refuse_division
from pellucid.domains import ExplanationSet
from pellucid.errors import InputError, Parameter
from pellucid.explanations import Explanation
from pellucid.numbers import counted, listed
from pellucid.options import updated
from pellucid.registry import AnyDomain
from pellucid.row_domains import RowDomain
from pellucid.writing import json_list, write_pieces, write_rows, write_text

if TYPE_CHECKING:
    from pellucid.bulk import BulkExplanations
    from pellucid.sharding import Executor

FORMATS = (".html", ".svg", ".png", ".json", ".csv", ".parquet")
_TABLES = (".csv", ".parquet")
_PICTURES = (".svg", ".png")
# Outputs that a message lists, and items that cannot be explained.
_LISTED = 20
_GROUPS: OptionGroups = lambda domain: (domain.Reading, domain.Explaining)  # noqa: E731 - as short as its type


def explain_command() -> Callable[..., None]:
    """The command, with the options of all domains."""
    return with_options(explain, shared_options(_GROUPS))


def explain(
    model: Folder,
    what: Annotated[
        str,
        typer.Argument(
            metavar="ITEM|FILE|FOLDER",
            help="One item, such as a SMILES, or a file or folder in the format of the training data.",
        ),
    ],
    values: Any,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="x.html|svg|png|json|csv|parquet", help="Write it; repeat for several files.",
            show_default="the terminal",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "--channel", metavar="NAME", help="Show this output alone.", show_default="the main ones"
        ),
    ] = None,
    level: Annotated[float, typer.Option(metavar="NUMBER", help="The confidence of the bound.")] = 0.9,
    which: Which = None,
    jobs: Jobs = None,
    cluster: ClusterAddress = None,
    force: Force = False,
) -> None:  # fmt: skip
    """Explain a prediction by its witness: what the model follows here, and how far that can be trusted."""
    paths = out or []
    wrong = [path for path in paths if path.suffix.lower() not in FORMATS]
    if wrong:
        raise typer.BadParameter(f"must end in one of {', '.join(FORMATS)}, not {wrong[0].name!r}.", param_hint="--out")
    from pellucid import registry, runs
    from pellucid._compiling import announce
    from pellucid.paths import kind_of, readable_again
    from pellucid.trust import check_level

    announce(warn)
    check_level(level)
    check_outputs(paths, inputs=[Path(what)], force=force)
    domain, folder = registry.find_model(model, which)
    check_options(domain, values, _GROUPS)
    reading = runs.load_reading(domain, model, values)
    settings = updated(domain.Explaining(), values)
    with readable_again(what) as file:
        if isinstance(domain, RowDomain) and kind_of(file) == "file":
            call = {"reading": reading, "settings": settings, "level": level}
            if _explain_long_table(domain, folder, file, call, paths, executor_for(jobs, cluster, paths), target):
                return
        else:
            refuse_division(jobs, cluster, what if isinstance(domain, RowDomain) else domain.model_noun)
        loaded = domain.load(folder)
        _check_target(target, domain, loaded)
        item = what if kind_of(what) is None else str(file)
        explained = domain.explain(loaded, item, reading, settings, level=level, progress=has_viewer(), warn=warn)
    many = len(explained.explanations) > 1
    pictures = [path for path in paths if path.suffix.lower() in _PICTURES]
    if many and pictures:  # before anything is written
        raise InputError(
            f"A {pictures[0].suffix} file holds one explanation",
            got=counted(len(explained.explanations), domain.item),
            cure="write .html, .json or .csv, or explain one of them",
        )
    if not paths:
        say(_text(domain, explained, target))
    for path in paths:
        with output(path) as draft:
            if many:
                _write_many(domain, explained, draft, name=path.name, title=Path(what).name)
            else:
                _write_one(*next(iter(explained.explanations.items())), draft, target)
        say(f"written: {path}")
    if explained.rejected:
        count = len(explained.rejected) + len(explained.explanations)
        skipped = f"{len(explained.rejected)} of {counted(count, domain.item)}"
        warn(f"{skipped} {'is' if len(explained.rejected) == 1 else 'are'} skipped:")
    for label, reason in list(explained.rejected.items())[:_LISTED]:
        warn(f"{label}: {reason}")
    if len(explained.rejected) > _LISTED:
        warn(f"and {len(explained.rejected) - _LISTED:,} more")


def _explain_long_table(
    domain: RowDomain[Any, Any],
    model: Path,
    file: Path,
    call: Mapping[str, Any],
    paths: list[Path],
    executor: Executor,
    target: str | None,
) -> bool:
    """Explain a table with more rows than fit into memory or onto a page, in shards; False if there are fewer."""
    from pellucid import bulk

    suffixes = {path.suffix.lower() for path in paths}
    kinds = [*([".csv"] if suffixes & {*_TABLES} else []), *([".json"] if ".json" in suffixes else [])]
    with bulk.shards_beside(paths[0] if paths else None) as shards:
        explained = bulk.BulkExplanations.of(domain, model, file, **call, kinds=kinds, shards=shards)
        if explained is None:
            return False
        pictures = [path for path in paths if path.suffix.lower() in _PICTURES]
        if pictures or target is not None:
            raise InputError(
                f"{f'A {pictures[0].suffix} file' if pictures else Parameter('target')} is for one explanation",
                got=counted(explained.ranges.count, domain.item),
                cure="write .html, .json or .csv, or explain one of them",
            )
        with executor:
            explained.make(executor, progress=has_viewer(), warn=warn)
        say(explained.text())
        for path in paths:
            with output(path) as draft:
                _write_long(explained, draft, name=path.name, title=file.name)
            say(f"written: {path}")
    return True


def _write_long(explained: BulkExplanations, path: Path, *, name: str, title: str) -> None:
    kind = path.suffix.lower()
    if kind in _TABLES:
        _write_table(path, explained.rows())
    elif kind == ".json":
        write_pieces(path, chain(json_list(explained.dictionaries()), "\n"))
    else:
        shown = explained.extremes()
        some = f"{len(shown)} of {len(explained):,}"
        explained.domain.write_explanations(shown, path, title=f"{title}, {some} {explained.domain.samples}")
        warn(
            f"{name} shows {some}: those that are least and most close to their witnesses, and others between; write "
            ".json or .csv for all."
        )


def _check_target(target: str | None, domain: AnyDomain, model: Any) -> None:
    outputs = domain.outputs(model)
    if target is None or target in outputs:
        return
    if not outputs:
        raise InputError(
            f"{Parameter('target')} is for models whose outputs are explained one by one",
            got=domain.model_noun,
            cure="leave it out",
            parameter="target",
        )
    raise InputError(
        f"{Parameter('target')} must be one of {listed(outputs, _LISTED)}",
        got=repr(target),
        cure="choose one of them",
        parameter="target",
    )


def _text(domain: AnyDomain, explained: ExplanationSet, target: str | None) -> str:
    if len(explained.explanations) == 1:
        ((label, explanation),) = explained.explanations.items()
        return "\n".join([*([label] if label else []), explanation.text(target)])
    head = [explained.title] if explained.title else []
    hint = "-o x.html shows each of them, -o x.json and -o x.csv hold all numbers"
    return "\n".join([*head, domain.overview(explained.explanations, target), hint])


def _write_one(label: str, explanation: Explanation, path: Path, target: str | None) -> None:
    kind = path.suffix.lower()
    if kind in _PICTURES:
        save_figure(explanation.plot(target), path, bbox_inches="tight", dpi=150)
    elif kind == ".json":
        _write_json(_content(label, explanation), path)
    elif kind == ".html":
        explanation.to_html(path, title=label or None)
    elif kind == ".csv":
        explanation.to_csv(path)
    else:
        _write_table(path, explanation.rows())


def _write_many(domain: AnyDomain, explained: ExplanationSet, path: Path, *, name: str, title: str) -> None:
    kind, explanations = path.suffix.lower(), explained.explanations
    if kind == ".json":
        _write_json([_content(label, explanation) for label, explanation in explanations.items()], path)
    elif kind in _TABLES:
        _write_table(path, _rows(explanations, domain.item))
    else:
        heading = f"{title}, {explained.title}" if explained.title else title
        missing = domain.write_explanations(explanations, path, title=heading)
        if missing:
            warn(
                f"{name} shows the {len(explanations) - missing} that are least close to their witnesses; write "
                f".json or .csv for all {len(explanations)}."
            )


def _content(label: str, explanation: Explanation) -> dict[str, Any]:
    return {**({"place": label} if label else {}), **explanation.to_dict()}


def _write_json(content: Any, path: Path) -> None:
    write_text(path, json.dumps(content, indent=1) + "\n")


def _rows(explanations: Mapping[str, Explanation], item: str) -> Iterator[Sequence[Any]]:
    """All explanations as one table, with what was explained in the first column."""
    for place, (label, explanation) in enumerate(explanations.items()):
        head, *rows = explanation.rows()
        if not place:
            yield [item, *head]
        yield from ([label, *row] for row in rows)


def _write_table(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    from pellucid.tables.parquet import is_parquet, write_parquet

    (write_parquet if is_parquet(path) else write_rows)(path, rows)
