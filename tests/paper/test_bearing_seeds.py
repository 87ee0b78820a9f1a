import json

import numpy as np
import pytest
from paper import bearing, bearing_seeds, runs

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(bearing_seeds.REPORTS / "cpu")
CONFIG = runs.load_config("bearing_seeds", "cpu")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Reports of all cells of the smallest size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bearing, "MODELS", tmp_path_factory.mktemp("models"))
        cells = bearing_seeds.cells(runs.load_config("bearing_seeds", "smoke"))
        origin = {"commit": "0" * 40, "wall_seconds": 1.0}
        yield {cell["name"]: {"config": cell, **bearing_seeds.run(cell), **origin} for cell in cells}


def test_every_cell_runs_in_the_smallest_size(smoke):
    kinds = ("ar", "law", "deep", "asymmetric-0.1", "asymmetric-1", "linear-path", "deep-2-epochs")
    assert set(smoke) == {f"{kind}-seed0" for kind in kinds}
    assert len(smoke["deep-2-epochs-seed0"]["history"]) == 2
    # On the simulated rig the network that begins as the law of the context is better than one that does not.
    assert smoke["linear-path-seed0"]["test"]["error"] < 0.9 * smoke["deep-seed0"]["test"]["error"]
    assert json.dumps(smoke)


def test_the_law_of_the_context_recovers_a_planted_one():
    generator = np.random.default_rng(0)
    x = np.zeros((400, 30, 1))
    x[:, :6, 0] = generator.normal(size=(400, 6))
    for t in range(6, 30):
        x[:, t] = 0.5 * x[:, t - 1] - 0.9 * x[:, t - 5] + 0.01 * generator.normal(size=(400, 1))
    parts = {"train": x[:300], "validation": x[300:350], "test": x[350:]}
    found = bearing_seeds.law({"context": 20, "horizon": 10}, parts)
    assert found["test"]["relative_error_one_step"] < 0.1
    short = bearing_seeds.law({"context": 4, "horizon": 26}, parts)
    assert short["test"]["relative_error_one_step"] > 0.3


def test_differences_are_paired_by_seed():
    def report(kind, seed, error):
        settings = {"seed": seed, **CONFIG}
        rest = {"commit": "a" * 40, "wall_seconds": 3600.0, "sequences": {"train": 1, "test": 1}}
        return f"{kind}-seed{seed}", {"config": settings, "test": {"error": error}, **rest}

    reports = dict([report("deep", 0, 0.080), report("deep", 1, 0.090), report("asymmetric-0.1", 1, 0.089),
                    report("asymmetric-0.1", 0, 0.081), report("law", 1, 0.088)])  # fmt: skip
    rows = [line.split(" | ") for line in bearing_seeds.table(CONFIG, reports).splitlines()]
    game = next(row for row in rows if "GAME, λ = 0.1" in row[0])
    assert game[2] == "8.100, 8.900"
    assert game[4].startswith("+0.000 ± 1.2")  # differences of +0.1 and -0.1
    law = next(row for row in rows if "80 values" in row[0])
    assert law[4] == "-0.200"


def test_claims_rest_on_paired_differences():
    def of(kind, values):
        return {
            f"{kind}-seed{seed}": {"config": {"seed": seed}, "test": {"error": value}}
            for seed, value in enumerate(values)
        }

    reports = {
        **of("deep", [0.0801, 0.0802, 0.0803]),
        **of("asymmetric-0.1", [0.0800, 0.0801, 0.0802]),
        **of("asymmetric-1", [0.0800, 0.0803, 0.0802]),
    }
    found = {claim.text: claim for claim in bearing_seeds.claims(reports)}
    assert found["DEEP's error is at most the paper's 8.136"][1:] == ("8.136", "8.020 ± 0.025", "holds")
    (relative,) = (claim for text, claim in found.items() if "divided by AR's" in text)
    assert relative[1:] == ("0.828", "", "cannot be told")  # AR has not been run
    assert found["λ = 0.1 forecasts better than DEEP"][1:] == ("-0.079", "-0.010 ± 0.000", "holds")
    assert found["λ = 1 forecasts worse than DEEP"].verdict == "cannot be told"
    assert found["DEEP forecasts better than AR"][2:] == ("", "cannot be told")
    assert bearing_seeds.claims({}) == []


def test_the_best_epoch_is_that_of_the_least_validation_loss():
    assert bearing_seeds.best_epoch({"history": [{"validation_loss": v} for v in (3.0, 1.0, 2.0)]}) == 2


def test_the_readme_shows_the_committed_reports():
    for mark, section in bearing_seeds.sections(CONFIG, COMMITTED).items():
        assert runs.read_section(bearing_seeds.README, mark) == section.strip()


def test_committed_reports_say_how_they_came_about():
    for report in COMMITTED.values():
        assert report["commit"]
        assert not report["uncommitted_changes"]
        assert sum(report["sequences"].values()) == 200_736
