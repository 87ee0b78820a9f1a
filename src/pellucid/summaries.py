"""The summary of a run: frozen records, and the one module that knows their JSON.

The table of the command line, `compare` and the report are made from a `RunSummary` alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, final

from pellucid.errors import InputError, Parameter
from pellucid.schemas import Between, Measured, Share, Size, as_written, checked, json_of, shown
from pellucid.writing import write_text

FILE = "summary.json"
MODEL_FOLDERS = {"GAME": "game", "DEEP": "deep"}
"""Where the models are in the folder of their run; the first of those that are there is meant unless one is named."""
HELD_OUT = "held_out_variance_explained"
"""The key of the most important measure: what witnesses explain at points that they were not fitted to."""
BOUND = "bound"
"""The key of the median bound between witness and network, a mean over the outputs."""
# Models of a run: charts place their labels in every possible order.
_FEW = Between(0, 4)


@final
@dataclass(frozen=True, kw_only=True)
class Measure:
    """A row of the table of measures."""

    key: str
    """Key of the score in `ModelSummary.scores`."""
    title: str
    better: Literal["lower", "higher", "neither"] = "higher"
    about: str = ""


@final
@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Scores of a model on test data, and how it was trained."""

    scores: Mapping[str, Any] = field(default_factory=dict)
    """Numbers by the keys of the measures; None where one is not known."""
    weight: float | None = None
    epochs: Size | None = None
    seconds: Annotated[float, Between(0, 1e10)] | None = None
    """None after an interruption."""


@final
@dataclass(frozen=True, kw_only=True)
class BaselineSummary:
    """A simple model on the same test data."""

    title: str
    about: str = ""
    scores: Mapping[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, kw_only=True)
class DataSummary:
    """What was read, and how it was split."""

    source: str | None = None
    description: str | None = None
    parts: Mapping[str, Size] = field(default_factory=dict)
    """Sizes of the parts: train, validation, test."""
    split: str | None = None
    split_about: str | None = None
    test_digest: str | None = None
    """A fingerprint of the test data; runs of earlier versions have none."""
    decisions: tuple[str, ...] = ()
    """How the data were read, one sentence each."""
    rejected: tuple[tuple[Any, str, str], ...] = ()
    """Rejected rows, each with its text and the reason; only the first of many."""
    rejected_count: Size = 0


@final
@dataclass(frozen=True, kw_only=True)
class TrustSummary:
    """Bounds of the test neighborhoods and how often they held, for each model and output."""

    level: Annotated[float, Between(1e-9, 1 - 1e-9)]
    calibrated: Size = 0
    tested: Size | None = None
    coverage: Mapping[str, tuple[Share | None, ...]] = field(default_factory=dict)
    bound: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


class Trial(NamedTuple):
    """A model that was tried, as the validation data see it."""

    weight: float | None
    """Weight of the game; None for DEEP."""
    loss: Measured
    deviation: Measured


@final
@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """The weights that were tried, and the one that was chosen."""

    trials: Annotated[tuple[Trial, ...], Between(1, 1000)]
    tolerance: Annotated[float, Between(0, 10)]
    chosen: float | None
    loss: str
    """Name of the loss."""
    deviation: str

    @property
    def deep(self) -> Trial | None:
        """The model without a game."""
        return next((trial for trial in self.trials if trial.weight is None), None)

    @property
    def best(self) -> Trial | None:
        """The model with the weight that was chosen."""
        return next((trial for trial in self.trials if trial.weight == self.chosen), None)

    @property
    def limit(self) -> float:
        """The largest loss within the tolerance."""
        return math.inf if self.deep is None else self.deep.loss * (1 + self.tolerance)

    @property
    def within(self) -> bool:
        """Whether the chosen model is within the tolerance."""
        return self.best is None or self.best.loss <= self.limit


@final
@dataclass(frozen=True, kw_only=True)
class Example:
    """An explanation of a test point, as the report shows it."""

    explanation: Mapping[str, Any]
    """The explanation of the domain, from its `to_dict`."""
    place: str | None = None
    """Name of the point, and where it is in the data."""
    rank: Literal["most", "least", "others"] = "others"
    measured: tuple[float | None, ...] | None = None


@final
@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """The results of a run, in plain numbers and words."""

    kind: str
    """The name of the domain."""
    title: str | None = None
    made: str | None = None
    pellucid: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    data: DataSummary = field(default_factory=DataSummary)
    settings: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    """Settings that were chosen from the data, one sentence each."""
    outputs: tuple[str, ...] = ()
    """What is predicted: targets, channels."""
    measures: tuple[Measure, ...] = ()
    models: Annotated[Mapping[str, ModelSummary], _FEW] = field(default_factory=dict)
    """"DEEP", and "GAME" if there is one."""
    verdict: tuple[str, ...] = ()
    """What a reader should know before looking at the numbers, one sentence each."""
    deviations: Annotated[Mapping[str, tuple[Measured, ...]], _FEW] = field(default_factory=dict)
    deviation_unit: str | None = None
    trust: TrustSummary | None = None
    explanations: tuple[Example, ...] = ()
    """The most trustworthy first."""
    trade_off: TradeOff | None = None
    baselines: Annotated[tuple[BaselineSummary, ...], _FEW] = ()
    """Simple models on the same test data, to compare with."""
    landscape: Mapping[str, Any] | None = None
    """What the domain says of the explanations of all test points together; see `Domain.landscape`."""

    @property
    def main(self) -> str | None:
        """The name of the model that is explained: GAME, or DEEP if it is alone."""
        return next(reversed(list(self.models)), None)

    def to_json(self) -> dict[str, Any]:
        """The content of the file: None stands for NaN and infinity, which JSON does not have."""
        content = asdict(self)
        if self.trade_off is not None:
            content["trade_off"]["trials"] = [trial._asdict() for trial in self.trade_off.trials]
        return dict(_clean(content))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunSummary:
        """The summary from the content of a file, also of one that an earlier version wrote."""
        summary = checked(cls, _with_current_names(content))
        checked(str | None, summary.settings.get("game"), "the game of the settings")
        scores = {name: model.scores for name, model in summary.models.items()}
        scores |= {f"the baseline {shown(baseline.title)}": baseline.scores for baseline in summary.baselines}
        for name, values in scores.items():
            for measure in summary.measures:
                value = values.get(measure.key)
                checked(float | None, value, f"the score {shown(measure.key)} of {name}")
        return summary


def write(folder: Path, summary: RunSummary) -> None:
    """Write a summary into the folder of its run; a crash leaves no half of it."""
    write_text(folder / FILE, json.dumps(summary.to_json(), indent=1, allow_nan=False) + "\n")


def read(folder: str | Path) -> RunSummary:
    """The summary of a finished run."""
    path = Path(folder) / FILE
    if not path.is_file():
        raise InputError(
            f"A finished run is a folder with {FILE}",
            got=f"{folder}, which has none",
            cure=(f"pass the folder of a run, or resume an interrupted run with {Parameter('resume', True)}"),
        )
    with as_written("The summary of a run must be as it was written", where=path, cure="run again"):
        content = json_of(path)
        content["kind"], content["models"]
        return RunSummary.from_json(content)


def _with_current_names(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with current names; earlier versions had others."""
    result = {"outputs": content.get("targets") or content.get("channels"), **content}
    data = dict(content.get("data") or {})
    result["data"] = {"rejected": data.get("left_out"), "rejected_count": data.get("left_out_count"), **data}
    result["measures"] = [
        {**measure, "key": HELD_OUT, "title": "held-out variance explained"} if measure["key"] in _KEYS else measure
        for measure in content.get("measures") or ()
    ]
    result["models"] = _with_current_keys(content.get("models"))
    former = content.get("baseline")
    result["baselines"] = _with_current_keys(content.get("baselines") or ([former] if former is not None else []))
    return result


def _with_current_keys(content: Any) -> Any:
    if isinstance(content, list):
        return [_with_current_keys(one) for one in content]
    if not isinstance(content, Mapping):
        return content
    return {
        name: {_KEYS.get(key, key): score for key, score in value.items()}
        if name == "scores"
        else _with_current_keys(value)
        for name, value in content.items()
    }


_KEYS = {"explained_left_out": HELD_OUT}


def _clean(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _clean(value) for name, value in content.items()}
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [_clean(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
