import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pellucid.cli import app, reproduce

ROOT = Path(__file__).parents[2]
RUNS = """
import json
from pathlib import Path

def load_config(name, size):
    return {"size": size}

def read_reports(folder):
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
"""
BEARING = """
import json, sys
from pathlib import Path

REPORTS = Path(__file__).parent / "bearing"

def cells(config):
    return [{"name": "deep", **config}]

if __name__ == "__main__":
    size = sys.argv[2]
    print("training", *sys.argv[1:], flush=True)
    print("a warning", file=sys.stderr)
    if size == "paper":
        sys.exit(7)
    (REPORTS / size).mkdir(parents=True)
    (REPORTS / size / "deep.json").write_text(json.dumps({"config": cells({"size": size})[0]}))
"""
RESULTS = """
from pathlib import Path

readme = Path(__file__).parent / "README.md"
text = readme.read_text()
readme.write_text(text.replace("OLD", "Size `cpu`").replace("| none |", "| 8.3 |"))
"""
README = """
<!-- bearing: conditions -->
OLD
<!-- end of bearing: conditions -->
<!-- bearing: table 3 -->
| game | [bold]error |
|---|---|
| **asymmetric** | none |
<!-- end of bearing: table 3 -->
"""


@pytest.fixture
def clone(tmp_path):
    """A clone whose programs do next to nothing."""
    folder = tmp_path / "clone" / "paper"
    folder.mkdir(parents=True)
    for name, text in {"runs": RUNS, "bearing": BEARING, "bearing_results": RESULTS}.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "README.md").write_text(README)
    return tmp_path / "clone"


@pytest.fixture
def call(clone, tmp_path):
    (tmp_path / "data" / "bearing" / "2nd_test").mkdir(parents=True)

    def run(*arguments, data=tmp_path / "data", folder=clone):
        environment = {**os.environ, "PELLUCID_DATA": str(data), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "pellucid.cli", "reproduce", *arguments]
        return subprocess.run(  # noqa: S603
            command, cwd=folder, capture_output=True, text=True, check=False, env=environment
        )

    return run


def test_the_programs_run_and_the_table_is_shown(call, clone):
    (clone / "deeper").mkdir()
    first = call("table3", folder=clone / "deeper")
    assert first.returncode == 0
    assert first.stdout.splitlines() == [
        "$ python -m paper.bearing --size cpu",
        "training --size cpu",
        "$ python -m paper.bearing_results --size cpu",
        "game        [bold]error",
        "asymmetric  8.3",
    ]
    assert first.stderr == "a warning\n"
    second = call("table3", data="")
    assert second.stdout.splitlines() == [
        f"Done before: the reports are in {clone / 'paper' / 'bearing' / 'cpu'}.",
        "",
        "game        [bold]error",
        "asymmetric  8.3",
    ]
    assert call("figure3").stdout.endswith(f"picture: {clone / 'paper' / 'bearing' / 'figure3.png'}\n")
    # Another configuration is another experiment.
    runs = clone / "paper" / "runs.py"
    runs.write_text(runs.read_text().replace('"size": size', '"size": size, "epochs": 2'))
    (clone / "paper" / "bearing" / "cpu" / "deep.json").rename(clone / "deep.json")
    (clone / "paper" / "bearing" / "cpu").rmdir()
    assert "training --size cpu" in call("table3").stdout


def test_a_trial_leaves_the_clone_alone(call, clone):
    before = (clone / "paper" / "README.md").read_text()
    result = call("table3", "--size", "smoke", data="")
    folder = clone / "out" / "reproduce" / "bearing"
    assert result.stdout.splitlines()[1] == f"training --size smoke --out {folder}"
    assert f"reports are in {folder / 'smoke'}" in result.stdout
    assert (clone / "paper" / "README.md").read_text() == before


def test_exit_codes_and_what_is_missing(call):
    assert call("table3", "--size", "paper").returncode == 7
    absent = call("table3", data="")
    assert absent.returncode == 1
    assert absent.stderr == (
        "pellucid: table3 needs the recordings of the bearing test on this computer. Got none; pellucid data get "
        "bearing says how to get them, and --size smoke needs no data.\n"
    )
    wrong = call("table9")
    assert wrong.returncode == 2
    assert "table9" in wrong.stderr


def test_outside_of_a_clone_one_is_told_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "__file__", str(tmp_path / "lib" / "pellucid" / "cli" / "reproduce.py"))
    result = CliRunner().invoke(app, ["reproduce", "table1"])
    assert result.exit_code == 1
    assert f"Got no such folder at or above {tmp_path}; go into a clone" in result.stderr


@pytest.mark.parametrize("arguments", [[], ["--list"], ["table1", "--list"]])
def test_the_list(arguments):
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == 0
    names = re.findall(r"(?m)^(table\d|figure\d) ", result.stdout)
    assert names == [*(f"table{i}" for i in range(1, 5)), *(f"figure{i}" for i in range(1, 8))]


@pytest.mark.parametrize("name", [name for name in reproduce.RESULTS if name != "figure2"])
def test_what_is_committed_is_shown_without_running_anything(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(reproduce, "_run", lambda *_, **__: pytest.fail("something ran"))
    result = CliRunner().invoke(app, ["reproduce", name])
    assert result.exit_code == 0
    assert result.stdout.startswith("Done before")
    known = reproduce.RESULTS[name]
    if known.mark is not None:
        cells = re.findall(r"\d+\.\d+", reproduce.section(ROOT, known.mark))
        assert cells
        assert re.findall(r"\d+\.\d+", result.stdout.partition("\n")[2]) == cells
    for picture in known.pictures:
        assert (ROOT / "paper" / known.study / picture).is_file()
        assert picture in result.stdout


@pytest.mark.parametrize("everyone", [True, False])
def test_ctrl_c_reaches_the_program(clone, everyone, monkeypatch, tmp_path):
    """From a terminal, which tells everyone in the group, and from `kill -INT`, which tells the command alone."""
    (clone / "paper" / "figure2.py").write_text(
        "import time\nfrom pathlib import Path\nprint('begun', flush=True)\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    Path('saved').touch()\n"
    )
    code = (
        "import pellucid.cli.reproduce as r; r._PATIENCE = 0.5; from pellucid.cli import main; "
        "import sys; sys.argv = ['pellucid', 'reproduce', 'figure2']; main()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(  # noqa: S603
        command, cwd=clone, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while process.stdout.readline() != "begun\n":
            pass
        time.sleep(0.2)
        (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Stopped; the same command goes on where it stopped." in errors
    assert (clone / "saved").exists()
