"""Options of tables: how they are read, learned from, predicted and explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pellucid.domains import TrainingOptions
from pellucid.options import Options, option


@dataclass(frozen=True, kw_only=True)
class TableReading(Options):
    """How a table is read."""

    target: str | None = option(None, "The column to learn.", "--target", "-t", metavar="COLUMN", training_only=True)
    leave_out: tuple[str, ...] | None = option(
        None, "A column that nothing is to be learned from; repeat for several, or separate by commas.",
        metavar="COLUMN", training_only=True,
    )  # fmt: skip
    names: str | None = option(None, "The column of names.", default_text="one called id, name, ...", saved=False)


@dataclass(frozen=True, kw_only=True)
class TableSettings(TrainingOptions):
    """Settings of a training on a table."""

    task: Literal["auto", "classification", "regression"] = option(
        "auto", "What is learned; auto: classes where there are texts, or a few whole numbers from 0 or 1 on."
    )
    game: Literal["symmetric", "asymmetric", "uniform", "none"] = option(  # type: ignore[assignment]
        "symmetric", "Which game is played; none trains DEEP alone."
    )
    witness: Literal["auto", "linear", "sparse", "tree"] = option(
        "auto", "What explains predictions; auto: whatever holds best on the validation rows."
    )
    sampler: Literal["mixed", "between", "around"] = option("mixed", "Which rows fill the neighborhoods.")
    play: Literal["fresh", "banked"] = option("fresh", "Play with fresh sampled rows, or with the rows of the table.")
    neighbors: int = option(16, "The number of nearest rows in a neighborhood.", minimum=1)
    ensemble: int = option(8, "The number of networks in one.", minimum=1)
    patience: int | None = option(
        None, "Stop after so many epochs without a better validation loss.", default_text="a third of the epochs",
        minimum=1,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TablePredicting(Options):
    """What is written beside the predictions of rows."""

    trust: bool = option(False, "Also write the values of the witness, and how far they can be trusted.")
    level: float | None = option(None, "The confidence of the bounds.", default_text="0.9")


@dataclass(frozen=True, kw_only=True)
class TableExplaining(Options):
    """What counterfactuals may change, and are to reach."""

    change: tuple[str, ...] | None = option(
        None, "A column that counterfactuals may change; repeat for several, or separate by commas.", metavar="COLUMN",
        default_text="all", parameter="changeable",
    )  # fmt: skip
    wanted: str | None = option(
        None, 'What counterfactuals are to reach: a class, or a range such as "20:30", "20:" or ":30".',
        metavar="VALUE", default_text="the likeliest other class",
    )  # fmt: skip
