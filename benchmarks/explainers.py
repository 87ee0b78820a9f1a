"""Explainers of tables as one function each: from a black box and rows to a linear law around every row.

All of them get standardized columns. LIME and SHAP are those of the packages `lime` and `shap`, which are needed for
benchmarks alone (pip install 'pellucid[bench]'); MAPLE is written from the paper (Plumb et al., NeurIPS 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias, final

import numpy as np
import torch
from numpy.typing import NDArray
from paper.expo_measures import Laws, weighted_ridge
from torch import Tensor

import pellucid as pl

Array: TypeAlias = NDArray[np.float64]
Values: TypeAlias = Callable[[Array], Array]
"""A black box: from rows (N, P) to values (N,)."""
NEIGHBORS = 16
MEMBERS, MANY = 64, 1024
"""Members of a neighborhood that Pellucid fits to: the row, its nearest training rows, and sampled rows."""
BACKGROUND = 50
"""Training rows that SHAP replaces columns by."""
CLOSE = 0.1
"""Columns nearer to their mean than this, in standard deviations, have no slope in SHAP's additive explanation."""


@final
@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be explained: a black box, and the rows that it was trained on."""

    f: Values
    train: Array
    model: Any
    """The estimator behind f."""
    classes: bool


Explainer: TypeAlias = Callable[[Task, Array, int], Laws]
"""From a task, the rows (n, P) and a seed to the laws around the rows."""


def missing(*names: str) -> list[str]:
    """Packages that are not installed."""
    return [name for name in names if find_spec(name) is None]


def lime(task: Task, rows: Array, seed: int, *, around: bool = False) -> Laws:
    """LIME's tabular explainer as it comes, 5,000 samples each, but with columns that are not cut into quartiles."""
    from lime.lime_tabular import LimeTabularExplainer

    explainer = LimeTabularExplainer(
        task.train, mode="regression", discretize_continuous=False, sample_around_instance=around, random_state=seed
    )
    means, deviations = task.train.mean(0), task.train.std(0)
    intercepts, coefficients = np.empty(len(rows)), np.zeros(rows.shape)
    for i, row in enumerate(rows):
        explanation = explainer.explain_instance(row, task.f, num_features=rows.shape[1])
        for column, weight in explanation.local_exp[1]:
            coefficients[i, column] = weight / deviations[column]
        intercepts[i] = explanation.intercept[1] - coefficients[i] @ means
    return Laws(torch.from_numpy(intercepts), torch.from_numpy(coefficients))


def lime_around(task: Task, rows: Array, seed: int) -> Laws:
    """LIME with samples drawn around the row."""
    return lime(task, rows, seed, around=True)


def shap(task: Task, rows: Array, seed: int) -> Laws:
    """SHAP's contributions read as a law: the contribution of a column grows in proportion to its distance from the
    mean of the background,

        g_x(x') = base + sum_j phi_j (x'_j - m_j) / (x_j - m_j),

    which is exact at x and where f is linear. SHAP itself makes no statement about other rows.
    """
    import shap as package

    background = task.train[np.random.default_rng(seed).choice(len(task.train), BACKGROUND, replace=False)]
    if hasattr(task.model, "tree_") or hasattr(task.model, "estimators_"):
        output = "probability" if task.classes else "raw"
        explainer = package.TreeExplainer(task.model, background, model_output=output)
        explanation = explainer(rows, check_additivity=False)
    else:
        masker = package.maskers.Independent(background, max_samples=BACKGROUND)
        explanation = package.explainers.Permutation(task.f, masker, seed=seed)(rows, silent=True)
    phi, base = np.asarray(explanation.values, float), np.asarray(explanation.base_values, float)
    if phi.ndim == 3:  # one for each class
        phi, base = phi[..., 1], base[..., 1]
    means = background.mean(0)
    away = rows - means
    sloped = np.abs(away) > CLOSE
    coefficients = np.where(sloped, phi / np.where(sloped, away, 1.0), 0.0)
    intercepts = base.reshape(-1) + phi.sum(1) - (coefficients * rows).sum(1)
    return Laws(torch.from_numpy(intercepts), torch.from_numpy(coefficients))


def maple(task: Task, rows: Array, seed: int, *, trees: int = 200, leaf: int = 10, ridge: float = 1e-3) -> Laws:
    """MAPLE: a forest of the black box's values says which training rows are alike, and a regression weighted by this,
    on the columns that most trees split by first, is the law. A fifth of the rows choose how many columns.

    Parameters
    ----------
    task : Task
        What is explained.
    rows : ndarray
        (n, P) the rows.
    seed : int
        Of the forest and of the rows that choose.
    trees, leaf : int
        The forest: the number of trees, and the least number of rows in a leaf.
    ridge : float
        Of the regressions.
    """
    from sklearn.ensemble import RandomForestRegressor

    order = np.random.default_rng(seed).permutation(len(task.train))
    chosen, fitted = np.split(task.train[order], [len(order) // 5])
    values = task.f(fitted)
    forest = RandomForestRegressor(trees, min_samples_leaf=leaf, max_features=0.5, random_state=seed)
    forest.fit(fitted, values)
    importance = np.zeros(fitted.shape[1])
    for tree in forest.estimators_:
        if tree.tree_.feature[0] >= 0:
            importance[tree.tree_.feature[0]] += tree.tree_.impurity[0]
    ranked = np.argsort(-importance, kind="stable")
    leaves = forest.apply(fitted)
    weights = forest_weights(leaves, forest.apply(chosen))
    expected = torch.from_numpy(task.f(chosen))
    errors = []
    for count in range(1, fitted.shape[1] + 1):
        laws = forest_laws(fitted, values, weights, ranked[:count], ridge)
        errors.append(float((laws.at(torch.from_numpy(chosen)[:, None])[:, 0] - expected).square().mean()))
    kept = ranked[: 1 + int(np.argmin(errors))]
    return forest_laws(fitted, values, forest_weights(leaves, forest.apply(rows)), kept, ridge)


def forest_weights(leaves: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
    """(n, N) how much each training row counts for each other row: in every tree, one over those in its leaf."""
    weights = np.zeros((len(others), len(leaves)))
    for mine, theirs in zip(leaves.T, others.T, strict=True):
        same = theirs[:, None] == mine
        weights += same / same.sum(1, keepdims=True)
    return weights


def forest_laws(x: Array, values: Array, weights: Array, kept: NDArray[np.int64], ridge: float) -> Laws:
    """Weighted regressions on the columns that are kept; the others have no slope."""
    parts = []
    for part in torch.from_numpy(weights).split(64):
        n = len(part)
        features = torch.from_numpy(x[:, kept]).expand(n, -1, -1)
        parts.append(weighted_ridge(features, torch.from_numpy(values).expand(n, -1), part, ridge))
    intercepts = torch.cat([laws.intercepts for laws in parts])
    coefficients = torch.zeros(len(weights), x.shape[1], dtype=torch.float64)
    coefficients[:, torch.from_numpy(kept)] = torch.cat([laws.coefficients for laws in parts])
    return Laws(intercepts, coefficients)


def pellucid(task: Task, rows: Array, seed: int, *, members: int = MEMBERS) -> Laws:
    """Pellucid's audit: linear witnesses of neighborhoods that hold the nearest training rows, and rows sampled between
    and around them.
    """
    points, hoods = neighborhoods(task.train, rows, members - 1, seed, nearest=True)
    audit = pl.audit(task.f(points.numpy()), points, hoods, pl.LinearFamily(ridge="auto"))
    at_zero, slopes = linear_parts(audit.witnesses, rows.shape[1])
    return Laws(at_zero, slopes)


def pellucid_many(task: Task, rows: Array, seed: int) -> Laws:
    """The same with more sampled rows: trees jump, and a law of few points depends on which were drawn."""
    return pellucid(task, rows, seed, members=MANY)


def linear_parts(witnesses: Any, columns: int) -> tuple[Tensor, Tensor]:
    """Intercepts (n,) and coefficients (n, P) of linear witnesses, from their values at 0 and at the unit vectors."""
    n = len(witnesses.hoods)
    points = torch.cat([torch.zeros(1, columns), torch.eye(columns)]).double()
    index = torch.arange(n).repeat_interleave(len(points))
    values = witnesses.evaluate(index, points.repeat(n, 1)).double().reshape(n, -1)
    return values[:, 0], values[:, 1:] - values[:, :1]


def neighborhoods(
    train: Array, rows: Array, size: int, seed: int, *, nearest: bool = False
) -> tuple[Tensor, pl.Neighborhoods]:
    """Each row with `size` rows sampled between and around its nearest training rows, these among them if `nearest`."""
    from pellucid.tabular import Sampler

    near = pl.nearest(train, k=NEIGHBORS, query=rows).members.reshape(len(rows), -1)
    others = torch.from_numpy(train)[near]
    columns = np.arange(train.shape[1])
    sampler = Sampler(how="mixed", column_of=columns, copied=np.zeros(len(columns), dtype=bool))

    generator = torch.Generator().manual_seed(seed)

    def draw(centers: Tensor, count: int, _: torch.Generator | None) -> Tensor:
        if not nearest:
            return sampler(centers, others, count, generator)
        return torch.cat([others, sampler(centers, others, count - NEIGHBORS, generator)], dim=1)

    return pl.sampled(torch.from_numpy(rows), draw, size=size)


EXPLAINERS: dict[str, Explainer] = {
    "LIME": lime, "LIME, around": lime_around, "SHAP": shap, "MAPLE": maple, "Pellucid": pellucid,
    f"Pellucid, {MANY:,}": pellucid_many,
}  # fmt: skip
PACKAGES = {"LIME": "lime", "LIME, around": "lime", "SHAP": "shap"}
