"""Recordings as a domain: read, split, learned from, measured, explained, followed over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast, final

from pellucid.capabilities import SupportsMonitoring
from pellucid.domains import (
    Domain,
    Evaluation,
    ExplainedPoint,
    ExplanationSet,
    MessageCallback,
    Plan,
    Source,
    TrainingOptions,
)
from pellucid.options import Options
from pellucid.series.explaining import SeriesExplaining
from pellucid.series.measures import CURE, MEASURES, UNEXPLAINED, deviations_of, measured, poor_forecast
from pellucid.series.monitoring import SeriesAssessing
from pellucid.series.planning import SeriesSettings, described, plan_training
from pellucid.series.reading import SeriesReading
from pellucid.summaries import BaselineSummary, Measure, RunSummary

if TYPE_CHECKING:
    from pellucid.datasets import DataSet
    from pellucid.explanations import Explanation
    from pellucid.series.baseline import Baseline
    from pellucid.series.condition import Condition
    from pellucid.series.data import Recordings
    from pellucid.series.explanation import ForecastExplanation
    from pellucid.series.forecaster import Forecaster


@final
class SeriesDomain(Domain["Recordings", "Forecaster"], SupportsMonitoring):
    """Forecasts of several channels, explained by local autoregressive laws."""

    name: ClassVar[str] = "series"
    about: ClassVar[str] = (
        "Learn to forecast recordings of several channels, and explain each forecast by an autoregressive law."
    )
    source: ClassVar[str] = "A file, or a folder with one recording per file."
    item: ClassVar[str] = "recording"
    samples: ClassVar[str] = "rows"
    points: ClassVar[str] = "steps"
    file: ClassVar[str] = "forecaster"
    example: ClassVar[str] = "recording.csv"
    transparency: ClassVar[str] = "relative_held_out_deviation"
    unexplained: ClassVar[str] = UNEXPLAINED
    cure: ClassVar[str] = CURE
    max_examples: ClassVar[int] = 12
    max_extremes: ClassVar[int] = 4

    Reading: ClassVar[type[Options]] = SeriesReading
    Settings: ClassVar[type[TrainingOptions]] = SeriesSettings
    Explaining: ClassVar[type[Options]] = SeriesExplaining
    Assessing: ClassVar[type[Options]] = SeriesAssessing

    # -- training ----------------------------------------------------------------------------------------------

    def read(self, path: Path, reading: SeriesReading, model: Forecaster | None = None) -> Recordings:
        """The recordings of a file or a folder; for a trained model, of its channels."""
        return reading.read(path, None if model is None else model.channels_)

    def size(self, data: Recordings) -> int:
        """The number of rows."""
        return sum(len(table) for table in data.values)

    def describe(self, source: Source[Recordings]) -> list[str]:
        """What was decided when the recordings were read, and what they are."""
        from pellucid.numbers import counted

        recordings = source.data
        sentence = f"{described(recordings)}; {counted(self.size(recordings), 'row')}"
        return [*recordings.decisions(), f"{source.path.name}: {sentence}" if source.path else sentence]

    def plan(
        self, source: Source[Recordings], settings: SeriesSettings, *, weight: float | None = None
    ) -> Plan[Recordings, Forecaster]:
        """Cut the recordings into parts, and choose the laws that both models are witnessed by."""
        return plan_training(source, settings, weight=weight)

    def validate(self, model: Forecaster, data: Recordings) -> tuple[float, float]:
        """Relative error and relative deviation of the forecasts: the held-out one, unless windows are too short."""
        scores = model.evaluate(data)
        known = scores.relative_held_out_deviation == scores.relative_held_out_deviation  # not NaN
        return scores.relative_error, scores.relative_held_out_deviation if known else scores.relative_deviation

    # -- measuring ---------------------------------------------------------------------------------------------

    def measures(self, test: Recordings, model: Forecaster) -> Sequence[Measure]:
        """Errors of the forecasts, then what the laws explain, and how close and how stable they are."""
        return MEASURES

    def evaluate(self, model: Forecaster, test: Recordings, *, progress: bool = False) -> Evaluation:
        """Scores of the forecasts and of their laws."""
        return measured(model, test)

    def baselines(self, plan: Plan[Recordings, Forecaster]) -> Sequence[BaselineSummary]:
        """One linear law for everything."""
        model = plan.model
        return [_linear_law(plan).measured(plan.parts.test, model.context, model.horizon)]

    def poor_error(self, scores: Mapping[str, Any]) -> str:
        """Whether the next step can be forecast where the whole horizon cannot."""
        return poor_forecast(scores)

    def remarks(self, models: Mapping[str, Forecaster], plan: Plan[Recordings, Forecaster]) -> list[str]:
        """Whether one linear law for everything is enough, as the validation data say."""
        from pellucid.series.baseline import compare_with_baseline, sequence_errors

        law, data = _linear_law(plan), plan.parts.validation
        sizes = (plan.model.context, plan.model.horizon)
        return compare_with_baseline(
            {name: sequence_errors(model, data) for name, model in models.items()},
            law.sequence_errors(data, *sizes),
            law.spread(data, *sizes),
        )

    def examples(
        self, model: Forecaster, test: Recordings, *, level: float, progress: bool = False
    ) -> Sequence[ExplainedPoint]:
        """Forecasts that follow their laws most and least closely, and some between."""
        from pellucid.runs import select_examples

        length, (deviations, _) = model.context + model.horizon, deviations_of(model, test)
        starts = test.starts(length)
        examples = []
        for k, _ in select_examples(deviations, count=self.max_examples, extremes=self.max_extremes):
            i, row = starts[k]
            origin, values = test.origins[i], test.values[i][row : row + length]
            explanation = model.explain(values[: model.context], values[model.context :], forced=False, level=level)
            # Rows are counted as `SeriesExplaining.at` counts them.
            label = f"{origin.label}, after row {origin.row + row + model.context}"
            examples.append(ExplainedPoint(label, explanation, float(deviations[k])))
        return examples

    # -- use ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path) -> Forecaster:
        """A saved `Forecaster`."""
        from pellucid.series.forecaster import Forecaster

        return Forecaster.load(folder)

    def outputs(self, model: Forecaster) -> Sequence[str]:
        """The channels."""
        return model.channels_

    def data_sets(self) -> Sequence[DataSet]:
        """Published recordings, and one that comes with matplotlib."""
        from pellucid.series.datasets import DATA_SETS

        return DATA_SETS

    def predict(
        self,
        model: Forecaster,
        path: Path,
        reading: SeriesReading,
        settings: Options,
        *,
        progress: bool,
        warn: MessageCallback,
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
        warn: MessageCallback,
    ) -> ExplanationSet:
        """A forecast of each recording of a file or a folder, with the laws that it follows."""
        from pellucid.series import explanation_text
        from pellucid.series.explaining import explain_recordings

        sources, errors = reading.read_each(Path(what), model.channels_)
        explanations: dict[str, Explanation] = {}
        for source in sources:
            for note in source.notes:
                warn(note)
            by_recording, refusals = explain_recordings(model, source, settings, level=level)
            explanations |= by_recording
            errors |= refusals
        if not explanations:
            raise next(iter(errors.values()))
        first = next(iter(_forecasts(explanations).values()))
        return ExplanationSet(
            explanations,
            {label: str(error) for label, error in errors.items()},
            # One explanation alone begins with it.
            title=explanation_text.basis(first) or None if len(explanations) > 1 else None,
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
        trained_on: str | None = None,
        progress: bool = False,
        warn: MessageCallback = lambda _: None,
    ) -> Condition:
        """Does a fault show, in which channel, since when? See `pellucid.series.assess`."""
        from pellucid.series.monitoring import assess_files

        return assess_files(model, path, reading, settings, trained_on=trained_on, progress=progress, warn=warn)

    # -- pages -------------------------------------------------------------------------------------------------

    def write_report(self, summary: RunSummary, path: Path) -> None:
        """Forecasts with their laws below the numbers."""
        from pellucid.series import report

        report.write(summary, path)

    def write_explanations(self, explanations: Mapping[str, Explanation], path: Path, *, title: str) -> int:
        """Forecasts that are least close to their laws first; returns how many there was no room for."""
        from pellucid.series import report

        return report.write_many(_forecasts(explanations), path, title=title)


def _linear_law(plan: Plan[Recordings, Forecaster]) -> Baseline:
    """One linear law for everything: the one that the networks begin as, if they begin as one."""
    from pellucid.series.baseline import Baseline

    model = plan.model
    return Baseline.of(plan.parts.train, model.context, model.horizon, lags=model.linear or 0)


def _forecasts(explanations: Mapping[str, Explanation]) -> Mapping[str, ForecastExplanation]:
    """The explanations of this domain are all of one kind."""
    return cast("Mapping[str, ForecastExplanation]", explanations)
