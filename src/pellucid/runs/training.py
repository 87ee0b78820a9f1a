"""Training the models of a run, and recording their results."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, NamedTuple

from pellucid import summaries
from pellucid.domains import Data, Domain, MessageCallback, ModelT, Plan, Source
from pellucid.errors import InputError, Parameter
from pellucid.numbers import counted
from pellucid.runs.folders import check_folder, opened, save_reading
from pellucid.runs.occupied import CHECKPOINTS, REPORT, is_model_begun
from pellucid.runs.results import report_examples, scores, trust_summary
from pellucid.summaries import MODEL_FOLDERS, DataSummary, ModelSummary, RunSummary, TradeOff, Trial
from pellucid.training.hardware import Hardware
from pellucid.trust import LEVEL, check_level
from pellucid.verdicts import unexplained, verdict
from pellucid.weights import MULTIPLES, TOLERANCE, check_tolerance, trade_off

_PACKAGES = ("torch", "numpy", "lightning")
# Rejected rows that a summary lists.
_MAX_REJECTED = 200


def train(
    domain: Domain[Data, ModelT],
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
    force: bool = False,
    progress: bool = True,
    say: MessageCallback = lambda _: None,
) -> RunSummary:
    """Train DEEP and GAME, calibrate them on validation data, evaluate both on test data, and record the results.

    Parameters
    ----------
    domain : Domain
        The domain of the data.
    source : Source
        The data, and where they come from.
    settings : TrainingOptions
        Options of the training, of the class `Domain.Settings`.
    folder : str or Path
        The folder of the run.
    title : str
        Title of the report.
    weight : float, optional
        Weight of the game; by default one that suits the data.
    tune_weight : bool
        Try several weights, and keep the most transparent model whose validation loss is within the tolerance.
    tolerance : float
        The share of DEEP's validation loss that the game may cost.
    level : float
        The confidence of the bounds.
    resume : bool
        Resume an interrupted run in the folder; the result is the same as without the interruption.
    force : bool
        Replace an earlier run in the folder. Files that no run wrote are never replaced.
    progress : bool
        Show progress bars.
    say : callable
        Takes sentences about what is going on.
    """
    folder, tolerance, level = Path(folder), check_tolerance(tolerance), check_level(level)
    check_machines(settings, force=force)
    check_folder(folder, resume=resume, force=force, data=source.path)
    domain.check(settings)
    plan = domain.plan(source, settings, weight=weight)
    for sentence in _describe(domain, plan):
        say(sentence)
    weights = _weights(plan, tune_weight)
    with opened(folder, resume=resume, force=force):
        models, costs = _train_models(domain, plan, settings, folder, weights, tolerance, progress, say)
        say(f"measuring on the test {domain.samples}")
        summary = _summarize(domain, plan, models, costs, title=title, level=level, progress=progress)
        if source.reading is not None:
            save_reading(folder, source.reading)
        domain.write_report(summary, folder / REPORT)
        summaries.write(folder, summary)  # the last: a run with a summary is finished
    return summary


def assist(
    domain: Domain[Data, ModelT],
    source: Source[Data],
    settings: Any,
    folder: str | Path,
    *,
    weight: float | None = None,
    tune_weight: bool = False,
    tolerance: float = TOLERANCE,
    progress: bool = True,
    say: MessageCallback = lambda _: None,
) -> None:
    """Take part, as one of several machines but the first, in a run that the first one trains and records.

    Parameters
    ----------
    domain, source, settings : object
        As those of `train` on the first machine.
    folder : str or Path
        The folder of the run, which all machines see; nothing is written there.
    weight, tune_weight, tolerance, progress, say : object
        As those of `train` on the first machine.
    """
    check_machines(settings)
    domain.check(settings)
    plan = domain.plan(source, settings, weight=weight)
    _train_models(
        domain, plan, settings, Path(folder), _weights(plan, tune_weight), check_tolerance(tolerance), progress, say,
        first=False,
    )  # fmt: skip


def is_first_machine(settings: Any) -> bool:
    """Whether this machine is the one that writes the results; options of its hardware that cannot be are refused."""
    return Hardware(**settings.hardware()).node == 0


def check_machines(settings: Any, *, force: bool = False) -> None:
    """Refuse options of the hardware that cannot be, and to replace a run that other machines may look at."""
    if Hardware(**settings.hardware()).nodes > 1 and force:
        raise InputError(
            "A run on several machines needs a folder without an earlier run",
            got=f"{Parameter('force', True)}",
            cure="delete the folder first",
            parameter="force",
        )


def _weights(plan: Plan[Data, ModelT], tune: bool) -> list[float]:
    usual = plan.model.weight
    return [round(usual * multiple, 6) for multiple in MULTIPLES] if tune else [usual]


def _describe(domain: Domain[Data, ModelT], plan: Plan[Data, ModelT]) -> list[str]:
    """What will be done, in sentences to print."""
    uses = {"train": "training", "validation": "validation", "test": "testing"}
    sizes = ", ".join(f"{count:,} for {uses[name]}" for name, count in plan.sizes.items())
    model = plan.model
    training = (
        f"training: {counted(model.epochs, 'epoch')}{' at most' if plan.stops_early else ''}, width {model.width}, "
        f"batch size {model.batch_size}, learning rate {model.learning_rate:g}"
    )
    split = [f"split: {plan.split_about}"] if plan.split_about else []
    return [*plan.notes, f"{domain.samples}: {sizes}", training, *split, *plan.choices, *plan.remarks]


class _Trained(NamedTuple, Generic[ModelT]):
    """A trained model, and how long that took."""

    model: ModelT
    weight: float | None
    """Weight of the game; None for DEEP."""
    seconds: float | None
    """None after an interruption."""


def _train_models(
    domain: Domain[Data, ModelT],
    plan: Plan[Data, ModelT],
    settings: Any,
    folder: Path,
    weights: Sequence[float],
    tolerance: float,
    progress: bool,
    say: MessageCallback,
    *,
    first: bool = True,
) -> tuple[dict[str, _Trained[ModelT]], TradeOff | None]:
    """Train DEEP and a GAME for each weight, choose among these, and save DEEP and the chosen GAME.

    Machines other than the first go on wherever that one does, and save nothing.
    """
    games = [] if plan.model.game is None else list(dict.fromkeys(weights))
    trained: dict[float | None, _Trained[ModelT]] = {}
    for number, weight in enumerate([None, *games], 1):
        model = _changed(plan.model, game=None) if weight is None else _changed(plan.model, weight=weight)
        say(f"{number} of {1 + len(games)}: {_model_name(model, domain.strength_parameter(settings))}")
        checkpoints = folder / CHECKPOINTS / ("deep" if weight is None else f"game-{weight:g}")
        begun = is_model_begun(checkpoints)
        start = time.monotonic()
        model = domain.fit(model, plan, settings, folder=checkpoints, resume=begun or not first, progress=progress)
        trained[weight] = _Trained(model, weight, None if begun else round(time.monotonic() - start, 1))
    trials = []
    if len(games) > 1:
        validation = plan.parts.validation
        trials = [Trial(weight, *domain.validate(entry.model, validation)) for weight, entry in trained.items()]
    costs = trade_off(trials, tolerance, loss=plan.loss, deviation=plan.deviation)
    models = {"DEEP": trained[None]}
    if games:
        models["GAME"] = trained[costs.chosen if costs else games[0]]
    for name, entry in models.items() if first else ():
        entry.model.save(folder / MODEL_FOLDERS[name])
    return models, costs


def _changed(model: ModelT, **settings: Any) -> ModelT:
    """The untrained model with other settings."""
    changed: ModelT = replace(model, **settings)  # type: ignore[type-var]
    return changed


def _model_name(model: Any, strength: str | None) -> str:
    """Name of a model with its game and the strength of that."""
    if model.game is None or strength is None:
        return "DEEP, no game"
    held_out = ", held out" if getattr(model, "held_out_game", False) else ""
    return f"GAME, {model.game}{held_out}, {strength} {getattr(model, strength):g}"


def _summarize(
    domain: Domain[Data, ModelT],
    plan: Plan[Data, ModelT],
    trained: dict[str, _Trained[ModelT]],
    costs: TradeOff | None,
    *,
    title: str,
    level: float,
    progress: bool,
) -> RunSummary:
    """Evaluate the models on the test data, and gather the results."""
    from pellucid import __version__

    test = plan.parts.test
    models = {name: entry.model for name, entry in trained.items()}
    main = next(reversed(models.values()))
    evaluations = {name: domain.evaluate(model, test, progress=progress) for name, model in models.items()}
    deep = evaluations["DEEP"]
    model_summaries = {
        name: ModelSummary(
            scores=scores(evaluations[name], level),
            weight=entry.weight,
            epochs=len(entry.model.history_),
            seconds=entry.seconds,
        )
        for name, entry in trained.items()
    }
    points = domain.examples(main, test, level=level, progress=progress)
    sentences = [
        *plan.remarks,
        *domain.remarks(models, plan),
        *unexplained(model_summaries, domain.unexplained, domain.cure),
        *verdict(model_summaries, tested=deep.tested, transparency=domain.transparency, poor=domain.poor_error),
    ]
    return RunSummary(
        kind=domain.name,
        title=title,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        pellucid=__version__,
        versions=_versions(domain.packages),
        seed=main.seed,
        data=DataSummary(
            source=title,
            description=plan.description,
            parts=dict(plan.sizes),
            split=plan.split,
            split_about=plan.split_about,
            test_digest=plan.digest,
            decisions=plan.decisions,
            rejected=plan.rejected[:_MAX_REJECTED],
            rejected_count=len(plan.rejected),
        ),
        settings=main.settings(),
        choices=plan.choices,
        outputs=plan.outputs,
        measures=tuple(domain.measures(test, main)),
        models=model_summaries,
        verdict=tuple(sentences),
        deviations={name: tuple(evaluation.deviations.tolist()) for name, evaluation in evaluations.items()},
        deviation_unit=deep.deviation_unit,
        trust=trust_summary(evaluations, level),
        explanations=report_examples(points, domain),
        trade_off=costs,
        baselines=tuple(domain.baselines(plan)),
        landscape=domain.landscape(main, test, progress=progress),
    )


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    versions = {"python": platform.python_version()}
    for name in (*_PACKAGES, *packages):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
