"""Runs on recordings: DEEP and GAME side by side, from files to a report. See `pellucid.runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import runs
from pellucid.report.numbers import counted
from pellucid.runs import measure
from pellucid.series.baseline import Baseline, compared, sequence_errors
from pellucid.series.forecaster import Forecaster
from pellucid.series.laws import CURE, NOTHING
from pellucid.series.recordings import Recordings
from pellucid.series.splitting import Kind, described, recommendation, split
from pellucid.trust import LEVEL, check_level

# Forecasts of a report at either end, and between.
_SHOWN = 12

MEASURES = [
    measure("relative_error", "relative error", "lower",
            "error of the forecasts divided by that of always forecasting the mean, which is 1"),
    measure("relative_error_one_step", "relative error, one step", "lower",
            "the same for each value of the horizon from the real ones before it"),
    measure("error", "error", "lower", "root mean squared error of the forecasts, in the units of the data"),
    measure("negative_log_likelihood", "negative log-likelihood", "lower",
            "of each value given all before it, in nats"),
    measure("explained_left_out", "held-out variance explained", "higher",
            "of the forecasts, by laws at steps that they were not fitted to: 0 is no better than a constant"),
    measure("relative_deviation", "relative deviation", "lower",
            "how far laws and network are apart, relative to how much the forecasts move"),
    measure("deviation", "deviation", "lower",
            "root mean squared error between law and network, in the units of the data"),
    measure("unstable", "unstable laws", "lower",
            "the share of laws whose own forecast would run away: their spectral radius is above 1"),
    measure("spectral_radius", "spectral radius", "lower", "of the laws, the median over all steps"),
    measure("variation", "variation", "lower",
            "how much all coefficients change from one step to the next, in the units of the data"),
]  # fmt: skip


def train(
    source: Recordings,
    model: Forecaster,
    folder: str | Path,
    *,
    title: str,
    test: Recordings | None = None,
    kind: Kind = "random",
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
    model : Forecaster
        GAME, untrained; DEEP has the same settings and no game. With `game=None` DEEP is trained alone.
    test : Recordings, optional
        Other recordings to test on; by default a tenth of the same ones.
    kind : Kind
        How these are divided, "random" or "time"; see `split`.
    weights : sequence of float
        Try these, and keep the one that `runs.choose` finds on the validation pieces; by default the model's.
    tolerance : float
        Of this choice.
    level : float
        The confidence of the bounds.
    say : callable
        Told what is going on.
    """
    folder, tolerance, level = Path(folder), runs.check_tolerance(tolerance), check_level(level)
    source.require_variation()
    length = model.context + model.horizon
    parts = split(source, length, model.seed, test, kind=kind)
    advice = recommendation(source, length) if kind == "random" and test is None else None
    # Both models have the laws that are chosen here.
    model, choices = model.settled(parts["train"])
    for sentence in [*choices, *([advice] if advice else [])]:
        say(sentence)
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
    linear = Baseline.of(parts["train"], model.context, model.horizon, lags=model.linear or 0)
    rows = {name: sum(len(table) for table in part.values) for name, part in parts.items()}
    summary = runs.summary_of(
        "series",
        title,
        seed=model.seed,
        data={
            "source": title,
            "description": f"{counted(len(source), 'recording')} of {', '.join(source.channels)}; "
            "counts below are rows",
            "parts": rows,
            "test_digest": runs.digest(
                repr(table.shape).encode() + table.astype(np.float64).tobytes() for table in parts["test"].values
            ),
            "split": kind,
            "split_about": described(source, kind, test is not None),
            "decisions": [*source.decisions(), *filter(None, [source.unused(length)])],
            **runs.left_out([]),
        },
        settings=found.shown.settings(),
        choices=choices,
        channels=list(source.channels),
        **_measured(found, parts, level, linear),
        baseline=linear.measured(parts["test"], model.context, model.horizon),
        trade_off=runs.trade_off(
            found.trials,
            tolerance,
            "validation error: relative error of the forecasts",
            "deviation of the forecasts, relative to how much they move",
        ),
    )
    summary["verdict"] = [*([advice] if advice else []), *summary["verdict"]]
    from pellucid.series import report

    runs.write_summary(folder, summary, report.write)
    return summary


def _seen(model: Forecaster, watched: Recordings) -> tuple[float, float]:
    """Error and deviation on validation pieces."""
    scores = model.evaluate(watched)
    return scores.relative_error, scores.relative_deviation


def _measured(
    found: runs.SideBySide[Forecaster],
    parts: Mapping[str, Recordings],
    level: float,
    linear: Baseline,
) -> dict[str, Any]:
    """What the test pieces say; against the linear law networks are judged on the validation pieces."""
    test, watched = parts["test"], parts["validation"]
    models, sizes = found.models, (found.shown.context, found.shown.horizon)
    left_out = {name: model.held_out(test, seed=1) for name, model in models.items()}
    told = {
        name: {
            "scores": {
                **model.evaluate(test)._asdict(),
                "explained_left_out": runs.mean_of(left_out[name].explained()),
            },
            **found.notes[name],
        }
        for name, model in models.items()
    }
    return {
        "measures": MEASURES,
        "models": told,
        "verdict": runs.verdict(
            told,
            tested=int(told["DEEP"]["scores"]["sequences"]),
            deviation="relative_deviation",
            more=[
                *compared(
                    {name: sequence_errors(model, watched) for name, model in models.items()},
                    linear.sequence_errors(watched, *sizes),
                    linear.spread(watched, *sizes),
                ),
                *runs.unexplained(told, NOTHING, CURE),
            ],
        ),
        "deviations": {name: model.deviations(test).tolist() for name, model in models.items()},
        "deviation_unit": "rms distance between law and network along a forecast, in standard deviations",
        "trust": runs.trust(
            {name: model.calibrations_["generated"] for name, model in models.items()},
            left_out,
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
        origin = test.origins[i]
        values = test.values[i][row : row + model.context + model.horizon]
        explanation = model.explain(values[: model.context], values[model.context :], forced=False, level=level)
        # As `pellucid explain --at` counts the rows.
        place = f"{origin.label}, after row {origin.row + row + model.context}"
        found.append({"rank": rank, "place": place, "explanation": explanation.to_dict()})
    return found
