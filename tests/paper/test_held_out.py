import json
import re

import numpy as np
import pytest
import torch
from paper import held_out, runs

import pellucid as pl

pytestmark = pytest.mark.paper

COMMITTED = {name: runs.read_reports(held_out.REPORTS / name) for name in held_out.SECTIONS}


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(held_out, "MODELS", tmp_path)
    config = runs.load_config("held_out", "smoke")
    cells = held_out.cells(config)
    assert [cell["name"] for cell in cells] == [
        "deep-seed0",
        "contributions-held-out-given-1-seed0",
        "contributions-in-sample-given-1-seed0",
        "tree-held-out-given-1-seed0",
        "tree-in-sample-given-1-seed0",
    ]
    reports = {cell["name"]: held_out.run(cell) for cell in cells[:2]}
    assert reports["deep-seed0"]["molecules"] == {"train": 814, "validation": 101, "test": 102}
    rows = held_out.table(config, reports).splitlines()
    assert len(rows) == 4
    deep, game = (report["rmse"]["test"] for report in reports.values())
    assert f"| {deep:.3f} |" in rows[2]
    assert f"| {game:.3f} ({deep:.3f}) | {game - deep:+.3f} |" in rows[3]


def test_shares_are_those_of_a_loop_over_members():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 2, generator=generator, dtype=torch.float64)
    f = x[:, :1] + 0.3 * torch.randn(30, 1, generator=generator, dtype=torch.float64)
    hoods = pl.nearest(x, k=9)
    family = pl.LinearFamily(ridge=0.5)
    misses, spread = 0.0, 0.0
    gaps = []
    for members in hoods.members.reshape(30, 9):
        for member in members:
            others = members[members != member]
            hood = pl.Neighborhoods(others, torch.tensor([0, 8]), others[:1], 30)
            gaps.append(float(f[member] - family.best_response(x, f, hood)[0](x[member][None])))
            misses += gaps[-1] ** 2
            spread += float(f[member] - f[others].mean()) ** 2
    shares = held_out.shares(f, x, hoods, family)
    assert shares["held_out"] == pytest.approx(1 - misses / spread)
    assert shares["gap"] == pytest.approx(np.quantile(np.abs(gaps), 0.9))


@pytest.mark.parametrize("size", held_out.SECTIONS)
def test_the_readme_shows_what_was_measured(size):
    table = held_out.table(runs.load_config("held_out", size), COMMITTED[size])
    if COMMITTED[size]:
        assert table in held_out.README.read_text()


@pytest.mark.parametrize("size", held_out.SECTIONS)
def test_the_committed_reports_are_of_the_committed_configuration(size):
    cells = {cell["name"]: cell for cell in held_out.cells(runs.load_config("held_out", size))}
    assert set(COMMITTED[size]) <= set(cells)
    for name, report in COMMITTED[size].items():
        assert report["config"] == json.loads(json.dumps(cells[name]))
        assert re.fullmatch("[0-9a-f]{40}", report["commit"])


def test_the_frontier_has_a_point_for_each_model_with_all_seeds():
    config = runs.load_config("held_out", "cpu")
    reports = COMMITTED["cpu"]
    (axes,) = held_out.frontier(config, reports).axes
    names = {name.rpartition("-seed")[0] for name in reports}
    whole = [name for name in names if all(f"{name}-seed{seed}" in reports for seed in config["seeds"])]
    assert len(axes.lines) == len(whole) > 0
    (deep,) = (line for line in axes.lines if line.get_label() == "DEEP")
    assert deep.get_xdata()[0] == pytest.approx(np.mean([reports[f"deep-seed{s}"]["rmse"]["test"] for s in range(3)]))
