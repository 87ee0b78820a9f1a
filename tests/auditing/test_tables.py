import json

import numpy as np
import pytest
import torch

from pellucid import InputError, _capacity
from pellucid.auditing.files import to_dict
from pellucid.auditing.reading import read_predictions, require_room
from pellucid.auditing.tables import audit_predictions
from pellucid.comparing import CANDIDATES
from pellucid.tables import read_table
from pellucid.witnesses import refitted
from pellucid.witnesses.refitted import RefittedWitnesses


@pytest.fixture
def table(tmp_path):
    generator = np.random.default_rng(0)
    x = generator.uniform(size=(60, 2))
    rows = np.column_stack([x, np.sin(4 * x[:, 0]) + x[:, 1], generator.normal(size=60)])
    path = tmp_path / "a.csv"
    np.savetxt(path, rows, delimiter=",", header="speed,load,prediction_a,prediction_b", comments="")
    return read_predictions(path)


def test_it_is_a_record_that_prints_and_writes_itself(table, tmp_path):
    result = audit_predictions(table, neighbors=15, ridge=0.5)
    assert (result.family, result.ridge, result.choice) == ("linear", 0.5, None)
    assert result.neighborhoods == "the 15 nearest rows in standardized features"
    assert str(result) == result.text()
    assert "60 neighborhoods: the 15 nearest rows in standardized features; linear witnesses\n" in str(result)
    assert result.audit.text() in str(result)
    for name in ("a.html", "a.json", "a.csv"):
        result.write(tmp_path / name)
    content = json.loads((tmp_path / "a.json").read_text())
    assert [row["row"] for row in content["rows"]] == list(range(2, 62))
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 61
    assert "prediction_b" in (tmp_path / "a.html").read_text()
    with pytest.raises(InputError, match="must end in .html, .json, .csv, .parquet. Got a.pdf"):
        result.write(tmp_path / "a.pdf")


@pytest.mark.parametrize("settings", [{"ridge": 0.5}, {"depth": 2}])
def test_files_of_very_many_rows_are_written_in_parts_and_are_the_same(table, settings, tmp_path, monkeypatch):
    names = ("a.json", "a.csv", "a.parquet")
    for folder in ("whole", "parts"):
        (tmp_path / folder).mkdir()
        result = audit_predictions(table, neighbors=15, **settings)
        assert isinstance(result.audit.witnesses, RefittedWitnesses) == (folder == "parts")
        for name in names:
            result.write(tmp_path / folder / name)
        assert json.loads((tmp_path / folder / "a.json").read_text()) == json.loads(json.dumps(to_dict(result)))
        monkeypatch.setattr(refitted, "KEPT", 100)
        monkeypatch.setattr(refitted, "ENTRIES", 200)
    for name in names[1:]:
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    parts, whole = (json.loads((tmp_path / folder / "a.json").read_text()) for folder in ("parts", "whole"))
    assert parts["rows"] == whole["rows"]  # means of all rows are sums in another order
    assert read_table(tmp_path / "whole" / "a.parquet").header == read_table(tmp_path / "whole" / "a.csv").header


def test_a_table_that_memory_cannot_hold_is_refused_before_it_is_read(table, tmp_path, monkeypatch):
    audit_predictions(table, neighbors=15, ridge=0.5).write(tmp_path / "a.parquet")
    monkeypatch.setattr(_capacity, "available_memory", lambda: 1e4)
    for name in ("a.csv", "a.parquet"):
        message = f"The audit of {name} needs about 0 MB of memory.*Got 0 MB; audit a sample of its rows"
        with pytest.raises(InputError, match=message):
            require_room(tmp_path / name)
    monkeypatch.undo()
    require_room(tmp_path / "a.csv")
    require_room(tmp_path / "missing.csv")  # for whoever reads it to refuse


def test_what_is_not_asked_for_is_chosen(table):
    result = audit_predictions(table)
    assert result.choice is not None
    assert result.ridge == result.choice.best.ridge
    assert len(result.audit.witnesses.hoods.members_of(0)) == result.choice.best.neighbors
    assert result.audit.judges is result.choice.others
    assert audit_predictions(table, depth=1, neighbors=10).family == "tree"


def test_in_python_parameters_are_called_by_their_names(table):
    text = audit_predictions(table, neighbors=60, ridge=0.0).text()
    assert "take fewer `neighbors`, or more rows" in text
    assert "--" not in text


def test_errors_of_each_output_are_those_of_its_members(table):
    audit = audit_predictions(table, neighbors=12, ridge=0.0).audit
    for i in (0, 17):
        members = audit.witnesses.hoods.members_of(i)
        gaps = table.f[members] - audit.witnesses[i](table.x[members]).numpy()
        np.testing.assert_allclose(audit.rmse_by_output[i], np.sqrt(np.square(gaps).mean(0)))


@pytest.mark.parametrize(
    ("settings", "parameter", "message"),
    [
        ({"ridge": 1.0, "depth": 2}, "depth", "`depth` is for trees, and `ridge` for linear witnesses. Got both"),
        ({"ridge": 1.0, "family": "tree"}, "ridge", "`ridge` is for linear witnesses. Got `family='tree'`"),
        ({"depth": 1, "family": "constant"}, "depth", "`depth` is for tree witnesses"),
        ({"family": "forest"}, "family", "must be linear, tree, constant or auto. Got 'forest'"),
        ({"threshold": 1.0}, "threshold", "`threshold` must be between 0 and 1. Got 1"),
        ({"level": 2.0}, "level", "`level` must be a confidence between 0 and 1. Got 2.0"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(table, settings, parameter, message):
    with pytest.raises(InputError, match=message) as refused:
        audit_predictions(table, **settings)
    assert refused.value.parameter == parameter


@pytest.mark.slow
def test_auto_compares_families_and_tells_so(table, tmp_path):
    result = audit_predictions(table, family="auto", neighbors=15)
    comparison = result.audit.comparison
    assert [score.name for score in comparison.scores] == list(CANDIDATES)
    assert result.family == comparison.best.name
    assert comparison.text() in result.text()
    result.write(tmp_path / "audit.json")
    content = json.loads((tmp_path / "audit.json").read_text())
    assert content["audit"]["families"] == [score.to_dict() for score in comparison.scores]
    chosen = audit_predictions(table, family="auto")  # the number of neighbors, too
    assert torch.equal(chosen.audit.judges, chosen.choice.others)
    assert not set(chosen.audit.comparison.used.tolist()) & set(chosen.choice.others.tolist())
    with pytest.raises(InputError, match="`ridge` is for linear witnesses"):
        audit_predictions(table, family="auto", ridge=1.0)
