"""Runs on recordings: DEEP and GAME side by side, from files to a report. See `pellucid.runs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import runs
from pellucid.series.forecaster import Forecaster
from pellucid.series.recordings import Recordings
from pellucid.trust import LEVEL, check_level

_SHARE = 0.1
# Forecasts of a report at either end, and between.
_SHOWN = 12

MEASURES = [
    {"key": "relative_error", "title": "relative error", "better": "lower",
     "about": "error of the forecasts divided by that of always forecasting the mean"},
    {"key": "error", "title": "error", "better": "lower",
     "about": "root mean squared error of the forecasts, in the units of the data"},
    {"key": "negative_log_likelihood", "title": "negative log-likelihood", "better": "lower",
     "about": "of each value given all before it, in nats"},
    {"key": "relative_deviation", "title": "relative deviation", "better": "lower",
     "about": "how far laws and network are apart, relative to how much the forecasts move"},
    {"key": "deviation", "title": "deviation", "better": "lower",
     "about": "root mean squared error between law and network, in the units of the data"},
    {"key": "variation", "title": "variation", "better": "lower",
     "about": "how much all coefficients change from one step to the next"},
]  # fmt: skip


def split(source: Recordings, length: int, seed: int, test: Recordings | None = None) -> dict[str, Recordings]:
    """What is learned from, chosen and calibrated on, and tested on: pieces of `length` rows cut out at random."""
    rest = source
    if test is None:
        rest, test = source.hold_out(_SHARE, length, seed=seed + 1)
    train, validation = rest.hold_out(_SHARE, length, seed=seed)
    return {"train": train, "validation": validation, "test": test}


def train(
    source: Recordings,
    model: Forecaster,
    folder: str | Path,
    *,
    title: str,
    test: Recordings | None = None,
    weights: Sequence[float] = (),
    tolerance: float = runs.TOLERANCE,
    level: float = LEVEL,
    resume: bool = False,
    progress: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Train DEEP and GAME, calibrate and test them on pieces that are held out; the summary.

    Parameters
    ----------
    model : GAME, untrained; DEEP has the same settings and no game. With `game=None` DEEP is trained alone.
    test : other recordings to test on; by default a tenth of the same ones.
    weights : try these, and keep the one that `runs.choose` finds on the validation pieces; by default the model's.
    tolerance : of this choice.
    level : the confidence of the bounds.
    say : told what is going on.
    """
    folder, tolerance, level = Path(folder), runs.check_tolerance(tolerance), check_level(level)
    source.require_variation()
    parts = split(source, model.context + model.horizon, model.seed, test)
    runs.open_folder(folder, resume=resume)

    def fit(own: Forecaster, place: Path, begun: bool) -> Forecaster:
        return own.fit(parts["train"], validation=parts["validation"], folder=place, resume=begun, progress=progress)

    found = runs.side_by_side(
        model,
        folder,
        fit=fit,
        seen=lambda own: _seen(own, parts["validation"]),
        weights=weights,
        tolerance=tolerance,
        say=say,
    )
    say("measuring on the test recordings")
    rows = {name: sum(len(table) for table in part.values) for name, part in parts.items()}
    summary = runs.summary_of(
        "series",
        title,
        seed=model.seed,
        data={
            "source": title,
            "description": f"{len(source)} recordings of {', '.join(source.channels)}; numbers are rows",
            "parts": rows,
            **runs.left_out([]),
        },
        settings=found.shown.settings(),
        channels=list(source.channels),
        **_measured(found, parts["test"], level),
        trade_off=runs.trade_off(
            found.trials,
            tolerance,
            "validation error: relative error of the forecasts",
            "deviation of the forecasts, relative to how much they move",
        ),
    )
    from pellucid.series import report

    runs.write_summary(folder, summary, report.write)
    return summary


def _seen(model: Forecaster, watched: Recordings) -> tuple[float, float]:
    """Error and deviation on validation pieces."""
    scores = model.evaluate(watched)
    return scores.relative_error, scores.relative_deviation


def _measured(found: runs.SideBySide[Forecaster], test: Recordings, level: float) -> dict[str, Any]:
    """What the test pieces say."""
    models = found.models
    return {
        "measures": MEASURES,
        "models": {
            name: {"scores": model.evaluate(test)._asdict(), **found.notes[name]} for name, model in models.items()
        },
        "deviations": {name: model.deviations(test).tolist() for name, model in models.items()},
        "deviation_unit": "rms distance between law and network along a forecast, in standard deviations",
        "trust": runs.trust(
            {name: model.calibrations_["generated"] for name, model in models.items()},
            {name: model.held_out(test, seed=1) for name, model in models.items()},
            {name: model.in_units(np.ones(len(model.channels_))) for name, model in models.items()},
            level,
        ),
        "explanations": _explained(found.shown, test, level),
    }


def _explained(model: Forecaster, test: Recordings, level: float) -> list[dict[str, Any]]:
    """Forecasts for the report, ordered by how far the laws are off."""
    places = test.starts(model.context + model.horizon)
    found = []
    for k, rank in runs.extremes(model.deviations(test), shown=_SHOWN, ends=_SHOWN // 3):
        i, row = places[k]
        values = test.values[i][row : row + model.context + model.horizon]
        explanation = model.explain(values[: model.context], values[model.context :], forced=False, level=level)
        place = f"{test.sources[i]}, from row {row + 1}" if row else test.sources[i]
        found.append({"rank": rank, "place": place, "explanation": explanation.to_dict()})
    return found
