"""Samples as the field scores them: `python -m paper.samples --wheels FOLDER` measures molecules drawn from the prior.

FOLDER holds two wheels, which are read, not installed: `pip download --no-deps molsets==0.3.1 fcd==1.2.2`. Models are
those that `python -m paper.rates` has saved; the row "train" is made of training molecules instead, and says how well
one can do. Each cell leaves a report in `paper/samples/<size>/`; repeating an interrupted call does what is missing.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paper import sample_measures as measures
from paper.rates import MODELS
from paper.runs import ROOT, Cell, load_config, read_reports, run_cells, write_section

REPORTS = ROOT / "paper" / "samples"
README = ROOT / "paper" / "README.md"
# Where the wheels are: for the processes of the cells, and no part of their configuration.
_WHEELS = "PELLUCID_PAPER_WHEELS"
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
    """A cell for each model."""
    shared = {name: value for name, value in config.items() if name != "models"}
    return [{**shared, "name": name} for name in config["models"]]


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


def activations(cell: Mapping[str, Any], texts: Sequence[str]) -> NDArray[np.float64]:
    """(N, 512) what ChemNet makes of molecules."""
    import torch

    sys.path.insert(0, str(wheel(cell, "fcd")))  # pure Python, read from the wheel
    from fcd.fcd import load_ref_model  # type: ignore[import-not-found,unused-ignore]
    from fcd.utils import get_one_hot  # type: ignore[import-not-found,unused-ignore]

    model, parts = load_ref_model(), []
    with torch.no_grad():
        for begin in range(0, len(texts), 128):
            # 350 letters of 35 kinds, as the network was trained; it gets them divided by the number of kinds.
            letters = np.stack([get_one_hot(text, pad_len=350) for text in texts[begin : begin + 128]]) / 35
            parts.append(model(torch.from_numpy(letters).float().transpose(1, 2)).double().numpy())
    return np.concatenate(parts)


def drawn(cell: Cell) -> list[str]:
    """Samples of a model, or training molecules chosen at random."""
    if cell["name"] == "train":
        train = molecules(cell, "train")
        rng = np.random.default_rng(cell["seed"])
        return [train[i] for i in rng.choice(len(train), min(cell["samples"], len(train)), replace=False)]
    from pellucid.molecules.vae import JunctionTreeVAE

    model = JunctionTreeVAE.load(MODELS / cell["size"] / cell["name"] / "model")
    return model.sample(cell["samples"], seed=cell["seed"])


def run(cell: Cell) -> dict[str, Any]:
    """Draw and measure."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    samples = drawn(cell)
    valid = measures.canonical(samples)
    different = list(dict.fromkeys(valid))
    patterns = filters(cell)
    most = cell["activations"] or len(valid)
    own = activations(cell, valid[:most])
    own_fragments, own_scaffolds = measures.fragments(valid), measures.scaffolds(valid)
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
    for name, part in (("test", "test"), ("scaffolds", "test_scaffolds")):
        reference = molecules(cell, part, cell["reference"])
        some = np.random.default_rng(1).permutation(len(reference))[: cell["activations"] or None]
        there = activations(cell, [reference[i] for i in some])
        report[f"fcd_{name}"] = measures.frechet_distance(own, there)
        report[f"snn_{name}"] = measures.nearest_similarity(valid, reference)
        report[f"frag_{name}"] = measures.cosine(measures.fragments(reference), own_fragments)
        report[f"scaf_{name}"] = measures.cosine(measures.scaffolds(reference), own_scaffolds)
    return report


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each model, and JTN-VAE's published one."""
    done = [name for name in config["models"] if name in reports]
    if not done:
        return "Not run yet."
    rows = {**{name: reports[name] for name in done}, "JTN-VAE, published": PUBLISHED}
    lines = ["| samples of | " + " | ".join(TITLES.values()) + " |", "|---" * (len(TITLES) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{row[key]:.3f}" for key in TITLES) + " |" for name, row in rows.items()]
    compared = f"{config['activations']:,}" if config["activations"] else "all"
    return "\n".join(lines) + (
        f"\n\n{config['samples']:,} samples. FCD compares {compared} of the samples with as many reference molecules; "
        "MOSES compares all, so that ours is a little larger at equal quality: see the row of training molecules."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("cpu", "smoke"), default="cpu")
    parser.add_argument("--wheels", type=Path, default=ROOT / "out" / "wheels", help="the folder of the two wheels")
    parser.add_argument("--jobs", type=int, default=1, help="cells to run side by side, each on one core")
    parser.add_argument("--table", action="store_true", help="show what is there instead of running anything")
    arguments = parser.parse_args()
    config = load_config("samples", arguments.size)
    if not arguments.table:
        os.environ[_WHEELS] = str(arguments.wheels.resolve())
        # Models that have not been trained yet wait for the next call.
        ready = [
            cell
            for cell in cells(config)
            if cell["name"] == "train" or (MODELS / config["size"] / cell["name"] / "model").is_dir()
        ]
        run_cells(ready, run, REPORTS / config["size"], arguments.jobs)
    text = table(config, read_reports(REPORTS / config["size"]))
    print(text)
    if config["size"] == "cpu":
        write_section(README, "samples: table", text)


if __name__ == "__main__":
    main()
