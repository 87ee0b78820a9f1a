"""Domains: what Pellucid learns from. One object says everything that runs, reports and the command line must know.

A domain of your own derives from `Domain` and is made known with `pellucid.registry.register`, or as an entry point of
the group "pellucid.domains".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar, final

from pellucid.options import NoOptions, option

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from pellucid.explanations import Explanation
    from pellucid.splitting import Parts
    from pellucid.summaries import BaselineSummary, Measure, RunSummary
    from pellucid.trust import Calibration, HeldOut

Data = TypeVar("Data")
Model = TypeVar("Model", bound=Any)
_SUITS = "what suits the data"

Speak = Callable[[str], None]
"""Where sentences for the user go."""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(NoOptions):
    """What every training can be set to; domains add their own, and leave open what suits the data."""

    game: Literal["symmetric", "asymmetric", "none"] = option(
        "symmetric", "Which game is played; none trains DEEP alone."
    )
    epochs: int | None = option(None, "How often all data are seen.", default=_SUITS, minimum=1)
    width: int | None = option(None, "Width of the network's hidden layers.", default=_SUITS, minimum=1)
    batch_size: int | None = option(None, "Items in a training step.", default=_SUITS, minimum=1)
    learning_rate: float | None = option(None, "Peak of the one-cycle learning rate.", default=_SUITS)
    seed: int = option(0, "Seed of the split, of the initial weights and of the order.", minimum=0)

    def chosen(self, *names: str) -> dict[str, Any]:
        """Those of the settings that are set, of the training and of these names."""
        names = ("epochs", "width", "batch_size", "learning_rate", "seed", *names)
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class Source(NamedTuple, Generic[Data]):
    """Data, and where they come from."""

    data: Data
    path: Path | None = None
    reading: Any = None


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Generic[Data, Model]):
    """What a run will do: the parts of the data, and the untrained model."""

    model: Model
    """GAME; DEEP has the same settings and no game."""
    parts: Parts[Data]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """How much is in each of the parts, in `Domain.counted`; by default their lengths."""
    outputs: tuple[str, ...]
    digest: str
    """A fingerprint of the test data."""
    description: str = ""
    split: str = "random"
    split_about: str | None = None
    loss: str = "validation loss"
    """What `Domain.validate` measures, in words: first the loss, then the deviation."""
    deviation: str = "mean deviation on validation neighborhoods"
    notes: tuple[str, ...] = ()
    """What was decided, a sentence each, said before the training."""
    choices: tuple[str, ...] = ()
    """Settings that were chosen by the data, a sentence each."""
    decisions: tuple[str, ...] = ()
    """How the data were read, a sentence each, for the report."""
    remarks: tuple[str, ...] = ()
    """What somebody should know before reading the numbers."""
    rejected: tuple[tuple[Any, ...], ...] = ()
    """Rows that cannot be used, with the reason."""
    stops_early: bool = False
    """Whether the training ends where the validation loss stops falling."""

    def __post_init__(self) -> None:
        if not self.sizes:
            object.__setattr__(self, "sizes", {name: len(part) for name, part in self.parts._asdict().items()})


@final
@dataclass(frozen=True, kw_only=True)
class Measured:
    """What test data say of a model with K outputs."""

    scores: Mapping[str, Any]
    """Numbers by the keys of `Domain.measures`. "relative_error" is the error divided by that of the mean."""
    tested: int
    """The number of test items."""
    deviations: np.ndarray
    """(n,) of each test neighborhood."""
    deviation_unit: str | None = None
    """What these are, in words."""
    held_out: HeldOut
    calibration: Calibration | None
    units: np.ndarray | float = 1.0
    """(K,) what a distance of 1 between witness and network is in the units of the data."""


class Explained(NamedTuple):
    """Explanations by what was explained, and why some have none."""

    explanations: dict[str, Explanation]
    rejected: dict[str, str]
    title: str | None = None
    """What all of them have in common, to be said before."""


class Shown(NamedTuple):
    """An explanation of a test point."""

    label: str
    explanation: Explanation
    deviation: float
    measured: Sequence[float | None] | None = None


class Domain(ABC, Generic[Data, Model]):
    """What is read and how rows get their names, how it is split, the model, its measures and its explanations."""

    name: ClassVar[str]
    """A word: of the command `pellucid train NAME`, and of summaries."""
    about: ClassVar[str]
    """What is learned, in a sentence."""
    source: ClassVar[str]
    """What is read, in a sentence."""
    item: ClassVar[str] = "row"
    """What is explained, one of them: "molecule"."""
    counted: ClassVar[str] = "rows"
    """What the sizes of the parts count: "molecules", "rows"."""
    points: ClassVar[str] = "points"
    """What neighborhoods consist of: "molecules", "steps"."""
    file: ClassVar[str]
    """The JSON file of a saved model, without its ending."""
    example: ClassVar[str]
    """What to explain next, as typed on a command line: "recording.csv"."""
    transparency: ClassVar[str] = "deviation"
    """The key of the measure that says whether GAME is more transparent than DEEP."""
    shown: ClassVar[int] = 40
    """Explanations of test points in a report, at most."""
    ends: ClassVar[int] = 6
    """Of these, so many are marked as the most trustworthy, and as many as the least."""

    Reading: ClassVar[type[NoOptions]] = NoOptions
    """How files are read; a run keeps it, so that later files are read alike."""
    Settings: ClassVar[type[TrainingOptions]] = TrainingOptions
    Predicting: ClassVar[type[NoOptions]] = NoOptions
    Explaining: ClassVar[type[NoOptions]] = NoOptions

    # -- training ----------------------------------------------------------------------------------------------

    @abstractmethod
    def read(self, path: Path, reading: Any, model: Model | None = None) -> Data:
        """What a file or folder holds; for a trained model, what it reads and predicts."""

    def describe(self, source: Source[Data]) -> list[str]:
        """What was read, a sentence each."""
        return []

    @abstractmethod
    def plan(self, source: Source[Data], settings: Any, *, weight: float | None = None) -> Plan[Data, Model]:
        """Split the data, and set up the model.

        Parameters
        ----------
        source : Source
            The data, and where they come from.
        settings : Settings
            Of this domain.
        weight : float, optional
            Weight of the game; by default what suits the data.
        """

    def strength(self, settings: Any) -> str | None:
        """The setting that says how much witnesses count: "weight", or "margin" of the uniform game; None without."""
        strengths: dict[str, str | None] = {"none": None, "uniform": "margin"}
        return strengths.get(settings.game, "weight")

    def fit(
        self, model: Model, plan: Plan[Data, Model], settings: Any, *, folder: Path, resume: bool, progress: bool
    ) -> Model:
        """Train a model of the plan, and calibrate it on the validation data."""
        parts = plan.parts
        trained: Model = model.fit(
            parts.train, validation=parts.validation, folder=folder, resume=resume, progress=progress
        )
        return trained

    @abstractmethod
    def validate(self, model: Model, data: Data) -> tuple[float, float]:
        """Loss and deviation, by which the weight of the game is chosen."""

    # -- measuring ---------------------------------------------------------------------------------------------

    @abstractmethod
    def measures(self, test: Data) -> Sequence[Measure]:
        """What is compared: rows of the table, the accuracy first."""

    @abstractmethod
    def measure(self, model: Model, test: Data, *, progress: bool = False) -> Measured:
        """What test data say of a trained model."""

    def baseline(self, plan: Plan[Data, Model]) -> BaselineSummary | None:
        """A simple model beside the networks, measured on the same test data."""
        return None

    def remarks(self, models: Mapping[str, Model], plan: Plan[Data, Model]) -> list[str]:
        """What else somebody should know before reading the numbers, a sentence each."""
        return []

    unexplained: ClassVar[str] = "its witnesses explain nothing at points they were not fitted to"
    """What is wrong where the held-out variance explained is near zero."""
    cure: ClassVar[str] = "try larger neighborhoods, simpler witnesses or a larger weight"

    @abstractmethod
    def examples(self, model: Model, test: Data, *, level: float, progress: bool = False) -> Sequence[Shown]:
        """Explanations of test points, of which the report shows the most and the least trustworthy."""

    # -- use ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def load(self, folder: Path) -> Model:
        """A model that was saved."""

    @abstractmethod
    def predict(
        self, model: Model, path: Path, reading: Any, settings: Any, *, progress: bool, warn: Speak
    ) -> Iterator[Sequence[Any]]:
        """The predictions of a file as a table: a line of names, then rows."""

    @abstractmethod
    def explain(
        self, model: Model, what: str, reading: Any, settings: Any, *, level: float, progress: bool, warn: Speak
    ) -> Explained:
        """Explanations of what a user names: a file, a folder, or one item."""

    def overview(self, explanations: Mapping[str, Explanation], target: str | None) -> str:
        """Several explanations as text."""
        return "\n\n".join(f"{label}\n{explanation.text(target)}" for label, explanation in explanations.items())

    # -- pages -------------------------------------------------------------------------------------------------

    def write_report(self, summary: RunSummary, path: Path) -> None:
        """Write the report of a run as one HTML file: numbers, charts, and the texts of its explanations."""
        from pellucid.report.plain import write_run

        write_run(summary, path, item=self.item)

    def write_explanations(self, explanations: Mapping[str, Explanation], path: Path, *, title: str) -> int:
        """Write several explanations as one HTML file; how many there was no room for."""
        from pellucid.report.plain import write_texts

        write_texts({label: explanation.text() for label, explanation in explanations.items()}, path, title=title)
        return 0


class Demonstration(NamedTuple):
    """What `pellucid demo` does with a domain."""

    title: str
    source: Source[Any]
    settings: Any
    notes: Sequence[str]
    """What is learned from, a sentence each."""
    choose: Callable[[RunSummary], str]
    """The item to explain at the end."""
    about: str
    """Which one that is, in words."""
    picture: str
    """The file of its picture, in the folder of the run."""


class Demonstrable(ABC):
    """A domain with data at hand that show what it does: see `pellucid demo`."""

    @abstractmethod
    def demonstration(self, *, smoke: bool) -> Demonstration:
        """Data that need no download, and settings for minutes of training, or seconds of a smoke test."""


class Assessment(Protocol):
    """What a `Monitor` finds: a text, and the same as a page, as numbers and as a picture."""

    def __str__(self) -> str: ...

    def to_html(self, path: str | Path, *, title: str) -> None:
        """Write a page."""

    def to_json(self, path: str | Path) -> None:
        """Write every number as JSON."""

    def to_csv(self, path: str | Path) -> None:
        """Write every number as a table."""

    def plot(self) -> Figure:
        """A picture, to be saved as .svg or .png."""


class Monitor(ABC):
    """A domain whose models can follow something over time, beside what is healthy: see `pellucid score`."""

    Assessing: ClassVar[type[NoOptions]] = NoOptions
    """What is healthy, and what an alarm is."""

    @abstractmethod
    def assess(
        self,
        model: Any,
        path: Path,
        reading: Any,
        settings: Any,
        *,
        learned: str | None = None,
        progress: bool = False,
        warn: Speak = lambda _: None,
    ) -> Assessment:
        """The condition over time.

        Parameters
        ----------
        model : Any
            A model of what was healthy.
        path : Path
            The file or folder to follow, in the order of time.
        reading : Reading
            How it is read.
        settings : Assessing
            What is healthy, and what an alarm is.
        learned : str, optional
            The name of the file or folder that the model learned from, where it is known: `DataSummary.source`.
        progress : bool
            Show a progress bar.
        warn : callable
            Takes sentences on what is doubtful.
        """
