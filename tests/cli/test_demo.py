"""`pellucid demo`: a run from data to report."""

import pytest
from cli.runner import run

from pellucid import runs

pytestmark = pytest.mark.slow


def test_the_demo_ends_with_its_report(tmp_path):
    words = ["demo", "--size", "smoke", "--quiet", "-o", tmp_path / "demo"]
    run(*words)
    (tmp_path / "demo" / "notes.txt").write_text("mine")
    assert "replace it with --force" in run(*words, code=1).stderr
    shown = run(*words, "--force").stdout
    assert (tmp_path / "demo" / "notes.txt").read_text() == "mine"
    assert shown.splitlines()[-1].startswith(f"report:   {tmp_path / 'demo' / 'report.html'}")
    assert (tmp_path / "demo" / "report.html").exists()
    assert "with 90 % confidence the law is within activity" in shown
    assert "<svg" in (tmp_path / "demo" / "molecule.svg").read_text()


def test_an_interrupted_demo_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt("Training was stopped. Resume with `folder='x', resume=True`.")

    monkeypatch.setattr(runs, "train", interrupted)
    result = run("demo", "--size", "smoke", "--quiet", "-o", tmp_path / "demo", code=130)
    assert result.stderr.strip() == "pellucid: Stopped. To start over, run the command again with --force."


def test_the_demo_spares_the_runs_of_others(place):
    before = (place / "run" / "summary.json").read_text()
    error = run("demo", "--size", "smoke", "--quiet", "-o", place / "run", code=1).stderr
    assert "must hold no other run" in error
    (place / "run" / ".demo").touch()  # a mark, as earlier versions left it, says nothing
    run("demo", "--size", "smoke", "--quiet", "-o", place / "run", code=1)
    (place / "run" / ".demo").unlink()
    assert (place / "run" / "summary.json").read_text() == before
