"""Settings that suit a table, from the number of its rows."""

from __future__ import annotations

import math
from typing import Any

# Steps of a training: more hardly help, whatever the number of rows.
_STEPS = 3000


def settings_for(rows: int) -> dict[str, Any]:
    """Batches of a twentieth of the rows, 32 to 256; and as many epochs as make about 3000 steps, 15 to 150.

    Parameters
    ----------
    rows : int
        The number of rows to learn from.

    Examples
    --------
    >>> settings_for(300), settings_for(100_000)
    ({'batch_size': 32, 'epochs': 150, 'patience': 50}, {'batch_size': 256, 'epochs': 15, 'patience': 10})
    """
    batch_size = min(max(2 ** round(math.log2(max(rows, 2) / 20)), 32), 256)
    epochs = min(max(round(_STEPS * batch_size / max(rows, 1)), 15), 150)
    return {"batch_size": batch_size, "epochs": epochs, "patience": max(epochs // 3, 10)}
