"""One explained forecast on a page: what came, what was forecast, and the law that the network followed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.numbers import counted, listed
from pellucid.report.numbers import MINUS, number, percent
from pellucid.report.page import embed, render, write_page
from pellucid.report.sections import trust_sentence
from pellucid.report.traces import Trace, heat_map, lines, scale_of
from pellucid.series import explanation_text
from pellucid.series.stability import instability_note, spectral_radius
from pellucid.trust import median_bounds, no_bound_reason
from pellucid.witnesses.text import law_text

if TYPE_CHECKING:
    from markupsafe import Markup

    from pellucid.series.explanation import ForecastExplanation

CHANNELS = 12
"""Channels that a page has room for."""
# Values of the context before a forecast, and parameters that a page shows.
_BEFORE, _ROWS = 20, 16
# Channels whose bounds a sentence names.
_BOUNDS = 4


def write_one(explanation: ForecastExplanation, path: str | Path, *, title: str | None = None) -> Path:
    """Write one explanation as an HTML file.

    Parameters
    ----------
    explanation : ForecastExplanation
        The explanation.
    path : str or Path
        The file to write.
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
        e=view(explanation),
        laws=embed([[law_texts(explanation, k) for k in channels_of(explanation)]]),
    )


def fragment(explanation: ForecastExplanation) -> Markup:
    """One explanation as a piece of HTML with its own styles and without scripts: for notebooks."""
    return render("forecast_fragment.html", e=view(explanation))


def _about(explanation: ForecastExplanation) -> str:
    *names, last = explanation.channels
    text = f"{', '.join(names)} and {last}" if names else last
    basis = explanation_text.basis(explanation)
    return f"{counted(len(explanation), 'step')} of {text}" + (f", {basis}" if basis else "")


def channels_of(explanation: ForecastExplanation) -> range:
    """The channels that a page has room for."""
    return range(min(CHANNELS, len(explanation.channels)))


def view(explanation: ForecastExplanation) -> dict[str, Any]:
    """Everything that the templates show of an explanation, as text and pictures."""
    channels = channels_of(explanation)
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
        "channels": [_channel(explanation, k) for k in channels],
        "more": len(explanation.channels) - len(channels),
    }  # fmt: skip


def _worth(explanation: ForecastExplanation) -> list[str]:
    """What the laws are worth, a line each."""
    law = explanation.overall
    return [
        explanation_text.held_out(explanation),
        *([] if law is None else [law.verdict() or "", law.steadiness_text()]),
        explanation_text.steadiness(explanation),
        explanation_text.stability(explanation),
    ]


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
    bound = np.nan if explanation.bound is None else median_bounds(explanation.bound)[k]
    unseen, fitted = (float(part[k]) for part in explanation_text.deviations(explanation))
    move = float(mean.std())
    return {
        "name": name,
        "held_out": _deviation(unseen, move) if np.isfinite(unseen) else None,
        "fitted": _deviation(fitted, move),
        "bound": number(float(bound)) if np.isfinite(bound) else None,
        # Along a forecast errors add up: a band of one step would look like that of the forecast.
        "lines": lines(traces, band if explanation.forced else None, f"Forecast of {name} over {len(mean)} steps"),
        "heat": heat_map(
            theta[rows], [explanation.names[i] for i in rows], limit, f"Coefficients of the law of {name}"
        ),
        "scale": scale_of(limit),
        "unit": "in the units of the data" if explanation.scale is None else "standardized",
        "weaker": len(theta) - len(rows),
        "law": law_texts(explanation, k)[0],
        "overall": _overall_law(explanation, k),
    }


def _deviation(gap: float, move: float) -> dict[str, str | None]:
    """A deviation, and its share of how much the forecast moves."""
    return {"value": number(gap), "relative": percent(gap / move, 0) if move > 0 else None}


def _strongest(theta: np.ndarray) -> list[int]:
    """The rows of the parameters that matter most, in their order."""
    strength = np.abs(theta).mean(1)
    return sorted(np.argsort(-strength, kind="stable")[:_ROWS].tolist())


def _overall_law(explanation: ForecastExplanation, k: int) -> dict[str, Any] | None:
    """The law of the recording as a whole, and how it compares with the local ones."""
    law = explanation.overall
    if law is None:
        return None
    return {
        "law": law_texts(explanation, k, law.parameters[None])[0],
        "explained": percent(float(law.explained[k]), 0) if np.isfinite(law.explained[k]) else None,
        "local": percent(float(law.local[k]), 0) if np.isfinite(law.local[k]) else None,
    }


def law_texts(explanation: ForecastExplanation, k: int, parameters: np.ndarray | None = None) -> list[str]:
    """The law of each step, as text: of many parameters those that matter most."""
    rows = _strongest(explanation.standardized[:, :, k].T)
    weaker = len(explanation.names) - len(rows)
    more = f" … and {counted(weaker, 'weaker term')}" if weaker else ""
    parameters = explanation.parameters if parameters is None else parameters
    names = ["", *explanation.names[1:]]
    texts = []
    for theta, radius in zip(parameters[:, :, k].tolist(), spectral_radius(parameters).tolist(), strict=True):
        law = law_text([(theta[i], names[i]) for i in rows], digits=explanation.digits, minus=MINUS)
        texts.append(f"{explanation.channels[k]}[t+1] = {law}{more}{instability_note(radius)}")
    return texts


def _trust(explanation: ForecastExplanation) -> str:
    """The sentence of the trust number, with the median over the steps."""
    text, rest = None, []
    if explanation.bound is not None:
        bounds = list(zip(explanation.channels, median_bounds(explanation.bound).tolist(), strict=True))
        parts = [number(v, 2) + (f" ({name})" if len(bounds) > 1 else "") for name, v in bounds if np.isfinite(v)]
        text = listed(parts, _BOUNDS)
        rest = [name for name, v in bounds if not np.isfinite(v)]
    return trust_sentence(
        text,
        explanation.level,
        explanation.calibrated,
        explanation.why_not or no_bound_reason(explanation.level, explanation.calibrated),
        witness="the law of a step",
        points="a further position within its radius that it was not fitted to",
        held_out="sequence",
        rest=rest,
    )
