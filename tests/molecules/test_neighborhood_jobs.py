"""Neighborhoods in shards: those of all molecules in memory, whoever computes them and in whatever parts."""

import csv

import pytest
from blockers import blockers
from rdkit import Chem

from pellucid.errors import InputError
from pellucid.molecules import SimilarityRule, neighborhood_jobs
from pellucid.molecules.fingerprint_files import FingerprintFile
from pellucid.molecules.fingerprint_jobs import write_fingerprints
from pellucid.molecules.fingerprints import Fingerprints, Morgan
from pellucid.molecules.neighborhood_jobs import neighborhood_rows, read_neighborhoods, write_neighborhoods
from pellucid.sharding import executor_of
from pellucid.sharding.executors import Cluster
from pellucid.tables.parquet import write_parquet
from pellucid.writing import write_rows

SMILES = [Chem.CanonSmiles(text) for text in blockers().smiles[::60]]  # 17 of a series
RULE = SimilarityRule(threshold=0.5, most=12, groups_per_kind=5)


@pytest.fixture
def table(tmp_path):
    """A table with a row that is no molecule, and one that repeats another, written in another way."""
    again = Chem.MolToSmiles(Chem.MolFromSmiles(SMILES[2]), doRandom=True, canonical=False)
    cells = [*SMILES[:5], "C1CC", again, *SMILES[5:]]
    (tmp_path / "all.csv").write_text("id,smiles\n" + "".join(f"{i},{text}\n" for i, text in enumerate(cells)))
    return tmp_path / "all.csv"


@pytest.fixture
def short(monkeypatch):
    """Parts of so few rows that a small file has several."""
    monkeypatch.setattr(neighborhood_jobs, "_PIECE", 4)
    monkeypatch.setattr(neighborhood_jobs, "_CENTERS", 3)


def written(table, folder, **settings):
    return write_neighborhoods(table, folder, **{"similar": RULE, "progress": False} | settings)


def by_row(paths):
    """The members of the neighborhood of each row."""
    result = {}
    for path in paths:
        rows, places, around = read_neighborhoods(path)
        if around is None:
            continue
        assert around.hoods.centers.tolist() == list(range(len(around)))
        result.update({row: around.neighbors(place) for row, place in zip(rows.tolist(), places.tolist(), strict=True)})
    return result


@pytest.mark.parametrize("rule", [RULE, SimilarityRule(threshold=0.4, analogs=False)])
def test_neighborhoods_in_shards_are_those_in_memory(table, tmp_path, short, rule):
    given = tmp_path / "given.smi"
    given.write_text("\n".join(SMILES[3:]) + "\n")
    known = SMILES[3:]
    whole = rule.neighborhoods(SMILES, known, rule.groups(known, jobs=1), jobs=1, progress=False, cache="none")
    paths = written(table, tmp_path / "shards", given=given, similar=rule)
    assert len(paths) == 7
    found = by_row(paths)
    rows = [*range(2, 7), *range(9, 21)]  # lines of the file; row 7 is no molecule, row 8 is row 4 again
    assert set(found) == {*rows, 8}
    assert found[8] == found[4]
    for i, row in enumerate(rows):
        assert found[row] == whole.neighbors(i)
    origins = {member.origin for members in found.values() for member in members}
    assert origins == {"itself", "given"} | ({"analog"} if rule.analogs else set())
    assert max(map(len, found.values())) == RULE.most or not rule.analogs


def test_rows_of_one_molecule_share_a_neighborhood(table, tmp_path):
    notes = []
    (path,) = written(table, tmp_path / "shards", warn=notes.append)
    assert notes == ["all.csv: 1 of 19 rows hold no molecule."]
    rows, places, around = read_neighborhoods(path)
    assert len(around) == len(SMILES) == len(rows) - 1
    assert places[rows.tolist().index(8)] == places[rows.tolist().index(4)]
    assert around.points[: len(SMILES)] == tuple(SMILES)


def test_all_shards_make_one_table(table, tmp_path, short):
    from pyarrow import parquet

    paths = written(table, tmp_path / "shards")
    write_rows(tmp_path / "out.csv", neighborhood_rows(paths))
    write_parquet(tmp_path / "out.parquet", neighborhood_rows(paths))
    with (tmp_path / "out.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [
        (int(row["row"]), row["member"], pytest.approx(float(row["similarity"]), rel=1e-5), row["origin"])
        for row in rows
    ] == [(row, *member) for row, members in by_row(paths).items() for member in members]
    assert all(row["molecule"] == row["member"] for row in rows if row["origin"] == "itself")
    columns = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert columns["member"] == [row["member"] for row in rows]
    assert columns["row"] == [int(row["row"]) for row in rows]


def test_what_is_there_is_not_made_again_unless_it_is_of_other_molecules(table, tmp_path, short, monkeypatch):
    made = []
    work = neighborhood_jobs._neighborhoods_range

    def counted(begin, end, **arguments):
        made.append(begin)
        if len(made) == 3:
            raise KeyboardInterrupt
        return work(begin, end, **arguments)

    monkeypatch.setattr(neighborhood_jobs, "_neighborhoods_range", counted)
    with pytest.raises(KeyboardInterrupt, match="Stopped. 2 of 7 parts are kept"):
        written(table, tmp_path / "shards")
    monkeypatch.setattr(neighborhood_jobs, "_given_range", None)  # these are not read again
    paths = written(table, tmp_path / "shards")
    assert made == [0, 3, 6, 6, 9, 12, 15, 18]
    monkeypatch.undo()
    assert by_row(paths) == by_row(written(table, tmp_path / "other"))
    (tmp_path / "given.smi").write_text("CCO\n")
    alone = by_row(written(table, tmp_path / "shards", given=tmp_path / "given.smi"))
    assert {member.origin for members in alone.values() for member in members} == {"itself"}
    assert not any(path.exists() for path in paths)  # of another job: gone


def test_rows_without_molecules_have_no_neighborhoods(tmp_path, short):
    (tmp_path / "a.csv").write_text("smiles\nCCO\nCCN\nCCCO\nC1CC\nN\nO\n")
    first, second = written(tmp_path / "a.csv", tmp_path / "shards")
    assert read_neighborhoods(first).rows.tolist() == [2, 3, 4]
    rows, places, around = read_neighborhoods(second)
    assert (len(rows), len(places), around) == (0, 0, None)
    assert len(list(neighborhood_rows([first, second]))) == 1 + sum(map(len, by_row([first]).values()))
    (tmp_path / "none.csv").write_text("smiles\nC1CC\n")
    with pytest.raises(InputError, match="There must be molecules among which members are looked for. Got none"):
        written(tmp_path / "none.csv", tmp_path / "none")
    (tmp_path / "a.shard").write_bytes(b"nothing")
    with pytest.raises(InputError, match="A shard must hold neighborhoods as `write_neighborhoods` writes them"):
        read_neighborhoods(tmp_path / "a.shard")


def test_what_does_not_fit_into_memory_is_refused_before_it_starts(table, tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid._capacity.available_memory", lambda: 1800.0)  # 19 rows: 1,900 bytes, and 1,140
    with pytest.raises(InputError, match="The search among 19 molecules in 1 process needs about 0 MB"):
        written(table, tmp_path / "shards")
    assert not (tmp_path / "shards").exists()
    write_fingerprints(table, tmp_path / "prints", progress=False)
    monkeypatch.setattr("pellucid._capacity.available_memory", lambda: 1100.0)
    with pytest.raises(InputError, match="Sorting 19 fingerprints needs about 0 MB of memory.* divide the table"):
        write_fingerprints(table, tmp_path / "others", progress=False)


def test_a_file_of_fingerprints_finds_what_those_in_memory_do(tmp_path):
    prints = Morgan(size=512)(SMILES)
    file = FingerprintFile.write(tmp_path / "prints", prints)
    queries = Fingerprints(prints.words[::3])
    for expected, found in zip(
        prints.similar_to(queries, threshold=0.4), file.similar_to(queries, threshold=0.4), strict=True
    ):
        assert expected.tolist() == found.tolist()
    assert len(found) > len(queries)
    with pytest.raises(InputError, match="Fingerprints must have the same size. Got 512 and 2048 bits"):
        file.similar_to(Morgan()(["CCO"]))


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: executor_of(2), lambda: Cluster("local", 2)])
def test_processes_and_a_cluster_write_the_same_bytes(table, tmp_path, short, make):
    alone = written(table, tmp_path / "alone")
    with make() as executor:
        divided = written(table, tmp_path / "divided", executor=executor)
    assert [path.name for path in alone] == [path.name for path in divided]
    files = sorted(path.relative_to(tmp_path / "alone") for path in (tmp_path / "alone").rglob("*") if path.is_file())
    assert len(files) == 7 + 10  # neighborhoods, and what they are looked for among
    for path in files:
        assert (tmp_path / "alone" / path).read_bytes() == (tmp_path / "divided" / path).read_bytes()
