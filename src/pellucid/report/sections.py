"""What every run tells, whatever it was trained on: numbers of a summary, ready for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from pellucid.report.charts import histogram, trade_off
from pellucid.report.numbers import NOTHING, change, counted, number, percent

# Of fewer explanations none is called the least or the most trustworthy.
_FEW = 8


def common(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the template `run.html`; sections without data are empty."""
    data = summary.get("data") or {}
    deviations = {name: values for name, values in (summary.get("deviations") or {}).items() if values}
    costs = summary.get("trade_off")
    return {
        "title": summary.get("title") or data.get("source") or "Pellucid",
        "kind": summary.get("kind", "run"),
        "made": summary.get("made"),
        "version": summary.get("pellucid"),
        "description": data.get("description"),
        "models": list(summary.get("models") or {}),
        "baseline": summary.get("baseline"),
        "tiles": tiles(summary),
        "verdict": list(summary.get("verdict") or []),
        "scores": scores(summary),
        "training": training(summary),
        "deviations": deviations,
        "histogram": histogram(deviations) if deviations else None,
        "unit": summary.get("deviation_unit"),
        "costs": costs,
        "afforded": _afforded(costs) if costs else None,
        "trade_off": trade_off(costs) if costs else None,
        "trust": trust(summary),
        "data": data,
        "settings": settings(summary.get("settings") or {}),
        "seed": None if "seed" in (summary.get("settings") or {}) else summary.get("seed"),
        "versions": summary.get("versions") or {},
    }


def scores(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each measure: the value of every model, which of them is better, and the change from DEEP to GAME.

    The baseline, where there is one, has a column of its own, and may be the best of all.
    """
    models = summary.get("models") or {}
    baseline = summary.get("baseline") or {}
    rows = []
    for measure in summary.get("measures") or []:
        values = {name: (model.get("scores") or {}).get(measure["key"]) for name, model in models.items()}
        known: dict[str | None, float] = {name: v for name, v in values.items() if _is_known(v)}
        if not known:
            continue
        simple = (baseline.get("scores") or {}).get(measure["key"])
        if _is_known(simple):
            known[None] = simple  # the baseline
        best = (min if measure.get("better") == "lower" else max)(known.values())
        # Where they tie, as far as the digits show, none is better.
        winners = [name for name, v in known.items() if v == best] if len(set(map(number, known.values()))) > 1 else []
        rows.append(
            {
                "title": _begin(measure.get("title") or measure["key"]),
                "about": measure.get("about"),
                "better": measure.get("better"),
                "values": values,
                "baseline": simple,
                "winners": winners,
                "change": change(values.get("DEEP"), values.get("GAME")) if len(values) > 1 else None,
            }
        )
    return rows


def training(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each model: epochs, time, weight."""
    return [
        {"name": name, **{key: model.get(key) for key in ("weight", "epochs", "seconds")}}
        for name, model in (summary.get("models") or {}).items()
    ]


def tiles(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """The few numbers that matter most, first."""
    result = []
    last = list(summary.get("models") or {})[-1:]
    rows = scores(summary)
    # Accuracy comes first; beside it, what witnesses explain where they were not fitted, or how far they are apart.
    honest = [row for row in rows[1:] if "held-out" in row["title"].lower()]
    apart = honest + [row for row in rows[1:] if "deviation" in row["title"].lower()] + rows[1:]
    for row in rows[:1] + apart[:1]:
        values = row["values"]
        if last and values.get(last[0]) is not None:
            note = _beside(row["change"], number(values["DEEP"])) if row["change"] else "DEEP"
            result.append({"name": row["title"], "value": number(values[last[0]]), "note": note})
    content = summary.get("trust") or {}
    bounds = (content.get("bound") or {}).get(last[0], []) if last else []
    known = [k for k, bound in enumerate(bounds) if bound is not None]
    if known:
        # Outputs have units of their own: one of them is told, never a mean.
        name = "Trust bound" if len(bounds) == 1 else f"Trust bound, {_names(summary, len(bounds))[known[0]]}"
        others = "; the others below" if len(bounds) > 1 else ""
        note = f"witness to network, with {percent(content['level'])} confidence{others}"
        result.append({"name": name, "value": number(bounds[known[0]]), "note": note})
    return result


def ranked(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The explanations of a summary, which begins with the most trustworthy; of few, none is named least or most."""
    items = [dict(item) for item in summary.get("explanations") or []]
    return items if len(items) >= _FEW else [item | {"rank": "others"} for item in items]


def share(summary: Mapping[str, Any], noun: str) -> str:
    """How many of the test points were explained, in words: "12 of 82 forecasts, chosen evenly by deviation"."""
    shown = len(summary.get("explanations") or [])
    total = max((len(values) for values in (summary.get("deviations") or {}).values()), default=0)
    return f"{shown} of {counted(total, noun)}, chosen evenly by deviation" if shown < total else counted(shown, noun)


def trust(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """Bounds and the coverage that they reached, for each output and model."""
    content = summary.get("trust")
    if not content or not content.get("bound"):
        return None
    models = list(content["bound"])
    count = max(len(values) for values in content["bound"].values())
    rows = [
        {
            "name": name,
            "cells": [
                (_item(content["bound"].get(model), k), _item((content.get("coverage") or {}).get(model), k))
                for model in models
            ],
        }
        for k, name in enumerate(_names(summary, count))
    ]
    return {**content, "models": models, "rows": rows}


def settings(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text; settings within settings are told one by one, those without a value not at all."""
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
    where: str,
    held_out: str = "neighborhood",
    rest: Sequence[str] = (),
) -> str:
    """How far a witness can be trusted, in one sentence.

    Parameters
    ----------
    bound : str, optional
        As text, or None if it is not known.
    reason : str
        Why it is not known; see `pellucid.trust.unknown`.
    witness : str
        What the witness is: "the tree", "the law".
    where : str
        "a similar molecule that it was not fitted to".
    held_out : str
        What the bound was calibrated on, one of them.
    rest : sequence of str
        Outputs for which it is not known, where it is for others.
    """
    if bound is None:
        return f"{_begin(reason)}.".replace("`", "")
    held = f"calibrated on {counted(calibrated, f'held-out {held_out}')}"
    missing = f"; not known for {', '.join(rest)}" if rest else ""
    return f"With {percent(level)} confidence {witness} is within {bound} of the network at {where} ({held}){missing}."


def _beside(change: str, deep: str) -> str:
    """A change from DEEP in words: "25.6 % below DEEP's 0.490"."""
    if change[0] in "+\u2212":
        return f"{change[1:]} {'above' if change[0] == '+' else 'below'} DEEP's {deep}"
    return f"DEEP {deep}" if change == NOTHING else f"as DEEP's {deep}"


def _afforded(costs: Mapping[str, Any]) -> bool:
    """Whether the loss of the chosen model is within the tolerance."""
    losses = {trial["weight"]: trial["loss"] for trial in costs["trials"]}
    deep, chosen = losses.get(None), losses.get(costs.get("chosen"))
    return deep is None or chosen is None or chosen <= deep * (1 + costs["tolerance"])


def _begin(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def _is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _names(summary: Mapping[str, Any], count: int) -> list[str]:
    """Of the outputs."""
    outputs = summary.get("targets") or summary.get("channels") or []
    return [outputs[k] if k < len(outputs) else f"output {k + 1}" for k in range(count)]


def _item(values: Sequence[Any] | None, place: int) -> Any:
    return values[place] if values is not None and place < len(values) else None
