"""Recordings as a domain: read, split, learned from, measured, explained, followed over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, final

from pellucid.domains import Domain, Explained, Measured, Monitor, Plan, Shown, Source, Speak, TrainingOptions
from pellucid.options import NoOptions, option
from pellucid.series.explaining import SeriesExplaining
from pellucid.series.monitoring import SeriesAssessing
from pellucid.series.reading import SeriesReading, require_others
from pellucid.series.sentences import CURE, NOTHING
from pellucid.summaries import HELD_OUT, BaselineSummary, Measure, RunSummary

if TYPE_CHECKING:
    from pellucid.explanations import Explanation
    from pellucid.series.baseline import Baseline
    from pellucid.series.condition import Condition
    from pellucid.series.data import Recordings
    from pellucid.series.explanation import ForecastExplanation
    from pellucid.series.forecaster import Forecaster

_CHOSEN = "chosen by leave-one-out"

MEASURES = (
    Measure(key="relative_error", title="relative error", better="lower",
            about="error of the forecasts divided by that of always forecasting the mean, which is 1"),
    Measure(key="relative_error_one_step", title="relative error, one step", better="lower",
            about="the same for each value of the horizon from the real ones before it"),
    Measure(key="error", title="error", better="lower",
            about="root mean squared error of the forecasts, in the units of the data"),
    Measure(key="negative_log_likelihood", title="negative log-likelihood", better="lower",
            about="of each value given all before it, in nats"),
    Measure(key=HELD_OUT, title="held-out variance explained", better="higher",
            about="of the forecasts, by laws at steps that they were not fitted to: 0 is no better than a constant"),
    Measure(key="relative_deviation", title="relative deviation", better="lower",
            about="how far laws and network are apart, relative to how much the forecasts move"),
    Measure(key="deviation", title="deviation", better="lower",
            about="root mean squared error between law and network, in the units of the data"),
    Measure(key="unstable", title="unstable laws", better="lower",
            about="the share of laws whose own forecast would run away: their spectral radius is above 1"),
    Measure(key="spectral_radius", title="spectral radius", better="lower",
            about="of the laws, the median over all steps"),
    Measure(key="variation", title="variation", better="lower",
            about="how much all coefficients change from one step to the next, in the units of the data"),
)  # fmt: skip
"""What laws explain where they were not fitted comes before how close they are."""


@final
@dataclass(frozen=True, kw_only=True)
class SeriesSettings(TrainingOptions):
    """What a training on recordings can be set to; see `pellucid.series.Forecaster`."""

    test: Path | None = option(None, "Other recordings to test on.", default="a tenth of DATA")
    split: Literal["random", "time"] = option(
        "random",
        "Test on pieces cut out at random, or on the end: of each recording, or the last of ten or more files.",
    )
    context: int = option(80, "Observe so many values,", minimum=1)
    horizon: int = option(20, "and forecast so many.", minimum=2)
    order: int | None = option(None, "Past values that a law reads.", default=_CHOSEN, minimum=1)
    radius: int | None = option(None, "Steps to either side over which a law is fitted.", default=_CHOSEN, minimum=1)
    ridge: float | None = option(
        None, "Of the laws' least squares, in units of each channel's variance.", default=_CHOSEN, minimum=0
    )
    linear: int | None = option(
        None,
        "Past values that the network's linear path reads; 0 is none.",
        default="chosen by cross-validation",
        minimum=0,
    )
    patience: int = option(5, "Stop early after so many epochs without a better validation loss.", minimum=1)


@final
class SeriesDomain(Domain["Recordings", "Forecaster"], Monitor):
    """Forecasts of several channels, explained by local autoregressive laws."""

    name: ClassVar[str] = "series"
    about: ClassVar[str] = (
        "Learn to forecast recordings of several channels, and explain each forecast by an autoregressive law."
    )
    source: ClassVar[str] = "A file, or a folder with one recording per file."
    item: ClassVar[str] = "recording"
    counted: ClassVar[str] = "rows"
    points: ClassVar[str] = "steps"
    file: ClassVar[str] = "forecaster"
    example: ClassVar[str] = "recording.csv"
    transparency: ClassVar[str] = "relative_deviation"
    unexplained: ClassVar[str] = NOTHING
    cure: ClassVar[str] = CURE
    shown: ClassVar[int] = 12
    ends: ClassVar[int] = 4

    Reading: ClassVar[type[NoOptions]] = SeriesReading
    Settings: ClassVar[type[TrainingOptions]] = SeriesSettings
    Explaining: ClassVar[type[NoOptions]] = SeriesExplaining
    Assessing: ClassVar[type[NoOptions]] = SeriesAssessing

    # -- training ----------------------------------------------------------------------------------------------

    def read(self, path: Path, reading: SeriesReading, model: Forecaster | None = None) -> Recordings:
        """The recordings of a file or a folder; for a trained model, of its channels."""
        return reading.read(path, None if model is None else model.channels_)

    def describe(self, source: Source[Recordings]) -> list[str]:
        """What was decided when the recordings were read, and what they are."""
        from pellucid.numbers import counted

        recordings = source.data
        rows = sum(len(table) for table in recordings.values)
        text = f"{counted(len(recordings), 'recording')} of {', '.join(recordings.channels)}; {counted(rows, 'row')}"
        return [*recordings.decisions(), f"{source.path.name}: {text}" if source.path else text]

    def plan(
        self, source: Source[Recordings], settings: SeriesSettings, *, weight: float | None = None
    ) -> Plan[Recordings, Forecaster]:
        """Cut the recordings into parts, and choose the laws that both models are witnessed by."""
        from pellucid import runs
        from pellucid.numbers import counted
        from pellucid.series.forecaster import Forecaster
        from pellucid.series.splitting import described, recommendation, split

        recordings = source.data
        test = _test(source, settings)
        values = settings.chosen("context", "horizon", "order", "radius", "ridge", "linear", "patience")
        if weight is not None:
            values["weight"] = weight
        model = Forecaster(game=None if settings.game == "none" else settings.game, **values)
        recordings.require_variation()
        length = model.context + model.horizon
        parts = split(recordings, length, model.seed, test, kind=settings.split)
        advice = recommendation(recordings, length) if settings.split == "random" and test is None else None
        unused = list(filter(None, [recordings.unused(length)]))
        model, choices = model.settled(parts.train)
        return Plan(
            model=model,
            parts=parts,
            sizes={name: sum(len(table) for table in part.values) for name, part in parts._asdict().items()},
            outputs=recordings.channels,
            description=f"{counted(len(recordings), 'recording')} of {', '.join(recordings.channels)}; "
            "counts below are rows",
            digest=runs.digest(
                repr(table.shape).encode() + table.astype("float64").tobytes() for table in parts.test.values
            ),
            split=settings.split,
            split_about=described(recordings, settings.split, test is not None),
            loss="validation error: relative error of the forecasts",
            deviation="deviation of the forecasts, relative to how much they move",
            notes=(*(f"test: {note}" for note in ([] if test is None else test.notes)), *unused),
            choices=tuple(choices),
            decisions=(*recordings.decisions(), *unused),
            remarks=() if advice is None else (advice,),
            stops_early=True,
        )

    def validate(self, model: Forecaster, data: Recordings) -> tuple[float, float]:
        """Relative error and relative deviation of the forecasts."""
        scores = model.evaluate(data)
        return scores.relative_error, scores.relative_deviation

    # -- measuring ---------------------------------------------------------------------------------------------

    def measures(self, test: Recordings) -> Sequence[Measure]:
        """Errors of the forecasts, then what the laws explain, and how close and how stable they are."""
        return MEASURES

    def measure(self, model: Forecaster, test: Recordings, *, progress: bool = False) -> Measured:
        """Scores of the forecasts and of their laws."""
        import numpy as np

        scores = model.evaluate(test)
        return Measured(
            scores=scores._asdict(),
            tested=scores.sequences,
            deviations=model.deviations(test),
            deviation_unit="rms distance between law and network along a forecast, in standard deviations",
            held_out=model.held_out(test, seed=1),
            calibration=model.calibrations_.get("generated"),
            units=model.in_units(np.ones(len(model.channels_))),
        )

    def baseline(self, plan: Plan[Recordings, Forecaster]) -> BaselineSummary:
        """One linear law for everything."""
        model = plan.model
        return _linear_law(plan).measured(plan.parts.test, model.context, model.horizon)

    def remarks(self, models: Mapping[str, Forecaster], plan: Plan[Recordings, Forecaster]) -> list[str]:
        """Whether one linear law for everything is enough, as the validation data say."""
        from pellucid.series.baseline import compared, sequence_errors

        law, data = _linear_law(plan), plan.parts.validation
        sizes = (plan.model.context, plan.model.horizon)
        return compared(
            {name: sequence_errors(model, data) for name, model in models.items()},
            law.sequence_errors(data, *sizes),
            law.spread(data, *sizes),
        )

    def examples(self, model: Forecaster, test: Recordings, *, level: float, progress: bool = False) -> Sequence[Shown]:
        """Forecasts that follow their laws most and least closely, and some between."""
        from pellucid.runs import extremes

        length, deviations = model.context + model.horizon, model.deviations(test)
        starts = test.starts(length)
        examples = []
        for k, _ in extremes(deviations, shown=self.shown, ends=self.ends):
            i, row = starts[k]
            origin, values = test.origins[i], test.values[i][row : row + length]
            explanation = model.explain(values[: model.context], values[model.context :], forced=False, level=level)
            # Rows are counted as `SeriesExplaining.at` counts them.
            label = f"{origin.label}, after row {origin.row + row + model.context}"
            examples.append(Shown(label, explanation, float(deviations[k])))
        return examples

    # -- use ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path) -> Forecaster:
        """A saved `Forecaster`."""
        from pellucid.series.forecaster import Forecaster

        return Forecaster.load(folder)

    def predict(
        self,
        model: Forecaster,
        path: Path,
        reading: SeriesReading,
        settings: NoOptions,
        *,
        progress: bool,
        warn: Speak,
    ) -> Iterator[Sequence[Any]]:
        """What comes after the end of every recording."""
        from pellucid.series.predicting import forecast_table

        return forecast_table(model, self.read(path, reading, model))

    def explain(
        self,
        model: Forecaster,
        what: str,
        reading: SeriesReading,
        settings: SeriesExplaining,
        *,
        level: float,
        progress: bool,
        warn: Speak,
    ) -> Explained:
        """A forecast of each recording of a file or a folder, with the laws that it follows."""
        from pellucid.series.explaining import explain_recordings

        sources, errors = reading.read_readable(Path(what), model.channels_)
        explanations: dict[str, Explanation] = {}
        for source in sources:
            for note in source.notes:
                warn(note)
            more, failed = explain_recordings(model, source, settings, level=level)
            explanations |= more
            errors |= failed
        if not explanations:
            raise next(iter(errors.values()))
        first = next(iter(_forecasts(explanations).values()))
        return Explained(
            explanations,
            {label: str(error) for label, error in errors.items()},
            # One explanation says by itself what it is along.
            title=first.along() if len(explanations) > 1 else None,
        )

    def overview(self, explanations: Mapping[str, Explanation], target: str | None) -> str:
        """A line for each forecast."""
        from pellucid.series.explaining import overview

        return overview(_forecasts(explanations), target)

    def assess(
        self,
        model: Forecaster,
        path: Path,
        reading: SeriesReading,
        settings: SeriesAssessing,
        *,
        learned: str | None = None,
        progress: bool = False,
        warn: Speak = lambda _: None,
    ) -> Condition:
        """Does a fault show, in which channel, since when? See `pellucid.series.assess`."""
        from pellucid.series.monitoring import assess_files

        return assess_files(model, path, reading, settings, learned=learned, progress=progress, warn=warn)

    # -- pages -------------------------------------------------------------------------------------------------

    def write_report(self, summary: RunSummary, path: Path) -> None:
        """Forecasts with their laws below the numbers."""
        from pellucid.series import report

        report.write(summary, path)

    def write_explanations(self, explanations: Mapping[str, Explanation], path: Path, *, title: str) -> int:
        """Forecasts that are least close to their laws first; how many there was no room for."""
        from pellucid.series import report

        return report.write_many(_forecasts(explanations), path, title=title)


def _test(source: Source[Recordings], settings: SeriesSettings) -> Recordings | None:
    """Other recordings to test on, read as those to learn from."""
    if settings.test is None:
        return None
    reading = source.reading or SeriesReading()
    if source.path is not None:
        require_others(source.path, settings.test, reading.pattern)
    recordings: Recordings = reading.read(settings.test, source.data.channels)
    return recordings


def _linear_law(plan: Plan[Recordings, Forecaster]) -> Baseline:
    """One linear law for everything: the one that the networks begin as, if they begin as one."""
    from pellucid.series.baseline import Baseline

    model = plan.model
    return Baseline.of(plan.parts.train, model.context, model.horizon, lags=model.linear or 0)


def _forecasts(explanations: Mapping[str, Explanation]) -> Mapping[str, ForecastExplanation]:
    """The explanations of this domain are all of one kind."""
    return cast("Mapping[str, ForecastExplanation]", explanations)
