"""A domain in one file: curves y(x), one row per point, explained by straight lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

import pellucid as pl
from pellucid import runs, trust
from pellucid.domains import Domain, Evaluation, ExplainedPoint, ExplanationSet, MessageCallback, Plan, Source
from pellucid.explanations import Explanation
from pellucid.models import Fitted, FittedAttribute, Model
from pellucid.named_games import GameName, named_game
from pellucid.options import Options, option
from pellucid.splitting import Parts, split
from pellucid.storage import optional, stored
from pellucid.summaries import HELD_OUT, Measure
from pellucid.tables import read_table
from pellucid.training import Batches, Fit
from pellucid.training.fits import History

NEIGHBORS, FAMILY = 15, pl.LinearFamily()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedCurve(Fitted):
    calibration: pl.Calibration | None = stored(optional(pl.Calibration))


class CurveFit(Fit[FittedCurve]):
    def __init__(self, model: "CurveModel", data: Tensor) -> None:
        self.data, self.network = data, model.new_network()
        self.game = named_game(model.game, FAMILY, weight=model.weight)
        self.hoods = pl.nearest(data[:, :1], k=NEIGHBORS)
        self.batches = Batches(lambda index, _: index, len(data), size=model.batch_size, seed=model.seed)

    def loss(self, index: Tensor) -> Mapping[str, Tensor]:
        batch = pl.sample_minibatch(self.hoods, index)
        x, y = self.data[batch.points].split(1, dim=1)
        f = self.network(x)
        fit = nn.functional.mse_loss(f[: len(index)], y[: len(index)])
        return {"loss": fit if self.game is None else fit + self.game(f, x, batch.hoods).penalty}

    def identity(self) -> dict[str, Any]:
        return {"data": runs.digest([self.data.numpy().tobytes()])}

    def result(self, history: History) -> FittedCurve:
        return FittedCurve(network=self.network, history=history, calibration=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class CurveModel(Model[FittedCurve]):
    file: ClassVar[str] = "curve_model"
    record_type: ClassVar[type[FittedCurve]] = FittedCurve
    calibration_ = FittedAttribute[pl.Calibration | None]()
    game: GameName | None = "symmetric"
    weight: float = 1.0
    width: int = 8

    def new_network(self, **_: Any) -> nn.Module:
        torch.manual_seed(self.seed)
        return nn.Sequential(nn.Linear(1, self.width), nn.Tanh(), nn.Linear(self.width, 1))

    def fit(self, train: Tensor, *, validation: Tensor, folder: Path, resume: bool, progress: bool) -> Self:
        run: Any = {"folder": folder, "resume": resume, "progress": progress, "device": "cpu"}
        return self._train(CurveFit(self, train), validation, **run)

    def predict(self, data: Tensor) -> Tensor:
        with torch.no_grad():
            values: Tensor = self.fitted_.network(data[:, :1])
            return values

    def neighborhoods(self, data: Tensor) -> tuple[Tensor, Tensor, pl.Neighborhoods]:
        return self.predict(data), data[:, :1], pl.nearest(data[:, :1], k=NEIGHBORS)

    def witnesses(self, data: Tensor) -> pl.Witnesses:
        f, x, hoods = self.neighborhoods(data)
        return FAMILY.best_response(x, f, hoods)

    def calibrated(self, data: Tensor, *, progress: bool = False) -> FittedCurve:
        return replace(self.fitted_, calibration=pl.calibrate(*self.neighborhoods(data), FAMILY))


@dataclass(frozen=True, repr=False)
class CurveExplanation(Explanation):
    prediction: float
    law: str

    def text(self, target: str | int | None = None) -> str:
        return f"y = {self.prediction:.4g}, near it {self.law}"


@dataclass(frozen=True, kw_only=True)
class CurveReading(Options):
    column: str = option("y", "The column to learn.")


class CurveDomain(Domain[Tensor, Any]):  # mypy has not yet seen all of a model in the same file
    name, file, example = "curves", CurveModel.file, "new.csv"
    about, source = "Learn a curve.", "A table with the columns x and y."
    Reading = CurveReading

    def read(self, path: Path, reading: CurveReading, model: CurveModel | None = None) -> Tensor:
        table = read_table(path)
        return torch.tensor([table.values(name) for name in ("x", reading.column)]).T

    def plan(self, source: Source[Tensor], settings: Any, *, weight: float | None = None) -> Plan[Tensor, Any]:
        strength: Any = {} if weight is None else {"weight": weight}
        model = CurveModel(game=None if settings.game == "none" else settings.game, **strength, **settings.chosen())
        parts = Parts(*(source.data[index] for index in split(len(source.data), seed=model.seed)))
        return Plan(model=model, parts=parts, outputs=("y",), digest=runs.digest([parts.test.numpy().tobytes()]))

    def validate(self, model: CurveModel, data: Tensor) -> tuple[float, float]:
        return float(nn.functional.mse_loss(model.predict(data), data[:, 1:])), float(
            model.witnesses(data).deviations().mean()
        )

    def measures(self, test: Tensor, model: CurveModel) -> Sequence[Measure]:
        accuracy = Measure(key="error", title="error", better="lower")
        return [accuracy, Measure(key=HELD_OUT, title="held-out variance explained")]

    def evaluate(self, model: CurveModel, test: Tensor, *, progress: bool = False) -> Evaluation:
        error, deviation = self.validate(model, test)
        return Evaluation(
            scores={"error": error, "deviation": deviation},
            tested=len(test),
            deviations=model.witnesses(test).deviations().numpy(),
            held_out=trust.held_out(*model.neighborhoods(test), FAMILY),
            calibration=model.calibration_,
        )

    def examples(
        self, model: CurveModel, test: Tensor, *, level: float, progress: bool = False
    ) -> Sequence[ExplainedPoint]:
        witnesses = model.witnesses(test)
        rows = zip(model.predict(test).tolist(), witnesses, witnesses.deviations().tolist(), strict=True)
        return [
            ExplainedPoint(f"point {i}", CurveExplanation(f, str(witness)), deviation)
            for i, ((f,), witness, deviation) in enumerate(rows, 1)
        ]

    def load(self, folder: Path) -> CurveModel:
        return CurveModel.load(folder)

    def predict(
        self,
        model: CurveModel,
        path: Path,
        reading: CurveReading,
        settings: Any,
        *,
        progress: bool,
        warn: MessageCallback,
    ) -> Iterator[Sequence[Any]]:
        data = self.read(path, reading)
        yield ["x", "predicted"]
        yield from torch.cat([data[:, :1], model.predict(data)], 1).tolist()

    def explain(
        self,
        model: CurveModel,
        what: str,
        reading: CurveReading,
        settings: Any,
        *,
        level: float,
        progress: bool,
        warn: MessageCallback,
    ) -> ExplanationSet:
        examples = self.examples(model, self.read(Path(what), reading), level=level)
        return ExplanationSet({example.label: example.explanation for example in examples}, {})
