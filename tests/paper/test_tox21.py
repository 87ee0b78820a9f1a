import json

import numpy as np
import pytest
from paper import runs, tox21, tox21_results

from pellucid.molecules import PropertyModel

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(tox21.REPORTS / "cpu")
CONFIG = runs.load_config("tox21", "smoke")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Reports of all cells of the smallest size, in the order in which they are run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tox21, "MODELS", tmp_path_factory.mktemp("models"))
        origin = {"versions": {"torch": "?"}, "commit": "?", "wall_seconds": 1.0}
        reports = {cell["name"]: {"config": cell, **tox21.run(cell), **origin} for cell in tox21.first_cells(CONFIG)}
        choice = tox21.chosen(CONFIG, reports)
        for cells in (tox21.second_cells, tox21.last_cells):
            reports |= {cell["name"]: {"config": cell, **tox21.run(cell), **origin} for cell in cells(CONFIG, choice)}
        yield json.loads(json.dumps(reports))


def test_every_cell_runs_in_the_smallest_size(smoke):
    assert set(smoke) == {
        "deep-seed0", "symmetric-0.2-seed0", "uniform-0.1-seed0", "tree-seed0", "symmetric-0.2-delta-1-seed0",
        "variation-deep-seed0", "variation-symmetric-0.2-seed0", "variation-uniform-0.1-seed0", "figure1-seed0",
        "local-deep-seed0", "local-symmetric-0.2-seed0", "local-uniform-0.1-seed0",
    }  # fmt: skip
    assert smoke["deep-seed0"]["molecules"] == {"train": 102, "validation": 13, "test": 13}
    assert set(smoke["deep-seed0"]["test_by_delta"]) == {"0", "-1"}
    assert 0 <= smoke["tree-seed0"]["test"]["accuracy"] <= 1


def test_the_saved_models_are_those_that_were_measured(smoke):
    cell = smoke["deep-seed0"]["config"]
    model = PropertyModel.load(tox21.MODELS / "smoke" / "deep-seed0" / "model")
    scores = model.evaluate(tox21.parts_of(cell)["test"], delta=-1)
    for measure, values in smoke["deep-seed0"]["test_by_delta"]["-1"]["each"].items():
        assert scores.to_dict()["each"][measure] == pytest.approx(values, rel=1e-5)


def test_tables_and_figures_come_from_reports(smoke):
    study = tox21_results.Study(CONFIG, smoke)
    texts = tox21_results.sections(study)
    assert f"{smoke['uniform-0.1-seed0']['test']['local_auc']:.3f}" in texts["tox21: table 1"]
    assert f"{smoke['symmetric-0.2-delta-1-seed0']['test']['global_auc']:.3f}" in texts["tox21: table 2"]
    assert "(chosen)" in texts["tox21: sweep"]
    for draw in tox21_results.figures(study).values():
        assert draw().axes


def test_what_the_validation_set_chooses():
    config = {"seeds": [0], "weights": [1, 2, 3], "margins": [5, 6], "tolerance": 0.01, "uniform_tolerance": 0.1}

    def report(accuracy, global_auc=0.0, local_auc=0.0):
        return {"validation": {"accuracy": accuracy, "global_auc": global_auc, "local_auc": local_auc}}

    reports = {
        "deep-seed0": report(0.80),
        "symmetric-1-seed0": report(0.82, 0.90),
        "symmetric-2-seed0": report(0.795, 0.95),
        "symmetric-3-seed0": report(0.70, 0.99),  # too inaccurate
        "uniform-5-seed0": report(0.60, local_auc=0.9),  # none is within the tolerance: the better one
        "uniform-6-seed0": report(0.65, local_auc=0.8),
    }
    assert tox21.chosen(config, reports) == {"weight": 2, "margin": 6}


def test_shapes_of_trees_are_counted_right():
    from paper.tox21_figure1 import shape

    class Tree:
        depth = 2
        nodes = {  # noqa: RUF012
            "feature": np.array([4, -1, 7, -1, -1]),
            "left": np.array([1, -1, 3, -1, -1]),
            "right": np.array([2, -1, 4, -1, -1]),
            "size": np.array([10, 4, 6, 1, 5]),
        }

    assert shape(Tree) == {"depth": 2, "nodes": 5, "larger_side": pytest.approx((6 / 10 + 5 / 6) / 2)}


def test_the_readme_shows_what_was_measured():
    study = tox21_results.Study(runs.load_config("tox21", "cpu"), COMMITTED)
    for mark, section in tox21_results.sections(study).items():
        assert runs.read_section(tox21_results.README, mark) == section.strip()


def test_the_committed_reports_are_of_the_committed_configuration():
    config = runs.load_config("tox21", "cpu")
    choice = tox21.chosen(config, COMMITTED)
    cells = [*tox21.first_cells(config), *tox21.second_cells(config, choice), *tox21.last_cells(config, choice)]
    assert {cell["name"] for cell in cells} == set(COMMITTED)
    for cell in cells:
        assert COMMITTED[cell["name"]]["config"] == json.loads(json.dumps(cell))
