"""The study of games at two rates."""

import numpy as np
import pytest
import scipy
from paper import rate_games, rates
from paper.runs import load_config

pytestmark = pytest.mark.paper

CONFIG = load_config("rates", "cpu")


def swept(**losses):
    """Reports of the sweep with these validation losses, by rate and weight."""
    return {
        cell["name"]: {"validation": {"loss": losses[f"{'paper' if cell['free'] else 'use'}_{cell['weight']:g}"]}}
        for cell in rate_games.sweep_cells({**CONFIG, "sweeps": SWEEPS})
    }


SWEEPS = [{"kl_weight": 1.0, "free": 10.0, "weights": [1, 2]}, {"kl_weight": 0.005, "free": 0.0, "weights": [3, 4]}]


def test_the_largest_weight_that_costs_little_is_chosen_and_the_best_if_all_cost_much():
    reports = swept(paper_0=20.0, paper_1=20.05, paper_2=20.09, use_0=2.0, use_3=2.2, use_4=2.3)
    assert rate_games.chosen({**CONFIG, "sweeps": SWEEPS}, reports) == [2, 3]
    reports = swept(paper_0=20.0, paper_1=19.0, paper_2=20.2, use_0=2.0, use_3=2.05, use_4=2.05)
    assert rate_games.chosen({**CONFIG, "sweeps": SWEEPS}, reports) == [1, 4]


def test_cells_come_in_the_order_of_their_importance_and_share_what_is_trained():
    cells = rate_games.compared_cells(CONFIG, [0.001, 0.1])
    assert [(cell["free"], cell["weight"], cell["held_out_game"], cell["seed"]) for cell in cells] == [
        (0, 0, False, 0), (0, 0.001, False, 0), (10, 0, False, 0), (10, 0.1, False, 0), (0, 0.001, True, 0),
        (0, 0, False, 1), (0, 0.001, False, 1), (10, 0, False, 1), (10, 0.1, False, 1), (10, 0.1, True, 0),
    ]  # fmt: skip
    assert len({cell["name"] for cell in cells}) == len(cells)
    shared = [cell for cell in rates.cells(CONFIG) if cell in cells]
    assert [cell["name"] for cell in shared] == ["positional-0.005-free-0", "positional-1-free-10"]


def test_a_small_study_runs_and_says_what_was_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(rates, "MODELS", tmp_path)
    config = load_config("rates", "smoke")
    swept, compared = rate_games.stages(config, tmp_path), {}
    for cell in next(swept).cells:
        compared[cell["name"]] = rate_games.run(cell)
        assert {"loss", "elbo", "tree_elbo", "held_out_deviation"} <= set(compared[cell["name"]]["validation"])
    cells = rate_games.compared_cells(config, rate_games.chosen(config, compared))
    deep, game = cells[0], cells[4]
    assert (deep["game"], game["held_out_game"]) == (None, True)
    for cell in (deep, game):
        compared[cell["name"]] = rate_games.run(cell)
    text = rate_games.text(config, compared)
    for cell in (deep, game):
        trees = compared[cell["name"]]["trees"]
        assert f"{rate_games.title(cell)} | 0 | trees | {trees['tree']['topology']:.2f} |" in text
    gaps = np.subtract(*(compared[cell["name"]]["each"]["held_out_deviation"] for cell in (game, deep)))
    (row,) = [line for line in text.splitlines() if line.count("|") == 8 and "GAME, held out" in line][:1]
    half = scipy.stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / len(gaps) ** 0.5
    assert row.endswith(f" {gaps.mean():+.2f} ± {half:.2f} |")
    assert all(len({line.count("|") for line in part.splitlines()}) == 1 for part in text.split("\n\n"))


def test_without_reports_it_says_so():
    assert rate_games.text(CONFIG, {}) == "Not run yet."
