"""Samples as the field scores them: `python -m paper.samples --wheels FOLDER` measures molecules drawn from the prior.

FOLDER holds two wheels, which are read, not installed: `pip download --no-deps molsets==0.3.1 fcd==1.2.2`. Models are
those that `python -m paper.rates` has saved, and points are drawn from N(0, I), or where the codes of molecules are
("fitted"); the row "train" is made of training molecules instead, and says how well one can do. What is compared of the
reference sets is made once, and kept in `out/samples/`. Each cell leaves a report in `paper/samples/<size>/`; repeating
an interrupted call does what is missing.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paper import rates
from paper import sample_measures as measures
from paper.rates import MODELS
from paper.runs import ROOT, Cell, load_config, matching, not_run, read_reports, run_cells, show, study_parser

REPORTS = ROOT / "paper" / "samples"
CACHE = ROOT / "out" / "samples"
# Where the wheels are: for the processes of the cells, and no part of their configuration.
_WHEELS = "PELLUCID_PAPER_WHEELS"
# Sets that samples are compared with.
PARTS = {"test": "test", "scaffolds": "test_scaffolds"}
# Molecules that pass through ChemNet at once.
_PIECE = 256
# JTN-VAE in MOSES's own table: mean of three models.
PUBLISHED = {
    "valid": 1.0, "unique_1000": 1.0, "unique_10000": 0.9996, "novel": 0.914, "fcd_test": 0.395, "fcd_scaffolds": 0.938,
    "snn_test": 0.548, "snn_scaffolds": 0.519, "frag_test": 0.997, "frag_scaffolds": 0.995, "scaf_test": 0.896,
    "scaf_scaffolds": 0.101, "diversity": 0.855, "filters": 0.976,
}  # fmt: skip
TITLES = {
    "valid": "valid", "unique_1000": "unique at 1,000", "unique_10000": "at 10,000", "novel": "novel",
    "fcd_test": "FCD test", "fcd_scaffolds": "FCD scaffolds", "snn_test": "SNN test", "snn_scaffolds": "SNN scaffolds",
    "frag_test": "Frag test", "frag_scaffolds": "Frag scaffolds", "scaf_test": "Scaf test",
    "scaf_scaffolds": "Scaf scaffolds", "diversity": "IntDiv", "filters": "filters",
}  # fmt: skip


def cells(config: dict[str, Any]) -> list[Cell]:
    """A cell for training molecules, and one for each model and prior."""
    shared = {name: value for name, value in config.items() if name != "models"}
    first = {**shared, "name": "train", "model": None, "prior": None}
    return [first] + [
        {**shared, "name": model if prior == "standard" else f"{model}-{prior}", "model": model, "prior": prior}
        for model, prior in config["models"]
    ]


def wheel(cell: Mapping[str, Any], name: str) -> Path:
    """One of the two wheels, which must be the published one."""
    path = Path(os.environ[_WHEELS]) / str(cell[name])
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != cell[f"{name}_sha256"]:
        raise SystemExit(f"{path} must be the published wheel; pip download --no-deps molsets==0.3.1 fcd==1.2.2.")
    return path


def molecules(cell: Mapping[str, Any], part: str, count: int = 0) -> list[str]:
    """Molecules of a part of MOSES: train, test or test_scaffolds; the first, or with 0 all of them."""
    with zipfile.ZipFile(wheel(cell, "molsets")) as archive:
        text = gzip.decompress(archive.read(f"moses/dataset/data/{part}.csv.gz")).decode()
    return text.split()[1 : count + 1 if count else None]


def filters(cell: Mapping[str, Any]) -> list[Any]:
    """The patterns that MOSES filters out: medicinal chemistry filters, and PAINS."""
    from rdkit import Chem

    with zipfile.ZipFile(wheel(cell, "molsets")) as archive:
        tables = [archive.read(f"moses/metrics/{name}.csv").decode() for name in ("mcf", "wehi_pains")]
    first = [row["smarts"] for row in csv.DictReader(io.StringIO(tables[0]))]
    second = [row[0].strip() for row in csv.reader(io.StringIO(tables[1])) if row]
    return [Chem.MolFromSmarts(smarts) for smarts in (*first, *second)]


def activations(cell: Mapping[str, Any], texts: Sequence[str]) -> Iterator[NDArray[np.float64]]:
    """(N, 512) what ChemNet makes of molecules, in pieces."""
    import torch

    sys.path.insert(0, str(wheel(cell, "fcd")))  # pure Python, read from the wheel
    from fcd.fcd import load_ref_model  # type: ignore[import-not-found,unused-ignore]
    from fcd.utils import get_one_hot  # type: ignore[import-not-found,unused-ignore]

    model = load_ref_model()
    for begin in range(0, len(texts), _PIECE):
        # 350 letters of 35 kinds, as the network was trained; it gets them divided by the number of kinds.
        letters = np.stack([get_one_hot(text, pad_len=350) for text in texts[begin : begin + _PIECE]]) / 35
        with torch.no_grad():
            yield model(torch.from_numpy(letters).float().transpose(1, 2)).double().numpy()


def facts(cell: Mapping[str, Any], texts: Sequence[str], most: int = 0) -> dict[str, Any]:
    """What is compared of a set of molecules: moments of activations, and counts of fragments and scaffolds.

    The moments are those of at most so many, chosen at random; 0 is all.
    """
    chosen = np.random.default_rng(1).permutation(len(texts))[: most or None]
    mean, covariance = measures.moments(activations(cell, [texts[i] for i in chosen]))
    counts = {"fragments": measures.fragments(texts), "scaffolds": measures.scaffolds(texts)}
    return {"mean": mean, "covariance": covariance, **counts}


def reference_facts(cell: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Those of a reference set, made once: MOSES publishes them as a pickle, which is not opened."""
    chosen = [str(cell[key]) for key in ("molsets_sha256", "fcd_sha256", "reference", "activations")]
    file = CACHE / f"{part}-{hashlib.sha256(' '.join(chosen).encode()).hexdigest()[:16]}.npz"
    if not file.exists():
        made = facts(cell, molecules(cell, part, cell["reference"]), cell["activations"])
        texts = {name: np.array(json.dumps(made[name])) for name in ("fragments", "scaffolds")}
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, suffix=".draft", delete=False) as draft:
            np.savez(draft, **{**made, **texts})
        os.replace(draft.name, file)
    with np.load(file) as stored:
        found: dict[str, Any] = {name: stored[name] for name in stored.files}
    return {**found, **{name: json.loads(str(found[name])) for name in ("fragments", "scaffolds")}}


def drawn(cell: Cell) -> list[str]:
    """Samples of a model, or training molecules chosen at random."""
    if cell["model"] is None:
        train = molecules(cell, "train")
        rng = np.random.default_rng(cell["seed"])
        return [train[i] for i in rng.choice(len(train), min(cell["samples"], len(train)), replace=False)]
    from pellucid.molecules.vae import JunctionTreeVAE

    model = JunctionTreeVAE.load(MODELS / cell["size"] / cell["model"] / "model")
    return model.sample(cell["samples"], seed=cell["seed"], prior=cell["prior"])


def run(cell: Cell) -> dict[str, Any]:
    """Draw and measure."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    samples = drawn(cell)
    valid = measures.canonical(samples)
    different = list(dict.fromkeys(valid))
    patterns = filters(cell)
    own = facts(cell, valid)
    report = {
        "samples": len(samples),
        "valid": len(valid) / len(samples),
        "unique_1000": measures.unique_at(valid, 1000),
        "unique_10000": measures.unique_at(valid, 10_000),
        "novel": measures.novelty(valid, set(molecules(cell, "train"))),
        "diversity": measures.internal_diversity(valid),
        "filters": float(np.mean([measures.passes(text, patterns) for text in valid])),
        "first": different[:10],
    }
    for name, part in PARTS.items():
        there = reference_facts(cell, part)
        report[f"fcd_{name}"] = measures.frechet_distance(
            own["mean"], own["covariance"], there["mean"], there["covariance"]
        )
        report[f"snn_{name}"] = measures.nearest_similarity(valid, molecules(cell, part, cell["reference"]))
        report[f"frag_{name}"] = measures.cosine(there["fragments"], own["fragments"])
        report[f"scaf_{name}"] = measures.cosine(there["scaffolds"], own["scaffolds"])
    return report


def title(cell: Cell) -> str:
    """What was drawn from which model."""
    if cell["model"] is None:
        return "training molecules"
    trained = {model["name"]: model for model in rates.cells(load_config("rates", cell["size"]))}[cell["model"]]
    where = "N(0, I)" if cell["prior"] == "standard" else "Gaussian of the codes"
    return f"{rates.rate(trained)}, {trained['molecules']:,} molecules: {where}"


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each model, and JTN-VAE's published one."""
    done = {title(cell): reports[cell["name"]] for cell in cells(config) if cell["name"] in reports}
    if not done:
        return "Not run yet."
    rows = {**done, "JTN-VAE, published": PUBLISHED}
    lines = ["| samples of | " + " | ".join(TITLES.values()) + " |", "|---" * (len(TITLES) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{row[key]:.3f}" for key in TITLES) + " |" for name, row in rows.items()]
    some = f"; FCD with {config['activations']:,} of them, chosen at random" if config["activations"] else ""
    return "\n".join(lines) + (
        f"\n\n{config['samples']:,} samples of each, compared with all molecules of the two sets, as MOSES does{some}. "
        "Rows of models name the rate, the number of molecules that were learned from, and where points are drawn. "
        "The first row is made of training molecules, which is as good as one can be: its distance from the scaffold "
        "test set is that of the two sets. With some of the reference molecules instead of all, FCD is about 0.02 too "
        "large."
        f"{not_run(cells(config), reports)}"
    )


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"))
    parser.add_argument("--wheels", type=Path, default=ROOT / "out" / "wheels", help="the folder of the two wheels")
    arguments = parser.parse_args(words)
    config = load_config("samples", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        os.environ[_WHEELS] = str(arguments.wheels.resolve())
        ready = []
        for cell in matching(cells(config), arguments.only):
            if cell["model"] is None or (MODELS / config["size"] / cell["model"] / "model").is_dir():
                ready.append(cell)
            else:
                print(f"{cell['name']}: waits for python -m paper.rates --only {cell['model']} --out elsewhere")
        if ready:
            for part in PARTS.values():  # once, and not in every cell
                reference_facts(ready[0], part)
            run_cells(ready, run, folder, arguments.jobs)
    show({"samples: table": table(config, read_reports(folder))}, arguments, REPORTS)


if __name__ == "__main__":
    main()
