"""Runs on recordings: DEEP and GAME side by side, from files to a report. See `pellucid.runs`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import runs
from pellucid.report.numbers import counted
from pellucid.runs import measure
from pellucid.series.forecaster import Forecaster
from pellucid.series.recordings import Recordings
from pellucid.series.splitting import Kind, described, recommendation, split
from pellucid.trust import LEVEL, check_level

# Forecasts of a report at either end, and between.
_SHOWN = 12

MEASURES = [
    measure("relative_error", "relative error", "lower",
            "error of the forecasts divided by that of always forecasting the mean, which is 1"),
    measure("error", "error", "lower", "root mean squared error of the forecasts, in the units of the data"),
    measure("negative_log_likelihood", "negative log-likelihood", "lower",
            "of each value given all before it, in nats"),
    measure("relative_deviation", "relative deviation", "lower",
            "how far laws and network are apart, relative to how much the forecasts move"),
    measure("deviation", "deviation", "lower",
            "root mean squared error between law and network, in the units of the data"),
    measure("explained_left_out", "variance explained, left out", "higher",
            "of the forecasts, by laws at steps that they were not fitted to: 0 is no better than a constant"),
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
    model : GAME, untrained; DEEP has the same settings and no game. With `game=None` DEEP is trained alone.
    test : other recordings to test on; by default a tenth of the same ones.
    kind : how these are divided, "random" or "time"; see `split`.
    weights : try these, and keep the one that `runs.choose` finds on the validation pieces; by default the model's.
    tolerance : of this choice.
    level : the confidence of the bounds.
    say : told what is going on.
    """
    folder, tolerance, level = Path(folder), runs.check_tolerance(tolerance), check_level(level)
    source.require_variation()
    length = model.context + model.horizon
    parts = split(source, length, model.seed, test, kind=kind)
    advice = recommendation(source, length) if kind == "random" and test is None else None
    if advice:
        say(advice)
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
    linear = baseline(parts["train"], parts["test"], model.context, model.horizon)
    rows = {name: sum(len(table) for table in part.values) for name, part in parts.items()}
    summary = runs.summary_of(
        "series",
        title,
        seed=model.seed,
        data={
            "source": title,
            "description": f"{counted(len(source), 'recording')} of {', '.join(source.channels)}; numbers are rows",
            "parts": rows,
            "split": kind,
            "split_about": described(source, kind, test is not None),
            "decisions": [*source.decisions(), *filter(None, [source.unused(length)])],
            "test_digest": runs.digest(
                repr(table.shape).encode() + table.astype(np.float64).tobytes() for table in parts["test"].values
            ),
            **runs.left_out([]),
        },
        settings=found.shown.settings(),
        channels=list(source.channels),
        **_measured(found, parts["test"], level, linear),
        baseline=linear,
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


def baseline(train: Recordings, test: Recordings, context: int, horizon: int) -> dict[str, Any]:
    """One linear law for everything, which reads the whole context: what a network should beat.

    Fitted by least squares to the training data, standardized, and rolled out over the test sequences as forecasts are.
    """
    rows = np.concatenate(train.values)
    shift, scale = rows.mean(0), rows.std(0)
    lags, after = [], []
    for table in train.values:
        z = (table - shift) / scale
        if len(z) > context:
            windows = np.lib.stride_tricks.sliding_window_view(z, context, axis=0)[:-1]  # (T - context, c, context)
            lags.append(windows.reshape(len(windows), -1))
            after.append(z[context:])
    x, y = np.concatenate(lags), np.concatenate(after)
    # A little ridge: lags of one channel are nearly the same.
    theta = np.linalg.solve(x.T @ x + 1e-3 * len(x) * np.eye(x.shape[1]), x.T @ y)
    z = (test.sequences(context + horizon) - shift) / scale
    seen, path = z[:, :context], []
    for _ in range(horizon):
        path.append(seen.transpose(0, 2, 1).reshape(len(z), -1) @ theta)
        seen = np.concatenate([seen[:, 1:], path[-1][:, None]], axis=1)
    missed, future = np.stack(path, axis=1) - z[:, context:], z[:, context:]
    return {
        "title": "linear",
        "about": f"one linear law of the last {context} values for everything, fitted by least squares",
        "scores": {
            "relative_error": float(np.sqrt(np.square(missed).mean() / np.square(future).mean())),
            "error": float(np.sqrt(np.square(missed * scale).mean())),
        },
    }


def _beaten(models: dict[str, Any], linear: dict[str, Any]) -> list[str]:
    """Say so where no network is needed."""
    best = min(model["scores"]["relative_error"] for model in models.values())
    simple = linear["scores"]["relative_error"]
    if best <= simple:
        return []
    return [
        f"One linear law for everything forecasts better (relative error {simple:.3g}) than the networks ({best:.3g}): "
        "train longer or wider before trusting what these say."
    ]


def _seen(model: Forecaster, watched: Recordings) -> tuple[float, float]:
    """Error and deviation on validation pieces."""
    scores = model.evaluate(watched)
    return scores.relative_error, scores.relative_deviation


def _measured(
    found: runs.SideBySide[Forecaster], test: Recordings, level: float, linear: dict[str, Any]
) -> dict[str, Any]:
    """What the test pieces say."""
    models = found.models
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
            more=_beaten(told, linear),
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
        values = test.values[i][row : row + model.context + model.horizon]
        explanation = model.explain(values[: model.context], values[model.context :], forced=False, level=level)
        place = f"{test.sources[i]}, from row {row + 1}" if row else test.sources[i]
        found.append({"rank": rank, "place": place, "explanation": explanation.to_dict()})
    return found
