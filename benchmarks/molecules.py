"""Benchmarks of molecules, as ratios against what one would otherwise write; see run.py.

    python -m benchmarks.molecules            # measure, save to molecules.json, and update the table in README.md
    python -m benchmarks.molecules --smoke    # tiny sizes, nothing saved

The first and the last need Tox21 and MOSES in $PELLUCID_DATA; without them, and in the tests, they are measured on
the series that comes with RDKit.
"""

from __future__ import annotations

import csv
import gzip
from itertools import islice
from typing import Any

import numpy as np
import torch
from benchmarks.run import compared, costs, publish, seconds
from torch import Tensor

import pellucid as pl
from pellucid.datasets import find_data
from pellucid.molecules import Fingerprints, Molecules, Morgan, PropertyModel, SimilarityRule, nav17, tox21
from pellucid.molecules.fitting import PropertyFit
from pellucid.molecules.tasks import Task


class ScikitTrees(pl.WitnessFamily):
    """The same witnesses as a user would fit them."""

    def best_response(self, x: Tensor, f: Tensor, hoods: pl.Neighborhoods) -> pl.Witnesses:  # type: ignore[override]
        from sklearn.tree import DecisionTreeRegressor

        rule = pl.effective_depth()

        def fit(x: np.ndarray, f: np.ndarray) -> Any:
            return DecisionTreeRegressor(criterion="absolute_error", max_depth=rule(len(x))).fit(x, f).predict

        return pl.fit_each(fit, x, f, hoods)


def fitting(model: PropertyModel, learned: Molecules) -> PropertyFit:
    """What `fit` prepares, without the training."""
    model.targets_, model.smiles_, model.pool_ = learned.targets, learned.smiles, ()
    model.task_ = Task.of(model.task, learned.y, learned.targets)
    model.groups_ = model.similar.groups(learned.smiles)
    model.network_ = model._new_network()
    return PropertyFit(model, learned, None, False)


def witnesses_in_a_step(smoke: bool) -> list[dict[str, Any]]:
    """How much of a training step with analogs the witnesses take, and the same with scikit-learn's trees."""
    torch.set_num_threads(1)
    real = not smoke and find_data("molecules/tox21.csv") is not None
    if real:
        learned, name, width = tox21().select(range(0, 7000, 14)), "Tox21", 200
    else:
        series = nav17().select(range(0, 1017, 10))
        learned = Molecules(
            smiles=series.smiles, y=(series.y > 7).astype(float), targets=series.targets, rows=series.rows
        )
        name, width = "Nav1.7", 16
    model = PropertyModel(width=width, similar=SimilarityRule(groups_per_kind=20 if real else 3))
    run = fitting(model, learned)
    generator = torch.Generator().manual_seed(0)
    batch = run.take(torch.arange(64), generator)
    assert isinstance(batch, pl.Minibatch)  # noqa: S101 - fresh play
    where = batch.points
    with torch.no_grad():
        f = model.task_.values(model.network_(run.points.graphs.batch(where)))
    x = Fingerprints(run.points.fingerprints.words[where.numpy()]).dense()
    game, slow = model.new_game(1), pl.SymmetricGame(ScikitTrees(), deviation=pl.absolute_error)

    def step() -> None:
        run.loss(batch)["loss"].backward()

    repeats = 2 if smoke else 15
    whole, ours = seconds(step, lambda: game(f, x, batch.hoods), repeats=repeats)
    _, theirs = seconds(lambda: None, lambda: slow(f, x, batch.hoods), repeats=2 if smoke else 3)
    what = f"{name}, {len(batch.hoods)} neighborhoods, {len(where)} molecules, width {width}"
    return [
        costs(f"witnesses of a training step: {what}", "the whole step", ours, whole, 0.1, threads=1),
        compared("the same witnesses", "loop over `DecisionTreeRegressor`", ours, theirs, 10, threads=1),
    ]


def banked_epoch(smoke: bool) -> list[dict[str, Any]]:
    """An epoch with the bank against one without a game, on the dense series."""
    torch.set_num_threads(1)
    learned = nav17().select(range(0, 1017, 20 if smoke else 1))
    settings = {
        "task": "regression", "similar": SimilarityRule(analogs=False), "play": "banked", "width": 16 if smoke else 200,
        "batch_size": 32, "delta": -2,
    }  # fmt: skip
    runs = [fitting(PropertyModel(game=game, **settings), learned) for game in (None, "symmetric")]  # type: ignore[arg-type]

    def epoch(run: PropertyFit) -> None:
        optimizer = torch.optim.Adam(run.model.network_.parameters())
        for batch in torch.arange(run.count).split(32):
            optimizer.zero_grad()
            run.loss(batch)["loss"].backward()
            optimizer.step()

    deep, game = seconds(*(lambda run=run: epoch(run) for run in runs), repeats=2 if smoke else 7)
    what = f"epoch with a bank, witnesses fitted every 5 steps: Nav1.7, {len(learned)} molecules"
    return [costs(what, "no game", game, deep, 1.3, threads=1)]


def similarity(smoke: bool) -> list[dict[str, Any]]:
    """All molecules above a similarity of 0.6 to each of many, exactly."""
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    torch.set_num_threads(1)
    path = None if smoke else find_data("molecules/moses_train.csv.gz")
    if path is None:
        smiles, name = list(nav17().smiles), "Nav1.7"
    else:
        with gzip.open(path, "rt") as stream:
            smiles, name = [row["SMILES"] for row in islice(csv.DictReader(stream), 100_000)], "MOSES"
    pool = Morgan()(smiles)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    theirs = [generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles]
    few = list(range(0, len(smiles), len(smiles) // 20))
    many = list(range(0, len(smiles), max(len(smiles) // 2000, 1)))

    def bulk() -> list[int]:
        return [sum(s > 0.6 for s in DataStructs.BulkTanimotoSimilarity(theirs[i], theirs)) for i in few]

    def ours() -> Any:
        return pool.similar_to(type(pool)(pool.words[many]))

    found = pool.similar_to(type(pool)(pool.words[few]))
    if np.diff(found.offsets).tolist() != bulk():
        raise AssertionError("the two searches disagree")
    slow, fast = seconds(bulk, ours, repeats=2 if smoke else 3)
    row = compared(
        f"similarity search: {len(smiles):,} molecules ({name}), per query",
        "`BulkTanimotoSimilarity`",
        fast / len(many),
        slow / len(few),
        10,
        threads=1,
    )
    return [row]


SECTIONS = (witnesses_in_a_step, banked_epoch, similarity)

if __name__ == "__main__":
    publish("molecules", SECTIONS)
