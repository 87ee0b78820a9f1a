"""ExpO's tables: read, divided by the trial, and standardized by the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

SUPPORT2 = "support2"
AFTERWARDS = ("hospdead", "slos", "d.time", "charges", "totcst", "totmcst", "avtisst", "sfdm2")
"""Columns of SUPPORT2 that are known only afterwards."""
ESTIMATES = ("surv2m", "surv6m", "prg2m", "prg6m", "dnr", "dnrday")
"""Estimates of the target by models and physicians, and what was decided on them."""
THEIRS = (
    "aps", "sps", "surv2m", "surv6m", "prg2m", "prg6m", "dnr", "dnrday", "hospdead", "dzclass", "edu", "scoma",
    "totmcst", "charges", "totcst", "d.time",
)  # fmt: skip
"""What ExpO's code leaves out: the length of stay, the intensity of care and the disability after two months, one of
whose levels is death, are left in."""


class Table(NamedTuple):
    """The parts of a standardized table, in float32."""

    x: dict[str, Tensor]
    y: dict[str, Tensor]
    """(n, 1) each: standardized, or 0 and 1."""
    classes: bool


def read(data: str, trial: int, split: Sequence[float]) -> Table:
    """The table of this name in `tables/` of `$PELLUCID_DATA`, divided at random by the trial.

    Parameters
    ----------
    data : str
        The name of the file without ".csv"; "support2, their columns" is SUPPORT2 with the columns that ExpO used.
    trial : int
        Seed of the division.
    split : sequence of float
        Shares of training, validation and test.
    """
    import pandas as pd
    import torch

    from pellucid.datasets import find_data
    from pellucid.errors import InputError

    name = data.partition(",")[0]
    path = find_data(f"tables/{name}.csv")
    if path is None:
        raise InputError(
            f"The table {name}.csv must be in the folder tables of the folder that PELLUCID_DATA names",
            got="no such file",
        )
    frame = pd.read_csv(path, skipinitialspace=True)
    order = np.random.default_rng(trial).permutation(len(frame))
    parts = np.split(order, np.round(np.cumsum(split[:2]) * len(order)).astype(int))
    classes = name == SUPPORT2
    if classes:
        x = encoded(frame.drop(columns=["death", *(THEIRS if data != name else (*AFTERWARDS, *ESTIMATES))]), parts[0])
        y = frame["death"].to_numpy(float)
    else:
        x, y = frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy(float)
        y = (y - y[parts[0]].mean()) / y[parts[0]].std()
    means, deviations = x[parts[0]].mean(0), x[parts[0]].std(0)
    kept = deviations > 1e-10
    x = (x[:, kept] - means[kept]) / deviations[kept]
    names = ("train", "validation", "test")
    return Table(
        {part: torch.from_numpy(x[rows]).float() for part, rows in zip(names, parts, strict=True)},
        {part: torch.from_numpy(y[rows, None]).float() for part, rows in zip(names, parts, strict=True)},
        classes,
    )


def encoded(frame: pd.DataFrame, train: np.ndarray) -> np.ndarray:
    """Numbers, with the training median for blanks and a column that says where they were; a column for each level."""
    import pandas as pd

    columns = []
    for column in (frame[name] for name in frame.columns):
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(float)
            blank = np.isnan(values)
            columns.append(np.where(blank, np.nanmedian(values[train]), values))
            if blank[train].mean() > 0.01:
                columns.append(blank.astype(float))
        else:
            text = column.fillna("").astype(str).to_numpy()
            columns.extend((text == level).astype(float) for level in np.unique(text[train]))
    return np.stack(columns, 1)
