"""The toxicity study (the paper's section 5.1 and appendix): `python -m paper.tox21 --size cpu`.

First DEEP, the vanilla tree and the sweeps over weights and margins, with the first seed; then, with what the
validation set chose, the other seeds and the smaller trees of Table 2; last what the figures need. Each cell leaves
a report in `paper/tox21/<size>/`; tables and figures are made from them by `python -m paper.tox21_results`. Repeating
an interrupted call goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.runs import (
    PAPER_MEMBERS,
    PAPER_TREES,
    ROOT,
    SIZES,
    Cell,
    Stage,
    load_config,
    provenance,
    read_reports,
    run_stages,
    write_report,
)

if TYPE_CHECKING:
    from pellucid.molecules import Molecules, PropertyModel

REPORTS = ROOT / "paper" / "tox21"
MODELS = ROOT / "out" / "tox21"
PARTS = ("train", "validation", "test")
_SWEEPS = (
    "seeds",
    "uniform_seeds",
    "weights",
    "margins",
    "deltas",
    "tolerance",
    "uniform_tolerance",
    "depths",
    "watched",
)


def cell(config: dict[str, Any], name: str, seed: int, game: str | None, **other: Any) -> Cell:
    """The configuration of one run."""
    shared = {key: value for key, value in config.items() if key not in _SWEEPS}
    kind = "game" if game else "deep"
    settings = {"weight": 0.0, "margin": 0.0, "delta": 0, "deltas": [0]} | other
    return {**shared, "name": f"{name}-seed{seed}", "kind": kind, "seed": seed, "game": game, **settings}


def first_cells(config: dict[str, Any]) -> list[Cell]:
    """What the validation set chooses from, and what needs no choice."""
    seeds = config["seeds"]
    sweep = [cell(config, f"symmetric-{w:g}", seeds[0], "symmetric", weight=w) for w in config["weights"]]
    sweep += [cell(config, f"uniform-{m:g}", seeds[0], "uniform", margin=m) for m in config["margins"]]
    deltas = [0, *config["deltas"]]
    deep = [cell(config, "deep", seed, None, deltas=deltas) for seed in seeds]
    trees = [cell(config, "tree", seed, None, kind="tree", depths=config["depths"]) for seed in seeds]
    return [*deep, *sweep, *trees]


def chosen(config: dict[str, Any], reports: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The weight and the margin, by the validation set.

    Symmetric: the weight with the highest AUC_D among those whose AUC(f, y) is within `tolerance` of DEEP's.
    Uniform: the margin with the highest AUC_B among those whose AUC(f, y) is within `uniform_tolerance` of DEEP's.
    If none is within, the most accurate one.
    """
    seed = config["seeds"][0]
    deep = reports[f"deep-seed{seed}"]["validation"]["accuracy"]

    def best(game: str, values: list[float], measure: str, tolerance: float) -> float:
        found = {value: reports[f"{game}-{value:g}-seed{seed}"]["validation"] for value in values}
        good = [value for value in values if found[value]["accuracy"] >= deep - tolerance]
        if good:
            return max(good, key=lambda value: float(found[value][measure]))
        return max(values, key=lambda value: float(found[value]["accuracy"]))

    return {
        "weight": best("symmetric", config["weights"], "global_auc", config["tolerance"]),
        "margin": best("uniform", config["margins"], "local_auc", config["uniform_tolerance"]),
    }


def second_cells(config: dict[str, Any], choice: dict[str, float]) -> list[Cell]:
    """The other seeds, and Table 2's smaller trees."""
    w, m = choice["weight"], choice["margin"]
    smaller = [
        cell(config, f"symmetric-{w:g}-delta{d}", config["seeds"][0], "symmetric", weight=w, delta=d, deltas=[d])
        for d in config["deltas"]
    ]
    others = [cell(config, f"symmetric-{w:g}", seed, "symmetric", weight=w) for seed in config["seeds"][1:]]
    others += [cell(config, f"uniform-{m:g}", seed, "uniform", margin=m) for seed in config["uniform_seeds"][1:]]
    return [*smaller, *others]


def last_cells(config: dict[str, Any], choice: dict[str, float]) -> list[Cell]:
    """What the figures show, from the saved models of the first seed."""
    seed = config["seeds"][0]
    names = ["deep", f"symmetric-{choice['weight']:g}", f"uniform-{choice['margin']:g}"]
    models = [f"{name}-seed{seed}" for name in names]
    variation = [
        cell(config, f"variation-{name}", seed, None, kind="variation", model=model, watched=config["watched"])
        for name, model in zip(names, models, strict=True)
    ]
    swept = ["deep", *(f"symmetric-{w:g}" for w in config["weights"]), names[2]]
    local = [cell(config, f"local-{name}", seed, None, kind="local", model=f"{name}-seed{seed}") for name in swept]
    return [*variation, *local, cell(config, "figure1", seed, None, kind="figure1", models=models[:2])]


# -- data ----------------------------------------------------------------------------------------------------------


def stages(config: dict[str, Any], folder: Path) -> Iterator[Stage]:
    """Weights and margins are chosen by the reports of the first stage."""
    yield Stage(first_cells(config))
    choice = chosen(config, read_reports(folder))
    note = f"chosen on the validation set: weight {choice['weight']:g}, margin {choice['margin']:g}"
    yield Stage(second_cells(config, choice), note=note)
    yield Stage(last_cells(config, choice))


@lru_cache(maxsize=1)
def table(embedded: bool) -> Molecules:
    """All molecules: Tox21, or a part of the series that comes with RDKit with two labels."""
    from pellucid.molecules import nav17, prepare, tox21

    if not embedded:
        return tox21()
    series = nav17()
    y = series.y[::8]
    labels = np.concatenate([y > np.median(y), y > np.quantile(y, 0.75)], axis=1).astype(float)
    return prepare(series.smiles[::8], labels, targets=["active", "very active"])


def left_out(cell: Cell) -> int:
    """Rows of the table that cannot be used."""
    return len(table(bool(cell.get("embedded"))).rejected)


@lru_cache(maxsize=4)
def data(embedded: bool, seed: int, split: tuple[float, ...]) -> dict[str, Molecules]:
    """The molecules in three parts, at random."""
    everything = table(embedded)
    order = np.random.default_rng(seed).permutation(len(everything))
    ends = np.round(np.cumsum(split[:2]) * len(order)).astype(int)
    return {name: everything.select(part) for name, part in zip(PARTS, np.split(order, ends), strict=True)}


def parts_of(cell: Cell) -> dict[str, Molecules]:
    return data(bool(cell.get("embedded")), cell["seed"], tuple(cell["split"]))


# -- cells ---------------------------------------------------------------------------------------------------------


def run(cell: Cell) -> dict[str, Any]:
    """Train or measure one cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    if cell["kind"] == "tree":
        return vanilla_tree(cell)
    if cell["kind"] == "variation":
        return variation(cell)
    if cell["kind"] == "local":
        return local(cell)
    if cell["kind"] == "figure1":
        from paper.tox21_figure1 import compare

        figure1: dict[str, Any] = compare(cell)
        return figure1
    train(cell)
    return {"left_out": left_out(cell), **measure(cell)}


def train(cell: Cell) -> None:
    """DEEP or a GAME, saved."""
    from pellucid.molecules import PropertyModel

    parts = parts_of(cell)
    names = ("game", "weight", "margin", "multiplier_rate", "criterion", "delta", "share", "members", "width", "depth")
    training = ("epochs", "batch_size", "learning_rate", "seed")
    model = PropertyModel(**{name: cell[name] for name in (*names, *training)}, **PAPER_TREES, **PAPER_MEMBERS)
    home = MODELS / cell["size"] / cell["name"]
    # All epochs, and the last one is kept: the validation part is for the choice of weights and margins alone.
    model.fit(parts["train"], validation=0, folder=home / "checkpoints", resume=True, progress=False)
    model.save(home / "model")
    shutil.rmtree(home / "checkpoints")


def measure(cell: Cell) -> dict[str, Any]:
    """What is reported of a saved model."""
    model, parts = load(cell, cell["name"]), parts_of(cell)
    results: dict[str, Any] = {
        "molecules": {name: len(part) for name, part in parts.items()},
        "history": model.history_,
        "validation": model.evaluate(parts["validation"]).to_dict(),
    }
    tested = {d: model.evaluate(parts["test"], delta=d) for d in cell["deltas"]}
    sizes = next(iter(tested.values())).sizes
    return results | {
        "test": tested[cell["deltas"][0]].to_dict(),
        "test_by_delta": {str(d): scores.to_dict() for d, scores in tested.items()},
        "neighborhoods": summary_of(sizes),
    }


def summary_of(sizes: np.ndarray) -> dict[str, Any]:
    """How large neighborhoods are, as the paper reports it."""
    some = sizes[sizes > 2]
    return {
        "share_above_2": float((sizes > 2).mean()),
        "median_above_2": float(np.median(some)) if len(some) else None,
        "largest": int(sizes.max()),
    }


def vanilla_tree(cell: Cell) -> dict[str, Any]:
    """One decision tree on fingerprints per label, without any network; its depth tuned on the validation part."""
    from sklearn.tree import DecisionTreeClassifier

    from pellucid.molecules import Morgan
    from pellucid.molecules.scores import auc

    parts = parts_of(cell)
    bits = {name: Morgan()(part.smiles).dense().numpy() for name, part in parts.items()}
    found: dict[int, dict[str, float]] = {}
    for depth in cell["depths"]:
        scores: dict[str, list[float]] = {"validation": [], "test": []}
        for k in range(len(parts["train"].targets)):
            known = ~np.isnan(parts["train"].y[:, k])
            tree = DecisionTreeClassifier(max_depth=depth, random_state=cell["seed"])
            tree.fit(bits["train"][known], parts["train"].y[known, k])
            for name in scores:
                scores[name].append(auc(parts[name].y[:, k], tree.predict_proba(bits[name])[:, -1]))
        found[depth] = {name: float(np.nanmean(values)) for name, values in scores.items()}
    best = max(found, key=lambda depth: found[depth]["validation"])
    return {
        "by_depth": {str(depth): scores for depth, scores in found.items()},
        "best_depth": best,
        "test": {"accuracy": found[best]["test"]},
    }


def variation(cell: Cell) -> dict[str, Any]:
    """Total variation over training neighborhoods, a random choice of them, whole."""
    from pellucid.deviations import absolute_error

    model = load(cell, cell["model"])
    smiles = parts_of(cell)["train"].smiles
    picked = np.random.default_rng(cell["seed"]).permutation(len(smiles))[: cell["watched"]]
    around = model.neighborhoods([smiles[i] for i in picked])
    values = model.witnesses(around).deviations(absolute_error).numpy()
    sizes = around.hoods.sizes.numpy()
    return {
        "neighborhoods": summary_of(sizes),
        "variations": [float(f"{value:.4g}") for value in values[sizes > 2]],
    }


def local(cell: Cell) -> dict[str, Any]:
    """Why AUC_B and deviations tell different stories: how much the trees account for, and how large leaves are."""
    from pellucid.molecules.scores import score

    model = load(cell, cell["model"])
    test = parts_of(cell)["test"]
    witnesses = model.witnesses(model.neighborhoods(test.smiles))
    shares = []
    for i in np.flatnonzero((witnesses.hoods.sizes > 2).numpy()):
        tree: Any = witnesses[int(i)]
        nodes = tree.nodes
        shares.append(nodes["size"][nodes["feature"] < 0].max() / nodes["size"][0])
    scores = score(witnesses, test.y, model.task_, model.targets_)
    return {"test": scores.to_dict(), "largest_leaf": float(np.mean(shares))}


def load(cell: Cell, name: str) -> PropertyModel:
    """A saved model."""
    from pellucid.molecules import PropertyModel

    return PropertyModel.load(MODELS / cell["size"] / name / "model")


def measure_again(cell: Cell, reports: Path) -> None:
    """Measure a saved model with the present code; its report keeps how it was trained."""
    import torch

    torch.set_num_threads(1)
    path = reports / f"{cell['name']}.json"
    before = json.loads(path.read_text())
    write_report(path, {**before, **measure(cell), "measured_by_commit": provenance()["commit"]})
    print(f"{cell['name']}: measured again", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="cells to run side by side, each on one core")
    parser.add_argument("--measure-again", action="store_true", help="measure the saved models, without training")
    parser.add_argument("--out", type=Path, default=REPORTS, help="where reports go")
    arguments = parser.parse_args(words)
    config = load_config("tox21", arguments.size)
    folder = arguments.out / config["size"]
    if arguments.measure_again:
        cells = [report["config"] for report in read_reports(folder).values()]
        saved = [cell for cell in cells if (MODELS / cell["size"] / cell["name"] / "model").exists()]
        with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(measure_again, reports=folder), saved))
        return
    run_stages(stages(config, folder), run, folder, arguments.jobs)


if __name__ == "__main__":
    main()
