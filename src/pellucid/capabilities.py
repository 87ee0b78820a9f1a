"""Capabilities that a domain may have beside those of every domain: a class to derive from for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from pellucid.domains import MessageCallback, Source
from pellucid.options import Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.auditing.predictions import StructureFeatures
    from pellucid.explanations import Explanation
    from pellucid.summaries import RunSummary


class Demo(NamedTuple):
    """What `pellucid demo` trains on, and explains."""

    title: str
    source: Source[Any]
    settings: Any
    """Options of the training, of the class `Domain.Settings`."""
    notes: Sequence[str]
    """Sentences about the data."""
    choose: Callable[[RunSummary], str]
    """Returns the item to explain at the end."""
    about: str
    """What is special about this item."""
    picture: str
    """Name of the file of its picture, in the folder of the run."""
    weight: float | None = None
    """How much the witnesses count; None for what suits the data."""


class SupportsDemo(ABC):
    """A domain with a demo: see `pellucid demo`."""

    @abstractmethod
    def demo(self, *, smoke: bool) -> Demo:
        """Data that need no download, with settings for a training of minutes, or of seconds for a smoke test."""


class SupportsStructures(ABC):
    """A domain whose items can be features in a table of predictions: see `pellucid audit`."""

    @abstractmethod
    def structure_features(self) -> StructureFeatures:
        """What witnesses read of a column of such items."""


class Search(Protocol):
    """The way from an item to a better one: a text, and a table."""

    def __str__(self) -> str: ...

    def rows(self) -> Iterator[Sequence[Any]]:
        """The names of the columns, then the rows."""

    def __len__(self) -> int:
        """The number of steps, the start among them."""

    def explain(self, step: int = -1) -> Explanation:
        """What the property follows around the item of a step, by default the last."""

    def reasons(self) -> str:
        """What each step changed, and why the property has the value that it has there, in short."""


class SupportsSearch(ABC):
    """A domain whose models map items to points of a latent space and back.

    For `pellucid encode`, `sample`, `near` and `optimize`.
    """

    @abstractmethod
    def sample(
        self, model: Any, count: int, *, prior: Literal["standard", "fitted"], seed: int, warn: MessageCallback
    ) -> Iterator[Sequence[Any]]:
        """Items at random points of the latent space: the names of the columns, then the rows of a table.

        Parameters
        ----------
        model : Any
            A trained model.
        count : int
            The number of items.
        prior : {"standard", "fitted"}
            Where points are drawn: from N(0, I), or where those of training items are.
        seed : int
            Seed of the points.
        warn : callable
            Takes sentences about what is doubtful.
        """

    @abstractmethod
    def near(
        self, model: Any, item: str, count: int, *, spread: float, seed: int, warn: MessageCallback
    ) -> Iterator[Sequence[Any]]:
        """Items near one in the latent space, without itself: the names of the columns, then the rows of a table.

        Parameters
        ----------
        model : Any
            A trained model.
        item : str
            The item.
        count : int
            The number of points that are drawn.
        spread : float
            How far to go: 1 is the posterior of the item.
        seed : int
            Seed of the points.
        warn : callable
            Takes sentences about what is doubtful.
        """

    @abstractmethod
    def optimize(
        self,
        model: Any,
        path: Path,
        reading: Any,
        *,
        target: str,
        start: str | None,
        steps: int,
        least_similarity: float,
        lower: bool,
        seed: int,
        warn: MessageCallback,
    ) -> Search:
        """Learn a property from a table, and search for items with more of it.

        Parameters
        ----------
        model : Any
            A trained model.
        path : Path
            A table of items and their measured values.
        reading : Options
            How it is read, of the class `Domain.Reading`.
        target : str
            The column of the property.
        start : str, optional
            The item to start from; by default the best one of the table.
        steps : int
            The most rounds of the search.
        least_similarity : float
            The least similarity to the first item, from 0 to 1.
        lower : bool
            Search for lower values.
        seed : int
            Seed of the search.
        warn : callable
            Takes sentences about what is doubtful.
        """

    @abstractmethod
    def write_search(self, search: Any, path: Path, *, title: str) -> None:
        """Write the explanations of all steps of a search as a page, under what is doubtful about it."""


class Assessment(Protocol):
    """The condition of something over time: a text, and the same as a page, as numbers and as a picture."""

    def __str__(self) -> str: ...

    def to_html(self, path: str | Path, *, title: str) -> None:
        """Write a page."""

    def to_json(self, path: str | Path) -> None:
        """Write every number as JSON."""

    def to_csv(self, path: str | Path) -> None:
        """Write every number as a table."""

    def plot(self) -> Figure:
        """Draw a picture, to be saved as .svg or .png."""


class SupportsMonitoring(ABC):
    """A domain whose models follow the condition of something over time: see `pellucid score`."""

    Assessing: ClassVar[type[Options]] = Options
    """What counts as healthy, and what as an alarm."""

    @abstractmethod
    def assess(
        self,
        model: Any,
        path: Path,
        reading: Any,
        settings: Any,
        *,
        trained_on: str | None = None,
        progress: bool = False,
        warn: MessageCallback = lambda _: None,
    ) -> Assessment:
        """Assess the condition over time, beside that of healthy data.

        Parameters
        ----------
        model : Any
            A model trained on healthy data.
        path : Path
            The file or folder to follow, in the order of time.
        reading : Options
            How it is read, of the class `Domain.Reading`.
        settings : Options
            What counts as healthy, and what as an alarm, of the class `Assessing`.
        trained_on : str, optional
            Name of the file or folder that the model was trained on, where it is known: `DataSummary.source`.
        progress : bool
            Show a progress bar.
        warn : callable
            Takes sentences about what is doubtful.
        """
