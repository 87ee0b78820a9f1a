"""What commands print: plain text, in which nothing that users typed is markup."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer


def say(text: str) -> None:
    """A line on the standard output, at once."""
    typer.echo(text)


# How the command line says what the library asks for in Python.
_TYPED = {
    "`on_error='skip'`": "--skip-bad-rows",
    "`header=True` or `header=False`": "--header or --no-header",
    "`decimal=','`": "--decimal ,",
    "`resume=True`": "--resume",
    'use task="regression"': "use --task regression",
    ", or set `validation=0`": ", or choose a shorter --context or --horizon",
    ", or pass `validation=0`": "",
    ", see `rejected`": ", listed in the report",
    ", see `calibrate`": "; train with more data",
    "hold out more, or lower the level": "train with more data, or lower --level",
    "larger neighborhoods, or lower the level": "larger neighborhoods, or lower --level",
    "`table(name)` shows the other channels": "--channel shows the others",
    "`table(columns=None)` shows all": "-o x.csv writes all",
    "train with analogs, with a pool, or with a lower threshold of similarity": "train with --analogs yes, or a --pool",
    "`which`": "--model",
    "`by=`": "--recordings-by",
}
# What else stands in quotes, and is an option.
_OPTIONS = (
    "analogs", "batch_size", "channels", "context", "decimal", "depth", "drop", "epochs", "every", "features", "fill",
    "game", "gaps", "groups", "header", "healthy", "horizon", "learning_rate", "level", "linear", "margin", "names",
    "order", "patience", "pattern", "persistence", "prediction", "radius", "ridge", "seed", "sequences", "smiles",
    "target", "targets", "task", "threshold", "tolerance", "truth", "weight", "width",
)  # fmt: skip
# The same with a value.
_VALUE = re.compile(r"`(by|drop|fill|gaps|pivot|split)='([^'`]+)'`")
_SLICE = re.compile(r"slice\((\d+|None), (\d+|None), None\)")
_OPTION = re.compile(rf"`({'|'.join(_OPTIONS)})=?`(?: of (?:PropertyModel|Forecaster)\b)?")


def as_typed(message: str) -> str:
    """A message of the library, with its cures as options of the command line.

    Examples
    --------
    >>> as_typed("Got both; say which one it is with `smiles=`.")
    'Got both; say which one it is with --smiles.'
    >>> as_typed("`batch_size` of PropertyModel must be a whole number >= 1.")
    '--batch-size must be a whole number >= 1.'
    >>> as_typed("Make each a recording with `by='engine no'`.")
    "Make each a recording with --recordings-by 'engine no'."
    """
    for said, typed in _TYPED.items():
        message = message.replace(said, typed)
    message = _VALUE.sub(
        lambda found: f"--{'recordings-by' if found[1] == 'by' else found[1]} {shlex.quote(found[2])}", message
    )
    message = _SLICE.sub(lambda found: ":".join("" if end == "None" else end for end in found.groups()), message)
    message = re.sub(r" in place \d+ of `(smiles|pool)`", "", message)
    return _OPTION.sub(lambda found: f"--{found[1].replace('_', '-')}", message)


def names_in(given: Sequence[str] | None, header: Sequence[str] = ()) -> list[str] | None:
    """Names of columns that were repeated or separated by commas; a name of the header may have commas itself.

    Examples
    --------
    >>> names_in(["a, b", "dose, mg"], ["a", "b", "dose, mg"])
    ['a', 'b', 'dose, mg']
    """
    if given is None:
        return None
    parts = [[text] if text in header else text.split(",") for text in given]
    return [name.strip() for names in parts for name in names if name.strip()]


def watched(quiet: bool = False) -> bool:
    """Whether somebody sees a progress bar."""
    return not quiet and sys.stderr.isatty()


def warn(text: str) -> None:
    """A line on stderr."""
    typer.echo(f"pellucid: {text}", err=True)


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    first, *others = (max(len(row[i]) for row in [head, *rows]) for i in range(len(head)))
    lines = [
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))])
        for row in [head, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def table_of(summary: Mapping[str, Any]) -> str:
    """What a run found on its test data: each measure of every model, the trust number, and what to know besides."""
    models = dict(summary["models"])
    if summary.get("baseline"):
        models[summary["baseline"]["title"]] = summary["baseline"]
    count = summary["data"]["parts"]["test"]
    head = f"on {count:,} test {'molecules' if summary['kind'] == 'molecules' else 'rows'}"
    lines = [aligned([head, *models], measured(models, summary["measures"])), *_trust(summary)]
    if summary.get("baseline"):
        lines.append(f"{summary['baseline']['title']}: {summary['baseline']['about']}")
    lines += [f"note: {sentence}" for sentence in summary.get("verdict", [])]
    return "\n".join(lines)


def measured(models: Mapping[str, Any], measures: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """A row per measure; what is lower or higher when it is better."""
    return [
        [f"{m['title']} ({'lower' if m['better'] == 'lower' else 'higher'} is better)",
         *(number(model["scores"].get(m["key"])) for model in models.values())]
        for m in measures
        if any(model["scores"].get(m["key"]) is not None for model in models.values())
    ]  # fmt: skip


def percent(share: float) -> str:
    """As people say it."""
    return f"{100 * share:.4g} %"


def number(value: float | None) -> str:
    """Four digits."""
    return "-" if value is None else f"{value:.4g}"


def _trust(summary: Mapping[str, Any]) -> list[str]:
    trust = summary["trust"]
    name = list(summary["models"])[-1]
    outputs = summary.get("targets") or summary.get("channels") or []
    known = [(o, b, c) for o, b, c in zip(outputs, trust["bound"][name], trust["coverage"][name], strict=True)
             if b is not None and c is not None]  # fmt: skip
    if not known:
        from pellucid.trust import unknown  # heavy: it knows torch

        return [f"trust: {as_typed(unknown(trust['level'], trust['calibrated']))}"]
    lines = [
        f"trust: with {percent(trust['level'])} confidence {name}'s witness is within (median) "
        + ", ".join(f"{output} {bound:.3g}" for output, bound, _ in known[:6])
        + (", ..." if len(known) > 6 else "")
        + (f" (not known for {len(outputs) - len(known)} more)" if len(known) < len(outputs) else "")
        + f" of the network at {'molecules' if summary['kind'] == 'molecules' else 'steps'} nearby;"
    ]
    shares = sum(share for _, _, share in known) / len(known)
    lines.append(
        f"       this held in {shares:.0%} of {trust['tested']} test neighborhoods; it is not the prediction's error"
    )
    if summary.get("trade_off"):
        lines += ["", curve_of(summary["trade_off"])]
    return lines


def curve_of(trade_off: Mapping[str, Any]) -> str:
    """The weights that were tried."""
    deep = next(trial for trial in trade_off["trials"] if trial["weight"] is None)
    limit = deep["loss"] * (1 + trade_off["tolerance"])
    longest = max(trial["deviation"] for trial in trade_off["trials"]) or 1.0
    rows = []
    for trial in trade_off["trials"]:
        mark = "DEEP" if trial["weight"] is None else "chosen" if trial["weight"] == trade_off["chosen"] else ""
        mark = mark or ("" if trial["loss"] <= limit else "too costly")
        bar = "#" * max(1, round(30 * trial["deviation"] / longest))
        rows.append(["none" if trial["weight"] is None else f"{trial['weight']:g}", f"{trial['loss']:.4f}",
                     f"{trial['deviation']:.4f}", f"{bar:<30}", mark])  # fmt: skip
    head = ["weight", "loss", "deviation", f"{'':<30}", ""]
    note = f"validation data; a loss of up to {limit:.4f} is allowed, {percent(trade_off['tolerance'])} above DEEP's"
    chosen = next(trial for trial in trade_off["trials"] if trial["weight"] == trade_off["chosen"])
    if chosen["loss"] > limit:
        note += "\nno weight stays within it: the least costly one was taken; try smaller weights or more epochs"
    elif chosen["deviation"] >= deep["deviation"]:
        note += "\nno weight within it is more transparent than DEEP; try more epochs"
    return f"{aligned(head, rows)}\n{note}"
