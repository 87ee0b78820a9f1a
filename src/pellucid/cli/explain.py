"""`pellucid explain`: why a model says what it says of a molecule or after a recording, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pellucid.cli.output import say, warn
from pellucid.cli.predict import Folder, Which
from pellucid.errors import InputError

if TYPE_CHECKING:
    from pellucid.molecules import Explanation

_TABLES = (".csv", ".tsv", ".txt", ".smi")
FORMATS = (".html", ".svg", ".png", ".json", ".csv")


def explain(
    model: Folder,
    what: Annotated[str, typer.Argument(metavar="SMILES|FILE", help="A molecule, a table of them, or a recording.")],
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
    which: Which = None,
) -> None:  # fmt: skip
    """Explain a prediction by its witness: what the model follows here, and how far that can be trusted."""
    wrong = [path for path in out or [] if path.suffix.lower() not in FORMATS]
    if wrong:
        raise typer.BadParameter(f"must end in one of {', '.join(FORMATS)}, not {wrong[0].name!r}.", param_hint="--out")
    from pellucid import runs

    loaded = runs.load(model, which)
    if hasattr(loaded, "forecast"):
        _one(_recording(loaded, what, level), out, target)
        return
    texts = _molecules(what, smiles)
    if len(texts) == 1 or not hasattr(loaded, "explain_many"):
        found = [loaded.explain(text, level=level) for text in texts]
    else:
        found = loaded.explain_many(texts, level=level, progress=True)
    if len(found) == 1:
        _one(found[0], out, target)
    else:
        _many(found, out, target, Path(what).name)


def _recording(model: Any, what: str, level: float) -> Any:
    """The forecast after the end of a recording."""
    from pellucid.series import read

    source = read(what, channels=model.channels_)
    if len(source) > 1:
        warn(f"{what} holds {len(source)} recordings; {source.sources[-1]}, the last one, is explained.")
    return model.explain(source.values[-1], level=level)


def _molecules(what: str, column: str | None) -> list[str]:
    if not Path(what).is_file():
        if Path(what).suffix.lower() in _TABLES:
            raise InputError(f"A molecule or a file must be given. Got {what}, which does not exist; correct the path.")
        return [what]
    from pellucid.molecules import read

    table = read(what, smiles=column, targets=[], on_error="skip")
    for row in table.rejected:
        warn(f"row {row.row} is left out: {row.reason}.")
    return list(table.smiles)


def _one(found: Any, out: Sequence[Path] | None, target: str | None) -> None:
    if not out:
        say(found.text(target) if hasattr(found, "text") else _series_text(found, target))
    for path in out or []:
        kind = path.suffix.lower()
        if kind in (".svg", ".png"):
            found.plot(target).savefig(path, bbox_inches="tight", dpi=150)
        else:
            getattr(found, f"to_{kind[1:]}")(path)
        say(f"written: {path}")


def _series_text(found: Any, channel: str | None) -> str:
    return str(found) if channel is None else f"{found.table(channel)}\n{found.summary()}"


def _many(found: list[Explanation], out: Sequence[Path] | None, target: str | None, title: str) -> None:
    """A page or a list; pictures and tables are for one."""
    if not out:
        say("\n\n".join(explanation.text(target) for explanation in found))
    for path in out or []:
        if path.suffix.lower() == ".json":
            path.write_text(json.dumps([e.to_dict() for e in found], indent=1) + "\n", encoding="utf-8")
        elif path.suffix.lower() == ".html":
            from pellucid.molecules import report

            summary = {
                "kind": "molecules",
                "title": title,
                "targets": list(found[0].targets),
                "explanations": [
                    {"rank": "others", "measured": [None] * len(e.targets), "explanation": e.to_dict()} for e in found
                ],
            }
            report.write(summary, path)
        else:
            raise InputError(
                f"A {path.suffix} file holds one explanation. Got {len(found)} molecules; write .html or .json, or "
                "explain one of them."
            )
        say(f"written: {path}")
