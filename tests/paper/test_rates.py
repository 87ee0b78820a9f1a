"""The study of what a nat may cost."""

import pytest
from paper import rates
from paper.runs import load_config

pytestmark = pytest.mark.paper


def test_cells_differ_in_the_price_alone():
    cells = rates.cells(load_config("rates", "cpu"))
    assert (1.0, 10.0) in [(cell["kl_weight"], cell["free"]) for cell in cells]
    varied = ("name", "positional", "kl_weight", "free", "molecules")
    first, *others = ({key: value for key, value in cell.items() if key not in varied} for cell in cells)
    assert all(other == first for other in others)


def test_a_small_one_runs_and_its_table_has_what_was_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(rates, "MODELS", tmp_path)
    config = load_config("rates", "smoke")
    cell = rates.cells(config)[0]
    report = rates.run(cell)
    assert [path.name for path in (tmp_path / "smoke" / cell["name"]).iterdir()] == ["model"]
    bound = report["bound"]
    said = bound["topology"] + bound["labels"] + bound["assembly"]
    assert bound["elbo"] == pytest.approx(said - bound["kl"], rel=1e-6)
    head, _, row, *_ = rates.table(config, {cell["name"]: report}).splitlines()
    assert head.count("|") == row.count("|")
    assert row.startswith(
        f"| positional | 200 | 0.005 | 0 | {bound['elbo']:.2f} | {bound['kl']:.1f} | {100 * report['from_means']:.1f} %"
    )


def test_what_came_back():
    assert rates.share_of(["C", "CC", "CCC", "CO"], ["C", "CC", "CCO", "OC"]) == 0.5


def test_a_table_without_rows_says_so():
    assert rates.table(load_config("rates", "cpu"), {}) == "Not run yet."


def test_molecules_are_chosen_from_the_whole_file(monkeypatch, tmp_path):
    texts = ["C" * n for n in range(1, 31)]
    (tmp_path / "train.csv").write_text("\n".join(["SMILES", *texts]))
    monkeypatch.setattr("pellucid.molecules.moses", lambda part: tmp_path / f"{part}.csv")
    first, other = (rates.corpus(False, "train", 12, seed) for seed in (0, 1))
    found = [[one.smiles(i) for i in range(len(one))] for one in (first, other)]
    assert all(len(set(part)) == 12 and set(part) <= set(texts) for part in found)
    assert set(found[0]) != set(found[1])
    assert max(map(len, found[0])) > 12
