"""`pellucid explain`: why a model says what it says of a molecule or after a recording, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli._forecasts import explain_recordings, overview, read_what_can_be, write_table
from pellucid.cli._reading import Decimal, Fill, Gap, Header, Pattern, Reading
from pellucid.cli.output import as_typed, say, warn, watched
from pellucid.cli.predict import Folder, Which
from pellucid.errors import InputError

if TYPE_CHECKING:
    from pellucid.molecules import MoleculeExplanation
    from pellucid.series import ForecastExplanation as Forecast

_TABLES = (".csv", ".tsv", ".txt", ".smi")
FORMATS = (".html", ".svg", ".png", ".json", ".csv")


def explain(
    model: Folder,
    what: Annotated[str, typer.Argument(metavar="SMILES|FILE|FOLDER", help="A molecule, a table of them, or "
                                           "recordings.")],
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", "-o", metavar="x.html|svg|png|json|csv", help="Write it; repeat for several files.",
                     show_default="the terminal"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "--channel", help="Show one target or channel.", show_default="the main ones"),
    ] = None,
    level: Annotated[float, typer.Option(help="The confidence of the bound.")] = 0.9,
    smiles: Annotated[str | None, typer.Option(help="The column of SMILES.", show_default="found by its name")] = None,
    names: Annotated[
        str | None, typer.Option(help="The column of names of a table.", show_default="one called id, name, ...")
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(min=1, metavar="ROW", help="Recordings: the row after which the forecast starts, counted from 1.",
                     show_default="the last")
    ] = None,
    forced: Annotated[
        bool, typer.Option("--forced", help="Recordings: predict each step from the real values before it.")
    ] = False,
    decimal: Decimal = None,
    header: Header = None,
    pattern: Pattern = None,
    fill: Fill = None,
    gaps: Gap = None,
    which: Which = None,
) -> None:  # fmt: skip
    """Explain a prediction by its witness: what the model follows here, and how far that can be trusted."""
    wrong = [path for path in out or [] if path.suffix.lower() not in FORMATS]
    if wrong:
        raise typer.BadParameter(f"must end in one of {', '.join(FORMATS)}, not {wrong[0].name!r}.", param_hint="--out")
    from pellucid import runs

    loaded = runs.load(model, which)
    if hasattr(loaded, "forecast"):
        reading = Reading.of(model, decimal, header, pattern, fill, gaps)
        sources, skipped = read_what_can_be(reading, Path(what), loaded.channels_)
        explained: dict[str, Forecast] = {}
        for source in sources:
            for sentence in source.notes:
                warn(as_typed(sentence))
            more, short = explain_recordings(loaded, source, at=at, forced=forced, level=level)
            explained |= more
            skipped |= short
        if not explained:
            raise next(iter(skipped.values()))
        if len(explained) == 1:
            for row, explanation in explained.items():
                _one(explanation, out, target, row)
        else:
            _many_recordings(explained, out, target, Path(what).name)
        if skipped:
            warn(f"{len(skipped)} of {len(skipped) + len(explained)} recordings are skipped:")
        for place, reason in skipped.items():
            warn(f"{place}: {as_typed(str(reason))}")
        return
    if at is not None or forced:
        raise InputError(
            f"{'--forced' if at is None else '--at'} is for recordings", got="a model of molecules", cure="leave it out"
        )
    places = _molecules(what, smiles, names)
    if len(places) == 1 or not hasattr(loaded, "explain_many"):
        found = [loaded.explain(text, level=level) for text in places]
    else:
        found = loaded.explain_many(list(places), level=level, progress=watched())
    if len(found) == 1:
        _one(found[0], out, target, *places.values())
    else:
        _many(dict(zip(places.values(), found, strict=True)), out, target, Path(what).name)


def _molecules(what: str, column: str | None, names: str | None) -> dict[str, str | None]:
    """Different molecules, and where each is in its table."""
    if not Path(what).is_file():
        if Path(what).suffix.lower() in _TABLES or Path(what).is_dir():
            missing = "is a folder" if Path(what).is_dir() else "does not exist"
            raise InputError(
                "A molecule or a file must be given", got=f"{what}, which {missing}", cure="correct the path"
            )
        return {what: None}
    from pellucid.molecules import read
    from pellucid.tables import read_table, row_names

    cells = read_table(what)
    called = {row: name for row, name in zip(cells.numbers, row_names(cells, names), strict=True) if name}
    table = read(what, smiles=column, targets=[], on_error="skip")
    for row in table.rejected:
        warn(f"row {row.row} is left out: {row.reason}.")
    return {text: _place(rows, called) for text, rows in zip(table.smiles, table.rows, strict=True)}


def _place(rows: Sequence[int], called: Mapping[int, str]) -> str:
    """What a molecule is called, and where it stands in the table."""
    own = dict.fromkeys(called[row] for row in rows if row in called)
    where = f"row {', '.join(str(row) for row in rows)}"
    return f"{', '.join(own)} ({where})" if own else where


def _one(found: Any, out: Sequence[Path] | None, target: str | None, place: str | None) -> None:
    if not out and hasattr(found, "along"):  # of a recording: where the forecast starts, and from what
        say(f"{place}; {found.along()}")
    if not out:
        say(_text(found, target))
    for path in out or []:
        kind = path.suffix.lower()
        if kind in (".svg", ".png"):
            found.plot(target).savefig(path, bbox_inches="tight", dpi=150)
        elif kind == ".json":
            _write_json(_content(found, place), path)
        elif kind == ".html" and place is not None:
            found.to_html(path, title=place)
        else:
            getattr(found, f"to_{kind[1:]}")(path)
        say(f"written: {path}")


def _text(found: Any, target: str | None) -> str:
    if hasattr(found, "text"):
        return as_typed(found.text(target))
    return as_typed(str(found) if target is None else f"{found.table(target)}\n{found.summary()}")


def _content(found: Any, place: str | None) -> dict[str, Any]:
    return {**({} if place is None else {"place": place}), **found.to_dict()}


def _write_json(content: Any, path: Path) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _many_recordings(found: Mapping[str, Forecast], out: Sequence[Path] | None, target: str | None, title: str) -> None:
    """A line for each forecast on the terminal; a page, a list or a table of all."""
    along = next(iter(found.values())).along()
    if not out:
        say(along)
        say(overview(found, target))
        say("-o x.html shows the laws of each, -o x.json and -o x.csv hold all numbers")
    for path in out or []:
        kind = path.suffix.lower()
        if kind == ".json":
            _write_json([_content(explanation, place) for place, explanation in found.items()], path)
        elif kind == ".csv":
            write_table(found, path)
        elif kind == ".html":
            from pellucid.series import report

            left = report.write_many(found, path, title=f"{title}, {along}")
            if left:
                warn(f"{path.name} shows the {len(found) - left} that are least close to their laws; write .json or "
                     f".csv for all {len(found)}.")  # fmt: skip
        else:
            raise InputError(
                f"A {path.suffix} file holds one explanation",
                got=f"{len(found)} recordings",
                cure="write .html, .json or .csv, or explain one of them",
            )
        say(f"written: {path}")


def _many(
    found: Mapping[str | None, MoleculeExplanation], out: Sequence[Path] | None, target: str | None, title: str
) -> None:
    """A page or a list; pictures and tables are for one."""
    if not out:
        say("\n\n".join(f"{place}\n{_text(explanation, target)}" for place, explanation in found.items()))
    for path in out or []:
        if path.suffix.lower() == ".json":
            _write_json([_content(explanation, place) for place, explanation in found.items()], path)
        elif path.suffix.lower() == ".html":
            from pellucid.molecules import report

            shown = [{"place": place, "explanation": e.to_dict()} for place, e in found.items()]
            targets = list(next(iter(found.values())).targets)
            report.write({"kind": "molecules", "title": title, "targets": targets, "explanations": shown}, path)
        else:
            raise InputError(
                f"A {path.suffix} file holds one explanation",
                got=f"{len(found)} molecules",
                cure="write .html or .json, or explain one of them",
            )
        say(f"written: {path}")
