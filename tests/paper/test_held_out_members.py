import pytest
from paper import held_out_members, runs

pytestmark = pytest.mark.paper


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(held_out_members, "MODELS", tmp_path)
    config = runs.load_config("held_out_members", "smoke")
    (cell,) = held_out_members.cells(config)
    report = held_out_members.run(cell)
    few, many = (report["groups"][str(groups)] for groups in config["groups"])
    assert few["members"] < many["members"]
    rows = held_out_members.table(config, {cell["name"]: report}).splitlines()
    assert len(rows) == 4
    for row, part in zip(rows[2:], (few, many), strict=True):
        shown = [part["contributions"]["test"]["held_out"], part["contributions"]["measured"]]
        assert f"| {shown[0]:.3f} | {shown[1]:.3f} |" in row


def test_the_readme_shows_what_was_measured():
    reports = runs.read_reports(held_out_members.REPORTS / "cpu")
    assert held_out_members.table(runs.load_config("held_out_members", "cpu"), reports) in (
        held_out_members.README.read_text()
    )
