"""Tables as a domain: read, split, learned from, measured, explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pellucid.capabilities import Demo, SupportsDemo
from pellucid.domains import (
    Evaluation,
    ExplainedPoint,
    ExplanationSet,
    MessageCallback,
    Plan,
    Source,
    TrainingOptions,
)
from pellucid.errors import InputError, Parameter
from pellucid.options import Options
from pellucid.row_domains import ExplainedRows, PredictedRows, RowDomain
from pellucid.tabular.domain_options import TableExplaining, TablePredicting, TableReading, TableSettings

if TYPE_CHECKING:
    from pellucid.explanations import Explanation
    from pellucid.splitting import Parts
    from pellucid.summaries import BaselineSummary, Measure, RunSummary
    from pellucid.tables import Table
    from pellucid.tabular.explanation import RowExplanation
    from pellucid.tabular.model import TableModel
    from pellucid.tabular.rows import TableRows

# The most test rows that are explained to find the extremes, and that the map of laws shows.
_EXPLAINED = 500


class TableDomain(RowDomain["TableRows", "TableModel"], SupportsDemo):
    """A column of a table, each prediction explained by a law in the units of the table."""

    name: ClassVar[str] = "table"
    about: ClassVar[str] = "Learn a column of a table, and explain each prediction by a law in the table's units."
    source: ClassVar[str] = "A table with a line of names."
    points: ClassVar[str] = "rows"
    file: ClassVar[str] = "transparent_table"
    example: ClassVar[str] = "new.csv"
    unexplained: ClassVar[str] = "the laws fail at rows that they were not fitted to"

    Reading: ClassVar[type[Options]] = TableReading
    Settings: ClassVar[type[TrainingOptions]] = TableSettings
    Predicting: ClassVar[type[Options]] = TablePredicting
    Explaining: ClassVar[type[Options]] = TableExplaining

    # -- training ----------------------------------------------------------------------------------------------

    def check(self, settings: TableSettings) -> None:
        """Refuse what no model accepts."""
        from pellucid.tabular.presets import untrained

        untrained(settings, "regression", rows=1)

    def read(self, path: Path | Table, reading: TableReading, model: TableModel | None = None) -> TableRows:
        """The rows of a file; for a trained model, the columns that it reads."""
        from pellucid.options import names_in
        from pellucid.tables import read_table
        from pellucid.tabular.rows import rows_of_file

        table = read_table(path)
        if model is not None:
            columns = [column.name for column in model.encoding_.used]
            return rows_of_file(table, model.task_.target, names=reading.names, columns=columns)
        left_out = names_in(reading.leave_out, "leave_out", table.header) or []
        return rows_of_file(table, reading.target, leave_out=left_out, names=reading.names)

    def describe(self, source: Source[TableRows]) -> list[str]:
        """A line on what was read, and one on each column."""
        from pellucid.tabular.deciding import decide

        data = source.data
        head = f"{source.path.name}: {data.summary()}" if source.path else data.summary()
        return [head, *(f"  {column.describe()}" for column in decide(data.frame, data.y))]

    def plan(
        self, source: Source[TableRows], settings: TableSettings, *, weight: float | None = None
    ) -> Plan[TableRows, TableModel]:
        """Split the rows, and set up a model that suits their number."""
        from pellucid import runs
        from pellucid.splitting import Parts, split
        from pellucid.tabular.deciding import decide, require_some
        from pellucid.tabular.presets import untrained
        from pellucid.tabular.tasks import TableTask

        data = source.data
        kind = data.kind if settings.task == "auto" else settings.task
        _check_task(kind, data)
        if kind == "classification":
            data = data.with_whole_classes()
        places = split(len(data), seed=settings.seed)
        parts = Parts(*(data.select(index) for index in places))
        if kind == "classification":
            _check_classes(parts)
        model = untrained(settings, kind, rows=len(parts.train), weight=weight)
        decisions = decide(parts.train.frame, parts.train.y)
        require_some(decisions)
        cells = (repr([column.values[i] for column in parts.test.frame.columns]) for i in range(len(parts.test)))
        loss = "cross-entropy" if kind == "classification" else "root mean squared error in standard deviations"
        return Plan(
            model=model,
            parts=parts,
            outputs=TableTask.of(kind, parts.train.y, data.target).outputs,
            description=data.summary(),
            digest=runs.digest(f"{row} {y}".encode() for row, y in zip(cells, parts.test.y.tolist(), strict=True)),
            loss=f"validation loss: {loss}",
            notes=(f"task: {kind}",),
            decisions=tuple(column.describe() for column in decisions),
            remarks=tuple(f"{column.name}: {column.warning}." for column in decisions if column.warning),
            rejected=data.rejected,
            stops_early=True,
        )

    def fit(
        self,
        model: TableModel,
        plan: Plan[TableRows, TableModel],
        settings: TableSettings,
        *,
        folder: Path,
        resume: bool,
        progress: bool,
    ) -> TableModel:
        """Train, and stop and calibrate by the validation rows."""
        train, validation = plan.parts.train, plan.parts.validation
        return model.fit(
            train.frame,
            train.y,
            numbers=train.numbers,
            validation=validation.labeled,
            target=train.target,
            folder=folder,
            resume=resume,
            progress=progress,
            warn=False,  # the remarks of the plan say it
            **settings.hardware(),
        )

    def validate(self, model: TableModel, data: TableRows) -> tuple[float, float]:
        """Loss, and mean deviation."""
        explanations = model.explain(data.frame)
        loss = model.task_.loss_of_values(explanations.values, data.y)
        return loss if model.task == "classification" else loss**0.5, float(explanations.deviation.mean())

    # -- measuring ---------------------------------------------------------------------------------------------

    def measures(self, test: TableRows, model: TableModel) -> Sequence[Measure]:
        """Accuracy, and transparency."""
        from pellucid.tabular.measures import measures

        return measures(model.task)

    def evaluate(self, model: TableModel, test: TableRows, *, progress: bool = False) -> Evaluation:
        """Scores of the network and of its laws."""
        from pellucid.tabular.measures import law_scores, prediction_scores

        test = test.measured(numeric=model.task == "regression")
        explanations = model.explain(test.frame)
        scores = prediction_scores(model.task_, test.y, explanations.prediction)
        return Evaluation(
            scores={**scores, **law_scores(explanations, test.y)},
            tested=len(test),
            deviations=explanations.deviation.mean(1),
            deviation_unit="mean distance between law and network, in "
            + ("quarter log-odds" if model.task == "classification" else f"standard deviations of {test.target!r}"),
            held_out=model.held_out(test.frame, seed=1),
            calibration=model.calibration_,
            units=model.task_.scale,
        )

    def baselines(self, plan: Plan[TableRows, TableModel]) -> Sequence[BaselineSummary]:
        """A linear model and gradient boosting of scikit-learn on the same rows, if that is installed."""
        from pellucid.tabular.baselines import baselines

        return baselines(plan.model.task, plan.parts)

    def examples(
        self, model: TableModel, test: TableRows, *, level: float, progress: bool = False
    ) -> Sequence[ExplainedPoint]:
        """Explanations of test rows, the least and the most trustworthy and some between."""
        import numpy as np

        from pellucid.runs.results import select_examples

        some = test.select(np.arange(min(len(test), _EXPLAINED)))
        explanations = model.explain(some.frame, level=level, labels=some.labels())
        deviations = explanations.deviation.mean(1)
        chosen = [index for index, _ in select_examples(deviations, count=self.max_examples)]
        numeric = model.task == "regression"
        return [
            ExplainedPoint(
                explanations.labels[i], explanations[i], float(deviations[i]), (float(some.y[i]),) if numeric else None
            )
            for i in chosen
        ]

    def landscape(self, model: TableModel, test: TableRows, *, progress: bool = False) -> Mapping[str, Any] | None:
        """The map of laws of the test rows."""
        import numpy as np

        from pellucid.tabular.law_map import LawMap

        some = test.select(np.arange(min(len(test), _EXPLAINED)))
        return LawMap.of(model.explain(some.frame, labels=some.labels())).to_dict()

    # -- use ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path) -> TableModel:
        """A saved `TableModel`."""
        from pellucid.tabular.model import TableModel

        return TableModel.load(folder)

    def check_predicting(self, settings: TablePredicting) -> None:
        """Refuse a level that nothing is written with."""
        from pellucid.trust import check_level

        if settings.level is not None and not settings.trust:
            raise InputError(
                f"{Parameter('level')} is the confidence of the bounds that {Parameter('trust', True)} adds",
                got=f"no {Parameter('trust', True)}",
                cure="add it",
                parameter="level",
            )
        if settings.level is not None:
            check_level(settings.level)

    def predict_rows(
        self, model: TableModel, table: Table, reading: TableReading, settings: TablePredicting
    ) -> PredictedRows:
        """Each row followed by its prediction."""
        from pellucid.tabular.predicting import predicted_rows
        from pellucid.trust import LEVEL

        level = LEVEL if settings.level is None else settings.level
        frame = self.read(table, reading, model).frame
        return predicted_rows(model, table, frame, trust=settings.trust, level=level)

    def explain(
        self,
        model: TableModel,
        what: str,
        reading: TableReading,
        settings: TableExplaining,
        *,
        level: float,
        progress: bool,
        warn: MessageCallback,
    ) -> ExplanationSet:
        """The explanation of a row as it is typed, or of all rows of a table."""
        from pellucid.paths import kind_of
        from pellucid.tabular.explaining import explained

        typed = "=" in what and kind_of(what) is None
        rows = None if typed else self.read(Path(what), reading, model)
        return ExplanationSet(explained(model, what, rows, settings, level=level, warn=warn), {})

    def explain_rows(
        self, model: TableModel, table: Table, reading: TableReading, settings: TableExplaining, *, level: float
    ) -> ExplainedRows:
        """The explanations of the rows of a table."""
        from pellucid.tabular.explaining import explained_rows

        return explained_rows(model, self.read(table, reading, model), settings, level=level)

    def demo(self, *, smoke: bool) -> Demo:
        """The table of diabetes patients that comes with scikit-learn."""
        from pellucid.tabular.rows import bundled

        rows = bundled("diabetes")
        small = {"width": 16, "ensemble": 2, "epochs": 2} if smoke else {"epochs": 40}
        return Demo(
            title="Progression of diabetes",
            source=Source(rows),
            settings=TableSettings(**small),  # type: ignore[arg-type]
            notes=[f"{rows.summary()}; a table of 442 patients that comes with scikit-learn"],
            choose=_worst,
            about="The patient of the report whose disease is predicted to progress most",
            picture="contributions.svg",
        )

    # -- pages -------------------------------------------------------------------------------------------------

    def write_report(self, summary: RunSummary, path: Path) -> None:
        """The map of laws and the explained rows below the numbers."""
        from pellucid.tabular import report

        report.write(summary, path)

    def write_explanations(self, explanations: Mapping[str, Explanation], path: Path, *, title: str) -> int:
        """The explained rows."""
        from pellucid.tabular import report

        report.write_explanations(cast("Mapping[str, RowExplanation]", explanations), path, title=title)
        return 0


def _check_task(kind: str, data: TableRows) -> None:
    if kind == "regression" and data.y.dtype == object:
        raise InputError(
            f"Numbers must stand in every cell of {data.target!r}, to learn them",
            got=f"{data.y[0]!r}",
            cure=f"correct them, or learn classes with {Parameter('task', 'classification')}",
            parameter="task",
        )


def _check_classes(parts: Parts[TableRows]) -> None:
    """Refuse a split that leaves nothing to tell apart, or a class of the test to guess."""
    learned = {*parts.train.y.tolist(), *parts.validation.y.tolist()}
    target = parts.train.target
    if len(learned) < 2:
        raise InputError(
            f"There must be at least two classes of {target!r} to tell apart",
            got=f"{next(iter(learned))!r} in all rows to learn from",
            cure="learn another column",
            parameter="target",
        )
    unseen = [name for name in parts.test.y.tolist() if name not in learned]
    if unseen:
        raise InputError(
            f"Every class of {target!r} must be among the rows to learn from",
            got=f"{unseen[0]!r}, which is among those to test on alone",
            cure="leave out rows of classes that are so rare, or name them otherwise",
            parameter="target",
        )


def _worst(summary: RunSummary) -> str:
    """The row with the highest prediction, as it is typed."""
    best = max(summary.explanations, key=lambda example: example.explanation["prediction"])
    return "; ".join(f"{term['column']}={term['value']}" for term in best.explanation["terms"])
