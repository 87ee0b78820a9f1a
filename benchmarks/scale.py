"""What sizes cost: processor time and memory over decades, on one thread, and what a user would write instead.

    python -m benchmarks.scale              # measure, save, and update the table in benchmarks/README.md
    python -m benchmarks.scale audit pairs  # these parts alone; the others stay as they were
    python -m benchmarks.scale --minutes 5  # ends in about that time: sizes that would take longer are left out
    python -m benchmarks.scale --smoke      # tiny sizes, nothing saved: shows that everything runs

Every figure comes from a fresh process with one thread; memory is the peak beyond what stood in memory when the job
began. Sizes end where a job takes minutes. The table is written after each of its lines. Molecules are those of MOSES;
without that file they are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from paper.runs import write_section

import pellucid as pl
from pellucid.neighborhoods import Neighborhoods

HERE = Path(__file__).parent
REPORT = HERE / "scale.json"
K = 15
MEMBERS = 30
# Seconds until a process has imported and compiled what it needs.
_BEGIN = 8.0
Job: TypeAlias = tuple[str, Callable[[int], Callable[[], object]], tuple[int, ...]]
"""What it is; from a size to what is measured, after all that is not; sizes."""


def normal(n: int, p: int = 10) -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(n, p))


def curved(n: int, p: int = 100) -> NDArray[np.float64]:
    """Points near a surface of eight dimensions, as data with many features usually are."""
    rng = np.random.default_rng(0)
    return np.tanh(rng.normal(size=(n, 8)) @ rng.normal(size=(8, p))) + 0.05 * rng.normal(size=(n, p))


def warm(x: NDArray[np.float64]) -> None:
    """Compile, by either way of the search."""
    for p in (2, x.shape[1], 50):
        pl.nearest(normal(500, p), k=K)


def exact(n: int) -> Callable[[], object]:
    x = normal(n)
    warm(x)
    return lambda: pl.nearest(x, k=K)


def repeated(n: int) -> Callable[[], object]:
    x = normal(1000)[np.random.default_rng(1).integers(0, 1000, n)]
    warm(x)
    return lambda: pl.nearest(x, k=K)


def scikit(n: int) -> Callable[[], object]:
    from sklearn.neighbors import NearestNeighbors

    x = normal(n)
    return lambda: NearestNeighbors(n_neighbors=K).fit(x).kneighbors(x)


def exact_wide(n: int) -> Callable[[], object]:
    x = curved(n)
    warm(x)
    return lambda: pl.nearest(x, k=K)


def approximate(n: int) -> Callable[[], object]:
    x = curved(n)
    pl.nearest(curved(6000), k=K, approximate=True)  # compile
    return lambda: pl.nearest(x, k=K, approximate=True)


def audited(family: pl.WitnessFamily, n: int) -> Callable[[], object]:
    x = np.cumsum(normal(n, 5), axis=0)
    f = np.sin(x[:, 0]) + 0.1 * x[:, 1]
    members = ((torch.arange(n)[:, None] + torch.arange(MEMBERS)) % n).flatten()
    hoods = Neighborhoods.checked(members, torch.arange(n + 1) * MEMBERS, torch.arange(n), n)
    str(pl.audit(f, x, hoods.select(slice(0, 50)), family))  # compile
    return lambda: str(pl.audit(f, x, hoods, family))


def linear_audit(n: int) -> Callable[[], object]:
    return audited(pl.LinearFamily(), n)


def tree_audit(n: int) -> Callable[[], object]:
    return audited(pl.TreeFamily(), n)


def linear_loop(n: int) -> Callable[[], object]:
    from sklearn.linear_model import LinearRegression

    x = np.cumsum(normal(n, 5), axis=0)
    f = np.sin(x[:, 0]) + 0.1 * x[:, 1]

    def loop() -> None:
        for i in range(n):
            own = (i + np.arange(MEMBERS)) % n
            LinearRegression().fit(x[own], f[own]).predict(x[own])

    return loop


def moses(n: int) -> list[str]:
    from pellucid.molecules import moses as file

    with gzip.open(file(), "rt") as lines:
        next(lines)
        return [line.strip() for line in islice(lines, n)]


def similar(n: int) -> Callable[[], object]:
    from pellucid.molecules.fingerprint_files import FingerprintFile
    from pellucid.molecules.fingerprints import Morgan
    from pellucid.molecules.similar_pairs import find_pairs

    place = tempfile.TemporaryDirectory()  # lives as long as what is returned
    folder = Path(place.name)
    FingerprintFile.write(folder / "some", Morgan()(["CCO", "CCCO"]))
    find_pairs(folder / "some", folder / "shards", shards=1, progress=False)  # compile
    FingerprintFile.write(folder / "all", Morgan()(moses(n)))

    def search() -> None:
        find_pairs(Path(place.name) / "all", folder / "shards", shards=8, progress=False)

    return search


def molecule_table(n: int) -> tempfile.TemporaryDirectory[str]:
    """A folder with a table of molecules, which lives as long as the object does."""
    place = tempfile.TemporaryDirectory()
    (Path(place.name) / "all.csv").write_text("smiles\n" + "\n".join(moses(n)) + "\n")
    (Path(place.name) / "some.csv").write_text("smiles\n" + "\n".join(moses(30)) + "\n")
    return place


def fingerprinted(n: int) -> Callable[[], object]:
    from pellucid.molecules.fingerprint_jobs import write_fingerprints

    place = molecule_table(n)
    folder = Path(place.name)
    write_fingerprints(folder / "some.csv", folder / "some", progress=False)
    return lambda: write_fingerprints(Path(place.name) / "all.csv", folder / "all", progress=False)


def around_molecules(n: int, *, analogs: bool = True) -> Callable[[], object]:
    """Neighborhoods of a table among itself."""
    from pellucid.molecules import SimilarityRule
    from pellucid.molecules.neighborhood_jobs import write_neighborhoods

    place = molecule_table(n)
    folder = Path(place.name)
    settings: dict[str, Any] = {"similar": SimilarityRule(analogs=analogs), "progress": False}
    write_neighborhoods(folder / "some.csv", folder / "some", **settings)  # compile
    return lambda: write_neighborhoods(Path(place.name) / "all.csv", folder / "all", **settings)


def without_analogs(n: int) -> Callable[[], object]:
    return around_molecules(n, analogs=False)


def junction_trees(n: int) -> Callable[[], object]:
    from pellucid.molecules.vae.corpus_jobs import write_corpus

    place = molecule_table(n)
    folder = Path(place.name)
    write_corpus(folder / "some.csv", folder / "some", progress=False)  # compile
    return lambda: write_corpus(Path(place.name) / "all.csv", folder / "all", progress=False)


def bulk(n: int) -> Callable[[], object]:
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in moses(n)]

    def loop() -> None:
        for i, fingerprint in enumerate(prints):
            values = np.array(DataStructs.BulkTanimotoSimilarity(fingerprint, prints[:i]))
            np.flatnonzero(values > 0.6)

    return loop


def predicted(n: int) -> Callable[[], object]:
    """A table on the disk, predicted in shards into another one."""
    from pellucid import bulk
    from pellucid.tabular.domain import TableDomain
    from pellucid.tabular.domain_options import TablePredicting, TableReading
    from pellucid.writing import write_rows

    place, _ = saved_table(n)

    def predict(name: str) -> None:
        folder = Path(place.name)  # lives as long as this function
        with bulk.shards_beside(folder / "out.csv") as shards:
            asked = (folder / "model", folder / name, TableReading(), TablePredicting())
            write_rows(folder / "out.csv", bulk.predictions(TableDomain(), *asked, shards=shards))

    predict("some.csv")
    return lambda: predict("all.csv")


def explained(n: int) -> Callable[[], object]:
    """A table on the disk, explained in shards into another one."""
    from pellucid.bulk import BulkExplanations, shards_beside
    from pellucid.tabular.domain import TableDomain
    from pellucid.tabular.domain_options import TableExplaining, TableReading
    from pellucid.writing import write_rows

    place, _ = saved_table(n)
    TableDomain.explained_at_once = 0

    def explain(name: str) -> None:
        folder = Path(place.name)  # lives as long as this function
        asked = (TableDomain(), folder / "model", folder / name, TableReading(), TableExplaining())
        with shards_beside(folder / "out.csv") as shards:
            several = BulkExplanations.of(*asked, level=0.9, kinds=[".csv"], shards=shards)
            if several is None:
                raise RuntimeError("no row is too few")
            several.make(progress=False, warn=print)
            write_rows(folder / "out.csv", several.rows())

    explain("some.csv")
    return lambda: explain("all.csv")


def predicted_at_once(n: int) -> Callable[[], object]:
    """What a user would write."""
    import pandas as pd

    place, model = saved_table(n)
    folder = Path(place.name)

    def predict() -> None:
        frame = pd.read_csv(folder / "all.csv")
        frame["predicted"] = model.predict(frame)
        frame.to_csv(Path(place.name) / "out.csv", index=False)

    return predict


def saved_table(n: int) -> tuple[Any, Any]:
    """A folder, which lives as long as the object does, with tables and a model; and the model."""
    import pandas as pd

    from pellucid.tabular.frames import frame_of
    from pellucid.tabular.model import TableModel

    place = tempfile.TemporaryDirectory()
    folder = Path(place.name)
    x = pd.DataFrame(normal(max(n, 500)), columns=[f"x{i}" for i in range(10)])
    model = TableModel(task="regression", game=None, epochs=1, width=32, ensemble=2)
    model.fit(frame_of(x[:500]), (x.x0 * x.x1)[:500].to_numpy(), progress=False).save(folder / "model")
    x[:500].to_csv(folder / "some.csv", index=False)
    x[:n].to_csv(folder / "all.csv", index=False)
    return place, model


PARTS: dict[str, tuple[Job, ...]] = {
    "nearest": (
        (f"`nearest`, 10 features, {K} each", exact, (1000, 10_000, 100_000, 1_000_000)),
        ("the same with `NearestNeighbors`", scikit, (1000, 10_000, 100_000)),
        ("`nearest`, 1,000 places", repeated, (1000, 10_000, 100_000, 1_000_000)),
    ),
    "wide": (
        ("`nearest`, 100 features", exact_wide, (1000, 10_000, 100_000)),
        ("`nearest(approximate=True)`, 100 features", approximate, (10_000, 100_000, 1_000_000)),
    ),
    "audit": (
        (f"`audit`, printed: linear, {MEMBERS} members", linear_audit, (1000, 10_000, 100_000, 1_000_000)),
        ("loop over `LinearRegression`, fit and predict alone", linear_loop, (1000, 10_000)),
    ),
    "trees": ((f"`audit`, printed: trees, {MEMBERS} members", tree_audit, (1000, 10_000, 100_000, 1_000_000)),),
    "predict": (
        ("`pellucid predict`, 10 columns of CSV", predicted, (1000, 10_000, 100_000, 1_000_000)),
        ("the same with pandas and `predict`, all in memory", predicted_at_once, (1000, 10_000, 100_000)),
    ),
    "explain": (("`pellucid explain`, 10 columns of CSV", explained, (100, 1000, 10_000)),),
    "molecules": (
        ("`write_fingerprints`, MOSES, 2,048 bits", fingerprinted, (1000, 10_000, 100_000)),
        ("`write_neighborhoods`, MOSES among itself, similarity > 0.6", without_analogs, (1000, 10_000, 100_000)),
        ("the same with analogs", around_molecules, (10, 100, 1000)),
        ("`write_corpus`, MOSES", junction_trees, (1000, 10_000, 100_000)),
    ),
    "pairs": (
        ("`find_pairs`, MOSES, 2,048 bits, similarity > 0.6", similar, (1000, 10_000, 100_000, 300_000)),
        ("loop over `BulkTanimotoSimilarity`, each pair once", bulk, (1000, 10_000)),
    ),
}


def memory(kind: str) -> int:
    found = re.search(kind + r":\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0


def run_job(part: str, place: int, n: int) -> None:
    """Print processor seconds, seconds and bytes of one job; in a process of its own."""
    torch.set_num_threads(1)
    action = PARTS[part][place][1](n)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
    before, processor, start = memory("VmRSS"), time.process_time(), time.perf_counter()
    action()
    print(time.process_time() - processor, time.perf_counter() - start, memory("VmHWM") - before)


def measure(part: str, smoke: bool, deadline: Deadline) -> Iterator[list[dict[str, Any]]]:
    """The lines of a part that are done, each time that there is one more."""
    rows: list[dict[str, Any]] = []
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    for place, (what, _, all_sizes) in enumerate(PARTS[part]):
        sizes = (200, 400) if smoke else all_sizes
        values: list[list[float]] = []
        for n in sizes:
            if not deadline.allows(values, sizes):
                print(f"  {what}, {n:,}: left out, for lack of time", flush=True)
                break
            command = [sys.executable, "-m", "benchmarks.scale", "--job", part, str(place), str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
            if done.returncode:
                print(f"  {what}: left out. {done.stderr.strip().splitlines()[-1]}", flush=True)
                break
            values.append([float(number) for number in done.stdout.split()])
            print(f"  {what}, {n:,}: {values[-1]}", flush=True)
        deadline.jobs -= 1
        if len(values) < 2:
            continue
        took, _, held = zip(*values, strict=True)
        sizes = sizes[: len(values)]
        # The slope in logarithms over the last decade: small sizes cost what starting costs.
        slope = float(np.log(took[-1] / took[-2]) / np.log(sizes[-1] / sizes[-2]))
        rows.append({"name": what, "sizes": sizes, "seconds": took, "bytes": held, "exponent": slope})
        yield rows


class Deadline:
    """Until when there is time, and for how many jobs."""

    def __init__(self, minutes: float | None, jobs: int) -> None:
        self.end = float("inf") if minutes is None else time.perf_counter() + 60 * minutes
        self.jobs = jobs
        self.begun = time.perf_counter()

    def allows(self, values: list[list[float]], sizes: tuple[int, ...]) -> bool:
        """Whether the next size fits into the share of this job in the time that is left."""
        left = self.end - time.perf_counter()
        if not values:
            self.begun = time.perf_counter()
            return left > 0
        spent, count = time.perf_counter() - self.begun, len(values)
        power = 1.0
        if count > 1 and values[-1][1] > values[-2][1]:
            power = np.log(values[-1][1] / values[-2][1]) / np.log(sizes[count - 1] / sizes[count - 2])
        # A process takes seconds to begin, whatever the size; what is prepared grows as what is measured does.
        next_one = _BEGIN + 2 * values[-1][1] * (sizes[count] / sizes[count - 1]) ** power
        return bool(next_one < (left + spent) / max(self.jobs, 1) - spent)


def table(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    lines = ["| what | points | processor time | memory | exponent |", "|---|---|---|---|---|"]
    for part in PARTS:
        for row in report["parts"].get(part, []):
            columns = (
                ", ".join(f"{n:,}" for n in row["sizes"]),
                ", ".join(f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in row["seconds"]) + " s",
                ", ".join(f"{max(value, 0.0) / 1e6:.0f}" for value in row["bytes"]) + " MB",
                f"{row['exponent']:.2f}",
            )
            lines.append(f"| {row['name']} | {' | '.join(columns)} |")
    machine = report["machine"]
    lines += [
        "",
        "One thread, processor time, a fresh process each; exponents between the two largest sizes; "
        f"{machine['load']}. "
        f"{machine['cores']} cores ({machine['processor']}), Python {machine['python']}, torch {machine['torch']}.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing saved")
    parser.add_argument("--minutes", type=float, help="leave out sizes that would take longer in all")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        run_job(arguments.job[0], int(arguments.job[1]), int(arguments.job[2]))
        return
    chosen = arguments.parts or list(PARTS)
    busy = os.getloadavg()[0]
    deadline = Deadline(arguments.minutes, sum(len(PARTS[part]) for part in chosen))
    report: dict[str, Any] = {"parts": {}}
    if REPORT.exists() and not arguments.smoke:
        report["parts"] = json.loads(REPORT.read_text())["parts"]
    cores = os.cpu_count() or 1
    report["machine"] = {
        "cores": cores,
        "processor": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "load": "on a machine that was otherwise idle"
        if busy < cores / 2
        else f"on a machine with a load of {busy:.0f}",
    }
    for part in chosen:
        for lines in measure(part, arguments.smoke, deadline):
            report["parts"][part] = lines
            if not arguments.smoke:
                REPORT.write_text(json.dumps(report, indent=1) + "\n")
                write_section(HERE / "README.md", "benchmarks-scale", table(report))
    print("\n" + table(report))


if __name__ == "__main__":
    main()
