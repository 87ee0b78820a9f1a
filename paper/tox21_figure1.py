"""Figure 1: trees of GAME, and of DEEP grown until they follow it as well; over all test molecules, and for one."""

from __future__ import annotations

from typing import Any

import numpy as np
from paper.runs import Cell

# DEEP's trees may be this much smaller or larger, in levels, than the depth rule says.
GROWTH = range(-3, 9)
# Neighborhoods of fewer members say little about the shape of a tree.
MEMBERS = 20


def compare(cell: Cell) -> dict[str, Any]:
    """For each test neighborhood, the smallest tree of DEEP whose AUC_B is at least that of GAME's tree."""
    from paper.tox21 import load, parts_of

    deep, game = (load(cell, name) for name in cell["models"])
    around = deep.neighborhoods(parts_of(cell)["test"].smiles)
    least = min(MEMBERS, int(around.hoods.sizes.max()))
    large = np.flatnonzero(around.hoods.sizes.numpy() >= least)
    aim, game_shapes = shapes(game.witnesses(around), large)
    followed = deep.witnesses(around)
    grown: dict[int, int] = {}
    deep_shapes: dict[int, dict[str, float]] = {}
    for growth in GROWTH:
        trees = deep.family(growth).best_response(followed.x, followed.f, around.hoods)
        reached, found = shapes(trees, large)
        for i in large.tolist():
            # With one target and equal predictions there is nothing to order: such neighborhoods never qualify.
            if i not in grown and reached[i] >= aim[i]:
                grown[i], deep_shapes[i] = growth, found[i]
    compared = [i for i in large.tolist() if i in grown]
    never = sum(bool(np.isfinite(aim[i])) for i in large.tolist()) - len(compared)
    # For one molecule: in the middle by the number of nodes that DEEP needs more.
    order = sorted(compared, key=lambda i: (deep_shapes[i]["nodes"] - game_shapes[i]["nodes"], i))
    shown = order[len(order) // 2]
    smiles = around.points[shown]
    return {
        "least_members": least,
        "compared": len(compared),
        "never_reached": never,
        "game": averages([game_shapes[i] for i in compared]),
        "deep": averages([deep_shapes[i] for i in compared]),
        "example": {
            "smiles": smiles,
            "auc": float(aim[shown]),
            "game": {**game_shapes[shown], "explanation": game.explain(smiles).to_dict()},
            "deep": {
                **deep_shapes[shown],
                "growth": grown[shown],
                "explanation": deep.explain(smiles, delta=grown[shown]).to_dict(),
            },
        },
    }


def shapes(witnesses: Any, which: np.ndarray) -> tuple[np.ndarray, dict[int, dict[str, float]]]:
    """Each neighborhood's generalized AUC, a mean over the targets, and the shape of the trees asked for."""
    from pellucid.metrics import local_generalized_auc

    auc = local_generalized_auc(witnesses.f, witnesses.at_members(), witnesses.hoods).nanmean(1).numpy()
    return auc, {int(i): shape(witnesses[int(i)]) for i in which}


def shape(tree: Any) -> dict[str, float]:
    """Depth, nodes, and the mean over the splits of the larger side's share of the members (0.5 is even)."""
    nodes = tree.nodes
    splits = np.flatnonzero(nodes["feature"] >= 0)
    sizes = nodes["size"]
    larger = np.maximum(sizes[nodes["left"][splits]], sizes[nodes["right"][splits]]) / sizes[splits]
    return {
        "depth": float(tree.depth),
        "nodes": float(len(nodes["feature"])),
        "larger_side": float(larger.mean()) if len(splits) else float("nan"),
    }


def averages(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.nanmean([shape[name] for shape in found])) for name in found[0]}
