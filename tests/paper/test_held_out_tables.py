import json

import pytest
import torch
from paper import held_out_tables, runs

README = runs.ROOT / "paper" / "README.md"
pytestmark = pytest.mark.paper

COMMITTED = runs.read_reports(held_out_tables.REPORTS / "cpu")


def test_the_study_runs():
    config = {**runs.load_config("held_out_tables", "smoke"), "data": ["diabetes"], "members": ["sampled"]}
    reports = {cell["name"]: held_out_tables.run(cell) for cell in held_out_tables.cells(config)}
    assert len(reports) == 5
    assert reports["diabetes-deep-seed0"]["rows"] == {"train": 265, "validation": 89, "test": 88}
    rows = held_out_tables.table_of(config, "diabetes", reports).splitlines()
    assert f"| {reports['diabetes-deep-seed0']['error']['test']:.3f} |" in rows[2]


def test_sampled_rows_lie_between_the_row_and_a_neighbor():
    cell = {"data": "diabetes", "seed": 0, "split": [0.6, 0.2, 0.2], "neighbors": 5, "most": 12}
    table = held_out_tables.read(cell)
    x, hoods = held_out_tables.neighborhoods(cell, table, "test", "sampled")
    rows, train = table.x[table.parts["test"]], table.x[table.parts["train"]]
    assert set(hoods.sizes.tolist()) == {13}
    for i, row in enumerate(rows):
        near = train[torch.cdist(row[None], train)[0].argsort()[:5]]
        points = x[hoods.members_of(i)]
        assert torch.equal(points[0], row)
        assert torch.allclose(points[1:6], near)
        low, high = torch.minimum(row, near), torch.maximum(row, near)
        inside = ((points[6:, None] >= low - 1e-12) & (points[6:, None] <= high + 1e-12)).all(-1)
        assert bool(inside.any(1).all())


def test_a_training_row_is_no_neighbor_of_its_own():
    cell = {"data": "breast cancer", "seed": 1, "split": [0.6, 0.2, 0.2], "neighbors": 5, "most": 12}
    x, hoods = held_out_tables.neighborhoods(cell, held_out_tables.read(cell), "train", "given")
    for i in range(len(hoods)):
        points = x[hoods.members_of(i)]
        assert len(torch.unique(points, dim=0)) == len(points) == 13


def test_the_readme_shows_what_was_measured():
    config = runs.load_config("held_out_tables", "cpu")
    for data in config["data"]:
        assert held_out_tables.table_of(config, data, COMMITTED) in README.read_text()


def test_the_committed_reports_are_of_the_committed_configuration():
    cells = held_out_tables.cells(runs.load_config("held_out_tables", "cpu"))
    assert {cell["name"] for cell in cells} == set(COMMITTED)
    for cell in cells:
        assert COMMITTED[cell["name"]]["config"] == json.loads(json.dumps(cell))
