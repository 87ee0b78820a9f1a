import json

import numpy as np
import pytest
import torch
from paper import runs, tox21, tox21_claims, tox21_measures, tox21_results
from paper.tox21_models import NOT_RUN, Study

from pellucid.molecules import PropertyModel

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(tox21.REPORTS / "cpu")
CONFIG = runs.load_config("tox21", "smoke")
GAMES = ("symmetric-0.2", "held-out-0.1", "contributions-0.3")
PLAYED = {f"{name}-play-1-8-seed0" for name in ("symmetric-0.2", "contributions-0.3")}
LAST = {"symmetric-0.2-delta-1-seed0", "uniform-0.1-rate-10-8-seed0", "figure1-seed0", "pool-seed0", *PLAYED}


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Reports of all cells of the smallest size, in the order in which they are run."""
    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tox21, "MODELS", tmp_path_factory.mktemp("models"))
        for stage in tox21.stages(CONFIG, folder):
            for cell in stage.cells:
                path = folder / f"{cell['name']}.json"
                if not path.exists():
                    origin = {"versions": {"torch": "?"}, "commit": "?", "wall_seconds": 1.0}
                    runs.write_report(path, {"config": cell, **tox21.run(cell), **origin})
        yield runs.read_reports(folder)


def test_every_cell_runs_in_the_smallest_size(smoke):
    names = ("deep", "tree", *GAMES, "uniform-0.1", "uniform-0.1-rate-10-4")
    assert set(smoke) == {f"{name}-seed{seed}" for name in names for seed in (0, 1)} | LAST
    assert smoke["deep-seed0"]["molecules"] == {"train": 102, "validation": 13, "test": 13}
    assert set(smoke["deep-seed0"]["global_auc_by_delta"]) == {"0", "-1"}
    assert smoke["deep-seed0"]["global_auc_by_delta"]["0"] == smoke["deep-seed0"]["test"]["trees"]["global_auc"]
    assert len(smoke["deep-seed0"]["training"]["variations"]) <= CONFIG["watched"]
    assert 0 <= smoke["tree-seed0"]["test"]["trees"]["accuracy"] <= 1


def test_the_models_of_a_seed_are_paired(smoke):
    assert {report["config"]["seed"] for name, report in smoke.items() if name.endswith("seed1")} == {1}
    configs = [smoke[f"{name}-seed1"]["config"] for name in ("deep", "symmetric-0.2", "contributions-0.3")]
    for key in ("split", "width", "depth", "epochs", "batch_size", "learning_rate"):
        assert len({str(config[key]) for config in configs}) == 1


def test_the_saved_models_are_those_that_were_measured(smoke):
    cell = smoke["deep-seed0"]["config"]
    model = PropertyModel.load(tox21.MODELS / "smoke" / "deep-seed0" / "model")
    test = tox21.parts_of(cell)["test"]
    scores, left_out = model.evaluate_held_out(test)
    reported = smoke["deep-seed0"]["test"]["trees"]
    for measure, values in reported["each"].items():
        assert scores.to_dict()["each"][measure] == pytest.approx(values, rel=1e-5)
    assert reported["held_out"] == pytest.approx(np.nanmean(left_out.explained()), rel=1e-5)


def test_the_uniform_game_starts_from_deep(smoke):
    cell = smoke["uniform-0.1-seed1"]["config"]
    deep = PropertyModel.load(tox21.MODELS / "smoke" / "deep-seed1" / "model").network_
    for ours, theirs in zip(tox21.network_of(cell).parameters(), deep.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    trained = tox21.load(cell, cell["name"]).network_
    assert not all(torch.equal(a, b) for a, b in zip(trained.parameters(), deep.parameters(), strict=True))


def test_every_model_is_read_by_its_cell(smoke):
    cell = smoke["contributions-0.3-seed0"]["config"]
    assert tox21.load(cell, cell["name"]).witness == "contributions"
    assert tox21.load(cell, cell["name"]).held_out_game


def test_variations_of_training_neighborhoods_are_those_of_the_model(smoke):
    cell = smoke["deep-seed0"]["config"] | {"watched": 10_000}
    model = tox21.load(cell, cell["name"])
    texts = tox21.parts_of(cell)["train"].smiles
    found = tox21_measures.training(cell, model)["variations"]
    expected = model.evaluate(texts, np.zeros((len(texts), 2)))
    assert found == pytest.approx(expected.variations[expected.sizes > 2], rel=2e-2, abs=1e-6)


def test_pairs_within_the_bound_do_not_count():
    from pellucid.neighborhoods import Neighborhoods
    from pellucid.witnesses import ConstantFamily

    class Bound:
        def bound(self, deviations, level, sizes):
            return np.full(deviations.shape, self.value)

    hoods = Neighborhoods(torch.arange(4), torch.tensor([0, 4]), torch.tensor([0]), 4)
    witnesses = ConstantFamily().best_response(torch.zeros(4, 1), torch.tensor([[0.0], [1.0], [2.0], [4.0]]), hoods)
    for value, share in ((0.0, 1.0), (1.5, 4 / 6), (3.0, 1 / 6)):
        bound = Bound()
        bound.value = value
        found = tox21_measures.far_pairs(witnesses, bound)
        assert found["far_pairs"] == pytest.approx(share)
        assert found["far_auc"] == 0  # a constant orders nothing
    assert found["bound"] == 3.0
    assert found["bounded"] == 1.0


def test_tables_and_figures_come_from_reports(smoke):
    study = Study(CONFIG, smoke)
    texts = tox21_results.sections(study)
    mean = np.mean([smoke[f"uniform-0.1-seed{seed}"]["test"]["trees"]["local_auc"] for seed in (0, 1)])
    assert f"{mean:.3f}" in texts["tox21: table 1"]
    assert f"{smoke['symmetric-0.2-delta-1-seed0']['test']['trees']['global_auc']:.3f}" in texts["tox21: table 2"]
    assert "(chosen)" in texts["tox21: sweep"]
    assert "real molecules" in texts["tox21: local"]
    assert NOT_RUN not in texts.values()
    for draw in tox21_results.figures(study).values():
        assert draw().axes


@pytest.mark.parametrize("missing", ["", "uniform", "symmetric", "seed1", "deep", "tree"])
def test_tables_come_from_as_many_cells_as_are_finished(smoke, missing):
    some = {name: report for name, report in smoke.items() if missing and missing not in name}
    study = Study(CONFIG, some)
    assert set(tox21_results.sections(study)) == set(tox21_results.sections(Study(CONFIG, smoke)))
    for draw in tox21_results.figures(study).values():
        assert draw().axes


def test_an_interrupted_study_goes_on(smoke, tmp_path):
    for name, report in smoke.items():
        runs.write_report(tmp_path / f"{name}.json", report)
    assert runs.finished(tox21.stages(CONFIG, tmp_path), tmp_path)
    (tmp_path / "held-out-0.1-seed1.json").unlink()
    assert not runs.finished(tox21.stages(CONFIG, tmp_path), tmp_path)


def test_a_game_that_starts_from_deep_is_trained_by_one_command(monkeypatch, tmp_path):
    monkeypatch.setattr(tox21, "MODELS", tmp_path)
    uniform = tox21.uniform_cell(CONFIG, 0, 0.1)
    network = tox21.network_of(uniform)
    deep = PropertyModel.load(tmp_path / "smoke" / "deep-seed0" / "model")
    assert all(map(torch.equal, network.state_dict().values(), deep.network_.state_dict().values()))


def test_some_seeds_are_run_alone(tmp_path):
    # Without the first seed no margin is chosen; the strict games have their own.
    cells = [cell for stage in tox21.stages(CONFIG, tmp_path, [1]) for cell in stage.cells]
    assert {cell["seed"] for cell in cells} == {1}
    strict = [cell["name"] for cell in tox21.strict_cells(CONFIG, 1)]
    assert [cell["name"] for cell in cells if cell["game"] == "uniform"] == strict == ["uniform-0.1-rate-10-4-seed1"]


def test_what_the_validation_sets_choose():
    config = {"seeds": [0, 1], "weights": [1, 2, 3], "margins": [5, 6], "tolerance": 0.01, "uniform_tolerance": 0.1}

    def report(accuracy, global_auc=0.0, local_auc=0.0):
        scores = {"accuracy": accuracy, "global_auc": global_auc, "local_auc": local_auc}
        return {"validation": {"trees": scores}}

    reports = {
        "deep-seed0": report(0.80),
        "symmetric-1-seed0": report(0.82, 0.90),
        "symmetric-2-seed0": report(0.795, 0.95),
        "symmetric-3-seed0": report(0.70, 0.99),  # too inaccurate
        "uniform-5-seed0": report(0.60, local_auc=0.9),  # none is within the tolerance: the better one
        "uniform-6-seed0": report(0.65, local_auc=0.8),
        "deep-seed1": report(0.80),
        "symmetric-1-seed1": report(0.80, 0.90),
        "symmetric-2-seed1": report(0.75, 0.95),
    }
    # The second seed lacks a weight and does not count.
    assert tox21.chosen_weight(config, reports) == 2
    assert tox21.chosen_margin(config, reports) == 6
    reports["symmetric-3-seed1"] = report(0.70, 0.99)
    assert tox21.chosen_weight(config, reports) == 1
    del reports["uniform-6-seed0"]
    assert tox21.chosen_margin(config, reports) is None
    assert tox21.chosen_weight(config, {}) is None


def test_verdicts_follow_the_interval():
    above, around = np.array([0.02, 0.021, 0.022]), np.array([-0.004, 0.001, 0.003])
    assert tox21_claims.verdict(above) == "holds"
    assert tox21_claims.verdict(-above) == "**does not hold**"
    assert tox21_claims.verdict(around) == "cannot be told"
    assert tox21_claims.verdict(around, least=-0.02) == "holds"
    assert tox21_claims.verdict(above[:1]) == "cannot be told"


def test_the_game_that_is_held_against_the_aims_is_chosen_on_validation():
    def report(accuracy, auc, held_out):
        return {family: {"accuracy": accuracy, "global_auc": auc, "held_out": held_out}
                for family in ("trees", "contributions")}  # fmt: skip

    config = {**CONFIG, "seeds": [0], "weights": [0.2], "held_out": [0.1], "contributions": []}
    tempting = {"validation": report(0.5, 0.5, 0.2), "test": report(0.9, 0.99, 0.9)}
    better = {"validation": report(0.9, 0.99, 0.9), "test": report(0.85, 0.98, 0.3)}
    deep = {"validation": report(0.9, 0.9, 0.2), "test": report(0.9, 0.9, 0.2)}
    reports = {"deep-seed0": deep, "symmetric-0.2-seed0": tempting, "held-out-0.1-seed0": better}
    for aim in tox21_claims.aims(Study(config, reports)):
        assert aim.ours == "trees, held out, λ = 0.1: 0.850, 0.980, 1.50 times (1 seed)"
        assert aim.verdict == "**does not hold**"


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
    study = Study(runs.load_config("tox21", "cpu"), COMMITTED)
    for mark, section in tox21_results.sections(study).items():
        assert runs.read_section(tox21_results.README, mark) == section.strip()


def test_the_committed_reports_are_of_the_committed_configuration():
    config = runs.load_config("tox21", "cpu")
    cells = {}
    for stage in tox21.stages(config, tox21.REPORTS / "cpu"):
        cells |= {cell["name"]: cell for cell in stage.cells}
    assert set(COMMITTED) <= set(cells)
    for name, report in COMMITTED.items():
        assert report["config"] == json.loads(json.dumps(cells[name]))
