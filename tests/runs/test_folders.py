"""The folder of a run."""

import json

import pytest

from pellucid import InputError, summaries
from pellucid.runs.folders import (
    CHECKPOINTS,
    check_folder,
    digest,
    load_reading,
    open_folder,
    same_test_data,
    save_reading,
)
from pellucid.series.domain import SeriesDomain
from pellucid.summaries import DataSummary, RunSummary


def test_a_folder_belongs_to_one_run(tmp_path):
    folder = tmp_path / "new" / "run"
    check_folder(folder, resume=False)
    assert not folder.exists()
    with pytest.raises(InputError, match="must be an interrupted run to resume. Got none in .*without `resume=True`"):
        check_folder(folder, resume=True)
    open_folder(folder, resume=False)
    check_folder(folder, resume=False)  # nothing has begun
    (folder / CHECKPOINTS / "game").mkdir()
    (folder / CHECKPOINTS / "game" / "identity.json").write_text("{}")
    check_folder(folder, resume=True)
    with pytest.raises(InputError, match="must hold no other run. Got .*resume that run with `resume=True`, or"):
        open_folder(folder, resume=False)


def test_finished_runs_and_files_are_left_alone(tmp_path):
    (tmp_path / summaries.FILE).write_text("{}")
    with pytest.raises(InputError, match="must hold no other run"):
        check_folder(tmp_path, resume=False)
    with pytest.raises(InputError, match="A run is a folder. Got .*, which is a file; choose another .*`out`"):
        check_folder(tmp_path / summaries.FILE, resume=False)


def test_files_are_read_again_as_they_were(tmp_path):
    domain = SeriesDomain()
    reading = domain.Reading(decimal=",", channels=("left", "right"))
    save_reading(tmp_path, reading)
    (tmp_path / "game").mkdir()
    assert load_reading(domain, tmp_path, {}) == reading
    assert load_reading(domain, tmp_path / "game", {"decimal": None}) == reading
    assert load_reading(domain, tmp_path, {"decimal": "."}).decimal == "."
    assert load_reading(domain, tmp_path / "game" / "elsewhere", {}) == domain.Reading()
    content = json.loads((tmp_path / "reading.json").read_text())
    (tmp_path / "reading.json").write_text(json.dumps(content | {"unheard": 1}))
    with pytest.raises(InputError, match="reading.json must be as it was written. Got something else: .*unheard"):
        load_reading(domain, tmp_path, {})


def test_test_data_are_the_same_in_any_order():
    assert digest([b"a", b"b", b"b"]) == digest(iter([b"b", b"a", b"b"]))
    assert len({digest(items) for items in ([], [b"ab"], [b"a", b"b"], [b"a", b"b", b"b"])}) == 4
    one, other, old = (RunSummary(kind="series", data=DataSummary(test_digest=text)) for text in ("x", "y", None))
    assert same_test_data(one, one) is True
    assert same_test_data(one, other) is False
    assert same_test_data(one, old) is None
