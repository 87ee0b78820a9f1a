"""Domains: one object for everything that runs, reports and the command line need to know about a kind of data.

To add a domain, derive a class from `Domain` and pass an instance to `pellucid.registry.register`, or declare the class
as an entry point of the group "pellucid.domains".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, Self, TypeVar, final

from pellucid.errors import InputError, Parameter
from pellucid.options import Options, option
from pellucid.verdicts import poor_error

if TYPE_CHECKING:
    import numpy as np

    from pellucid.datasets import DataSet
    from pellucid.explanations import Explanation
    from pellucid.splitting import Parts
    from pellucid.summaries import BaselineSummary, Measure, RunSummary
    from pellucid.trust import Calibration, HeldOut

Data = TypeVar("Data")
ModelT = TypeVar("ModelT", bound="RunModel")
_SUITS = "what suits the data"

MessageCallback = Callable[[str], None]
"""Takes one sentence for the user, as `print` does."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(Options):
    """Options of every training; a domain adds its own. None leaves the choice to the domain, which knows the data."""

    game: Literal["symmetric", "asymmetric", "none"] = option("symmetric", "The game to play; none trains DEEP alone.")
    epochs: int | None = option(None, "Passes over the training data.", default_text=_SUITS, minimum=1)
    width: int | None = option(None, "Width of the network's hidden layers.", default_text=_SUITS, minimum=1)
    batch_size: int | None = option(None, "Training items per step.", default_text=_SUITS, minimum=1)
    learning_rate: float | None = option(
        None, "Peak of the one-cycle learning rate.", default_text=_SUITS, minimum=1e-9
    )
    seed: int = option(0, "Seed of the split, of the initial weights and of the order of batches.", minimum=0)
    devices: int = option(
        1, "Processes to train in, each on a core or a GPU of its own; the result is that of one.", minimum=1
    )
    nodes: int = option(1, "Machines, on each of which the same command runs; see the page on large jobs.", minimum=1)

    def chosen(self, *names: str) -> dict[str, Any]:
        """The options of the training, and those of these names, that are not None."""
        names = ("epochs", "width", "batch_size", "learning_rate", "seed", *names)
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def hardware(self) -> dict[str, Any]:
        """Arguments of a model's `fit` that say where to train, if that is more than one process."""
        return {name: count for name in ("devices", "nodes") if (count := getattr(self, name)) != 1}


class RunModel(Protocol):
    """What a run asks of a model: a frozen dataclass, such as a `pellucid.models.Model` with these settings."""

    @property
    def game(self) -> str | None:
        """Name of the game; None is DEEP, which a run trains beside it."""

    @property
    def weight(self) -> float:
        """Weight of the game."""

    @property
    def width(self) -> int:
        """Width of the network's hidden layers."""

    @property
    def epochs(self) -> int:
        """Largest number of passes over the training data."""

    @property
    def batch_size(self) -> int:
        """Training items per step."""

    @property
    def learning_rate(self) -> float:
        """The peak of the learning rate."""

    @property
    def seed(self) -> int:
        """Seed of the split, and of the training."""

    @property
    def history_(self) -> Sequence[Mapping[str, float]]:
        """One record of losses per epoch, after the training."""

    def fit(self, *data: Any, **options: Any) -> Self:
        """Learn from data; see `Domain.fit`."""

    def settings(self) -> dict[str, Any]:
        """All settings by name, ready for JSON."""

    def save(self, folder: Path) -> None:
        """Write the trained model, for `Domain.load`."""


class Source(NamedTuple, Generic[Data]):
    """Data, and where they come from."""

    data: Data
    path: Path | None = None
    reading: Any = None


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Generic[Data, ModelT]):
    """What a run will do: how the data are split, and the untrained model."""

    model: ModelT
    """The untrained GAME; DEEP has the same settings and no game."""
    parts: Parts[Data]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Number of `Domain.samples` in each part; by default the lengths of the parts."""
    outputs: tuple[str, ...]
    """Names of what is predicted."""
    digest: str
    """A fingerprint of the test data; see `pellucid.runs.digest`."""
    description: str = ""
    """The data in a few words."""
    split: str = "random"
    """The kind of split."""
    split_about: str | None = None
    """A sentence about the split, where its kind says too little."""
    loss: str = "validation loss"
    """Name of the loss that `Domain.validate` returns."""
    deviation: str = "mean deviation on validation neighborhoods"
    """Name of the deviation that `Domain.validate` returns."""
    notes: tuple[str, ...] = ()
    """Sentences to print before the training."""
    choices: tuple[str, ...] = ()
    """Settings that were chosen from the data, one sentence each."""
    decisions: tuple[str, ...] = ()
    """How the data were read, one sentence each, for the report."""
    remarks: tuple[str, ...] = ()
    """What a reader should know before looking at the numbers, one sentence each."""
    rejected: tuple[tuple[Any, ...], ...] = ()
    """Rows that cannot be used, each with the reason."""
    stops_early: bool = False
    """Whether the training ends where the validation loss stops falling."""

    def __post_init__(self) -> None:
        if not self.sizes:
            object.__setattr__(self, "sizes", {name: len(part) for name, part in self.parts._asdict().items()})


@final
@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The results of a model with K outputs on test data."""

    scores: Mapping[str, Any]
    """Numbers by the keys of `Domain.measures`; "relative_error" is the error over that of predicting the mean."""
    tested: int
    """The number of test items."""
    deviations: np.ndarray
    """(n,) deviations of the test neighborhoods."""
    deviation_unit: str | None = None
    """The unit of the deviations, in words."""
    held_out: HeldOut
    """Distances at members that their witnesses were not fitted to."""
    calibration: Calibration | None
    """The calibration of the model, from which its bounds follow."""
    units: np.ndarray | float = 1.0
    """(K,) factors that turn distances between witness and network into the units of the data."""


class ExplanationSet(NamedTuple):
    """Explanations of several items, and why some items have none."""

    explanations: dict[str, Explanation]
    """Explanations by the labels of the items."""
    rejected: dict[str, str]
    """Reasons by the labels of items that cannot be explained."""
    title: str | None = None
    """What the explanations have in common, to be printed first."""


class ExplainedPoint(NamedTuple):
    """A test point with its explanation."""

    label: str
    """Name of the point, and where it stands in the data."""
    explanation: Explanation
    deviation: float
    """How far witness and network are apart in its neighborhood; reports are sorted by it."""
    measured: Sequence[float | None] | None = None
    """(K,) the measured values of the point."""


class Domain(ABC, Generic[Data, ModelT]):
    """A kind of data: how it is read, named and split, the model, its measures, its explanations and their pages.

    Options come in groups, one per task; each is a frozen dataclass derived from `Options`.
    """

    name: ClassVar[str]
    """The name in `pellucid train NAME` and in summaries."""
    about: ClassVar[str]
    """One sentence about the task."""
    source: ClassVar[str]
    """What is read, in one sentence."""
    item: ClassVar[str] = "row"
    """Noun for one thing that is explained: "molecule", "recording"."""
    samples: ClassVar[str] = "rows"
    """Plural noun for what the sizes of the parts count: "molecules", "rows"."""
    points: ClassVar[str] = "points"
    """Plural noun for the members of neighborhoods: "molecules", "steps"."""
    file: ClassVar[str]
    """The JSON file of a saved model, without its suffix."""
    example: ClassVar[str]
    """An argument of `pellucid explain`, suggested after a training: "recording.csv"."""
    transparency: ClassVar[str] = "deviation"
    """Key of the measure by which GAME and DEEP are compared; lower is more transparent."""
    max_examples: ClassVar[int] = 40
    """Largest number of explained test points in a report."""
    max_extremes: ClassVar[int] = 6
    """Largest number of examples marked as the most trustworthy, and of those marked as the least."""
    unexplained: ClassVar[str] = "its witnesses explain nothing at points they were not fitted to"
    """What a held-out variance explained near zero means."""
    cure: ClassVar[str] = "try larger neighborhoods, simpler witnesses or a larger weight"
    """What to do about it."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Packages that numbers depend on, besides torch, NumPy and Lightning; a run saves their versions."""

    Reading: ClassVar[type[Options]] = Options
    """How files are read; a run saves them, so that later files are read in the same way."""
    Settings: ClassVar[type[TrainingOptions]] = TrainingOptions
    """How models are trained."""
    Predicting: ClassVar[type[Options]] = Options
    """What to predict, and how."""
    Explaining: ClassVar[type[Options]] = Options
    """What to explain, and how."""

    # -- training ----------------------------------------------------------------------------------------------

    def check(self, settings: Any) -> None:
        """Refuse settings that no data can suit, such as a file that is not there, before data are read."""

    @abstractmethod
    def read(self, path: Path, reading: Any, model: ModelT | None = None) -> Data:
        """Read a file or folder; for a trained model, the columns that it reads and predicts."""

    def describe(self, source: Source[Data]) -> list[str]:
        """What was read, in sentences to print."""
        return []

    def rejection_text(self, data: Data) -> str | None:
        """What could not be used of data that were read, and why, in one sentence; None if everything could."""
        return None

    def size(self, data: Data) -> int:
        """The number of `samples` that `evaluate` measures."""
        return len(data)  # type: ignore[arg-type]

    @abstractmethod
    def plan(self, source: Source[Data], settings: Any, *, weight: float | None = None) -> Plan[Data, ModelT]:
        """Split the data, and set up the untrained model.

        Parameters
        ----------
        source : Source
            The data, and where they come from.
        settings : TrainingOptions
            Options of the training, of the class `Settings`.
        weight : float, optional
            Weight of the game; by default one that suits the data.
        """

    def strength_parameter(self, settings: Any) -> str | None:
        """Name of the parameter for the strength of the game: "weight", "margin" if uniform, None without a game."""
        parameters: dict[str, str | None] = {"none": None, "uniform": "margin"}
        return parameters.get(settings.game, "weight")

    def fit(
        self, model: ModelT, plan: Plan[Data, ModelT], settings: Any, *, folder: Path, resume: bool, progress: bool
    ) -> ModelT:
        """Train a model of the plan, and calibrate it on the validation data."""
        parts = plan.parts
        run = {"folder": folder, "resume": resume, "progress": progress, **settings.hardware()}
        if settings.hardware() and "devices" not in signature(model.fit).parameters:
            raise InputError(
                f"{Parameter('devices')} and {Parameter('nodes')} above 1 need a model that trains in several "
                "processes",
                got=f"a {type(model).__name__}, which does not",
                cure="leave them out",
                parameter="devices",
            )
        return model.fit(parts.train, validation=parts.validation, **run)

    @abstractmethod
    def validate(self, model: ModelT, data: Data) -> tuple[float, float]:
        """Loss and deviation on validation data, by which the weight of the game is chosen."""

    # -- evaluation --------------------------------------------------------------------------------------------

    @abstractmethod
    def measures(self, test: Data, model: ModelT) -> Sequence[Measure]:
        """The measures to compare, as rows of a table, accuracy first; the model tells what its witnesses are."""

    @abstractmethod
    def evaluate(self, model: ModelT, test: Data, *, progress: bool = False) -> Evaluation:
        """Measure a trained model on test data."""

    def baselines(self, plan: Plan[Data, ModelT]) -> Sequence[BaselineSummary]:
        """The scores of simple models on the same test data, if there are any."""
        return ()

    def poor_error(self, scores: Mapping[str, Any]) -> str:
        """A sentence about a network whose relative error is hardly better than that of the mean."""
        return poor_error(scores)

    def remarks(self, models: Mapping[str, ModelT], plan: Plan[Data, ModelT]) -> list[str]:
        """What a reader should know besides `Plan.remarks`, once the models are trained."""
        return []

    @abstractmethod
    def examples(self, model: ModelT, test: Data, *, level: float, progress: bool = False) -> Sequence[ExplainedPoint]:
        """Explained test points, from which the report selects some; see `max_examples`."""

    def landscape(self, model: ModelT, test: Data, *, progress: bool = False) -> Mapping[str, Any] | None:
        """What the explanations of all test points say together, ready for JSON, for the page of the domain."""
        return None

    # -- use ---------------------------------------------------------------------------------------------------

    @property
    def model_noun(self) -> str:
        """What messages call one of its models."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name} model"

    @abstractmethod
    def load(self, folder: Path) -> ModelT:
        """Load a model that was saved."""

    def outputs(self, model: ModelT) -> Sequence[str]:
        """Names of the outputs that explanations can show one at a time; by default they show all at once."""
        return ()

    @abstractmethod
    def predict(
        self, model: ModelT, path: Path, reading: Any, settings: Any, *, progress: bool, warn: MessageCallback
    ) -> Iterator[Sequence[Any]]:
        """Predict a file; yields the names of the columns, then the rows of a table."""

    @abstractmethod
    def explain(
        self,
        model: ModelT,
        what: str,
        reading: Any,
        settings: Any,
        *,
        level: float,
        progress: bool,
        warn: MessageCallback,
    ) -> ExplanationSet:
        """Explain a file, a folder, or a single item, as a user typed it."""

    def overview(self, explanations: Mapping[str, Explanation], target: str | None) -> str:
        """Several explanations as one text."""
        return "\n\n".join(f"{label}\n{explanation.text(target)}" for label, explanation in explanations.items())

    def data_sets(self) -> Sequence[DataSet]:
        """Data sets that are published or come with a package, for `pellucid data`."""
        return ()

    # -- pages -------------------------------------------------------------------------------------------------

    def write_report(self, summary: RunSummary, path: Path) -> None:
        """Write the report of a run as one HTML file: numbers, charts, and the texts of its explanations."""
        from pellucid.report.plain import write_run

        write_run(summary, path, item=self.item)

    def write_explanations(self, explanations: Mapping[str, Explanation], path: Path, *, title: str) -> int:
        """Write several explanations as one HTML file; returns how many did not fit."""
        from pellucid.report.plain import write_texts

        write_texts({label: explanation.text() for label, explanation in explanations.items()}, path, title=title)
        return 0
