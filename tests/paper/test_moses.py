import json

import pytest
from paper import moses, moses_results, runs

from pellucid.molecules.vae import JunctionTreeVAE

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(moses.REPORTS / "cpu")
CONFIG = runs.load_config("moses", "smoke")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Reports of all cells of the smallest size, in the order in which they are run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moses, "MODELS", tmp_path_factory.mktemp("models"))
        origin = {"versions": {"torch": "?"}, "commit": "?", "wall_seconds": 1.0}
        reports = {}
        for cell in [moses.tree_cell(CONFIG), *moses.train_cells(CONFIG)]:
            reports[cell["name"]] = {"config": cell, **moses.run(cell), **origin}
        for cell in [*moses.measure_cells(CONFIG, moses.chosen(CONFIG, reports)), *moses.speed_cells(CONFIG)]:
            reports[cell["name"]] = {"config": cell, **moses.run(cell), **origin}
        yield json.loads(json.dumps(reports))


def test_every_cell_runs_in_the_smallest_size(smoke):
    trained, timed = ("deep", "game-0.1", "free0"), ("speed-8", "speed-16")
    tested = ("test-deep", "test-game-0.1")
    assert set(smoke) == {"trees", *(f"train-{name}" for name in trained), *tested, *timed}
    assert smoke["trees"]["reassembled"] == 1
    assert smoke["trees"]["not_reassembled"] == []
    assert smoke["train-deep"]["molecules"] == 300
    assert smoke["train-free0"]["config"]["free"] == 0
    for name in tested:
        assert smoke[name]["validity"] == 1
        assert smoke[name]["molecules"] + smoke[name]["rejected_count"] == 20
        assert 0 <= smoke[name]["splits_outside_scaffold"] <= 1


def test_the_saved_models_are_those_that_were_measured(smoke):
    model = JunctionTreeVAE.load(moses.MODELS / "smoke" / "train-game-0.1" / "model")
    scores = model.evaluate(moses.corpus(True, "test", 20), seed=0)
    assert scores.deviation == pytest.approx(smoke["test-game-0.1"]["deviation"], rel=1e-5)
    assert scores.tree.mean == pytest.approx(smoke["test-game-0.1"]["tree"]["elbo"], rel=1e-5)


def test_tables_and_figures_come_from_reports(smoke):
    study = moses_results.Study(CONFIG, smoke)
    texts = {mark: make(study) for mark, make in moses_results.SECTIONS.items()}
    assert f"{smoke['test-game-0.1']['deviation']:.2f}" in texts["moses: table 4"]
    assert f"{smoke['test-deep']['tree']['elbo']:.2f}" in texts["moses: terms"]
    assert "GAME, λ = 0.1 |" in texts["moses: sweep"]
    assert "all of them" in texts["moses: speed"]
    assert moses_results.figure4(smoke["test-game-0.1"]).axes


def test_what_the_validation_set_chooses():
    def report(*losses):
        return {"history": [{"validation_loss": loss} for loss in losses]}

    reports = {
        "train-deep": report(30, 20, 21),
        "train-game-1": report(19.9),
        "train-game-2": report(25, 20.05),
        "train-game-3": report(20.2),
    }
    assert moses.chosen({"weights": [1, 2, 3], "tolerance": 0.1}, reports) == 2
    assert moses.chosen({"weights": [3], "tolerance": 0.1}, reports) == 3


@pytest.mark.parametrize(
    ("smiles", "atoms"),
    [("Cc1ccccc1", {1, 2, 3, 4, 5, 6}), ("C1CC1CCC1CC1", set(range(8))), ("CCCO", set()), ("C1CC1CC", {0, 1, 2})],
)
def test_scaffolds_are_rings_and_what_joins_them(smiles, atoms):
    assert moses.scaffold_atoms(smiles) == atoms


def test_the_readme_shows_what_was_measured():
    study = moses_results.Study(runs.load_config("moses", "cpu"), COMMITTED)
    for mark, make in moses_results.SECTIONS.items():
        assert runs.read_section(moses_results.README, mark) == make(study).strip()


def test_the_committed_reports_are_of_the_committed_configuration():
    config = runs.load_config("moses", "cpu")
    weight = moses.chosen(config, COMMITTED)
    cells = [moses.tree_cell(config), *moses.train_cells(config), *moses.measure_cells(config, weight)]
    cells += moses.speed_cells(config)
    assert {cell["name"] for cell in cells} == set(COMMITTED)
    for cell in cells:
        assert COMMITTED[cell["name"]]["config"] == json.loads(json.dumps(cell))
