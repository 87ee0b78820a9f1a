"""`pellucid compare`: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.cli._reading import Decimal, Fill, Gap, Header, Pattern, Reading
from pellucid.cli.output import aligned, measured, number, say, warn
from pellucid.errors import InputError


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="The folder of another.")],
    data: Annotated[
        Path | None, typer.Option(help="Measure the models of both on this table or these recordings instead.")
    ] = None,
    decimal: Decimal = None,
    header: Header = None,
    pattern: Pattern = None,
    fill: Fill = None,
    gaps: Gap = None,
) -> None:
    """Compare two runs: accuracy, transparency and trust, on their own test data or on the same ones."""
    from pellucid import runs

    a, b = (runs.read_summary(folder) for folder in (first, second))
    outputs = [summary.get("targets") or summary.get("channels") or [] for summary in (a, b)]
    if a["kind"] != b["kind"] or outputs[0] != outputs[1]:
        raise InputError(
            "Two runs can be compared if they predict the same",
            got=f"{a['kind']} ({', '.join(outputs[0])}) and {b['kind']} ({', '.join(outputs[1])})",
            cure="choose others",
        )
    named = {f"{letter}: {name}": (folder, name) for letter, folder, summary in (("A", first, a), ("B", second, b))
             for name in summary["models"]}  # fmt: skip
    if data is None:
        alike = runs.same_test(a, b)
        if alike is None:
            warn(
                "Whether the runs were tested on the same data cannot be known, as an earlier version wrote one of "
                "them: differences may come from the data; use --data."
            )
        elif not alike:
            warn("The runs were tested on different data, so that differences may come from these; use --data.")
        models = {title: (a if title[0] == "A" else b)["models"][name] for title, (_, name) in named.items()}
    else:
        models = {
            title: {
                "scores": _scores(
                    runs.load(folder, name.lower()), data, Reading.of(folder, decimal, header, pattern, fill, gaps)
                )
            }
            for title, (folder, name) in named.items()
        }
    say(f"A = {first} ({_played(a)})\nB = {second} ({_played(b)})\n")
    rows = measured(models, a["measures"])
    if data is None:
        for k, output in enumerate(outputs[0][:6]):
            bounds = [(a if title[0] == "A" else b)["trust"]["bound"][name][k] for title, (_, name) in named.items()]
            rows.append([f"bound of {output} (lower is better)", *(number(value) for value in bounds)])
    say(aligned([f"on {data.name}" if data else "on the test data of each", *models], rows))
    for sentence in runs.unexplained(models):
        say(f"note: {sentence}")
    own, others = (_settings(folder, summary) for folder, summary in ((first, a), (second, b)))
    different = [
        f"{name}: {own[name]} and {others.get(name)}" for name in own if name not in others or own[name] != others[name]
    ]
    if different:
        say("\nsettings that differ: " + "; ".join(different))


def _settings(folder: Path, summary: dict[str, Any]) -> dict[str, Any]:
    """Of the models, of the split, and of the way in which recordings were read."""
    split = {"split": summary["data"]["split"]} if summary["data"].get("split") else {}
    if summary["kind"] != "series":
        return {**summary["settings"], **split}
    reading = Reading.of(folder, None, None, None)
    # By the names of the options; from JSON there are lists.
    kept = {**reading._asdict(), "drop": list(reading.drop)}
    kept["recordings-by"] = kept.pop("by")
    return {**summary["settings"], **split, **kept}


def _played(summary: dict[str, Any]) -> str:
    settings = summary["settings"]
    return "no game" if settings["game"] is None else f"{settings['game']} game, weight {settings['weight']:g}"


def _scores(model: Any, data: Path, reading: Reading) -> dict[str, Any]:
    if hasattr(model, "forecast"):
        from pellucid.runs import mean_of

        source = reading.read(data, model.channels_)
        left_out = model.held_out(source, seed=1)
        return {**model.evaluate(source)._asdict(), "explained_left_out": mean_of(left_out.explained())}
    from pellucid.molecules import read
    from pellucid.molecules.run_measures import scores_of

    table = read(data, targets=list(model.targets_), on_error="skip")
    return scores_of(model.evaluate(table), model, table, model.held_out(table, seed=1))
