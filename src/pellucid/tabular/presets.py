"""Settings that suit a table, from the number of its rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pellucid.tabular.domain_options import TableSettings
    from pellucid.tabular.model import TableModel

# Steps of a training: more hardly help, whatever the number of rows.
_STEPS = 3000
# In larger tables batches are many, and one sixteenth of each is enough for the game.
_LARGE = 20_000


def settings_for(rows: int) -> dict[str, Any]:
    """Batches of a twentieth of the rows, 32 to 256; as many epochs as make about 3000 steps, 15 to 150; and the share
    of a batch that plays.

    Parameters
    ----------
    rows : int
        The number of rows to learn from.

    Examples
    --------
    >>> settings_for(300)
    {'batch_size': 32, 'epochs': 150, 'patience': 50, 'share': 0.125}
    >>> settings_for(100_000)
    {'batch_size': 256, 'epochs': 15, 'patience': 5, 'share': 0.0625}
    """
    batch_size = min(max(2 ** round(math.log2(max(rows, 2) / 20)), 32), 256)
    epochs = min(max(round(_STEPS * batch_size / max(rows, 1)), 15), 150)
    return {
        "batch_size": batch_size,
        "epochs": epochs,
        "patience": max(epochs // 3, 5),
        "share": 0.0625 if rows > _LARGE else 0.125,
    }


def untrained(
    settings: TableSettings, task: Literal["regression", "classification"], *, rows: int, weight: float | None = None
) -> TableModel:
    """The model for a table, from what its user chose and from the number of its rows.

    Parameters
    ----------
    settings : TableSettings
        What the user chose.
    task : {"regression", "classification"}
        What to learn.
    rows : int
        The number of rows to learn from.
    weight : float, optional
        Weight of the game; by default that of the model.
    """
    from pellucid.tabular.model import TableModel

    values = {**settings_for(rows), **settings.chosen("patience", "neighbors", "ensemble")}
    if weight is not None:
        values["weight"] = weight
    return TableModel(
        task=task,
        game=None if settings.game == "none" else settings.game,
        witness=settings.witness,
        sampler=settings.sampler,
        play=settings.play,
        **values,
    )
