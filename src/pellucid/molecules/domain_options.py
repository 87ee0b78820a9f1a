"""Options of tables of molecules: how they are read, learned from and predicted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pellucid.molecules.base_domain import MoleculeTraining, SmilesReading
from pellucid.options import Options, option


@dataclass(frozen=True, kw_only=True)
class MoleculeReading(SmilesReading):
    """How a table of molecules is read."""

    targets: tuple[str, ...] | None = option(
        None, "A column of measured values; repeat for several, or separate by commas.", "--targets", "-t",
        default_text="all columns of numbers", training_only=True,
    )  # fmt: skip
    skip_bad_rows: bool = option(
        False, "Reject rows that cannot be used, and list them in the report.", training_only=True, parameter="on_error"
    )


@dataclass(frozen=True, kw_only=True)
class MoleculeSettings(MoleculeTraining):
    """Settings of a training on molecules."""

    task: Literal["auto", "classification", "regression"] = option(
        "auto", "What is learned; auto: labels where there is nothing but 0 and 1."
    )
    game: Literal["symmetric", "asymmetric", "uniform", "none"] = option(  # type: ignore[assignment]
        "symmetric", "The game to play; none trains DEEP alone."
    )
    witness: Literal["tree", "contributions", "auto"] = option(
        "auto",
        "What explains predictions: a small tree of substructures, what each of them contributes, or whichever of both "
        "holds better on the validation molecules.",
    )
    held_out: bool = option(
        False, "Play the game at members that the witness was not fitted to.", parameter="held_out_game"
    )
    margin: float = option(0.1, "The deviation that the uniform game allows everywhere.", minimum=0)
    analogs: Literal["auto", "yes", "no"] = option(
        "auto", "Fill neighborhoods with analogs; auto: of explanations, and in training where too few are similar."
    )
    pool: Path | None = option(None, "A table of unlabeled molecules to find neighbors in.")


@dataclass(frozen=True, kw_only=True)
class MoleculePredicting(Options):
    """What is written beside the predictions of molecules."""

    certainty: bool = option(
        False,
        "Also write how sure each prediction is: the interval in which a measurement lies, or the calibrated "
        "probability, and the nearest training molecule.",
    )
    trust: bool = option(False, "Also write the values of the witness, and how far they are from the network.")
    level: float | None = option(None, "The confidence of intervals and bounds.", default_text="0.9")
