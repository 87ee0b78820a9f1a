"""The toxicity study (the paper's section 5.1 and appendix): `python -m paper.tox21 --size cpu`.

Seed by seed: DEEP, the vanilla tree, the games of trees at several weights, the held-out games, and the uniform game,
which starts from DEEP's weights. All models of a seed have the same split, initialization and order. The first seed is
run whole; the others begin with the weight and the margin that were chosen so far, and their other weights follow, so
that a run that is cut short has as many seeds as possible of what the claims rest on. Last, with what the validation
sets chose, the smaller trees of Table 2 and what the figures need. Each cell leaves a report in `paper/tox21/<size>/`;
tables and figures are made from them by `python -m paper.tox21_results`. Repeating an interrupted call goes on where
it stopped.

The cells of a seed run one after the other in one process (`--jobs 1`), which prepares their molecules once. Two
calls with different `--seeds` may run side by side.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.runs import (
    PAPER_MEMBERS,
    PAPER_TREES,
    ROOT,
    Cell,
    Stage,
    load_config,
    reports_to_choose_by,
    run_stages,
    saved_model,
    study_parser,
)

if TYPE_CHECKING:
    from torch import nn

    from pellucid.molecules import Molecules, PropertyModel

REPORTS = ROOT / "paper" / "tox21"
MODELS = ROOT / "out" / "tox21"
PARTS = ("train", "validation", "test")
Reports = Mapping[str, Mapping[str, Any]]
_SWEEPS = (
    "seeds",
    "weights",
    "held_out",
    "contributions",
    "first_held_out",
    "first_contributions",
    "strict",
    "first_strict",
    "margins",
    "uniform",
    "deltas",
    "tolerance",
    "uniform_tolerance",
    "depths",
    "pool",
    "plays",
)
_GAME = {"weight": 0.0, "margin": 0.0, "multiplier_rate": 1.0, "delta": 0, "witness": "tree", "held_out_game": False}


def cell(config: dict[str, Any], name: str, seed: int, game: str | None, **other: Any) -> Cell:
    """The configuration of one run."""
    shared = {key: value for key, value in config.items() if key not in _SWEEPS}
    settings = {**shared, **_GAME, "kind": "game" if game else "deep", "deltas": [0]} | other
    return {**settings, "name": f"{name}-seed{seed}", "seed": seed, "game": game}


def deep_cell(config: dict[str, Any], seed: int) -> Cell:
    """DEEP."""
    return cell(config, "deep", seed, None, deltas=[0, *config["deltas"]])


def held_out_cell(config: dict[str, Any], seed: int, witness: str, weight: float) -> Cell:
    """A game in which the witness has not seen the member that the predictor pays at."""
    name = f"{'held-out' if witness == 'tree' else witness}-{weight:g}"
    return cell(config, name, seed, "symmetric", weight=weight, witness=witness, held_out_game=True)


def played_cells(config: dict[str, Any]) -> list[Cell]:
    """A game of trees and one of contributions, with other shares of the neighborhoods in a step, and other members."""
    seed = config["seeds"][0]
    games = [
        *weight_cells(config, seed, config["weights"][:1]),
        *(held_out_cell(config, seed, "contributions", w) for w in config["contributions"][:1]),
    ]
    return [
        {**game, "name": f"{name_of(game)}-play-{share:g}-{members}-seed{seed}", "share": share, "members": members}
        for share, members in config["plays"]
        for game in games
    ]


def name_of(cell: Cell) -> str:
    """The name of a model, without its seed."""
    return str(cell["name"]).rpartition("-seed")[0]


def uniform_cell(config: dict[str, Any], seed: int, margin: float) -> Cell:
    """The uniform game, from DEEP's weights of the same seed."""
    warm = {"margin": margin, "start": f"deep-seed{seed}", **config["uniform"]}
    return cell(config, f"uniform-{margin:g}", seed, "uniform", **warm)


def strict_cells(config: dict[str, Any], seed: int) -> list[Cell]:
    """The uniform game with multipliers that grow faster, and other members in a step."""
    cells = []
    first = config["first_strict"] if seed == config["seeds"][0] else []
    for margin, rate, members in [*config["strict"], *first]:
        usual = uniform_cell(config, seed, margin)
        name = f"{name_of(usual)}-rate-{rate:g}-{members}-seed{seed}"
        cells.append({**usual, "name": name, "multiplier_rate": rate, "members": members})
    return cells


def weight_cells(config: dict[str, Any], seed: int, weights: Sequence[float]) -> list[Cell]:
    """The symmetric game at several weights."""
    return [cell(config, f"symmetric-{w:g}", seed, "symmetric", weight=w) for w in weights]


def seed_cells(
    config: dict[str, Any], seed: int, margins: Sequence[float], weights: Sequence[float] | None = None
) -> list[Cell]:
    """The models of a seed, in the order in which they matter; at all weights, unless some are named."""
    cells = [
        deep_cell(config, seed),
        cell(config, "tree", seed, None, kind="tree", depths=config["depths"]),
        *weight_cells(config, seed, config["weights"] if weights is None else weights),
        *(held_out_cell(config, seed, "tree", w) for w in config["held_out"]),
        *(held_out_cell(config, seed, "contributions", w) for w in config["contributions"]),
        *(uniform_cell(config, seed, m) for m in margins),
        *strict_cells(config, seed),
    ]
    if seed == config["seeds"][0]:
        cells += [held_out_cell(config, seed, "tree", weight) for weight in config["first_held_out"]]
        cells += [held_out_cell(config, seed, "contributions", weight) for weight in config["first_contributions"]]
    return cells


def last_cells(config: dict[str, Any], weight: float) -> list[Cell]:
    """With the first seed and the chosen weight: Table 2's smaller trees, Figure 1, real molecules, and more play."""
    seed = config["seeds"][0]
    smaller = [
        cell(config, f"symmetric-{weight:g}-delta{d}", seed, "symmetric", weight=weight, delta=d, deltas=[d])
        for d in config["deltas"]
    ]
    models = [f"deep-seed{seed}", f"symmetric-{weight:g}-seed{seed}"]
    return [
        *smaller,
        cell(config, "figure1", seed, None, kind="figure1", models=models),
        cell(config, "pool", seed, None, kind="pool", models=models, pool=config["pool"]),
        *played_cells(config),
    ]


def seeds_of(config: dict[str, Any], reports: Reports, name: str) -> list[int]:
    """The seeds of which a model and DEEP are finished."""
    return [s for s in config["seeds"] if f"{name}-seed{s}" in reports and f"deep-seed{s}" in reports]


def _mean(reports: Reports, name: str, seeds: Sequence[int], measure: str) -> float:
    values = [reports[f"{name}-seed{seed}"]["validation"]["trees"][measure] for seed in seeds]
    return float(np.mean(values))


def chosen_weight(config: dict[str, Any], reports: Reports) -> float | None:
    """The weight with the highest mean AUC_D among those that cost at most `tolerance` of DEEP's mean AUC(f, y), on the
    validation molecules of the seeds that have all weights; if none does, the most accurate one.
    """
    names = {weight: f"symmetric-{weight:g}" for weight in config["weights"]}
    seeds = [s for s in config["seeds"] if all(s in seeds_of(config, reports, name) for name in names.values())]
    if not seeds:
        return None
    return _choice(names, reports, seeds, "global_auc", config["tolerance"])


def chosen_margin(config: dict[str, Any], reports: Reports) -> float | None:
    """The margin with the highest AUC_B among those that cost at most `uniform_tolerance` of DEEP's AUC(f, y), on the
    validation molecules of the first seed; if none does, the most accurate one.
    """
    names = {margin: f"uniform-{margin:g}" for margin in config["margins"]}
    seed = config["seeds"][0]
    if not all(seed in seeds_of(config, reports, name) for name in names.values()):
        return None
    return _choice(names, reports, [seed], "local_auc", config["uniform_tolerance"])


def _choice(
    names: Mapping[float, str], reports: Reports, seeds: Sequence[int], measure: str, tolerance: float
) -> float:
    least = _mean(reports, "deep", seeds, "accuracy") - tolerance
    good = [value for value, name in names.items() if _mean(reports, name, seeds, "accuracy") >= least]
    if good:
        return max(good, key=lambda value: _mean(reports, names[value], seeds, measure))
    return max(names, key=lambda value: _mean(reports, names[value], seeds, "accuracy"))


def stages(config: dict[str, Any], folder: Path, seeds: Sequence[int] = ()) -> Iterator[Stage]:
    """Seed by seed; weight and margin are chosen by reports of those before."""
    first = config["seeds"][0]
    for seed in seeds or config["seeds"]:
        reports = reports_to_choose_by(folder, REPORTS)
        weight, margin = chosen_weight(config, reports), chosen_margin(config, reports)
        weights = config["weights"] if seed == first or weight is None else [weight]
        margins = config["margins"] if seed == first else [] if margin is None else [margin]
        yield Stage(seed_cells(config, seed, margins, weights), note=f"seed {seed}")
    for seed in seeds or config["seeds"]:
        yield Stage(weight_cells(config, seed, config["weights"]), note=f"seed {seed}, all weights")
    reports = reports_to_choose_by(folder, REPORTS)
    weight, margin = chosen_weight(config, reports), chosen_margin(config, reports)
    if weight is None or margin is None:
        return
    note = f"chosen on the validation sets: weight {weight:g}, margin {margin:g}"
    cells = [
        uniform_cell(config, s, margin) for s in seeds or config["seeds"] if s in seeds_of(config, reports, "deep")
    ]
    if first in (seeds or config["seeds"]):
        cells += last_cells(config, weight)
    yield Stage(cells, note=note)


# -- data ----------------------------------------------------------------------------------------------------------


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


@lru_cache(maxsize=2)
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
    from paper import tox21_figure1, tox21_measures

    torch.set_num_threads(1)  # seeds run side by side
    if cell["kind"] == "tree":
        return tox21_measures.vanilla_tree(cell)
    if cell["kind"] == "figure1":
        return tox21_figure1.compare(cell)
    if cell["kind"] == "pool":
        return tox21_measures.real_molecules(cell)
    seconds = train(cell)
    return {"training_processor_seconds": round(seconds, 1), **tox21_measures.measured(cell)}


def untrained(cell: Cell) -> PropertyModel:
    """The model of a cell."""
    from pellucid.molecules import PropertyModel

    names = ("game", "weight", "margin", "multiplier_rate", "criterion", "delta", "witness", "held_out_game")
    training = ("share", "members", "width", "depth", "epochs", "batch_size", "learning_rate", "seed")
    return PropertyModel(**{name: cell[name] for name in (*names, *training)}, **PAPER_TREES, **PAPER_MEMBERS)


def train(cell: Cell) -> float:
    """DEEP or a GAME, saved; the processor time of its epochs, the neighborhoods being there."""
    from paper.tox21_measures import training_points

    train = parts_of(cell)["train"]
    training_points(untrained(cell), train.smiles)
    home = MODELS / cell["size"] / cell["name"]
    start = time.process_time()
    # All epochs, and the last one is kept: the validation part is for the choice of weights and margins alone.
    model = untrained(cell).fit(
        train, validation=0, network=network_of(cell), folder=home / "checkpoints", resume=True, progress=False
    )
    seconds = time.process_time() - start
    model.save(home / "model")
    shutil.rmtree(home / "checkpoints")
    return seconds


def network_of(cell: Cell) -> nn.Module | None:
    """DEEP's network, of cells that start with it; it is trained if that has not been done."""
    if "start" not in cell:
        return None
    if not (MODELS / cell["size"] / cell["start"] / "model").is_dir():
        train(deep_cell(load_config("tox21", cell["size"]), cell["seed"]))
    return load(cell, cell["start"]).network_


def load(cell: Cell, name: str) -> PropertyModel:
    """A saved model; one that started with DEEP's network is read into another of the same kind."""
    from pellucid.molecules import PropertyModel

    network = network_of(cell) if name == cell["name"] else None
    folder = saved_model(MODELS / cell["size"] / name / "model", f"python -m paper.tox21 --only {name} --out elsewhere")
    return PropertyModel.load(folder, network=network)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, table=False)
    parser.add_argument("--seeds", type=int, nargs="+", default=[], help="some of the seeds; by default all")
    arguments = parser.parse_args(words)
    config = load_config("tox21", arguments.size)
    folder = arguments.out / config["size"]
    run_stages(stages(config, folder, arguments.seeds), run, folder, arguments.jobs, arguments.only)


if __name__ == "__main__":
    main()
