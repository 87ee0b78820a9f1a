"""The package as a whole: light to import, documented by code that runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import run, scale

from pellucid.registry import data_sets

ROOT = Path(__file__).parents[1]
FIND = {data.name: data.find for data in data_sets().values()}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    """The Python of a page, but for what needs data that are not here: `<!-- needs bearing -->` stands before it."""
    found = re.findall(r"(?:<!-- needs (\w+) -->\n)?```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    return [code for needed, code in found if not needed or FIND[needed]() is not None]


@pytest.mark.docs
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_every_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102


@pytest.mark.docs
def test_the_readme_prints_what_it_says(capsys):
    text = (ROOT / "README.md").read_text()
    exec(compile(blocks(ROOT / "README.md")[0], "README.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    (said,) = re.findall(r"```\n(wear = .*?)```", text, flags=re.DOTALL)
    number = r"\d+\.\d+"
    assert re.sub(number, "#", said) == re.sub(number, "#", printed)
    # Processors differ in the last digits.
    numbers = [[float(value) for value in re.findall(number, part)] for part in (said, printed)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02)


def test_there_is_python_to_run():
    assert sum(len(blocks(page)) for page in PAGES) >= 5


def loaded_by(code):
    # At the exit, for commands end the process.
    told = "import atexit, sys; atexit.register(lambda: print(*sys.modules))"
    command = [sys.executable, "-c", f"{told}; {code}"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return {name.partition(".")[0] for name in printed.split()}


@pytest.mark.slow
def test_the_core_leaves_heavy_libraries_alone():
    loaded = loaded_by("import pellucid; [getattr(pellucid, name) for name in pellucid.__all__]")
    assert {"numpy", "torch"} <= loaded
    assert not loaded & {"numba", "scipy", "sklearn", "matplotlib", "rdkit", "lightning", "pandas"}


HEAVY = {"lightning", "chemprop", "pandas", "sklearn", "matplotlib", "joblib"}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_who_asks_a_model_of_molecules_imports_what_that_needs(property_model_folder, data_folder, command, tmp_path):
    rows = (data_folder / "assay.csv").read_text().splitlines()
    (tmp_path / "molecule.csv").write_text("\n".join(rows[:2]))
    loaded = loaded_by_command(command, property_model_folder, tmp_path / "molecule.csv")
    assert "torch" in loaded
    assert not loaded & HEAVY


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_who_asks_a_forecaster_imports_what_that_needs(forecaster_folder, data_folder, command, tmp_path):
    rows = (data_folder / "recordings" / "a.csv").read_text().splitlines()
    header = "bearing 1,bearing 2"  # as the forecaster was trained on
    (tmp_path / "recording.csv").write_text("\n".join([header, *rows[1:61]]))
    loaded = loaded_by_command(command, forecaster_folder, tmp_path / "recording.csv")
    assert "torch" in loaded
    assert not loaded & (HEAVY | {"rdkit"})


def loaded_by_command(*words):
    words = ["pellucid", *map(str, words)]
    return loaded_by(f"import sys; sys.argv = {words!r}; from pellucid.cli import main; main()")


@pytest.mark.slow
def test_molecules_need_no_chemprop(tmp_path):
    """Trained, saved, loaded and explained where it is not installed."""
    code = f"""
import sys
sys.modules["chemprop"] = None  # whoever imports it gets an ImportError
from pellucid.molecules import PropertyModel, SimilarityRule, nav17
table = nav17().select(range(0, 1017, 20))
similar = SimilarityRule(analogs=False)
model = PropertyModel(task="regression", similar=similar, explain_with_analogs=False, width=8, epochs=1)
model.fit(table, progress=False).save({str(tmp_path)!r})
again = PropertyModel.load({str(tmp_path)!r})
assert str(again.explain(table.smiles[3])) == str(model.explain(table.smiles[3]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603


def test_names_are_looked_up_when_they_are_used():
    assert not loaded_by("import pellucid.cli") & {"numpy", "torch", "jinja2"}
    with pytest.raises(AttributeError, match="attribute nonsense"):
        __import__("pellucid").nonsense  # noqa: B018


def test_every_public_name_exists_and_is_sorted():
    import pellucid

    assert sorted(pellucid.__all__) == pellucid.__all__
    for name in pellucid.__all__:
        assert getattr(pellucid, name) is not None


@pytest.mark.parametrize("name", ["core", "molecules", "nearest", "startup"])
def test_the_tables_are_the_benchmarks_that_were_measured(name):
    report = json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())
    assert run.table(report) in (ROOT / "benchmarks" / "README.md").read_text()


def test_the_table_of_sizes_is_what_was_measured():
    report = json.loads((ROOT / "benchmarks" / "scale.json").read_text())
    assert {*report["parts"]} == {*scale.PARTS}
    assert scale.table(report) in (ROOT / "benchmarks" / "README.md").read_text()


def test_the_readme_tells_the_cost_that_was_measured():
    rows = json.loads((ROOT / "benchmarks" / "core.json").read_text())["rows"]
    (cost,) = (r["ratio"] for r in rows if r["name"].endswith(": symmetric") and r["against"] == "no game")
    assert f"costs {cost:.3g} times one without" in (ROOT / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("run", "times faster"),
        ("molecules", "times faster"),
        ("nearest", "times the cost"),
        ("startup", "s of processor time"),
        ("scale", "processor time"),
        ("devices", "times the cost"),
        ("faithfulness", "held-out neighbors"),
    ],
)
def test_the_benchmarks_run(name, unit):
    command = [sys.executable, "-m", f"benchmarks.{name}", "--smoke"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout  # noqa: S603
    assert unit in printed
