"""A disk that is full: the old file stays, and the error names the file."""

import ctypes
import os

import pytest
import torch
from fuzz.children import full, in_child
from toy import CurveDomain, CurveExplanation
from training.small_fits import run as train_small

from pellucid import registry, runs, summaries
from pellucid.cli import command_line
from pellucid.domains import Source
from pellucid.summaries import RunSummary
from pellucid.writing import write_bytes, write_rows, write_text

pytestmark = pytest.mark.slow
OLD = b"old"


def check(folder, name, write, limit=1):
    path = folder / name
    path.write_bytes(OLD)
    answer = in_child(lambda: write(path), full(limit))
    assert answer.startswith("OSError: [Errno 27]"), answer
    assert str(path) in answer
    assert "draft" not in answer
    assert path.read_bytes() == OLD
    assert os.listdir(folder) == [name]
    path.unlink()


@pytest.mark.parametrize(
    ("name", "write"),
    {
        "a.csv": lambda path: write_rows(path, [["a"] * 100]),
        "a.txt": lambda path: write_text(path, "x" * 100),
        "a.bin": lambda path: write_bytes(path, b"x" * 100),
        "e.csv": lambda path: CurveExplanation(1.0, "y = x").to_csv(path),
        "e.json": lambda path: CurveExplanation(1.0, "y = x").to_json(path),
        "e.html": lambda path: CurveExplanation(1.0, "y = x").to_html(path),
        "summary.json": lambda path: summaries.write(path.parent, RunSummary(kind="curves")),
        "report.html": lambda path: CurveDomain().write_report(RunSummary(kind="curves"), path),
    }.items(),
)
def test_the_old_file_stays(tmp_path, name, write, tally):
    check(tmp_path, name, write)
    tally("full disks", 1, 1).add(0, "used")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    x = torch.linspace(-1, 1, 300)
    domain = CurveDomain()
    settings = domain.Settings(epochs=1, game="none")
    runs.train(domain, Source(torch.stack([x, x**2], 1)), settings, folder, title="curve", progress=False)
    return folder


def test_the_old_model_stays(run, tmp_path, tally):
    counts = tally("full disks", 3, 3)
    model = CurveDomain().load(run / "deep")
    model.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for limit in (1, 200, max(map(len, before.values())) - 1):
        answer = in_child(lambda: model.save(tmp_path), full(limit))
        assert answer.startswith("OSError: [Errno 27]"), answer
        assert str(tmp_path) in answer
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        counts.add(limit, "used")


def test_a_training_resumes_when_there_is_space_again(tmp_path, tally):
    weights, history, _ = train_small(tmp_path / "whole")
    size = (tmp_path / "whole" / "last.ckpt").stat().st_size
    answer = in_child(lambda: train_small(tmp_path / "run"), full(size - 1))
    assert answer.startswith("OSError: [Errno 27]"), answer
    assert ".ckpt" in answer
    again = train_small(tmp_path / "run", resume=True)
    assert torch.equal(again[0], weights)
    assert again[1] == history
    tally("full disks", 1, 1).add(0, "used")


def test_a_small_disk(run, tmp_path, tally):
    """A real one, of 64 kB, where the operating system lets a test have it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "new.csv").write_text("x,y\n" + "0.5,0\n" * 20_000)

    def mount():
        libc = ctypes.CDLL(None, use_errno=True)
        private, namespace = 0x44000, 0x20000  # MS_REC | MS_PRIVATE, CLONE_NEWNS
        failed = libc.unshare(namespace) or libc.mount(None, b"/", None, private, None)
        if failed or libc.mount(b"none", bytes(disk), b"tmpfs", 0, b"size=64k"):
            raise PermissionError("no disk")
        (disk / "out.csv").write_bytes(b"x,predicted\n1,2\n")

    def predict():
        from typer.testing import CliRunner

        registry.register(CurveDomain())
        words = ["predict", run, tmp_path / "new.csv", "-o", disk / "out.csv", "--force"]
        result = CliRunner().invoke(command_line(), [str(word) for word in words])
        return f"{result.exit_code} {result.output} {(disk / 'out.csv').read_text()} {os.listdir(disk)}"

    answer = in_child(predict, mount)
    if answer == "PermissionError: no disk":
        pytest.skip("needs the right to mount a file system")
    assert answer == (
        f"1 pellucid: The file or folder cannot be used: No space left on device ({disk / 'out.csv'}).\n"
        " x,predicted\n1,2\n ['out.csv']"
    )
    tally("full disks", 1, 1).add(0, "used")
