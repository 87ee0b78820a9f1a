"""Settings that suit a table of molecules."""

import numpy as np
from blockers import blockers

from pellucid.molecules.presets import density, settings_for, task_of


def test_a_dense_series_needs_no_analogs():
    table = blockers()
    assert density(table.smiles) > 0.95
    assert not settings_for(table.smiles, "symmetric")["similar"].analogs
    strangers = ["CCO", "c1ccccc1", "CC(=O)O", "NCC(=O)O", "C1CCCCC1"]
    assert density(strangers) == 0
    assert settings_for(strangers, "symmetric")["similar"].analogs
    assert settings_for(table.smiles, "uniform")["play"] == "fresh"


def test_labels_are_told_from_values():
    assert task_of(np.array([[0.0, np.nan], [1.0, 1.0]])) == "classification"
    assert task_of(np.array([[0.0], [2.0]])) == "regression"
