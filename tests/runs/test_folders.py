"""The folder of a run."""

import json

import pytest

from pellucid import InputError, summaries
from pellucid.runs import occupied
from pellucid.runs.folders import (
    check_folder,
    digest,
    load_reading,
    opened,
    same_test_data,
    save_reading,
)
from pellucid.runs.occupied import CHECKPOINTS
from pellucid.series.domain import SeriesDomain
from pellucid.summaries import DataSummary, RunSummary


def test_a_folder_belongs_to_one_run(tmp_path):
    folder = tmp_path / "new" / "run"
    check_folder(folder, resume=False)
    assert not folder.exists()
    with pytest.raises(InputError, match="must be an interrupted run to resume. Got none in .*without `resume=True`"):
        check_folder(folder, resume=True)
    with opened(folder, resume=False):
        (folder / CHECKPOINTS / "game").mkdir()
        (folder / CHECKPOINTS / "game" / "identity.json").write_text("{}")
        assert occupied.is_begun(folder)
        occupied.require_free(folder, force=False)  # nothing was learned
        for resume in (True, False):
            with pytest.raises(InputError, match="used by one run at a time. Got .*, where another one is at work"):
                check_folder(folder, resume=resume)
            with pytest.raises(
                InputError, match="used by one run at a time. Got .*, where another one is at work; wait"
            ):
                opened(folder, resume=resume).__enter__()
    assert not folder.exists()  # nothing was learned, so nothing is left
    assert folder.parent.exists()
    with opened(folder, resume=False):
        (folder / CHECKPOINTS / "game").mkdir()
        (folder / CHECKPOINTS / "game" / "identity.json").write_text("{}")
        (folder / CHECKPOINTS / "game" / "last.ckpt").write_bytes(b"PK")
    refusal = "must hold no other run. Got .*resume that run with `resume=True`, replace it with `force=True`, or"
    with pytest.raises(InputError, match=refusal):
        opened(folder, resume=False).__enter__()
    with pytest.raises(InputError, match="either resumed or replaced: `resume=True` or `force=True`. Got both"):
        check_folder(folder, resume=True, force=True)
    with opened(folder, resume=False, force=True):
        assert not any(folder.glob(f"{CHECKPOINTS}/*"))


def test_finished_runs_and_files_are_left_alone(tmp_path):
    summaries.write(tmp_path, RunSummary(kind="series"))
    with pytest.raises(InputError, match="must hold no other run. Got .*; replace it with `force=True`, or"):
        check_folder(tmp_path, resume=False)
    check_folder(tmp_path, resume=False, force=True)
    with pytest.raises(InputError, match="A run has a folder of its own. Got .*, the folder of the data"):
        check_folder(tmp_path, resume=False, force=True, data=tmp_path / "." / "")
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
    with pytest.raises(InputError, match="must be as it was written. Got .*reading.json.*no option .unheard"):
        load_reading(domain, tmp_path, {})


def test_test_data_are_the_same_in_any_order():
    assert digest([b"a", b"b", b"b"]) == digest(iter([b"b", b"a", b"b"]))
    assert len({digest(items) for items in ([], [b"ab"], [b"a", b"b"], [b"a", b"b", b"b"])}) == 4
    one, other, old = (RunSummary(kind="series", data=DataSummary(test_digest=text)) for text in ("x", "y", None))
    assert same_test_data(one, one) is True
    assert same_test_data(one, other) is False
    assert same_test_data(one, old) is None
