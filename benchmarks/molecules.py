"""Benchmarks of molecules, as ratios against what one would otherwise write; see run.py.

    python -m benchmarks.molecules            # measure, save to molecules.json, and update the table in README.md
    python -m benchmarks.molecules --smoke    # tiny sizes, nothing saved

The first two and the last need Tox21 and MOSES in $PELLUCID_DATA; without them, and in the tests, they are measured on
the series that comes with RDKit.
"""

from __future__ import annotations

import csv
import gzip
import logging
import warnings
from collections.abc import Callable
from functools import partial
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
from pellucid.training.loop import train


class ScikitTrees(pl.WitnessFamily):
    """The same witnesses as a user would fit them."""

    def best_response(self, x: Tensor, f: Tensor, hoods: pl.Neighborhoods) -> pl.Witnesses:  # type: ignore[override]
        from sklearn.tree import DecisionTreeRegressor

        rule = pl.effective_depth()

        def fit(x: np.ndarray, f: np.ndarray) -> Any:
            return DecisionTreeRegressor(criterion="absolute_error", max_depth=rule(len(x))).fit(x, f).predict

        return pl.fit_each(fit, x, f, hoods)


def witnesses_in_a_step(smoke: bool) -> list[dict[str, Any]]:
    """How much of a training step with analogs the witnesses take, and the same with scikit-learn's trees."""
    torch.set_num_threads(1)
    learned, name, width = labeled(smoke, 14)
    model = PropertyModel(width=width, similar=SimilarityRule(groups_per_kind=20 if name == "Tox21" else 3))
    run = PropertyFit(model, learned, learned)
    generator = torch.Generator().manual_seed(0)
    batch = run.take(torch.arange(64), generator)
    assert isinstance(batch, pl.Minibatch)  # noqa: S101 - fresh play
    with torch.no_grad():
        f = run.task.values(run.network(run.points.graphs.batch(batch.points)))
    x = Fingerprints(run.points.fingerprints.words[batch.points.numpy()]).dense()
    family, deviation = model.family(), pl.absolute_error
    game, slow = (pl.SymmetricGame(trees, deviation=deviation) for trees in (family, ScikitTrees()))

    def step() -> None:
        run.loss(batch)["loss"].backward()

    repeats = 2 if smoke else 15
    whole, ours = seconds(step, lambda: game(f, x, batch.hoods), repeats=repeats)
    _, theirs = seconds(lambda: None, lambda: slow(f, x, batch.hoods), repeats=2 if smoke else 3)
    what = f"{name}, {len(batch.hoods)} neighborhoods, {len(batch.points)} molecules, width {width}"
    return [
        costs(f"witnesses of a training step: {what}", "the whole step", ours, whole, 0.1, threads=1),
        compared("the same witnesses", "loop over `DecisionTreeRegressor`", ours, theirs, 10, threads=1),
    ]


def labeled(smoke: bool, every: int) -> tuple[Molecules, str, int]:
    """Molecules with labels of classes, their name, and the width of networks: Tox21, where it is at hand."""
    if not smoke and find_data("molecules/tox21.csv") is not None:
        return tox21().select(range(0, 7000, every)), "Tox21", 200
    series = nav17().select(range(0, 1017, 10))
    classes = Molecules(smiles=series.smiles, y=(series.y > 7).astype(float), targets=series.targets, rows=series.rows)
    return classes, "Nav1.7", 16


def chemprops_epochs(molecules: Molecules, width: int, count: int) -> Callable[[], None]:
    """Epochs of chemprop's own trainer, with the network, batches and loss of ours; it keeps what it featurizes."""
    import lightning
    from chemprop import data, models, nn

    points = [
        data.MoleculeDatapoint.from_smi(smiles, y) for smiles, y in zip(molecules.smiles, molecules.y, strict=True)
    ]
    dataset = data.MoleculeDataset(points)
    dataset.cache = True
    head = nn.BinaryClassificationFFN(n_tasks=len(molecules.targets), input_dim=width, hidden_dim=width)
    network = models.MPNN(nn.BondMessagePassing(d_h=width, depth=3), nn.MeanAggregation(), head)
    loader = data.build_dataloader(dataset, batch_size=32, num_workers=0)

    def run() -> None:
        with warnings.catch_warnings(action="ignore"):  # about workers of the loader: one thread is compared
            trainer = lightning.Trainer(
                accelerator="cpu", max_epochs=count, logger=False, enable_checkpointing=False,
                enable_progress_bar=False, enable_model_summary=False,
            )  # fmt: skip
            trainer.fit(network, loader)

    return run


def epochs(smoke: bool) -> list[dict[str, Any]]:
    """Epochs of training beside those of chemprop's trainer, and with the game of the study beside those without."""
    torch.set_num_threads(1)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    learned, name, width = labeled(smoke, 4)
    count = 1 if smoke else 4  # what a run does once should not count
    settings = {
        "width": width, "depth": 3, "batch_size": 32, "epochs": count, "share": 0.125, "members": 16,
        "similar": SimilarityRule(groups_per_kind=3 if smoke else 20),
    }  # fmt: skip
    models = [PropertyModel(game=game, **settings) for game in (None, "symmetric")]  # type: ignore[arg-type]
    runs = [PropertyFit(model, learned, learned) for model in models]

    def run(i: int) -> None:
        train(runs[i], models[i], progress=False, device="cpu")

    deep, game, theirs = seconds(
        partial(run, 0), partial(run, 1), chemprops_epochs(learned, width, count), repeats=1 if smoke else 5
    )
    what = f"{name}, {len(learned)} molecules, width {width}, depth 3, batches of 32"
    learnings = count * len(learned)
    print(f"  molecules per second: {learnings / deep:.0f}; chemprop {learnings / theirs:.0f}")
    return [
        compared(f"training, epochs without a game: {what}", "chemprop's trainer", deep, theirs, 2, threads=1),
        costs("the same with a game: an eighth plays, 16 members", "no game", game, deep, 2, threads=1),
    ]


def banked_epoch(smoke: bool) -> list[dict[str, Any]]:
    """An epoch with the bank against one without a game, on the dense series."""
    torch.set_num_threads(1)
    learned = nav17().select(range(0, 1017, 20 if smoke else 1))
    settings = {
        "task": "regression", "similar": SimilarityRule(analogs=False), "play": "banked", "width": 16 if smoke else 200,
        "batch_size": 32, "delta": -2,
    }  # fmt: skip
    models = [PropertyModel(game=game, **settings) for game in (None, "symmetric")]  # type: ignore[arg-type]
    runs = [PropertyFit(model, learned, learned) for model in models]

    def epoch(run: PropertyFit) -> None:
        optimizer = torch.optim.Adam(run.network.parameters())
        for batch in torch.arange(run.batches.count).split(32):
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


SECTIONS = (witnesses_in_a_step, epochs, banked_epoch, similarity)

if __name__ == "__main__":
    publish("molecules", SECTIONS)
