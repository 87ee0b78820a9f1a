"""Runs: DEEP and GAME trained side by side on one split of the data, measured, and written down in one folder.

    run/summary.json    what was found, in plain numbers; the report is made of it alone
    run/report.html
    run/deep, run/game  the models
    run/checkpoints     what an interrupted run goes on from

The domains say how a model is trained and measured; see `pellucid.molecules.runs` and `pellucid.series.runs`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from pellucid.errors import InputError, Parameter
from pellucid.trust import Calibration, HeldOut, typical

SUMMARY, REPORT, CHECKPOINTS = "summary.json", "report.html", "checkpoints"
TOLERANCE = 0.02
PARTS = ("train", "validation", "test")
_PACKAGES = ("torch", "numpy", "lightning", "rdkit")
# Explanations at either end that a summary marks, and all that it holds.
_ENDS = 6
_SHOWN = 40
# What a summary tells of rows that were left out.
_LEFT_OUT = 200


Model = TypeVar("Model", bound=Any)


class Trial(NamedTuple):
    """A model that was tried, as the validation data see it."""

    weight: float | None
    """Of the game; None is DEEP."""
    loss: float
    deviation: float


def choose(trials: Sequence[Trial], tolerance: float) -> Trial:
    """The most transparent model whose validation loss is at most (1 + tolerance) times DEEP's.

    DEEP itself is never chosen: where no game is good enough, it is the one with the smallest loss.

    Examples
    --------
    >>> trials = [Trial(None, 1.0, 0.5), Trial(0.1, 0.99, 0.4), Trial(1.0, 1.01, 0.2), Trial(10.0, 1.5, 0.1)]
    >>> choose(trials, 0.02).weight
    1.0
    """
    limit = within(trials, tolerance)
    games = [trial for trial in trials if trial.weight is not None]
    good = [trial for trial in games if trial.loss <= limit]
    if good:
        return min(good, key=lambda trial: (trial.deviation, trial.weight))
    return min(games, key=lambda trial: trial.loss)


def within(trials: Sequence[Trial], tolerance: float) -> float:
    """The largest validation loss that a game may have."""
    (deep,) = (trial for trial in trials if trial.weight is None)
    return deep.loss * (1 + tolerance)


def check_tolerance(tolerance: Any) -> float:
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 10:
        raise InputError(
            "The tolerance must be a share of DEEP's validation loss, 0 or more",
            got=f"{tolerance!r}",
            cure=f"try {TOLERANCE}",
        )
    return float(tolerance)


def parts_of(count: int, seed: int, shares: Sequence[float] = (0.8, 0.1, 0.1)) -> dict[str, np.ndarray]:
    """Places of what is learned from, chosen and calibrated on, and tested on: at random, in these shares."""
    order = np.random.default_rng(seed).permutation(count)
    ends = np.round(np.cumsum(shares[:2]) * count).astype(int)
    parts = dict(zip(PARTS, np.split(order, ends), strict=True))
    small = [name for name, places in parts.items() if not len(places)]
    if small:
        raise InputError(
            "There must be something to learn from, to validate on and to test on",
            got=f"{count} in all, none of which is left for {small[0]}",
            cure="give more",
        )
    return parts


def open_folder(folder: Path, *, resume: bool) -> None:
    """Make the folder of a run, or refuse one that holds another run."""
    require_place(folder, resume=resume)
    (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)


def require_place(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds another run, or, if it is to go on, none."""
    if folder.is_file():
        raise InputError("A run is a folder", got=f"{folder}, which is a file", cure="choose another place with -o")
    begun = any((folder / CHECKPOINTS).glob("*/identity.json"))
    if not resume and (begun or (folder / SUMMARY).exists()):
        raise InputError(
            "The folder of a new run must hold no other run",
            got=f"{folder}",
            cure="go on from it with --resume, or choose another place with -o",
        )
    if resume and not begun:
        raise InputError(
            "There must be an interrupted run to go on from", got=f"none in {folder}", cure="start it without --resume"
        )


class SideBySide(NamedTuple, Generic[Model]):
    """DEEP and GAME of one run."""

    models: dict[str, Model]
    """"DEEP", and "GAME" if there is one."""
    trials: list[Trial]
    """What was tried to find the weight; nothing if it was given."""
    notes: dict[str, dict[str, Any]]
    """Of each model its weight, epochs and seconds; these are None after an interruption."""

    @property
    def shown(self) -> Model:
        """The model that is explained: GAME, or DEEP if it is alone."""
        return next(reversed(self.models.values()))


def side_by_side(
    model: Model,
    folder: Path,
    *,
    fit: Callable[[Model, Path, bool], Model],
    seen: Callable[[Model], tuple[float, float]],
    weights: Sequence[float],
    tolerance: float,
    say: Callable[[str], None],
) -> SideBySide[Model]:
    """Train DEEP, and GAME with the weight given or with the best of several; save both.

    Parameters
    ----------
    fit : callable
        Train a model with its checkpoints in a folder, going on from there if so told.
    seen : callable
        Validation loss and deviation of a trained model.
    """
    games = [] if model.game is None else list(dict.fromkeys(weights)) or [model.weight]
    models: dict[float | None, Model] = {}
    seconds: dict[float | None, float | None] = {}
    for number, weight in enumerate([None, *games], 1):
        say(f"{number} of {1 + len(games)}: {described(model, weight)}")
        place = folder / CHECKPOINTS / ("deep" if weight is None else f"game-{weight:g}")
        begun = (place / "identity.json").exists()
        own = replace(model, game=None) if weight is None else replace(model, weight=weight)
        start = time.monotonic()
        models[weight] = fit(own, place, begun)
        seconds[weight] = None if begun else round(time.monotonic() - start, 1)
    trials = [Trial(weight, *seen(own)) for weight, own in models.items()] if len(games) > 1 else []
    best = choose(trials, tolerance).weight if trials else games[0] if games else None
    names = {"DEEP": None, "GAME": best} if games else {"DEEP": None}
    for name, weight in names.items():
        models[weight].save(folder / name.lower())
    return SideBySide(
        {name: models[weight] for name, weight in names.items()},
        trials,
        {
            name: {"weight": weight, "epochs": len(models[weight].history_), "seconds": seconds[weight]}
            for name, weight in names.items()
        },
    )


def described(model: Any, weight: float | None) -> str:
    """Which model this is, in words."""
    if weight is None:
        return "DEEP, no game"
    return f"GAME, {model.game}, " + (f"margin {model.margin:g}" if model.game == "uniform" else f"weight {weight:g}")


def extremes(
    deviations: Sequence[float] | np.ndarray, *, shown: int = _SHOWN, ends: int = _ENDS
) -> list[tuple[int, str]]:
    """The places of what a report shows, most trustworthy first: both ends, and others evenly between them.

    Examples
    --------
    >>> [place for place, rank in extremes([0.3, 0.1, 0.2])], [rank for _, rank in extremes([0.3, 0.1, 0.2])]
    ([1, 2, 0], ['most', 'others', 'least'])
    """
    order = np.argsort(np.asarray(deviations), kind="stable")
    chosen = np.unique(np.round(np.linspace(0, len(order) - 1, min(shown, len(order)))).astype(int))
    ends = min(ends, len(chosen) // 2)
    ranks = ["most"] * ends + ["others"] * (len(chosen) - 2 * ends) + ["least"] * ends
    return [(int(order[place]), rank) for place, rank in zip(chosen, ranks, strict=True)]


def summary_of(kind: str, title: str, *, seed: int, **found: Any) -> dict[str, Any]:
    """What every summary begins with, and what was found."""
    from pellucid import __version__

    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return {"kind": kind, "title": title, "made": made, "pellucid": __version__, "versions": versions, "seed": seed,
            **found}  # fmt: skip


def digest(items: Iterable[bytes]) -> str:
    """A fingerprint of what a run was tested on, whatever the order of the items and the names of their files.

    Examples
    --------
    >>> digest([b"CCO 1", b"CCN 2"]) == digest([b"CCN 2", b"CCO 1"]) != digest([b"CCN 2"])
    True
    """
    own = sorted(hashlib.sha256(item).digest() for item in items)
    return hashlib.sha256(b"".join(own)).hexdigest()


def same_test(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool | None:
    """Whether two summaries are of runs that were tested on the same data; None where earlier versions wrote one."""
    digests = [summary["data"].get("test_digest") for summary in (first, second)]
    return None if None in digests else digests[0] == digests[1]


def plain(values: np.ndarray) -> list[float | None]:
    """Numbers ready for JSON: None for what is not known."""
    return [float(value) if np.isfinite(value) else None for value in values]


def measure(key: str, title: str, better: str, about: str) -> dict[str, str]:
    """A row of the table of measures: which score it is, what it is called, which is better, what it says."""
    return {"key": key, "title": title, "better": better, "about": about}


def mean_of(values: np.ndarray) -> float | None:
    """Of what is known."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def trust(
    calibrations: Mapping[str, Calibration],
    fresh: Mapping[str, HeldOut],
    units: Mapping[str, np.ndarray],
    level: float,
) -> dict[str, Any]:
    """Coverage on test neighborhoods and median bounds of each model, in the units of the data."""
    bounds = {}
    for name, calibration in calibrations.items():
        found = calibration.bound(fresh[name].deviations, level) * units[name]
        bounds[name] = plain(typical(found[fresh[name].telling]))
    return {
        "level": level,
        "calibrated": min(len(calibration) for calibration in calibrations.values()),
        "tested": min(len(held.gaps) for held in fresh.values()),
        "coverage": {name: plain(known.coverage(fresh[name], level)) for name, known in calibrations.items()},
        "bound": bounds,
    }


def left_out(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Rows that were left out, as a summary tells them."""
    return {"left_out": [list(row) for row in rows[:_LEFT_OUT]], "left_out_count": len(rows)}


def trade_off(trials: Sequence[Trial], tolerance: float, loss: str, deviation: str) -> dict[str, Any] | None:
    """The weights that were tried, if there were several, ready for JSON and for a curve."""
    if not trials:
        return None
    return {
        "trials": [trial._asdict() for trial in trials],
        "tolerance": tolerance,
        "chosen": choose(trials, tolerance).weight,
        "loss": loss,
        "deviation": deviation,
    }


# A test of fewer says little; a relative error above this is hardly better than the mean, and one below that clearly.
_FEW_TESTS = 30
_HARDLY, _CLEARLY = 0.98, 0.9


def verdict(models: Mapping[str, Any], *, tested: int, deviation: str, more: Sequence[str] = ()) -> list[str]:
    """What somebody should know before reading the numbers, a sentence each.

    Parameters
    ----------
    models : mapping of str to object
        With their scores; `relative_error` is divided by that of always predicting the mean, and so is
        `relative_error_one_step` of forecasts.
    tested : int
        The number of test items.
    deviation : str
        The measure of transparency.
    more : sequence of str
        What else is known.
    """
    found = list(more)
    shown = models["GAME" if "GAME" in models else "DEEP"]["scores"]
    relative, ahead = shown.get("relative_error"), shown.get("relative_error_one_step")
    hardly = relative is not None and not relative < _HARDLY
    if hardly and ahead is not None and ahead < _CLEARLY:
        found.append(
            f"Over the whole horizon next to nothing can be forecast (relative error {relative:.3g}; always "
            f"forecasting the mean has 1). One step ahead it can (relative error {ahead:.3g}): choose a "
            "shorter horizon."
        )
    elif hardly:
        found.append(
            f"The network is hardly better than always predicting the mean (relative error {relative:.3g}): what its "
            "explanations say is next to nothing. Train longer, with another learning rate, or on more data."
        )
    if "GAME" in models:
        deep, game = (models[name]["scores"].get(deviation) for name in ("DEEP", "GAME"))
        if deep is not None and game is not None and not game < deep:
            found.append(
                "GAME is no more transparent than DEEP here: raise --weight, or let --weight auto look for another."
            )
    if tested < _FEW_TESTS:
        found.append(f"The test is small ({tested}): differences between the models may be chance.")
    return found


NEAR_ZERO = 0.05
"""A held-out variance explained below this is as good as none."""


def unexplained(
    models: Mapping[str, Any],
    nothing: str = "its witnesses explain nothing at points they were not fitted to",
    cure: str = "try larger neighborhoods, simpler witnesses or a larger weight",
) -> list[str]:
    """A sentence for each model, with its scores, whose witnesses say nothing where they were not fitted."""
    shares = {name: model["scores"].get("explained_left_out") for name, model in models.items()}
    return [
        f"{name}: {nothing} (held-out variance explained {share:.2g}), however small the deviation. Do not read them "
        f"as what the network does; {cure}."
        for name, share in shares.items()
        if share is not None and share < NEAR_ZERO
    ]


def _clean(content: Any) -> Any:
    """Ready for JSON, which knows neither NaN nor infinity."""
    if isinstance(content, Mapping):
        return {name: _clean(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_clean(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_summary(folder: Path, summary: Mapping[str, Any], report: Callable[[Mapping[str, Any], Path], Any]) -> None:
    """Write the summary, whole or not at all, and its report."""
    draft = folder / f"{SUMMARY}.draft"
    draft.write_text(json.dumps(_clean(summary), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(draft, folder / SUMMARY)
    report(read_summary(folder), folder / REPORT)


def read_summary(folder: str | Path) -> dict[str, Any]:
    """What a run found."""
    path = Path(folder) / SUMMARY
    if not path.is_file():
        raise InputError(
            f"A finished run is a folder with {SUMMARY}",
            got=f"{folder}, which has none",
            cure=("pass the folder that `pellucid train` wrote, or let an interrupted run go on with --resume"),
        )
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        summary["kind"], summary["models"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} must be as it was written", got=f"something else: {error}", cure="run again"
        ) from None
    return dict(summary)


def load(folder: str | Path, which: str | None = None) -> Any:
    """The model of a run, or one that `save` wrote: a `PropertyModel`, a `Forecaster` or a `JunctionTreeVAE`.

    Parameters
    ----------
    folder : str or Path
        Of a run, or of a model.
    which : str, optional
        Of a run, "game" or "deep"; by default GAME if there is one.
    """
    if which not in (None, "game", "deep"):
        raise InputError(f'{Parameter("which")} must be "game" or "deep"', got=f"{which!r}", parameter="which")
    folder = Path(folder)
    inside = [folder / name for name in ([which] if which else ["game", "deep"])]
    for place in [folder, *inside]:
        for name, (module, kind) in _KINDS.items():
            if (place / f"{name}.json").is_file():
                return getattr(import_module(module), kind).load(place)
    raise InputError(
        "A model is a folder that `pellucid train` or `save` wrote",
        got=(
            f"{folder}, where there is {'none called ' + which if which else 'none' if folder.exists() else 'nothing'}"
        ),
        cure="correct the path",
    )


# The file of each kind of model, and its class.
_KINDS = {
    "property_model": ("pellucid.molecules", "PropertyModel"),
    "forecaster": ("pellucid.series", "Forecaster"),
    "junction_tree_vae": ("pellucid.molecules.vae", "JunctionTreeVAE"),
}
