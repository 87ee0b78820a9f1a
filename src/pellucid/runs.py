"""Runs: DEEP and GAME trained side by side on one split of the data, measured, and written down in one folder.

    run/summary.json    what was found, in plain numbers; the report is made of it alone
    run/report.html
    run/deep, run/game  the models
    run/reading.json    how the files were read
    run/checkpoints     what an interrupted run goes on from

What is learned from is a domain, see `pellucid.domains`.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, NamedTuple

import numpy as np

from pellucid import summaries
from pellucid.domains import Data, Domain, Measured, Model, Plan, Shown, Source, Speak
from pellucid.errors import InputError, Parameter
from pellucid.numbers import counted
from pellucid.options import changed, options_of
from pellucid.summaries import HELD_OUT, DataSummary, Example, ModelSummary, RunSummary, Trial, TrustSummary
from pellucid.trust import LEVEL, check_level, typical
from pellucid.verdicts import unexplained, verdict
from pellucid.weights import MULTIPLES, TOLERANCE, check_tolerance, trade_off

REPORT, CHECKPOINTS, READING = "report.html", "checkpoints", "reading.json"
_PACKAGES = ("torch", "numpy", "lightning", "rdkit")
# Rejected rows that a summary lists.
_REJECTED = 200


def train(
    domain: Domain[Data, Model],
    source: Source[Data],
    settings: Any,
    folder: str | Path,
    *,
    title: str,
    weight: float | None = None,
    tune_weight: bool = False,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
    resume: bool = False,
    progress: bool = True,
    say: Speak = lambda _: None,
) -> RunSummary:
    """Train DEEP and GAME, calibrate them on validation data, test both on other data, and write everything down.

    Parameters
    ----------
    domain : Domain
        What is learned from.
    source : Source
        The data, and where they come from.
    settings : Settings
        Of the domain.
    folder : str or Path
        The folder of the run.
    title : str
        Title of the report.
    weight : float, optional
        Weight of the game; by default what suits the data.
    tune_weight : bool
        Try several weights, and keep the most transparent model whose validation loss is within the tolerance.
    tolerance : float
        The share of DEEP's validation loss that the game may cost.
    level : float
        The confidence of the bounds.
    resume : bool
        Go on from an interrupted run in the folder, to the same result.
    progress : bool
        Show progress bars.
    say : callable
        Takes sentences on what is going on.
    """
    folder, tolerance, level = Path(folder), check_tolerance(tolerance), check_level(level)
    plan = domain.plan(source, settings, weight=weight)
    for sentence in _described(domain, plan):
        say(sentence)
    open_folder(folder, resume=resume)
    usual = plan.model.weight
    weights = [round(usual * multiple, 6) for multiple in MULTIPLES] if tune_weight else [usual]
    pair = _side_by_side(domain, plan, settings, folder, weights, tolerance, progress, say)
    say(f"measuring on the test {domain.counted}")
    summary = _summary(domain, plan, pair, title, tolerance, level, progress)
    summaries.write(folder, summary)
    if source.reading is not None:
        kept = {option.name for option in options_of(domain.Reading) if option.words.kept}
        content = {name: value for name, value in asdict(source.reading).items() if name in kept}
        (folder / READING).write_text(json.dumps(content) + "\n", encoding="utf-8")
    domain.write_report(summary, folder / REPORT)
    return summary


def _described(domain: Domain[Data, Model], plan: Plan[Data, Model]) -> list[str]:
    """What will be done, a sentence each."""
    uses = {"train": "learn from", "validation": "validate on", "test": "test on"}
    sizes = ", ".join(f"{count:,} to {uses[name]}" for name, count in plan.sizes.items())
    model = plan.model
    training = (
        f"training: {counted(model.epochs, 'epoch')}{' at most' if plan.stops_early else ''}, width {model.width}, "
        f"batch size {model.batch_size}, learning rate {model.learning_rate:g}"
    )
    split = [f"split: {plan.split_about}"] if plan.split_about else []
    return [*plan.notes, f"{domain.counted}: {sizes}", training, *split, *plan.choices, *plan.remarks]


class Pair(NamedTuple, Generic[Model]):
    """DEEP and GAME of one run."""

    models: dict[str, Model]
    """"DEEP", and "GAME" if there is one."""
    trials: list[Trial]
    """What was tried to choose the weight; nothing if it was set."""
    training: dict[str, dict[str, Any]]
    """Of each model its weight, epochs and seconds; these are None after an interruption."""

    @property
    def main(self) -> Model:
        """The model that is explained: GAME, or DEEP if it is alone."""
        return next(reversed(self.models.values()))


def _side_by_side(
    domain: Domain[Data, Model],
    plan: Plan[Data, Model],
    settings: Any,
    folder: Path,
    weights: Sequence[float],
    tolerance: float,
    progress: bool,
    say: Speak,
) -> Pair[Model]:
    """Train DEEP, and GAME with the only or the best weight; save both."""
    games = [] if plan.model.game is None else list(dict.fromkeys(weights))
    models: dict[float | None, Model] = {}
    seconds: dict[float | None, float | None] = {}
    for number, weight in enumerate([None, *games], 1):
        model = replace(plan.model, game=None) if weight is None else replace(plan.model, weight=weight)
        say(f"{number} of {1 + len(games)}: {_model_name(model, domain.strength(settings))}")
        place = folder / CHECKPOINTS / ("deep" if weight is None else f"game-{weight:g}")
        begun = (place / "identity.json").exists()
        start = time.monotonic()
        models[weight] = domain.fit(model, plan, settings, folder=place, resume=begun, progress=progress)
        seconds[weight] = None if begun else round(time.monotonic() - start, 1)
    trials = []
    if len(games) > 1:
        trials = [Trial(weight, *domain.validate(model, plan.parts.validation)) for weight, model in models.items()]
    costs = trade_off(trials, tolerance, loss=plan.loss, deviation=plan.deviation)
    best = costs.chosen if costs else games[0] if games else None
    names = {"DEEP": None, "GAME": best} if games else {"DEEP": None}
    for name, weight in names.items():
        models[weight].save(folder / name.lower())
    return Pair(
        {name: models[weight] for name, weight in names.items()},
        trials,
        {
            name: {"weight": weight, "epochs": len(models[weight].history_), "seconds": seconds[weight]}
            for name, weight in names.items()
        },
    )


def _model_name(model: Any, strength: str | None) -> str:
    """Which model this is, in words."""
    if model.game is None or strength is None:
        return "DEEP, no game"
    return f"GAME, {model.game}, {strength} {getattr(model, strength):g}"


def _summary(
    domain: Domain[Data, Model],
    plan: Plan[Data, Model],
    pair: Pair[Model],
    title: str,
    tolerance: float,
    level: float,
    progress: bool,
) -> RunSummary:
    """What the test data say."""
    from pellucid import __version__

    test = plan.parts.test
    measured = {name: domain.measure(model, test, progress=progress) for name, model in pair.models.items()}
    first = next(iter(measured.values()))
    models = {name: ModelSummary(scores=scores(found), **pair.training[name]) for name, found in measured.items()}
    shown = domain.examples(pair.main, test, level=level, progress=progress)
    sentences = [
        *plan.remarks,
        *domain.remarks(pair.models, plan),
        *unexplained(models, domain.unexplained, domain.cure),
        *verdict(models, tested=first.tested, transparency=domain.transparency),
    ]
    return RunSummary(
        kind=domain.name,
        title=title,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        pellucid=__version__,
        versions=_versions(),
        seed=pair.main.seed,
        data=DataSummary(
            source=title,
            description=plan.description,
            parts=dict(plan.sizes),
            split=plan.split,
            split_about=plan.split_about,
            test_digest=plan.digest,
            decisions=plan.decisions,
            rejected=plan.rejected[:_REJECTED],
            rejected_count=len(plan.rejected),
        ),
        settings=pair.main.settings(),
        choices=plan.choices,
        outputs=plan.outputs,
        measures=tuple(domain.measures(test)),
        models=models,
        verdict=tuple(sentences),
        deviations={name: tuple(found.deviations.tolist()) for name, found in measured.items()},
        deviation_unit=first.deviation_unit,
        trust=_trust(measured, level),
        explanations=_ranked(shown, domain),
        trade_off=trade_off(pair.trials, tolerance, loss=plan.loss, deviation=plan.deviation),
        baseline=domain.baseline(plan),
    )


def scores(measured: Measured) -> dict[str, Any]:
    """The scores of a model, with the held-out variance explained."""
    return {**measured.scores, HELD_OUT: mean_of(measured.held_out.explained())}


def mean_of(values: np.ndarray) -> float | None:
    """The mean of the numbers that are finite, if any are."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def plain(values: np.ndarray) -> tuple[float | None, ...]:
    """Numbers ready for JSON: None where one is not known."""
    return tuple(float(value) if np.isfinite(value) else None for value in values)


def _trust(measured: Mapping[str, Measured], level: float) -> TrustSummary:
    """Coverage on test neighborhoods and median bounds of each model, in the units of the data."""
    bound, coverage, calibrated = {}, {}, []
    for name, found in measured.items():
        if found.calibration is not None:
            bounds = found.calibration.bound(found.held_out.deviations, level) * found.units
            bound[name] = plain(typical(bounds[found.held_out.telling]))
            coverage[name] = plain(found.calibration.coverage(found.held_out, level))
            calibrated.append(len(found.calibration))
    return TrustSummary(
        level=level,
        calibrated=min(calibrated, default=0),
        tested=min(len(found.held_out.gaps) for found in measured.values()),
        coverage=coverage,
        bound=bound,
    )


def _ranked(shown: Sequence[Shown], domain: Domain[Data, Model]) -> tuple[Example, ...]:
    """Explanations for the report, the most trustworthy first."""
    return tuple(
        Example(
            rank=rank,  # type: ignore[arg-type]
            place=shown[k].label,
            measured=None if shown[k].measured is None else tuple(shown[k].measured or ()),
            explanation=shown[k].explanation.to_dict(),
        )
        for k, rank in extremes([each.deviation for each in shown], shown=domain.shown, ends=domain.ends)
    )


def extremes(
    deviations: Sequence[float] | np.ndarray, *, shown: int = Domain.shown, ends: int = Domain.ends
) -> list[tuple[int, str]]:
    """The indices of what a report shows, most trustworthy first: both ends, and others evenly between them.

    Examples
    --------
    >>> [index for index, rank in extremes([0.3, 0.1, 0.2])], [rank for _, rank in extremes([0.3, 0.1, 0.2])]
    ([1, 2, 0], ['most', 'others', 'least'])
    """
    order = np.argsort(np.asarray(deviations), kind="stable")
    chosen = np.unique(np.round(np.linspace(0, len(order) - 1, min(shown, len(order)))).astype(int))
    ends = min(ends, len(chosen) // 2)
    ranks = ["most"] * ends + ["others"] * (len(chosen) - 2 * ends) + ["least"] * ends
    return [(int(order[index]), rank) for index, rank in zip(chosen, ranks, strict=True)]


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


# -- folders ------------------------------------------------------------------------------------------------------


def open_folder(folder: Path, *, resume: bool) -> None:
    """Make the folder of a run, or refuse one that holds another run."""
    require_place(folder, resume=resume)
    (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)


def require_place(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that holds another run, or, if it is to go on, none."""
    if folder.is_file():
        raise InputError(
            "A run is a folder",
            got=f"{folder}, which is a file",
            cure=f"choose another folder with {Parameter('out')}",
            parameter="out",
        )
    begun = any((folder / CHECKPOINTS).glob("*/identity.json"))
    if not resume and (begun or (folder / summaries.FILE).exists()):
        raise InputError(
            "The folder of a new run must hold no other run",
            got=f"{folder}",
            cure=f"go on from it with {Parameter('resume', True)}, or choose another folder with {Parameter('out')}",
            parameter="resume",
        )
    if resume and not begun:
        raise InputError(
            "There must be an interrupted run to go on from",
            got=f"none in {folder}",
            cure=f"start it without {Parameter('resume', True)}",
            parameter="resume",
        )


def reading_of(domain: Domain[Any, Any], folder: Path, values: Mapping[str, Any]) -> Any:
    """How the files of a run, or of a model of one, were read, unless other values are set."""
    path = next((p / READING for p in (folder, folder.resolve().parent) if (p / READING).is_file()), None)
    reading = domain.Reading()
    if path is not None:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            reading = domain.Reading(**{k: tuple(v) if isinstance(v, list) else v for k, v in content.items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} must be as it was written", got=f"something else: {error}", cure="delete it"
            ) from None
    return replace(reading, **changed(reading, values))


def digest(items: Iterable[bytes]) -> str:
    """A fingerprint of what a run was tested on, whatever the order of the items and the names of their files.

    Examples
    --------
    >>> digest([b"CCO 1", b"CCN 2"]) == digest([b"CCN 2", b"CCO 1"]) != digest([b"CCN 2"])
    True
    """
    digests = sorted(hashlib.sha256(item).digest() for item in items)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def same_test(first: RunSummary, second: RunSummary) -> bool | None:
    """Whether two runs were tested on the same data; None where an earlier version wrote one."""
    digests = [summary.data.test_digest for summary in (first, second)]
    return None if None in digests else digests[0] == digests[1]
