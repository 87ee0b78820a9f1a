"""Forecasters that are saved and loaded."""

import json

import numpy as np
import pytest
from series.small_forecasters import RIG

from pellucid import InputError
from pellucid.series import Forecaster


def test_a_saved_forecaster_comes_back(trained, tmp_path):
    trained.save(tmp_path / "model")
    again = Forecaster.load(tmp_path / "model")
    context = RIG.values[0][:12]
    np.testing.assert_array_equal(again.explain(context).parameters, trained.explain(context).parameters)
    assert again.channels_ == trained.channels_
    assert again.history_ == trained.history_
    assert repr(again) == repr(trained)
    assert {path.name for path in (tmp_path / "model").iterdir()} == {"forecaster.json", "network.safetensors"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: {**c, "format": 99}, "format must be 1. Got 99, written by Pellucid"),
        (lambda c: {**c, "scale": [1.0]}, "scale has the shape .1,., not 3"),
        (lambda c: {**c, "scale": [0.0, 1, 1]}, "scale has values outside of 1e-100 to 1e.100"),
        (lambda c: {**c, "settings": {**c["settings"], "width": 9}}, "size mismatch"),
        (lambda c: {**c, "settings": {**c["settings"], "colour": 1}}, "colour"),
        (lambda c: {k: v for k, v in c.items() if k != "shift"}, "where something is not: 'shift'"),
        (lambda c: [c], "must be as they were saved"),
    ],
)
def test_damaged_models_are_not_loaded(trained, tmp_path, change, message):
    trained.save(tmp_path)
    content = json.loads((tmp_path / "forecaster.json").read_text())
    (tmp_path / "forecaster.json").write_text(json.dumps(change(content)))
    with pytest.raises(InputError, match=message):
        Forecaster.load(tmp_path)


def test_broken_files_are_not_loaded(trained, tmp_path):
    trained.save(tmp_path)
    (tmp_path / "network.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="must be as they were saved"):
        Forecaster.load(tmp_path)
    with pytest.raises(InputError, match="which is a file"):
        trained.save(tmp_path / "forecaster.json")


def test_other_folders_are_not_loaded(trained, tmp_path):
    with pytest.raises(InputError, match="without forecaster.json; pass the folder that `save` wrote"):
        Forecaster.load(tmp_path)


def test_bounds_survive_saving(trusted, tmp_path):
    trusted.save(tmp_path / "model")
    again = Forecaster.load(tmp_path / "model")
    rows = RIG.values[0][:12]
    np.testing.assert_array_equal(again.explain(rows).bound, trusted.explain(rows).bound)
