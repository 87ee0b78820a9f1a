"""Representations of molecules (the paper's section 5.3): `python -m paper.moses --size cpu`.

DEEP and the sweep over weights are trained side by side; the weight is chosen on the validation part, and DEEP and
the chosen GAME are measured on the test molecules. Each cell leaves a report in `paper/moses/<size>/`; Table 4 and
Figure 4 are made from them by `python -m paper.moses_results`. Repeating an interrupted call goes on where it stopped.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from paper.runs import ROOT, Cell, Stage, load_config, reports_to_choose_by, run_stages, saved_model, study_parser

if TYPE_CHECKING:
    from pellucid.molecules.vae import Corpus, JunctionTreeVAE

REPORTS = ROOT / "paper" / "moses"
MODELS = ROOT / "out" / "moses"
_MEASURED = ("test", "reconstructed", "samples", "explained")
_SWEEPS = ("weights", "tolerance", "reassembled", "rounds", "timed", "molecules_free0")


def tree_cell(config: dict[str, Any]) -> Cell:
    """How fast molecules become junction trees, and whether they come back from them."""
    shared: dict[str, Any] = {key: config[key] for key in ("size", "embedded", "reassembled") if key in config}
    return {**shared, "name": "trees", "kind": "trees"}


def train_cells(config: dict[str, Any]) -> list[Cell]:
    """DEEP, a GAME for every weight, and DEEP without free nats."""
    shared = {key: value for key, value in config.items() if key not in (*_SWEEPS, *_MEASURED)}
    named = {"game-" + f"{w:g}": {"game": "symmetric", "weight": w} for w in config["weights"]}
    kinds: dict[str, dict[str, Any]] = {"deep": {"game": None, "weight": 0.0}, **named}
    cells = [{**shared, "name": f"train-{name}", "kind": "train", **settings} for name, settings in kinds.items()]
    # Without free nats, on fewer molecules: what becomes of z.
    return [*cells, {**cells[0], "name": "train-free0", "free": 0.0, "molecules": config["molecules_free0"]}]


def speed_cells(config: dict[str, Any]) -> list[Cell]:
    """How fast training is at several widths, measured when nothing else runs."""
    shared = {key: value for key, value in config.items() if key not in (*_SWEEPS, *_MEASURED)}
    settings = {"weight": config["weights"][0], "rounds": config["rounds"]}
    return [{**shared, "name": f"speed-{w}", "kind": "speed", **settings, "width": w} for w in config["timed"]]


def measure_cells(config: dict[str, Any], weight: float) -> list[Cell]:
    """DEEP and the GAME that was chosen, on the test molecules."""
    shared = {key: config[key] for key in ("size", "seed", "embedded", *_MEASURED) if key in config}
    names = ["deep", f"game-{weight:g}"]
    return [{**shared, "name": f"test-{name}", "kind": "test", "model": f"train-{name}"} for name in names]


def chosen(config: dict[str, Any], reports: dict[str, dict[str, Any]]) -> float:
    """The largest weight whose validation ELBO is within `tolerance` of DEEP's; if none is, the best of them."""

    def bound(name: str) -> float:
        return -min(float(epoch["validation_loss"]) for epoch in reports[name]["history"])

    deep = bound("train-deep")
    good = [w for w in config["weights"] if bound(f"train-game-{w:g}") >= deep - config["tolerance"]]
    weight = max(good) if good else max(config["weights"], key=lambda w: bound(f"train-game-{w:g}"))
    return float(weight)


# -- data ----------------------------------------------------------------------------------------------------------


def stages(config: dict[str, Any], folder: Path) -> Iterator[Stage]:
    """The weight is chosen by the reports of the trained models."""
    yield Stage([tree_cell(config)], alone=True)
    yield Stage(train_cells(config))
    weight = chosen(config, reports_to_choose_by(folder, REPORTS))
    note = f"chosen on the validation set: weight {weight:g}"
    yield Stage([*measure_cells(config, weight), *speed_cells(config)], alone=True, note=note)


@lru_cache(maxsize=2)
def corpus(embedded: bool, part: Literal["train", "test"], count: int) -> Corpus:
    """Junction trees of the first molecules of a part: MOSES, or the series that comes with RDKit."""
    from pellucid.molecules import moses, nav17
    from pellucid.molecules.vae import Corpus

    if not embedded:
        return Corpus.build(moses(part), limit=count)
    smiles = nav17().smiles
    return Corpus.of(smiles[:count] if part == "train" else smiles[::-1][:count])


# -- cells ---------------------------------------------------------------------------------------------------------


def run(cell: Cell) -> dict[str, Any]:
    """Train or measure one cell."""
    import torch

    if cell["kind"] == "trees":
        return trees(cell)
    if cell["kind"] == "speed":
        return speed(cell)
    if cell["kind"] == "train":
        torch.set_num_threads(1)  # cells run side by side
        return train(cell)
    return measure(cell)


def speed(cell: Cell) -> dict[str, Any]:
    """Molecules that a training step learns from in a second, without and with the game, taking turns."""
    import torch
    from benchmarks.run import seconds

    from pellucid.molecules.vae.fitting import AutoencoderFit

    given = corpus(bool(cell.get("embedded")), "train", cell["molecules"])
    runs = [AutoencoderFit(new_model({**cell, "game": g}), given, validation=0) for g in (None, "symmetric")]
    optimizers = [torch.optim.Adam(run.network.parameters()) for run in runs]
    generator = torch.Generator().manual_seed(0)

    def step(run: AutoencoderFit, optimizer: torch.optim.Optimizer) -> None:
        chosen = torch.randperm(len(given), generator=generator)[: cell["batch_size"]]
        optimizer.zero_grad()
        run.loss(run.take(chosen, generator))["loss"].backward()
        optimizer.step()

    steps = [lambda r=run, o=optimizer: step(r, o) for run, optimizer in zip(runs, optimizers, strict=True)]
    result: dict[str, Any] = {"threads": torch.get_num_threads()}
    for name, taken in zip(("deep", "game"), seconds(*steps, repeats=cell["rounds"]), strict=True):
        result[f"{name}_molecules_per_second"] = round(cell["batch_size"] / taken, 1)
    return result


def trees(cell: Cell) -> dict[str, Any]:
    """Junction trees made anew, and every molecule rebuilt from its own."""
    from tempfile import TemporaryDirectory

    from pellucid.molecules import moses, nav17
    from pellucid.molecules._parallel import in_chunks
    from pellucid.molecules.vae import Corpus

    count = cell["reassembled"]
    source: Any = nav17().smiles if cell.get("embedded") else moses("train")
    with TemporaryDirectory() as folder:
        start = time.monotonic()
        made = Corpus.build(source, Path(folder) / "trees", limit=count, progress=False)
        seconds = time.monotonic() - start
        texts = [made.smiles(i) for i in range(len(made))]
        bytes_on_disk = sum(file.stat().st_size for file in (Path(folder) / "trees").iterdir())
    bad = [text for part in in_chunks(not_rebuilt, texts, jobs=None, title="", progress=False) for text in part]
    return {
        "molecules": len(made),
        "labels": len(made.labels),
        "left_out": dict(made.reasons),
        "molecules_per_second": round(len(made) / seconds),
        "bytes_per_molecule": round(bytes_on_disk / len(made)),
        "reassembled": 1 - len(bad) / len(made),
        "not_reassembled": bad,
    }


def not_rebuilt(smiles: list[str]) -> list[str]:
    """Those that do not come back from their trees."""
    from pellucid.molecules.vae import Vocabulary, decompose, reassemble

    found = [decompose(text) for text in smiles]
    known = Vocabulary(dict.fromkeys((label for tree in found for label in tree.labels), 1))
    return [tree.smiles for tree in found if reassemble(tree, known) != tree.smiles]


def train(cell: Cell) -> dict[str, Any]:
    """DEEP or a GAME, saved."""
    given = corpus(bool(cell.get("embedded")), "train", cell["molecules"])
    model = new_model(cell)
    home = MODELS / cell["size"] / cell["name"]
    model.fit(given, validation=0.02, folder=home / "checkpoints", resume=True, progress=False)
    model.save(home / "model")
    shutil.rmtree(home / "checkpoints")
    return {
        "molecules": len(given),
        "labels": len(given.labels),
        "left_out": dict(given.reasons),
        "history": model.history_,
    }


def new_model(cell: Cell) -> JunctionTreeVAE:
    """An untrained model with the settings of a cell."""
    from pellucid.molecules import SimilarityRule
    from pellucid.molecules.vae import JunctionTreeVAE

    names = ("game", "weight", "centers", "pool", "share", "members", "width", "latent", "depth", "warm", "free")
    training = ("epochs", "batch_size", "learning_rate", "seed")
    similar = SimilarityRule(groups_per_kind=cell["groups_per_kind"], most=cell["most"])
    # The paper's networks, and its bound.
    return JunctionTreeVAE(
        similar=similar, positional=False, kl_weight=1.0, **{name: cell[name] for name in (*names, *training)}
    )


def measure(cell: Cell) -> dict[str, Any]:
    """What is reported of a saved model."""
    from rdkit import Chem

    from pellucid.molecules.vae import JunctionTreeVAE

    command = f"python -m paper.moses --only {cell['model']} --out elsewhere"
    model = JunctionTreeVAE.load(saved_model(MODELS / cell["size"] / cell["model"] / "model", command))
    embedded = bool(cell.get("embedded"))
    test = corpus(embedded, "test", cell["test"])
    scores = model.evaluate(test, seed=cell["seed"], progress=False)
    known, _ = test.encodable(model.vocabulary_)
    some = [test.smiles(int(i)) for i in known[: cell["reconstructed"]]]
    back = model.reconstruct(some)
    samples = model.sample(cell["samples"], seed=cell["seed"])
    valid = [text for text in samples if Chem.MolFromSmiles(text) is not None]
    learned = set(model.pool_)
    return {
        **scores.to_dict(),
        "deviation_quantiles": np.quantile(scores.deviations, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist(),
        "reconstruction": float(np.mean([a == b for a, b in zip(some, back, strict=True)])),
        "validity": len(valid) / len(samples),
        "uniqueness": len(set(valid)) / len(valid),
        "novelty": float(np.mean([text not in learned for text in set(valid)])),
        "first_samples": samples[:10],
        **scaffolds(model, some[: cell["explained"]]),
    }


def scaffolds(model: JunctionTreeVAE, smiles: list[str]) -> dict[str, Any]:
    """Where the substructures are on which trees split: in the scaffold, or in the side chains.

    A split is outside if the central atom of its substructure is no atom of the Bemis-Murcko scaffold of the molecule
    that shows it. For comparison the same share of all substructures of these molecules.
    """
    from rdkit import Chem

    splits, atoms, sizes = [], [], []
    example = None
    for text in smiles:
        explanation = model.explain(text)
        nodes = explanation.witness.nodes["feature"]
        for bit in nodes[nodes >= 0]:
            found = explanation.substructures[int(bit)]
            splits.append(found.atom not in scaffold_atoms(found.molecule))
        inside = scaffold_atoms(text)
        atoms += [i not in inside for i in range(Chem.MolFromSmiles(text).GetNumAtoms())]
        sizes.append(len(explanation.members))
        if example is None and 20 <= len(explanation.members) <= 60 and inside:
            example = explanation
    return {
        "splits_outside_scaffold": float(np.mean(splits)),
        "atoms_outside_scaffold": float(np.mean(atoms)),
        "splits": len(splits),
        "explained": len(smiles),
        "median_members": float(np.median(sizes)),
        "figure4": None if example is None else example.to_dict(),
    }


@lru_cache(maxsize=1 << 16)
def scaffold_atoms(smiles: str) -> frozenset[int]:
    """The atoms of the Bemis-Murcko scaffold: rings, and what joins them."""
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(smiles)
    left = {atom.GetIdx(): {other.GetIdx() for other in atom.GetNeighbors()} for atom in molecule.GetAtoms()}
    while ends := [atom for atom, others in left.items() if len(others) < 2]:
        for atom in ends:
            for other in left.pop(atom):
                left[other].discard(atom)
    return frozenset(left)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, jobs=2, table=False)
    arguments = parser.parse_args(words)
    config = load_config("moses", arguments.size)
    folder = arguments.out / config["size"]
    # Once, and not in every cell.
    embedded = bool(config.get("embedded"))
    print(corpus(embedded, "train", config["molecules"]), flush=True)
    print(corpus(embedded, "test", config["test"]), flush=True)
    run_stages(stages(config, folder), run, folder, arguments.jobs, arguments.only)


if __name__ == "__main__":
    main()
