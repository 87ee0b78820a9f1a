"""Runs that the tests of several commands share."""

import csv

import numpy as np
import pytest
from blockers import blockers
from cli.runner import ACTIVITY, SMALL, run

from pellucid.series import simulate_rig


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """A folder with a table of molecules and recordings, and a run on each."""
    folder = tmp_path_factory.mktemp("cli")
    table = blockers().select(range(0, 1017, 5))
    with (folder / "assay.csv").open("w", newline="") as stream:
        rows = [[f"M{i}", s, y, int(y > 6.5)] for i, (s, y) in enumerate(zip(table.smiles, table.y[:, 0], strict=True))]
        csv.writer(stream).writerows([["id", "smiles", "activity", "active"], *rows])
    (folder / "recordings").mkdir()
    rig = simulate_rig(files=2, rows=2500, bearings=2, seed=0)
    for values, name in zip(rig.values, ("a.csv", "b.csv"), strict=True):
        np.savetxt(folder / "recordings" / name, values, delimiter=",", header="left,right", comments="")
    run("train", "molecules", folder / "assay.csv", *ACTIVITY, "--witness", "tree", "-o", folder / "run", *SMALL)
    run("train", "series", folder / "recordings", "--context", 20, "--horizon", 10, "--radius", 4, "-o",
        folder / "series", *SMALL)  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def tuned(place):
    """What a run in `place / "auto"` prints whose weight is chosen."""
    return run("train", "molecules", place / "assay.csv", *ACTIVITY, "--weight", "auto", "--tolerance", 0.05,
               "-o", place / "auto", *SMALL).output  # fmt: skip
