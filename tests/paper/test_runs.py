"""What all studies share: cells by name, choices by reports that are there, models that others have trained."""

import pytest
from paper import rate_games, runs, tox21_results


def stages_of(names):
    for name in names:
        yield runs.Stage([{"name": name}], note=f"stage of {name}")


def test_a_pattern_that_fits_no_cell_of_any_stage_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"^Cells must be some of deep, game, or patterns of these names. Got daep.$"):
        runs.run_stages(stages_of(["deep", "game"]), dict, tmp_path, 1, ["daep"])


def test_the_notes_of_stages_without_a_wanted_cell_are_left_out(tmp_path, capsys):
    runs.write_report(tmp_path / "game.json", {"config": {"name": "game"}})
    runs.run_stages(stages_of(["deep", "game"]), dict, tmp_path, 1, ["g*"])
    assert capsys.readouterr().out == "stage of game\ngame: done before\n"


def test_choices_fall_back_on_the_reports_of_the_study(tmp_path):
    for folder, name, value in (("study", "a", 1), ("study", "b", 2), ("elsewhere", "b", 3)):
        runs.write_report(tmp_path / folder / "cpu" / f"{name}.json", {"value": value})
    found = runs.reports_to_choose_by(tmp_path / "elsewhere" / "cpu", tmp_path / "study")
    assert found == {"a": {"value": 1}, "b": {"value": 3}}


def test_a_cell_that_others_have_chosen_is_run_alone_in_an_empty_folder(tmp_path):
    stages = list(rate_games.stages(runs.load_config("rates", "cpu"), tmp_path / "cpu"))
    assert "positional-1-free-10-game-0.4" in [cell["name"] for cell in stages[1].cells]
    with pytest.raises(SystemExit, match="--only 'sweep-\\*' runs them"):
        list(rate_games.stages(runs.load_config("rates", "smoke"), tmp_path / "smoke"))


def test_a_model_that_is_not_there_is_an_error_that_says_how_to_train_it(tmp_path):
    assert runs.saved_model(tmp_path, "") == tmp_path
    with pytest.raises(FileNotFoundError, match="Got none; python -m paper.tox21 --only deep-seed0 trains it."):
        runs.saved_model(tmp_path / "model", "python -m paper.tox21 --only deep-seed0")


def test_a_smoke_run_is_not_written_over_the_tables(capsys, tmp_path):
    with pytest.raises(SystemExit):
        tox21_results.main(["--size", "smoke"])
    assert "invalid choice: 'smoke' (choose from" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="must hold reports. Got none; python -m paper.tox21 --size cpu makes them."):
        runs.require_reports(tmp_path / "cpu", "tox21")
