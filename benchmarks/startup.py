"""What starting up costs: the processor time of commands in fresh interpreters, beyond that of `import torch`.

    python -m benchmarks.startup            # measure, save to startup.json, and update the table in README.md
    python -m benchmarks.startup --smoke    # tiny models, nothing saved

Every round runs all commands once, each in an interpreter of its own with one thread; processor time is that of user
and system. A round that is not counted comes first, in which kernels are compiled and kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.run import publish

from pellucid.molecules import PropertyModel, SimilarityRule, nav17
from pellucid.series import Forecaster, simulate_rig

# Seconds beyond `import torch` that a prediction or an explanation may take.
_GOAL = 1.5
# Rounds, of which the first does not count.
_ROUNDS = 6


def models(folder: Path, smoke: bool) -> dict[str, list[str]]:
    """Save a model of molecules and one of recordings; the commands to be measured, by their titles."""
    table = nav17().select(range(0, 1017, 20 if smoke else 1))
    settings = {"play": "banked", "criterion": "squared", "delta": -1, "weight": 1.0}
    width, similar = 16 if smoke else 200, SimilarityRule(analogs=False)
    model = PropertyModel(task="regression", similar=similar, width=width, epochs=1, **settings)  # type: ignore[arg-type]
    model.fit(table, progress=False).save(folder / "molecules")
    rig = simulate_rig(rows=2000)
    Forecaster(width=16 if smoke else 128, epochs=1).fit(rig, progress=False).save(folder / "recordings")
    np.savetxt(folder / "recording.csv", rig.values[0][:200], delimiter=",", header=",".join(rig.channels), comments="")
    (folder / "molecule.csv").write_text(f"smiles\n{table.smiles[5]}\n")
    command = ["-m", "pellucid.cli"]
    one, recording = str(folder / "molecule.csv"), str(folder / "recording.csv")
    return {
        "`import torch`": ["-c", "import torch"],
        "`import pellucid`": ["-c", "import pellucid"],
        "`pellucid --help`": [*command, "--help"],
        "`pellucid predict`, one molecule": [*command, "predict", str(folder / "molecules"), one],
        "`pellucid explain`, one molecule": [*command, "explain", str(folder / "molecules"), table.smiles[5]],
        "`pellucid predict`, one recording": [*command, "predict", str(folder / "recordings"), recording],
        "`pellucid explain`, one recording": [*command, "explain", str(folder / "recordings"), recording],
    }


def processor_time(arguments: list[str]) -> float:
    """Seconds of user and system time of an interpreter."""
    before = os.times()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)  # noqa: S603
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def commands(smoke: bool) -> list[dict[str, Any]]:
    """Seconds of each command; of predictions and explanations those beyond `import torch` of the same round."""
    with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
        measured = models(Path(folder), smoke)
        rounds = [
            {title: processor_time(arguments) for title, arguments in measured.items()}
            for _ in range(2 if smoke else _ROUNDS)
        ][1:]
    rows = []
    for title in measured:
        beyond = "predict" in title or "explain" in title
        took = median(times[title] - beyond * times["`import torch`"] for times in rounds)
        rows.append(
            {
                "name": title,
                "against": "beyond `import torch`" if beyond else "",
                "seconds": median(times[title] for times in rounds),
                "ratio": took,
                "unit": "s of processor time",
                "goal": f"at most {_GOAL:g} s" if beyond else "",
                "met": not beyond or took <= _GOAL,
                "threads": 1,
            }
        )
    return rows


if __name__ == "__main__":
    publish("startup", (commands,))
