"""Explanations of forecasts on a page: what came, what was forecast, and the law that the network followed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.numbers import counted, listed
from pellucid.report.numbers import MINUS, number, percent
from pellucid.report.page import embed, render, write_page
from pellucid.report.sections import common, ranked, share, trust_sentence
from pellucid.report.traces import Trace, heat_map, lines, scale_of
from pellucid.series.explanation import ForecastExplanation, unstable
from pellucid.series.laws import spectral_radius
from pellucid.summaries import Example, RunSummary
from pellucid.trust import typical, unknown
from pellucid.witnesses.text import law_text

if TYPE_CHECKING:
    from markupsafe import Markup

# Values of the context before a forecast, channels and parameters that a page shows.
_BEFORE, _CHANNELS, _ROWS = 20, 12, 16
# Channels whose bounds a sentence names.
_BOUNDS = 4
# Pictures of channels that a page has room for: of more channels it shows fewer forecasts.
_PANELS = 60


def write(summary: RunSummary, path: str | Path) -> Path:
    """Write the report of a run as one HTML file.

    Parameters
    ----------
    summary : RunSummary
        What the run found.
    path : str or Path
        The HTML file.
    """
    # Summaries begin with the most trustworthy, pages with the least.
    groups: dict[str, list[Example]] = {"least": [], "most": [], "others": []}
    for example in ranked(summary):
        groups[example.rank].append(example)
    examples = groups["least"][::-1] + groups["most"] + groups["others"][::-1]
    shown = examples[: max(2, _PANELS // max(1, min(_CHANNELS, len(summary.outputs))))]
    explanations = [ForecastExplanation.from_dict(example.explanation) for example in shown]
    items = [
        {"rank": example.rank, "place": example.place or f"forecast {i + 1}", "view": _view(explanation)}
        for i, (example, explanation) in enumerate(zip(shown, explanations, strict=True))
    ]
    laws = [[_laws(e, k) for k in _shown(e)] for e in explanations]
    channels = list(summary.outputs or (explanations[0].channels if explanations else ()))
    return write_page(
        path,
        "series.html",
        **common(summary, calibrated_on="sequence"),
        channels=channels[:_CHANNELS],
        items=items,
        share=share(summary, "forecast"),
        left=len(examples) - len(items),
        laws=embed(laws),
    )


def write_many(explanations: Mapping[str, ForecastExplanation], path: str | Path, *, title: str) -> int:
    """Write several explanations as one HTML file, those that are least close to their laws first.

    Parameters
    ----------
    explanations : mapping of str to ForecastExplanation
        By what was explained: the name of a recording, and the row.
    path : str or Path
        Of the HTML file.
    title : str
        Of the page.

    Returns
    -------
    int
        How many there was no room for.
    """
    far = {place: float(np.square((e.mean - e.witnessed) / (e.mean.std(0) + 1e-12)).mean())
           for place, e in explanations.items()}  # fmt: skip
    channels = list(next(iter(explanations.values())).channels)
    room = max(2, _PANELS // min(_CHANNELS, len(channels)))
    shown = sorted(explanations, key=lambda place: far[place])[-room:]
    examples = tuple(Example(place=place, explanation=explanations[place].to_dict()) for place in shown)
    write(RunSummary(kind="series", title=title, outputs=tuple(channels), explanations=examples), path)
    return len(explanations) - len(shown)


def write_one(explanation: ForecastExplanation, path: str | Path, *, title: str | None = None) -> Path:
    """Write one explanation as an HTML file.

    Parameters
    ----------
    explanation : ForecastExplanation
        What is shown.
    path : str or Path
        Of the HTML file.
    title : str, optional
        What was explained; by default the channels.
    """
    about = _about(explanation)
    return write_page(
        path,
        "forecast_page.html",
        kind="forecast",
        title=about if title is None else title,
        about=None if title is None else about,
        e=_view(explanation),
        laws=embed([[_laws(explanation, k) for k in _shown(explanation)]]),
    )


def fragment(explanation: ForecastExplanation) -> Markup:
    """One explanation as a piece of HTML with its own styles and without scripts: for notebooks."""
    return render("forecast_fragment.html", e=_view(explanation))


def _about(explanation: ForecastExplanation) -> str:
    *names, last = explanation.channels
    text = f"{', '.join(names)} and {last}" if names else last
    along = explanation.along()
    return f"{counted(len(explanation), 'step')} of {text}" + (f", {along}" if along else "")


def _shown(explanation: ForecastExplanation) -> range:
    """The channels that a page has room for."""
    return range(min(_CHANNELS, len(explanation.channels)))


def _view(explanation: ForecastExplanation) -> dict[str, Any]:
    """Everything that the templates show of an explanation, as text and pictures."""
    shown = _shown(explanation)
    actual = explanation.actual is not None
    return {
        "steps": len(explanation),
        "level": percent(explanation.level),
        "trust": _trust(explanation),
        # What the laws are worth comes before how close they are.
        "worth": [f"{line[0].upper()}{line[1:]}." for line in _worth(explanation) if line],
        "legend": [("context", "context"), *([("came", "what came")] if actual else []), ("forecast", "forecast"),
                   *([("sd", "± one standard deviation of one step")] if explanation.forced else []),
                   ("witness", "witness")],
        "channels": [_channel(explanation, k) for k in shown],
        "more": len(explanation.channels) - len(shown),
    }  # fmt: skip


def _worth(explanation: ForecastExplanation) -> list[str]:
    enough = None if explanation.overall is None else explanation.overall.enough()
    return [explanation.held_out(), *([enough] if enough else []), explanation.stability()]


def _channel(explanation: ForecastExplanation, k: int) -> dict[str, Any]:
    name, mean, witnessed = explanation.channels[k], explanation.mean[:, k], explanation.witnessed[:, k]
    before = explanation.context[-_BEFORE:, k]
    traces = [Trace("context", 1 - len(before), before.tolist())]
    if explanation.actual is not None:
        traces.append(Trace("came", 1, explanation.actual[:, k].tolist()))
    traces += [Trace("forecast", 1, mean.tolist()), Trace("witness", 1, witnessed.tolist())]
    sd = np.sqrt(explanation.covariance[:, k, k])
    band = ((mean - sd).tolist(), (mean + sd).tolist())
    theta = explanation.standardized[:, :, k].T
    rows = _strongest(theta)
    limit = float(np.abs(theta).max())
    bound = np.nan if explanation.bound is None else typical(explanation.bound)[k]
    gap, move = float(np.sqrt(np.square(mean - witnessed).mean())), float(mean.std())
    return {
        "name": name,
        "deviation": number(gap),
        "relative": percent(gap / move, 0) if move > 0 else None,
        "bound": number(float(bound)) if np.isfinite(bound) else None,
        # Along a forecast errors add up: a band of one step would look like that of the forecast.
        "lines": lines(traces, band if explanation.forced else None, f"Forecast of {name} over {len(mean)} steps"),
        "heat": heat_map(
            theta[rows], [explanation.names[i] for i in rows], limit, f"Coefficients of the law of {name}"
        ),
        "scale": scale_of(limit),
        "unit": "in the units of the data" if explanation.scale is None else "standardized",
        "weaker": len(theta) - len(rows),
        "law": _laws(explanation, k)[0],
        "overall": _whole(explanation, k),
    }


def _strongest(theta: np.ndarray) -> list[int]:
    """The rows of the parameters that matter most, in their order."""
    strength = np.abs(theta).mean(1)
    return sorted(np.argsort(-strength, kind="stable")[:_ROWS].tolist())


def _whole(explanation: ForecastExplanation, k: int) -> dict[str, Any] | None:
    """The law of the recording as a whole, and how it compares with the local ones."""
    law = explanation.overall
    if law is None:
        return None
    return {
        "law": _laws(explanation, k, law.parameters[None])[0],
        "explained": percent(float(law.explained[k]), 0) if np.isfinite(law.explained[k]) else None,
        "local": percent(float(law.local[k]), 0) if np.isfinite(law.local[k]) else None,
    }


def _laws(explanation: ForecastExplanation, k: int, parameters: np.ndarray | None = None) -> list[str]:
    """The law of each step, as text: of many parameters those that matter most."""
    rows = _strongest(explanation.standardized[:, :, k].T)
    weaker = len(explanation.names) - len(rows)
    more = f" … and {counted(weaker, 'weaker term')}" if weaker else ""
    parameters = explanation.parameters if parameters is None else parameters
    names = ["", *explanation.names[1:]]
    texts = []
    for theta, radius in zip(parameters[:, :, k].tolist(), spectral_radius(parameters).tolist(), strict=True):
        law = law_text([(theta[i], names[i]) for i in rows], digits=explanation.digits, minus=MINUS)
        texts.append(f"{explanation.channels[k]}[t+1] = {law}{more}{unstable(radius)}")
    return texts


def _trust(explanation: ForecastExplanation) -> str:
    """The sentence of the trust number, with the median over the steps."""
    text, rest = None, []
    if explanation.bound is not None:
        named = list(zip(explanation.channels, typical(explanation.bound).tolist(), strict=True))
        parts = [number(v, 2) + (f" ({name})" if len(named) > 1 else "") for name, v in named if np.isfinite(v)]
        text = listed(parts, _BOUNDS)
        rest = [name for name, v in named if not np.isfinite(v)]
    return trust_sentence(
        text,
        explanation.level,
        explanation.calibrated,
        explanation.why_not or unknown(explanation.level, explanation.calibrated),
        witness="the law of a step",
        where="a further position within its radius that it was not fitted to",
        held_out="sequence",
        rest=rest,
    )
