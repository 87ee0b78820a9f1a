import copy
import json
import subprocess
import sys

import numpy as np
import pytest
from paper import bearing, bearing_results, runs, throughput

from pellucid.series import Forecaster

pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(bearing.REPORTS / "cpu")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Reports of all cells of the smallest size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bearing, "MODELS", tmp_path_factory.mktemp("models"))
        cells = bearing.cells(runs.load_config("bearing", "smoke"))
        yield {cell["name"]: {"config": cell, **bearing.run(cell)} for cell in cells}


def test_every_cell_runs_in_the_smallest_size(smoke):
    assert set(smoke) == {"ar", "deep", "asymmetric-1", "symmetric-1", "radius-19"}
    for name, report in smoke.items():
        assert report["sequences"] == {"train": 170, "validation": 10, "test": 20}
        assert report["test"]["error"] > 0
        assert (report["test"]["deviation"] > 0) == (name != "ar")
    assert smoke["radius-19"]["test"]["variation"] < 1e-9
    json.dumps(smoke)


def test_figures_are_drawn_from_reports(smoke, tmp_path):
    for kind in ("generated", "forced"):
        figure = bearing_results.coefficients({**smoke, "asymmetric-10": smoke["asymmetric-1"]}, kind)
        titles = [axis.get_title("left").partition(":")[0] for axis in figure.axes[1:4]]
        assert titles == ["DEEP", "GAME, λ = 1", "GAME, λ = 10"]
        figure.savefig(tmp_path / f"{kind}.svg")


def test_the_saved_models_are_those_that_were_measured(smoke):
    cell = smoke["deep"]["config"]
    model = Forecaster.load(bearing.MODELS / "smoke" / "deep" / "model")
    scores = model.evaluate(bearing.sequences(cell)["test"])
    assert scores.error == pytest.approx(smoke["deep"]["test"]["error"], rel=1e-6)


def test_saved_models_can_be_measured_again(smoke, tmp_path):
    cell = smoke["deep"]["config"]
    runs.write_report(tmp_path / "deep.json", {**smoke["deep"], "commit": "of the training", "test": None})
    bearing.measure_again(cell, tmp_path)
    report = json.loads((tmp_path / "deep.json").read_text())
    assert report["commit"] == "of the training"
    assert report["test"] == pytest.approx(smoke["deep"]["test"], rel=1e-6)


def test_the_autoregression_recovers_a_planted_law():
    generator = np.random.default_rng(0)
    x = np.zeros((400, 30, 1))
    x[:, :2, 0] = generator.normal(size=(400, 2))
    for t in range(2, 30):
        x[:, t] = 1.6 * x[:, t - 1] - 0.9 * x[:, t - 2]
    cell = {"order": 2, "context": 20, "horizon": 10, "ridge": 1e-6}
    found = bearing.autoregression(cell, {"train": x[:300], "validation": x[300:350], "test": x[350:]})
    assert found["test"]["error"] < 1e-6


def test_the_grid_is_the_papers():
    cells = {cell["name"]: cell for cell in bearing.cells(runs.load_config("bearing", "cpu"))}
    assert len(cells) == 2 + 8 + 6
    for names in (bearing_results.game_cells("symmetric"), bearing_results.radius_cells()):
        assert set(names) <= set(cells)
    assert cells["symmetric-10"]["weight"] == 100
    assert cells["radius-5"] == {**cells["asymmetric-1"], "name": "radius-5", "radius": 5}
    assert cells["deep"]["game"] is None


def test_the_command_leaves_reports_and_does_nothing_twice(tmp_path):
    command = [
        sys.executable,
        "-m",
        "paper.bearing",
        "--size",
        "smoke",
        "--only",
        "ar",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=runs.ROOT).stdout  # noqa: S603
        for _ in range(2)
    )
    assert "ar: " in first
    assert "(1 of 1" in first
    assert second == "ar: done before\n"
    report = json.loads((tmp_path / "smoke" / "ar.json").read_text())
    assert set(report) >= {"config", "sequences", "test", "versions", "commit", "machine", "wall_seconds"}


def test_throughput_is_measured_for_all_four_ways():
    results = throughput.measure(rounds=2, width=8, batch_size=4)
    assert list(results) == ["no game", "asymmetric", "symmetric, direct sum", "symmetric, consensus"]
    assert results["no game"]["share_of_no_game"] == 1
    assert all(row["sequences_per_second"] > 0 for row in results.values())


def test_the_readme_shows_the_committed_reports():
    speed = json.loads((bearing.REPORTS / "throughput.json").read_text())
    for mark, section in bearing_results.sections(COMMITTED, bearing_results.other_seeds("cpu"), speed).items():
        assert runs.read_section(bearing_results.README, mark) == section.strip()


def test_committed_reports_say_how_they_came_about():
    assert len(COMMITTED) == 16
    for report in COMMITTED.values():
        assert report["commit"]
        assert not report["uncommitted_changes"]
        assert report["config"]["share"] == 1
        assert sum(report["sequences"].values()) == 200_736


def test_a_claim_that_does_not_hold_is_called_so():
    found = [claim for claim in bearing_results.claims(published()) if "13 to 19" not in claim.text]
    assert len(found) == 14
    for claim in found:
        assert claim.verdict == "holds in one run"
        assert claim.ours.replace("0.0e+00", "0.000") == claim.paper
    broken = published()
    broken["symmetric-10"]["test"]["deviation"] = 0.05
    verdicts = {claim.text: claim.verdict for claim in bearing_results.claims(broken)}
    assert verdicts["Deviation falls with λ, symmetric"] == "**does not hold** in one run"
    assert verdicts["Deviation falls with λ, asymmetric"] == "holds in one run"
    # Three seeds tell no difference of 0.01.
    broken["asymmetric-0.1"]["test"]["error"] = broken["deep"]["test"]["error"] - 1e-4
    verdicts |= {claim.text: claim.verdict for claim in bearing_results.claims(broken)}
    assert verdicts["Error at λ = 0.1 is below that at λ = 0, asymmetric"] == "cannot be told"
    (agreement,) = (verdict for text, verdict in verdicts.items() if "nearly agree" in text)
    assert agreement == "**does not hold** in one run"


def test_offsets_are_compared_with_all_parameters():
    laws = [[[1.0, 2.0], [3.0, -4.0], [0.0, 0.0]]]  # one position, an offset and two coefficients, two channels
    example = {"parameters": laws, "names": ["offset", "a[t]", "b[t]"]}
    assert bearing_results.offset_share({"examples": {"generated": [example]}}) == pytest.approx(0.3)


def published():
    """Reports with the numbers that the paper prints."""
    reports = {"ar": {"test": {"error": bearing_results.AR_ERROR / 100, "deviation": 0.0, "variation": 0.0}}}
    for game, measures in bearing_results.TABLE3.items():
        for i, cell in enumerate(bearing_results.game_cells(game)):
            reports[cell] = {"test": {name: values[i] / 100 for name, values in measures.items()}}
    for i, cell in enumerate(bearing_results.radius_cells()):
        if cell != "asymmetric-1":
            reports[cell] = {"test": {name: values[i] / 100 for name, values in bearing_results.FIGURE7.items()}}
    return copy.deepcopy(reports)
