"""The audit of a table in files: a page, or every row as JSON or CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.auditing.kept import coefficients_of, witness_entry
from pellucid.auditing.predictions import Predictions
from pellucid.auditing.text import (
    as_text,
    bit_names,
    describe_choice,
    full_place,
    place,
    questions,
    share,
    witness_text,
)
from pellucid.choosing import Choice
from pellucid.errors import InputError
from pellucid.numbers import listed
from pellucid.tables.parquet import write_parquet
from pellucid.witnesses.linear import LinearWitnesses
from pellucid.witnesses.refitted import fits_of
from pellucid.writing import json_list, write_pieces, write_rows

if TYPE_CHECKING:
    from pellucid.auditing.tables import TableAudit

SUFFIXES = (".html", ".json", ".csv", ".parquet")
# Columns and rows that a page names.
_LISTED = 20


def write(result: TableAudit, path: Path) -> None:
    """Write a report, or every row, as the name of the file asks."""
    suffix = path.suffix.lower()
    if suffix == ".html":
        _write_page(result, path)
    elif suffix == ".json":
        write_pieces(path, _json(result))
    elif suffix == ".csv":
        write_rows(path, rows(result))
    elif suffix == ".parquet":
        write_parquet(path, rows(result))
    else:
        raise InputError(f"The file of an audit must end in {', '.join(SUFFIXES)}", got=path.name)


def _write_page(result: TableAudit, path: Path) -> None:
    from pellucid.report import write_audit

    centers = result.audit.witnesses.hoods.centers.tolist()
    write_audit(
        result.audit,
        path,
        title=result.predictions.source,
        names=[full_place(result.predictions, center) for center in centers],
        level=result.level,
        text=lambda i: witness_text(result, i),
        conditions=_conditions(result),
        columns=_columns(result.predictions),
        candidates=None if result.choice is None else _candidates(result.choice),
    )


def _conditions(result: TableAudit) -> list[tuple[str, str]]:
    """What was audited, and how, as pairs of a name and a value."""
    predictions = result.predictions
    facts = [("rows", str(len(predictions))), ("predictions", ", ".join(predictions.outputs))]
    facts += [("family", result.family), ("neighborhoods", result.neighborhoods)]
    facts += [] if result.choice is None else [("settings", describe_choice(result.choice))]
    bits = f"{len(predictions.features)} bits of fingerprints"
    facts.append(("features", bits if predictions.smiles else listed(predictions.columns, _LISTED)))
    facts += [("question", question) for question in questions(predictions)]
    if predictions.rejected:
        rejected = [f"row {row} ({reason})" for row, reason in predictions.rejected]
        facts.append(("rejected rows", listed(rejected, _LISTED)))
    facts += [
        (f"error of {name} against {predictions.truth_name}", f"{error:.4g} (root mean squared)")
        for name, error in predictions.errors().items()
    ]
    return facts


def _columns(predictions: Predictions) -> list[tuple[str, str, str]]:
    """For each column of the table its name, what it was taken for, and why or how."""
    roles = [(name, "prediction", "") for name in predictions.outputs]
    roles += [] if predictions.truth_name is None else [(predictions.truth_name, "measured values", "")]
    notes = dict(predictions.notes)
    roles += [(name, "feature", notes.get(name, "")) for name in predictions.columns]
    return roles + [(name, "ignored", reason) for name, reason in predictions.ignored]


def _candidates(choice: Choice) -> tuple[list[str], list[tuple[str, list[tuple[str, bool]]]], str]:
    """Held-out variance explained by neighbors (down) and ridge (across): head, rows, and what the numbers are."""
    from pellucid.report.numbers import typeset

    ridges = list(dict.fromkeys(c.ridge for c in choice.candidates))
    counts = list(dict.fromkeys(c.neighbors for c in choice.candidates))
    head = ["" if ridge is None else f"ridge {ridge:g}" for ridge in ridges]
    lines = []
    for count in counts:
        candidates = [choice.at(count, ridge) for ridge in ridges]
        cells = [("" if c is None else typeset(share(c.explained)), c == choice.best) for c in candidates]
        lines.append(("all members" if count is None else f"{count} neighbors", cells))
    members = (
        "at all members" if choice.compared is None else f"at the {choice.compared} members nearest to each center"
    )
    about = (
        f"Held-out variance explained {members}, the same for every candidate, in {len(choice.used)} neighborhoods; "
        "0 is no better than the best constant. "
        "Chosen are the fewest neighbors that come within 2 % of the smallest error, and then the largest ridge that "
        "comes within 2 % of the smallest error of these."
    )
    if choice.others is not None:
        about += f" All other numbers for held-out members come from the {len(choice.others)} other neighborhoods."
    return head, lines, about


def _json(result: TableAudit) -> Iterator[str]:
    """`to_dict` in JSON, of whose rows none but one is in memory."""
    head = json.dumps(_head(result), indent=1)
    yield head.removesuffix("\n}") + ',\n "rows": '
    yield from json_list(_entries(result), depth=1)
    yield "\n}\n"


def to_dict(result: TableAudit) -> dict[str, Any]:
    """The whole audit in plain numbers, ready for JSON."""
    return {**_head(result), "rows": list(_entries(result))}


def _entries(result: TableAudit) -> Iterator[dict[str, Any]]:
    """What is known of each neighborhood."""
    audit, predictions = result.audit, result.predictions
    bound, relative = audit.bound(result.level), audit.relative()
    written = (witness_entry(witness) for witness in audit.witnesses) if result.kept is None else result.kept.entries()
    for i, (center, witness) in enumerate(zip(audit.witnesses.hoods.centers.tolist(), written, strict=True)):
        yield {
            "place": place(predictions, center),
            "row": predictions.rows[center],
            "prediction": predictions.f[center].tolist(),
            "deviation": float(audit.deviations[i]),
            "relative": float(relative[i]),
            "bound": [None if value != value else float(value) for value in bound[i]],
            "witness": witness,
        }


def _head(result: TableAudit) -> dict[str, Any]:
    """What is known of the whole table."""
    audit, predictions = result.audit, result.predictions
    return {
        "kind": "audit",
        "title": predictions.source,
        "family": result.family,
        "neighborhoods": result.neighborhoods,
        "choice": None if result.choice is None else result.choice.to_dict(),
        "outputs": list(predictions.outputs),
        "features": list(predictions.features),
        "errors": predictions.errors(),
        "columns": [list(column) for column in _columns(predictions)],
        "ignored_columns": [list(pair) for pair in predictions.ignored],
        "rejected_rows": [list(pair) for pair in predictions.rejected],
        "substructures": {} if predictions.smiles is None else bit_names(list(audit.witnesses), predictions),
        "audit": audit.to_dict(result.level),
    }


def rows(result: TableAudit) -> Iterator[list[Any]]:
    """The names of the columns, then each row of the table: its neighborhood's deviation, bound and witness."""
    audit, predictions = result.audit, result.predictions
    bound, groups = audit.bound(result.level), predictions.groups
    prefixes = [f"{name}: " if len(predictions.outputs) > 1 else "" for name in predictions.outputs]
    names, values = _witness_columns(result, prefixes)
    head = ["row", *(["group"] if groups else []), *predictions.outputs, "deviation"]
    yield [*head, *(f"{prefix}bound" for prefix in prefixes), *names]
    neighborhood = _neighborhood_of_row(result)
    # A neighborhood around each row comes in the order of the rows; the witness of a group is asked for often.
    some = list(values) if groups else []
    for j in range(len(predictions)):
        i = neighborhood[j]
        line = [predictions.rows[j], *([groups[j]] if groups else []), *predictions.f[j].tolist()]
        line += [float(audit.deviations[i]), *("" if value != value else float(value) for value in bound[i])]
        yield [*line, *(some[i] if groups else next(values))]


def _neighborhood_of_row(result: TableAudit) -> Mapping[int, int] | range:
    """The neighborhood of each row: the one around it, or that of its group."""
    centers, groups = result.audit.witnesses.hoods.centers.tolist(), result.predictions.groups
    if groups is None:  # each row is the center of its own
        return range(len(centers))
    of_group = {groups[center]: i for i, center in enumerate(centers)}
    return {j: of_group[group] for j, group in enumerate(groups)}


def _witness_columns(result: TableAudit, prefixes: list[str]) -> tuple[list[str], Iterator[list[Any]]]:
    """Names of columns, and for each neighborhood what its witness has there: coefficients, or its text."""
    witnesses, predictions = result.audit.witnesses, result.predictions
    if result.kept is not None:
        lists = result.kept.cells()
        first_cells = next(lists)
        count = len(first_cells) // len(prefixes)
        names = _coefficients(result, count, prefixes) if result.kept.linear else ["witness"]
        return names, chain([first_cells], lists)
    fits = fits_of(witnesses)
    first = next(fits)
    if isinstance(first, LinearWitnesses):
        thetas = (fit.theta for fit in chain([first], fits) if isinstance(fit, LinearWitnesses))
        lists = chain.from_iterable(coefficients_of(theta).tolist() for theta in thetas)
        return _coefficients(result, first.theta.shape[1], prefixes), lists
    bits = None if predictions.smiles is None else bit_names(list(witnesses), predictions)
    return ["witness"], ([as_text(witness, bits)] for witness in witnesses)


def _coefficients(result: TableAudit, count: int, prefixes: list[str]) -> list[str]:
    """Names of the columns of so many coefficients for each output, of which the intercept is the first."""
    names = ["intercept", *(f"coefficient of {name}" for name in result.predictions.features[: count - 1])]
    return [f"{prefix}{name}" for prefix in prefixes for name in names]
