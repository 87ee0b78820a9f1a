"""`python -m paper`: what is committed is shown, what is missing runs, what is wrong is said."""

import re
from importlib import import_module

import pytest
from paper import __main__ as paper
from paper import runs
from paper.runs import Stage, finished, matching, read_reports, read_section, run_stages, write_report

pytestmark = pytest.mark.paper


@pytest.mark.parametrize("name", [name for name in paper.RESULTS if name != "figure2"])
def test_what_is_committed_is_shown_without_running_anything(name, monkeypatch, capsys):
    result = paper.RESULTS[name]
    for module in (result.study, f"{result.study}_results"):
        study = paper.import_module(f"paper.{module}")
        monkeypatch.setattr(study, "main", lambda *_: pytest.fail("something ran"))
    paper.main([name])
    printed = capsys.readouterr().out
    assert printed.startswith("Done before")
    if result.mark is not None:
        cells = re.findall(r"\d+\.\d+", read_section(paper.README, result.mark))
        assert cells
        assert re.findall(r"\d+\.\d+", printed.partition("\n")[2]) == cells
    for picture in result.pictures:
        assert (paper.ROOT / "paper" / result.study / picture).is_file()
        assert picture in printed


def test_without_a_name_everything_is_listed(capsys):
    paper.main([])
    names = re.findall(r"(?m)^ *(table\d|figure\d) ", capsys.readouterr().out)
    assert names == [*(f"table{i}" for i in range(1, 5)), *(f"figure{i}" for i in range(1, 8))]


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        paper.main(["table9"])
    assert "table9" in capsys.readouterr().err


def test_a_trial_writes_no_report_of_the_study(monkeypatch, capsys, tmp_path):
    calls = []
    monkeypatch.setattr(paper.import_module("paper.bearing"), "main", calls.append)
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    paper.main(["table3", "--size", "smoke"])
    folder = tmp_path / "out" / "reproduce" / "bearing"
    assert calls == [["--size", "smoke", "--out", str(folder)]]
    assert f"reports are in {folder / 'smoke'}" in capsys.readouterr().out


def test_missing_data_are_said_before_anything_runs(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paper, "finished", lambda *_: False)
    with pytest.raises(SystemExit, match="1"):
        paper.main(["table3"])
    assert "table3 needs the recordings of the bearing test on this computer. Got none" in capsys.readouterr().err


def test_after_ctrl_c_one_is_told_how_to_go_on(monkeypatch, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(paper, "reproduce", stopped)
    with pytest.raises(SystemExit, match="130"):
        paper.main(["table3"])
    assert "the same command goes on where it stopped" in capsys.readouterr().err


def double(cell):
    return {"twice": 2 * cell["value"]}


def test_stages_read_the_reports_of_those_before_and_are_asked_no_further_than_finished(tmp_path):
    def stages():
        yield Stage([{"name": "first", "value": 3}], alone=True)
        yield Stage([{"name": "second", "value": read_reports(tmp_path)["first"]["twice"]}])

    assert not finished(stages(), tmp_path)
    run_stages(stages(), double, tmp_path, 1)
    assert finished(stages(), tmp_path)
    write_report(tmp_path / "first.json", {"config": {"name": "first", "value": 4}, "twice": 8})
    assert not finished(stages(), tmp_path)  # another configuration is another experiment


def test_cells_are_chosen_by_name_or_pattern(tmp_path):
    cells = [{"name": name} for name in ("deep-seed0", "deep-seed1", "tree-seed0")]
    assert matching(cells, None) == cells
    assert matching(cells, ["tree-seed0"]) == cells[2:]
    assert matching(cells, ["deep-*", "tree-seed1"]) == cells[:2]
    with pytest.raises(SystemExit, match=r"deep-seed0, deep-seed1, tree-seed0, or patterns .* Got game-\*\."):
        matching(cells, ["game-*"])
    run_stages([Stage(cells[:1]), Stage(cells[1:])], double_name, tmp_path, 1, ["*-seed0"])
    assert sorted(read_reports(tmp_path)) == ["deep-seed0", "tree-seed0"]


def double_name(cell):
    return {"twice": 2 * cell["name"]}


STUDIES = (
    "bearing bearing_seeds expo held_out held_out_members held_out_series held_out_tables moses rate_games rates "
    "samples tox21"
)


@pytest.mark.parametrize("study", STUDIES.split())
def test_every_study_can_be_asked_for_some_of_its_cells(study, capsys):
    with pytest.raises(SystemExit, match="0"):
        import_module(f"paper.{study}").main(["--help"])
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--size", "--jobs", "--only", "--out"))


def test_only_the_study_itself_writes_its_readme(monkeypatch, capsys):
    written = []
    monkeypatch.setattr("paper.runs.write_section", lambda *section: written.append(section))
    reports = runs.ROOT / "paper" / "rates"
    for words in (["--out", "elsewhere"], ["--size", "smoke"], []):
        assert not written
        runs.show({"rates: table": "| 1 |"}, runs.study_parser(None, reports).parse_args(words), reports)
    assert written == [(runs.ROOT / "paper" / "README.md", "rates: table", "| 1 |")]
    assert capsys.readouterr().out == 3 * "| 1 |\n\n"


def test_what_is_missing_is_named():
    cells = [{"name": name} for name in ("first", "second", "third")]
    assert runs.not_run(cells, {"second": {}}) == " Not run yet: `first`, `third`."
    assert runs.not_run(cells, {"first": {}, "second": {}, "third": {}}) == ""
