"""`pellucid audit` of long tables, in shards: the same as in memory, by one process, by several and by a cluster."""

import json

import numpy as np
import pytest
from cli.audits import run, write

from pellucid import bulk
from pellucid.bulk import audits
from pellucid.tables import stored
from pellucid.witnesses import refitted

N = 400
X = np.random.default_rng(0).normal(size=(N, 3)).round(3)
X[50:60] = X[7]  # rows that coincide
F = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2]).round(6)


@pytest.fixture
def table(tmp_path):
    sites = [f"site {i % 40}" for i in range(N)]
    colours = np.random.default_rng(1).choice(["red", "green", "blue"], size=N)
    blanks = [*[""] * 3, *X[3:, 1]]
    columns = {"id": range(N), "a": X[:, 0], "b": blanks, "c": X[:, 2], "colour": colours, "prediction": F}
    return write(tmp_path / "table.csv", {**columns, "place": sites})


@pytest.fixture
def short(monkeypatch):
    """A table of so few rows is long, and has several parts."""
    monkeypatch.setattr(stored, "LONG", 100)
    monkeypatch.setattr(refitted, "ENTRIES", 3000)


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as started:
        yield started.scheduler_address


def audited(table, folder, *options):
    folder.mkdir()
    outs = [folder / f"out{suffix}" for suffix in (".csv", ".json", ".html", ".parquet")]
    result = run(table, *options, *(f"-o{path}" for path in outs))
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in folder.iterdir()} == {path.name for path in outs}
    text = result.stdout.partition("\nwritten:")[0]
    return [text, *(path.read_bytes() for path in outs)]


def same(one, other):
    """The same but for one sum over all members, which is taken part by part."""
    assert one[0] == other[0]
    assert one[1] == other[1]
    assert one[3:] == other[3:]
    first, second = (json.loads(each[2]) for each in (one, other))
    shares = [each["audit"].pop("explained_where_fitted") for each in (first, second)]
    assert shares[0] == pytest.approx(shares[1], rel=1e-12)
    assert first == second


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--neighbors", 12, "--ridge", 0, "--features", "a,b,c"),
        pytest.param(("--family", "tree", "--neighbors", 20), marks=pytest.mark.slow),
        pytest.param(("--family", "auto"), marks=pytest.mark.slow),
        pytest.param(("--groups", "place", "--ridge", 1), marks=pytest.mark.slow),
        pytest.param(("--blanks", "drop", "--truth", "c"), marks=pytest.mark.slow),
    ],
)
def test_a_long_table_has_the_audit_of_a_short_one(table, tmp_path, options, monkeypatch):
    whole = audited(table, tmp_path / "whole", *options)
    monkeypatch.setattr(stored, "LONG", 100)
    monkeypatch.setattr(refitted, "ENTRIES", 3000)
    same(whole, audited(table, tmp_path / "parts", *options))


@pytest.mark.slow
def test_whoever_computes_writes_the_same_bytes(table, tmp_path, short, cluster):
    alone = audited(table, tmp_path / "alone")
    assert alone == audited(table, tmp_path / "workers", "--cluster", cluster)
    assert alone == audited(table, tmp_path / "processes", "--jobs", 2)


def test_an_interrupted_audit_goes_on_where_it_stopped(table, tmp_path, short, monkeypatch):
    measure, done = audits.measure_fit, []

    def stopping(fit, deviation):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(int(fit.hoods.centers[0]))
        return measure(fit, deviation)

    out, options = tmp_path / "out.csv", ("--neighbors", 30, "--ridge", 1)
    monkeypatch.setattr(audits, "measure_fit", stopping)
    stopped = run(table, *options, "-o", out)
    assert stopped.exit_code == 130
    assert f"Stopped. 2 of 4 parts are kept in {out}.parts: the same command goes on" in stopped.stderr
    assert {path.suffix for path in (tmp_path / "out.csv.parts").iterdir()} == {".shard"}
    assert not (tmp_path / "out.csv.parts" / "points").exists()
    done.clear()
    monkeypatch.setattr(audits, "measure_fit", lambda fit, d: done.append(int(fit.hoods.centers[0])) or measure(fit, d))
    again = run(table, *options, "-o", out)
    assert "2 of 4 parts are there from before." in again.stderr
    assert done == [200, 300]
    assert not (tmp_path / "out.csv.parts").exists()
    assert run(table, *options, "-o", tmp_path / "fresh.csv").exit_code == 0
    assert out.read_bytes() == (tmp_path / "fresh.csv").read_bytes()


def test_flaws_of_long_tables_are_refused_in_the_same_words(table, tmp_path, monkeypatch):
    lines = table.read_text().splitlines()
    (tmp_path / "cells.csv").write_text("\n".join([*lines, "1,2,3"]) + "\n")
    (tmp_path / "number.csv").write_text("\n".join(lines).replace(str(F[-1]), "many") + "\n")
    wrong = [
        ("cells.csv",),
        ("number.csv",),
        ("table.csv", "--features", "d"),
        ("table.csv", "--ridge", 1, "--depth", 2),
    ]
    said = [run(tmp_path / name, *options) for name, *options in wrong]
    monkeypatch.setattr(stored, "LONG", 100)
    for (name, *options), before in zip(wrong, said, strict=True):
        result = run(tmp_path / name, *options, "-o", tmp_path / "out.csv")
        assert (result.exit_code, result.stderr) == (before.exit_code, before.stderr)
        assert not (tmp_path / "out.csv.parts").exists()


def test_a_cluster_needs_a_file(table):
    assert "--cluster needs a file to write" in run(table, "--cluster", "tcp://127.0.0.1:1").stderr


def test_a_library_user_can_audit_a_long_table(table, tmp_path, short):
    from pellucid.auditing.reading import read_predictions

    with bulk.shards_beside(None) as shards:
        kinds = [".csv", ".json"]
        result = audits.audit_long_table(table, read_predictions, kinds=kinds, shards=shards, neighbors=10)
        assert len(result.audit.deviations) == N
        hoods = result.audit.witnesses.hoods
        for kind in (*kinds, ".html"):
            result.write(tmp_path / f"out{kind}")
        assert f"{N} neighborhoods" in result.text()
        assert "members" not in vars(hoods)  # nobody has asked for all of them
        x = result.predictions.coordinates()
        for i in (0, 55, 399):
            members = hoods.members_of(i).numpy()
            distances = np.square(x - x[i]).sum(1)
            assert members[0] == i
            others = np.lexsort((np.arange(N), distances))
            assert members[1:].tolist() == [j for j in others.tolist() if j != i][:9]
        audits.forget(shards)
