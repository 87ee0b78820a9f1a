"""The sections of every report, whatever its domain, made from the summary of the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard

from pellucid.errors import InputError
from pellucid.report.charts import histogram, trade_off
from pellucid.report.numbers import NOTHING, change, counted, number, percent
from pellucid.summaries import Example, RunSummary

# Of fewer explanations none is called the least or the most trustworthy.
_FEW = 8
# The most outputs whose bounds a page lists.
_MOST_BOUNDS = 24


class _Explained(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def common(summary: RunSummary, *, calibrated_on: str = "neighborhood") -> dict[str, Any]:
    """Values of the template `run.html`; sections without data are empty.

    Parameters
    ----------
    summary : RunSummary
        What the run measured.
    calibrated_on : str
        Noun for one thing that the bounds were calibrated on.
    """
    deviations = {name: values for name, values in summary.deviations.items() if values}
    costs = summary.trade_off
    return {
        "title": summary.title or summary.data.source or "Pellucid",
        "kind": summary.kind,
        "made": summary.made,
        "version": summary.pellucid,
        "description": summary.data.description,
        "models": list(summary.models),
        "baselines": summary.baselines,
        "tiles": tiles(summary),
        "verdict": summary.verdict,
        "scores": scores(summary),
        "training": summary.models,
        "deviations": deviations,
        "histogram": histogram(deviations) if deviations else None,
        "unit": summary.deviation_unit,
        "costs": costs,
        "trade_off": trade_off(costs) if costs else None,
        "trust": trust(summary),
        "calibrated_on": calibrated_on,
        "data": summary.data if summary.data.source else None,
        "settings": settings(summary.settings),
        "seed": None if "seed" in summary.settings else summary.seed,
        "versions": summary.versions,
    }


def of_explanations(
    explanations: Mapping[str, _Explained], *, kind: str, title: str, outputs: Sequence[str] = ()
) -> RunSummary:
    """A summary that has nothing but explanations, for a page of these alone.

    Parameters
    ----------
    explanations : mapping of str to Explanation
        Explanations of one model, by the labels of what is explained.
    kind, title : str
        Name of the domain, and title of the page.
    outputs : sequence of str
        Names of what is predicted, if each explanation has several.
    """
    examples = tuple(Example(explanation=e.to_dict(), place=label) for label, e in explanations.items())
    return RunSummary(kind=kind, title=title, outputs=tuple(outputs), explanations=examples)


def scores(summary: RunSummary) -> list[dict[str, Any]]:
    """A row for each measure: the value of every model, which of them is better, and the change from DEEP to GAME.

    Baselines, where there are any, have columns of their own, and may be the best of all.
    """
    rows = []
    for measure in summary.measures:
        values = {name: model.scores.get(measure.key) for name, model in summary.models.items()}
        finite: dict[str | int, float] = {name: value for name, value in values.items() if _is_finite(value)}
        if not finite:
            continue
        simple = [baseline.scores.get(measure.key) for baseline in summary.baselines]
        finite |= {i: value for i, value in enumerate(simple) if _is_finite(value)}
        best = (min if measure.better == "lower" else max)(finite.values())
        # Where they tie, as far as the digits show, none is better.
        differ = measure.better != "neither" and len(set(map(number, finite.values()))) > 1
        rows.append(
            {
                "title": _begin(measure.title),
                "about": measure.about,
                "better": measure.better,
                "values": values,
                "baselines": simple,
                "winners": [name for name, value in finite.items() if value == best] if differ else [],
                "change": change(values.get("DEEP"), values.get("GAME")) if len(values) > 1 else None,
            }
        )
    return rows


def tiles(summary: RunSummary) -> list[dict[str, str]]:
    """The few numbers that matter most, first."""
    result: list[dict[str, str]] = []
    main = summary.main
    if main is None:
        return result
    rows = scores(summary)
    # Accuracy comes first; beside it, what witnesses explain where they were not fitted, or how far they are apart.
    honest = [row for row in rows[1:] if "held-out" in row["title"].lower()]
    apart = honest + [row for row in rows[1:] if "deviation" in row["title"].lower()] + rows[1:]
    for row in rows[:1] + apart[:1]:
        values = row["values"]
        if values.get(main) is not None:
            note = _beside(row["change"], number(values.get("DEEP"))) if row["change"] else "DEEP"
            result.append({"name": row["title"], "value": number(values[main]), "note": note})
    bounds = summary.trust.bound.get(main, ()) if summary.trust else ()
    calibrated = [k for k, bound in enumerate(bounds) if bound is not None]
    if summary.trust and calibrated:
        # Outputs differ in their units: one of them is shown, never a mean.
        first = calibrated[0]
        name = "Trust bound" if len(bounds) == 1 else f"Trust bound, {_names(summary, len(bounds))[first]}"
        others = "; the others below" if len(bounds) > 1 else ""
        note = f"witness to network, with {percent(summary.trust.level)} confidence{others}"
        deep = summary.trust.bound.get("DEEP", ())
        if main != "DEEP" and len(deep) > first and deep[first] is not None:
            note = f"{_beside(change(deep[first], bounds[first]), number(deep[first]))}; {note}"
        result.append({"name": name, "value": number(bounds[first]), "note": note})
    return result


def ranked(summary: RunSummary) -> list[Example]:
    """The explanations of a summary, which begins with the most trustworthy; of few, none is named least or most."""
    examples = list(summary.explanations)
    return examples if len(examples) >= _FEW else [replace(example, rank="others") for example in examples]


def require_outputs(summary: RunSummary, example: Example, outputs: Sequence[str]) -> None:
    """Refuse an explanation of other outputs than those of the run, or with measured values of others."""
    if tuple(outputs) != summary.outputs or len(example.measured or outputs) != len(outputs):
        raise InputError(
            f"The explanations of a run must be of its outputs, which are {', '.join(summary.outputs) or 'none'}",
            got=f"one of {', '.join(outputs)}",
            cure="run again",
        )


def share(summary: RunSummary, noun: str) -> str:
    """How many of the test points were explained, in words: "12 of 82 forecasts, chosen evenly by deviation"."""
    explained = len(summary.explanations)
    total = max((len(values) for values in summary.deviations.values()), default=0)
    if explained < total:
        return f"{explained} of {counted(total, noun)}, chosen evenly by deviation"
    return counted(explained, noun)


def trust(summary: RunSummary) -> dict[str, Any] | None:
    """Bounds and the coverage that they reached, for each output and model."""
    content = summary.trust
    if content is None or not content.bound:
        return None
    models = list(content.bound)
    count = max(len(values) for values in content.bound.values())
    rows = [
        {
            "name": name,
            "cells": [(_item(content.bound.get(model), k), _item(content.coverage.get(model), k)) for model in models],
        }
        for k, name in enumerate(_names(summary, count)[:_MOST_BOUNDS])
    ]
    return {
        "outputs": count,
        "level": content.level,
        "calibrated": content.calibrated,
        "tested": content.tested,
        "models": models,
        "rows": rows,
    }


def settings(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text; nested settings become rows of their own, those without a value are omitted."""
    rows: list[tuple[str, str]] = []
    for key, value in content.items():
        name = str(key).replace("_", " ")
        if value is None:
            continue
        if isinstance(value, Mapping):
            rows += [(f"{name}: {inner}", text) for inner, text in settings(value)]
        elif isinstance(value, bool):
            rows.append((name, "yes" if value else "no"))
        elif isinstance(value, float):
            rows.append((name, f"{value:g}"))
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(map(str, value))))
        else:
            rows.append((name, str(value)))
    return rows


def trust_sentence(
    bound: str | None,
    level: float,
    calibrated: int,
    reason: str,
    *,
    witness: str,
    points: str,
    held_out: str = "neighborhood",
    sizes: str = "",
    rest: Sequence[str] = (),
) -> str:
    """How far a witness can be trusted, in one sentence.

    Parameters
    ----------
    bound : str, optional
        The bound as text; None if it is not known.
    level : float
        The confidence of the bound.
    calibrated : int
        The number of held-out neighborhoods that it was learned from.
    reason : str
        Why it is not known; see `pellucid.trust.no_bound_reason`.
    witness : str
        What the witness is: "the tree", "the law".
    points : str
        What the bound holds at: "a similar molecule that it was not fitted to".
    held_out : str
        Noun for one thing that the bound was calibrated on.
    sizes : str
        Which sizes these have: " of 10 to 19 members".
    rest : sequence of str
        Outputs for which it is not known, if it is known for others.
    """
    if bound is None:
        return f"{_begin(reason)}.".replace("`", "")
    held = f"calibrated on {counted(calibrated, f'held-out {held_out}')}{sizes}"
    missing = f"; not known for {', '.join(rest)}" if rest else ""
    return f"With {percent(level)} confidence {witness} is within {bound} of the network at {points} ({held}){missing}."


def _beside(change: str, deep: str) -> str:
    """A change from DEEP in words: "25.6 % below DEEP's 0.490"."""
    if change[0] in "+\u2212":
        return f"{change[1:]} {'above' if change[0] == '+' else 'below'} DEEP's {deep}"
    return f"DEEP {deep}" if change == NOTHING else f"as DEEP's {deep}"


def _begin(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def _is_finite(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _names(summary: RunSummary, count: int) -> list[str]:
    """The names of the outputs."""
    return [summary.outputs[k] if k < len(summary.outputs) else f"output {k + 1}" for k in range(count)]


def _item(values: Sequence[Any] | None, index: int) -> Any:
    return values[index] if values is not None and index < len(values) else None
