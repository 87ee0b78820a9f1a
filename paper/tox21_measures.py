"""What is measured of the models of the toxicity study: by trees and by contributions, where fitted and held out."""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from paper.runs import PAPER_TREES, Cell

if TYPE_CHECKING:
    from torch import Tensor

    from pellucid import Calibration
    from pellucid.molecules import Molecules, PropertyModel
    from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
    from pellucid.molecules.play import MoleculePoints
    from pellucid.neighborhoods import Neighborhoods
    from pellucid.witnesses import Witnesses, WitnessFamily

LEVEL = 0.9


class Answers(NamedTuple):
    """What a network says of the members of neighborhoods, which all measures share."""

    f: Tensor
    x: Tensor
    hoods: Neighborhoods


def families(cell: Cell, delta: int) -> dict[str, WitnessFamily]:
    """The witnesses that every model is measured by, whatever played."""
    from pellucid import LinearFamily, TreeFamily, effective_depth

    trees = TreeFamily(depth=effective_depth(delta), criterion=cell["criterion"], **PAPER_TREES)
    return {"trees": trees, "contributions": LinearFamily(ridge="auto")}


def answers(model: PropertyModel, neighborhoods: MoleculeNeighborhoods) -> Answers:
    """The network's answers in float64, as explanations have them."""
    from pellucid.molecules.play import featurize

    points = featurize(neighborhoods.points, model.morgan, False)
    return Answers(model._values(points), points.fingerprints.dense(), neighborhoods.hoods)


def measured(cell: Cell) -> dict[str, Any]:
    """What is reported of a saved model."""
    from paper.tox21 import load, parts_of, table

    model, parts = load(cell, cell["name"]), parts_of(cell)
    found = {name: answers(model, model.neighborhoods(parts[name].smiles)) for name in ("validation", "test")}
    delta, *others = cell["deltas"]
    judged = {name: by_family(family, name, found, model, parts) for name, family in families(cell, delta).items()}
    smaller = {d: families(cell, d)["trees"] for d in others}
    return {
        "molecules": {name: len(part) for name, part in parts.items()},
        "left_out": len(table(bool(cell.get("embedded"))).rejected),
        "history": model.history_,
        **{part: {name: scores[part] for name, scores in judged.items()} for part in found},
        "global_auc_by_delta": {
            str(delta): judged["trees"]["test"]["global_auc"],
            **{str(d): global_auc(found["test"], family) for d, family in smaller.items()},
        },
        "neighborhoods": summary_of(found["test"].hoods.sizes.numpy()),
        "training": training(cell, model),
    }


def by_family(
    family: WitnessFamily, name: str, found: dict[str, Answers], model: PropertyModel, parts: dict[str, Molecules]
) -> dict[str, Any]:
    """Scores of a family's witnesses; the bound that ignores close pairs is learned from the validation molecules."""
    from pellucid import Calibration
    from pellucid.held_out import held_out
    from pellucid.molecules.scores import score

    left_out = {part: held_out(*values, family) for part, values in found.items()}
    calibration = Calibration.of(left_out["validation"])
    result = {}
    for part, (f, x, hoods) in found.items():
        witnesses = family.best_response(x, f, hoods)
        scores = score(witnesses, parts[part].y, model.task_, model.targets_).to_dict()
        result[part] = {
            **scores,
            "held_out": float(np.nanmean(left_out[part].explained())),
            **far_pairs(witnesses, calibration),
            **({"largest_leaf": largest_leaf(witnesses)} if name == "trees" else {}),
        }
    return result


def far_pairs(witnesses: Witnesses, calibration: Calibration) -> dict[str, float | None]:
    """AUC_B over pairs that are further apart than the witness's bound, and the share of the pairs that are."""
    from pellucid._auc_kernel import all_pairs
    from pellucid.metrics import local_generalized_auc

    hoods = witnesses.hoods
    misses = (witnesses.f[hoods.members].double() - witnesses.at_members().double()).abs()
    bounds = calibration.bound((hoods.sum_members(misses) / hoods.sizes[:, None]).numpy(), LEVEL, hoods.sizes.numpy())
    large = (hoods.sizes > 2).numpy()
    auc = local_generalized_auc(witnesses.f, witnesses.at_members(), hoods, gap=bounds).numpy()[large]
    y, g, starts = (witnesses.f[hoods.members].double().numpy(), witnesses.at_members().double().numpy(), hoods.offsets)
    far, ordered = 0, 0
    for k in range(y.shape[1]):
        column = np.ascontiguousarray(y[:, k]), np.ascontiguousarray(g[:, k]), starts.numpy()
        far += int(all_pairs(*column, np.ascontiguousarray(bounds[:, k]))[1][large].sum())
        ordered += int(all_pairs(*column, np.zeros(len(bounds)))[1][large].sum())
    means = [float(np.nanmean(column)) for column in auc.T if np.isfinite(column).any()]
    finite = bounds[large][np.isfinite(bounds[large])]
    return {
        "far_auc": float(np.mean(means)) if means else None,
        "far_pairs": far / ordered if ordered else None,
        "bound": float(np.median(finite)) if len(finite) else None,
        "bounded": float(np.isfinite(bounds[large]).mean()) if large.any() else None,
    }


def largest_leaf(trees: Witnesses) -> float:
    """Mean share of the members that the largest leaf holds, over neighborhoods of more than 2."""
    shares = []
    for i in np.flatnonzero((trees.hoods.sizes > 2).numpy()):
        nodes = trees[int(i)].nodes  # type: ignore[attr-defined]
        shares.append(nodes["size"][nodes["feature"] < 0].max() / nodes["size"][0])
    return float(np.mean(shares))


def global_auc(found: Answers, family: WitnessFamily) -> float:
    """AUC_D, a mean over the targets."""
    from pellucid.metrics import generalized_auc

    f, x, hoods = found
    return float(generalized_auc(f[hoods.centers], family.best_response(x, f, hoods).at_centers()).nanmean())


def summary_of(sizes: np.ndarray) -> dict[str, Any]:
    """How large neighborhoods are, as the paper reports it."""
    some = sizes[sizes > 2]
    return {
        "share_above_2": float((sizes > 2).mean()),
        "median_above_2": float(np.median(some)) if len(some) else None,
        "largest": int(sizes.max()),
    }


# -- training neighborhoods ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _found(rule: Any, smiles: tuple[str, ...], groups_of: Any) -> MoleculeNeighborhoods:
    groups = groups_of.groups(smiles)
    neighborhoods: MoleculeNeighborhoods = rule.neighborhoods(smiles, smiles, groups, progress=False)
    return neighborhoods


def training_points(model: PropertyModel, smiles: tuple[str, ...]) -> tuple[MoleculeNeighborhoods, MoleculePoints]:
    """The neighborhoods in which a model plays and their points, made once for all models of a seed."""
    from pellucid.molecules.play import featurize

    around = _found(model.similar, smiles, model.exchanging)
    return around, featurize(around.points, model.morgan, False)


def training(cell: Cell, model: PropertyModel) -> dict[str, Any]:
    """Total variation over training neighborhoods, a random choice of them, whole."""
    import torch
    from paper.tox21 import parts_of

    from pellucid.deviations import absolute_error
    from pellucid.molecules.fingerprints import Fingerprints
    from pellucid.neighborhoods import Neighborhoods

    smiles = parts_of(cell)["train"].smiles
    around, points = training_points(model, smiles)
    picked = np.sort(np.random.default_rng(cell["seed"]).permutation(len(smiles))[: cell["watched"]])
    hoods = around.hoods.select(torch.from_numpy(picked))
    used, places = torch.unique(torch.cat([hoods.members, hoods.centers]), return_inverse=True)
    members, centers = places.split([len(hoods.members), len(hoods)])
    network = model.network_.eval()
    with torch.no_grad():
        f = model.task_.values(torch.cat([network(points.graphs.batch(part)) for part in used.split(64)]))
    x = Fingerprints(points.fingerprints.words[used.numpy()]).dense()
    trees = families(cell, cell["deltas"][0])["trees"]
    witnesses = trees.best_response(x, f, Neighborhoods(members, hoods.offsets, centers, len(used)))
    values = witnesses.deviations(absolute_error).numpy()
    sizes = hoods.sizes.numpy()
    return {
        "neighborhoods": summary_of(around.hoods.sizes.numpy()),
        "variations": [float(f"{value:.4g}") for value in values[sizes > 2]],
    }


# -- neighborhoods of real molecules -------------------------------------------------------------------------------


def real_molecules(cell: Cell) -> dict[str, Any]:
    """DEEP and GAME in neighborhoods of real molecules alone: Tox21's own, and a pool."""
    from dataclasses import replace

    from paper.tox21 import load, parts_of

    parts, pool = parts_of(cell), pool_of(cell)
    result: dict[str, Any] = {"pool": len(pool)}
    for name in cell["models"]:
        model = load(cell, name)
        rule = replace(model.explaining, analogs=False)
        found = {}
        for part in ("validation", "test"):
            texts = parts[part].smiles
            found[part] = answers(
                model, rule.neighborhoods(texts, model.smiles_, model.groups_, pool=pool, progress=False)
            )
        result[name] = {
            family: by_family(witnesses, family, found, model, parts)["test"]
            for family, witnesses in families(cell, 0).items()
        }
        result["neighborhoods"] = summary_of(found["test"].hoods.sizes.numpy())
    return result


def pool_of(cell: Cell) -> tuple[str, ...]:
    """Molecules of MOSES, chosen at random, as its file is ordered; in the smallest size the series again."""
    from paper.tox21 import table

    if cell.get("embedded"):
        return table(True).smiles[: cell["pool"]]
    from pellucid.molecules import moses
    from pellucid.molecules.table import canonicals

    with gzip.open(moses("train"), "rt") as stream:
        texts = [row["SMILES"] for row in csv.DictReader(stream)]
    chosen = np.random.default_rng(cell["seed"]).permutation(len(texts))[: cell["pool"]]
    return tuple(dict.fromkeys(canonicals([texts[i] for i in chosen], "pool")))


# -- the vanilla tree ----------------------------------------------------------------------------------------------


def vanilla_tree(cell: Cell) -> dict[str, Any]:
    """One decision tree on fingerprints per label, without any network; its depth tuned on the validation part."""
    from paper.tox21 import parts_of
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
        "test": {"trees": {"accuracy": found[best]["test"]}},
    }
