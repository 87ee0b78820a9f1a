"""Runs on molecules: how tables are split, and what is measured."""

import numpy as np
import pytest
from pellucid.molecules.run_measures import measures, scores_of
from pellucid.molecules.runs import density, parts_of, settings_for, task_of
from rdkit.Chem.Scaffolds import MurckoScaffold

from pellucid import InputError
from pellucid.molecules import PropertyModel, nav17, prepare
from pellucid.molecules.scores import PropertyScores
from pellucid.molecules.tasks import Task
from pellucid.trust import HeldOut


def test_a_split_by_scaffold_keeps_ring_systems_together():
    table = nav17()
    parts = parts_of(table, 0, "scaffold")
    places = np.concatenate(list(parts.values()))
    assert sorted(places.tolist()) == list(range(len(table)))
    rings = [{MurckoScaffold.MurckoScaffoldSmiles(smiles=table.smiles[i]) for i in part} for part in parts.values()]
    assert not rings[0] & rings[1]
    assert not rings[0] & rings[2]
    assert not rings[1] & rings[2]
    assert len(parts["test"]) == pytest.approx(102, abs=3)
    with pytest.raises(InputError, match="Got 1, which leave nothing for"):
        parts_of(prepare([f"c1ccccc1{'C' * k}" for k in range(20)]), 0, "scaffold")
    with pytest.raises(InputError, match='`split` must be "random" or "scaffold"'):
        parts_of(table, 0, "time")


def test_a_dense_series_needs_no_analogs():
    table = nav17()
    assert density(table.smiles) > 0.95
    assert not settings_for(table.smiles, "symmetric")["similar"].analogs
    strangers = ["CCO", "c1ccccc1", "CC(=O)O", "NCC(=O)O", "C1CCCCC1"]
    assert density(strangers) == 0
    assert settings_for(strangers, "symmetric")["similar"].analogs
    assert settings_for(table.smiles, "uniform")["play"] == "fresh"


def test_labels_are_told_from_values():
    assert task_of(np.array([[0.0, np.nan], [1.0, 1.0]])) == "classification"
    assert task_of(np.array([[0.0], [2.0]])) == "regression"


def test_errors_of_several_units_are_not_pooled():
    table = prepare(["CCO", "CCN", "CCC"], [[1.0, 100.0], [2.0, 300.0], [3.0, np.nan]], targets=["a", "b"])
    model = PropertyModel(task="regression")
    model.task_ = Task(kind="regression", shift=np.array([2.0, 100.0]), scale=np.ones(2))
    scores = PropertyScores(
        targets=("a", "b"), measure="RMSE", loss=0.0, accuracy=np.array([0.5, 100.0]), witness_accuracy=np.ones(2),
        local_auc=np.ones(2), global_auc=np.ones(2), variations=np.zeros(3), explained=1.0, sizes=np.array([1, 2, 1]),
    )  # fmt: skip
    left = HeldOut(*[np.zeros((0, 1, 2))] * 3, np.ones(2))
    found = scores_of(scores, model, table, left)
    # Always predicting the mean misses a by sqrt(2/3) and b by sqrt(200^2 / 2).
    assert found["relative_error"] == pytest.approx((0.5 / np.sqrt(2 / 3) + 100 / np.sqrt(2e4)) / 2)
    assert found["accuracy of b"] == 100.0
    assert found["deviation"] is found["explained"] is found["global_auc"] is None  # nobody has neighbors
    titles = [row["title"] for row in measures("RMSE", table)]
    assert titles[:3] == ["relative error", "RMSE: a", "RMSE: b"]
    assert "RMSE of the network" not in titles
