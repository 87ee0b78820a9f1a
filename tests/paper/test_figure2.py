import json
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest
import torch
from paper import figure2

pytestmark = pytest.mark.paper


@pytest.fixture(scope="module")
def reproduced():
    return figure2.reproduce()


def test_all_three_predictors_have_the_same_error_to_three_digits(reproduced):
    _, _, fits = reproduced
    assert len({f"{fit.mse:.3f}" for fit in fits}) == 1


def test_the_page_shows_the_numbers_that_are_printed(reproduced):
    page = (Path(figure2.__file__).parent / "README.md").read_text()
    for line in figure2.table(reproduced[2]).splitlines()[2:]:
        name, _, weight, error, linear, stumps = re.split(r"\s{2,}", line)
        row = next(row for row in page.splitlines() if row.startswith(f"| {name} |")).replace("*", "")
        assert [cell.strip() for cell in row.split("|")[3:6]] == [error, linear, stumps]
        assert float(row.split("|")[2]) == float(weight)


def test_each_game_deviates_least_from_its_own_family(reproduced):
    deep, linear, stump = reproduced[2]
    assert linear.deviations["linear"] < 0.5 * min(deep.deviations["linear"], stump.deviations["linear"])
    assert stump.deviations["stump"] < 0.5 * min(deep.deviations["stump"], linear.deviations["stump"])


def test_the_linear_game_ends_at_the_minimum_of_its_objective(reproduced):
    x, y, (_, fit, _) = reproduced
    basis = figure2.hat_basis(x, fit.pieces)
    columns = torch.cat([torch.ones_like(x), x], dim=1)
    outside = torch.eye(len(x), dtype=x.dtype) - columns @ torch.linalg.pinv(columns)
    # min |B k - y|^2 + weight |outside B k|^2, as one least-squares problem.
    stacked = torch.cat([basis, fit.weight**0.5 * outside @ basis])
    exact = torch.linalg.lstsq(stacked, torch.cat([y, torch.zeros_like(y)])).solution
    torch.testing.assert_close(basis @ fit.knots, basis @ exact, atol=1e-4, rtol=0)


def test_the_script_writes_both_figures(tmp_path):
    command = [sys.executable, figure2.__file__, "--smoke", "--out", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert "deviation from linear" in printed
    assert matplotlib.image.imread(tmp_path / "figure2.png").std() > 0.05  # something is drawn
    assert (tmp_path / "figure2.svg").read_text().startswith("<?xml")
    saved = json.loads((tmp_path / "figure2.json").read_text())
    assert [p["witness"] and p["witness"]["kind"] for p in saved["predictors"]] == [None, "linear", "tree"]


def test_the_hat_basis_interpolates():
    x = torch.rand(50, 1, dtype=torch.float64)
    knots = torch.linspace(0, 1, 6, dtype=torch.float64)[:, None]
    torch.testing.assert_close(figure2.hat_basis(x, 5) @ (3 * knots - 1), 3 * x - 1)
