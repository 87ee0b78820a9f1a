"""What every run tells, whatever it was trained on: numbers of a summary, ready for the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.report.charts import histogram, trade_off
from pellucid.report.numbers import change, number, percent


def common(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the template `run.html`; sections without data are empty."""
    data = summary.get("data") or {}
    outputs = summary.get("targets") or summary.get("channels") or []
    deviations = {name: values for name, values in (summary.get("deviations") or {}).items() if values}
    costs = summary.get("trade_off")
    return {
        "title": summary.get("title") or data.get("source") or "Pellucid",
        "kind": summary.get("kind", "run"),
        "made": summary.get("made"),
        "version": summary.get("pellucid"),
        "description": data.get("description"),
        "models": list(summary.get("models") or {}),
        "tiles": tiles(summary),
        "scores": scores(summary),
        "training": training(summary),
        "deviations": deviations,
        "histogram": histogram(deviations) if deviations else None,
        "unit": summary.get("deviation_unit"),
        "costs": costs,
        "afforded": _afforded(costs) if costs else None,
        "trade_off": trade_off(costs) if costs else None,
        "trust": trust(summary.get("trust"), outputs),
        "data": data,
        "settings": settings(summary.get("settings") or {}),
        "seed": None if "seed" in (summary.get("settings") or {}) else summary.get("seed"),
        "versions": summary.get("versions") or {},
    }


def scores(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each measure: the value of every model, which of them is better, and the change from DEEP to GAME."""
    models = summary.get("models") or {}
    rows = []
    for measure in summary.get("measures") or []:
        values = {name: (model.get("scores") or {}).get(measure["key"]) for name, model in models.items()}
        known = {name: v for name, v in values.items() if v is not None and math.isfinite(v)}
        if not known:
            continue
        best = (min if measure.get("better") == "lower" else max)(known.values())
        # Where they tie, as far as the digits show, none is better.
        winners = [name for name, v in known.items() if v == best] if len(set(map(number, known.values()))) > 1 else []
        rows.append(
            {
                "title": _begin(measure.get("title") or measure["key"]),
                "about": measure.get("about"),
                "better": measure.get("better"),
                "values": values,
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
    # Accuracy comes first; beside it, how far network and witnesses are apart.
    apart = [row for row in rows[1:] if "deviation" in row["title"].lower()] + rows[1:]
    for row in rows[:1] + apart[:1]:
        values = row["values"]
        if last and values.get(last[0]) is not None:
            note = f"DEEP {number(values['DEEP'])} ({row['change']})" if row["change"] else "DEEP"
            result.append({"name": row["title"], "value": number(values[last[0]]), "note": note})
    content = summary.get("trust") or {}
    bounds = [b for b in (content.get("bound") or {}).get(last[0], []) if b is not None] if last else []
    if bounds:
        name = "Trust bound" if len(bounds) == 1 else "Trust bound, median of all"
        middle = sorted(bounds)[len(bounds) // 2]
        note = f"with {percent(content['level'])} confidence"
        result.append({"name": name, "value": number(middle), "note": note})
    return result


def trust(content: Mapping[str, Any] | None, outputs: Sequence[str]) -> dict[str, Any] | None:
    """Bounds and the coverage that they reached, for each output and model."""
    if not content or not content.get("bound"):
        return None
    models = list(content["bound"])
    count = max(len(values) for values in content["bound"].values())
    names = [outputs[k] if k < len(outputs) else f"output {k + 1}" for k in range(count)]
    rows = [
        {
            "name": name,
            "cells": [
                (_item(content["bound"].get(model), k), _item((content.get("coverage") or {}).get(model), k))
                for model in models
            ],
        }
        for k, name in enumerate(names)
    ]
    return {**content, "models": models, "rows": rows}


def settings(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text; settings within settings are told one by one."""
    rows: list[tuple[str, str]] = []
    for key, value in content.items():
        name = str(key).replace("_", " ")
        if isinstance(value, Mapping):
            rows += [(f"{name}: {inner}", text) for inner, text in settings(value)]
        elif isinstance(value, bool) or value is None:
            rows.append((name, "none" if value is None else "yes" if value else "no"))
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
    held_out: str = "neighborhoods",
) -> str:
    """How far a witness can be trusted, in one sentence.

    Parameters
    ----------
    bound : as text, or None if it is not known.
    reason : why it is not known; see `pellucid.trust.unknown`.
    witness : what the witness is: "the tree", "the law".
    where : "a similar molecule that it was not fitted to".
    held_out : what the bound was calibrated on.
    """
    if bound is None:
        return f"{_begin(reason)}.".replace("`", "")
    held = f"calibrated on {calibrated} held-out {held_out}"
    return f"With {percent(level)} confidence {witness} is within {bound} of the network at {where} ({held})."


def _afforded(costs: Mapping[str, Any]) -> bool:
    """Whether the loss of the chosen model is within the tolerance."""
    losses = {trial["weight"]: trial["loss"] for trial in costs["trials"]}
    deep, chosen = losses.get(None), losses.get(costs.get("chosen"))
    return deep is None or chosen is None or chosen <= deep * (1 + costs["tolerance"])


def _begin(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def _item(values: Sequence[Any] | None, place: int) -> Any:
    return values[place] if values is not None and place < len(values) else None
