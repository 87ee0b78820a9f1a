"""The result of fitting an autoencoder, and how it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from pellucid.models import Fitted
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.fitted import GROUPS, REJECTED
from pellucid.molecules.table import Rejection
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.prior import FittedPrior
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.schemas import Size
from pellucid.storage import TEXTS, WHOLE, TextFile, optional, plain, stored
from pellucid.trust import Calibration


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedAutoencoder(Fitted):
    """The result of fitting a `JunctionTreeVAE`; see its attributes."""

    network: TreeAutoencoder
    vocabulary: Vocabulary = stored(TextFile("vocabulary.txt", Vocabulary.to_text, Vocabulary.from_text))
    groups: RGroups = stored(GROUPS)
    pool: tuple[str, ...] = stored(TEXTS)
    rejected: tuple[Rejection, ...] = stored(REJECTED)
    rejected_counts: dict[str, int] = stored(plain(dict[str, Size]))
    flattened: int = stored(WHOLE)
    calibration: Calibration | None = stored(optional(Calibration))
    prior: FittedPrior | None = stored(optional(FittedPrior))
    """Where the codes of training molecules are; models of earlier versions have none."""

    @classmethod
    def check(cls, record: Mapping[str, Any], model: Any) -> None:
        """All coordinates in the prior, and their means and log-variances in the calibration."""
        if record["prior"] is not None:
            record["prior"].require_size(2 * model.latent)
        if record["calibration"] is not None:
            record["calibration"].require_outputs(4 * model.latent, "calibration")

    @classmethod
    def upgraded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Models of version 0.1 have no calibration and no prior, another name for numbers of rejected rows, no
        positional code, and did not count whose stereochemistry was dropped.
        """
        settings = content.get("settings")
        if isinstance(settings, dict):
            content = {**content, "settings": {"positional": False, **settings}}
        missing = {"calibration": None, "prior": None, "rejected_counts": content.get("left_out", {}), "flattened": 0}
        return {**missing, **content}
