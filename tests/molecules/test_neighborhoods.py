import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import TanimotoSimilarity

from pellucid import InputError, PellucidWarning
from pellucid.molecules import SimilarityRule, neighborhoods, neighbors
from pellucid.molecules.neighborhoods import similar_analogs

SMILES = ["CC(=O)Nc1ccc(O)cc1", "CC(=O)Nc1ccc(OC)cc1", "CC(=O)Nc1ccc(OCC)cc1", "CCCCCO", "Cc1ccccc1", "Clc1ccccc1C"]
SMILES = [Chem.CanonSmiles(text) for text in SMILES]


def tanimoto(a, b):
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return TanimotoSimilarity(*(generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in (a, b)))


@pytest.fixture(scope="module")
def around():
    similar = SimilarityRule(threshold=0.4)
    return similar.neighborhoods(SMILES, SMILES, similar.groups(SMILES), jobs=1, progress=False, cache="none")


def test_members_are_all_that_are_similar_enough_and_the_center_leads(around):
    groups = SimilarityRule().groups(SMILES)
    for i, center in enumerate(SMILES):
        found = around.neighbors(i)
        assert found[0] == (center, 1.0, "itself")
        assert all(member.similarity == pytest.approx(tanimoto(center, member.smiles)) for member in found)
        texts = [member.smiles for member in found]
        assert len(set(texts)) == len(texts)
        expected = {text for text in [*SMILES, *groups.exchanged(center)] if tanimoto(center, text) > 0.4}
        assert set(texts) == expected
        for origin in ("given", "analog"):
            values = [member.similarity for member in found if member.origin == origin]
            assert values == sorted(values, reverse=True)


def test_centers_are_the_first_points(around):
    assert list(around.points[: len(SMILES)]) == SMILES
    assert len(set(around.points)) == len(around.points)
    assert around.hoods.centers.tolist() == list(range(len(SMILES)))
    assert "6 molecules" in repr(around)


def test_real_molecules_come_before_analogs_when_there_are_too_many():
    similar = SimilarityRule(threshold=0.3, most=3)
    around = similar.neighborhoods(SMILES, SMILES, similar.groups(SMILES), jobs=1, progress=False, cache="none")
    assert around.hoods.sizes.max() == 3
    assert [member.origin for member in around.neighbors(0)] == ["itself", "given", "given"]


def test_pools_are_unlabeled_neighbors():
    found = neighbors(
        SMILES[0], [SMILES[4]], similar=SimilarityRule(threshold=0.4, analogs=False), pool=[SMILES[1], SMILES[4]]
    )
    assert [member.origin for member in found] == ["itself", "pool"]
    assert found[1].smiles == SMILES[1]


def test_new_molecules_have_neighbors_too():
    assert neighbors("OC(=O)C", SMILES)[0].smiles == "CC(=O)O"
    with pytest.raises(InputError, match="Got 'no': not a valid SMILES"):
        neighbors("no", SMILES)


@pytest.mark.slow
def test_several_processes_and_the_cache_give_the_same(tmp_path, monkeypatch, around):
    monkeypatch.setattr("pellucid.molecules._parallel._CHUNK", 2)
    similar = SimilarityRule(threshold=0.4)
    groups = similar.groups(SMILES)
    made = similar.neighborhoods(SMILES, SMILES, groups, jobs=2, progress=False, cache=tmp_path)
    monkeypatch.setattr(SimilarityRule, "_search", None)  # from here on nothing is made anew
    found = similar.neighborhoods(SMILES, SMILES, groups, jobs=2, progress=False, cache=tmp_path)
    for other in (made, found):
        assert other.points == around.points
        assert other.hoods.members.tolist() == around.hoods.members.tolist()
        np.testing.assert_array_equal(other.similarity, around.similarity)
        np.testing.assert_array_equal(other.origins, around.origins)


def test_everything_that_matters_is_in_the_key(tmp_path):
    similar = SimilarityRule(threshold=0.4)
    groups = similar.groups(SMILES)
    calls = [
        (similar, SMILES, SMILES, groups, ()),
        (SimilarityRule(threshold=0.5), SMILES, SMILES, groups, ()),
        (similar, SMILES[:5], SMILES, groups, ()),
        (similar, SMILES, SMILES[:5], groups, ()),
        (similar, SMILES, SMILES, similar.groups(SMILES[:3]), ()),
        (similar, SMILES, SMILES, groups, ("CCO",)),
    ]
    for settings, centers, given, known, pool in calls:
        settings.neighborhoods(centers, given, known, pool=pool, jobs=1, progress=False, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(calls)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 0}, "`threshold` of SimilarityRule must be between 0 and 1"),
        ({"most": 0}, "`most` must be a whole number"),
    ],
)
def test_mistakes_are_told(settings, message):
    with pytest.raises(InputError, match=message):
        SimilarityRule(**settings)


@pytest.mark.slow
def test_members_come_most_similar_first_whatever_their_origin():
    series = blockers().select(range(0, 1017, 8))
    similar = SimilarityRule(groups_per_kind=5)
    around = similar.neighborhoods(
        series.smiles[:12], series.smiles, similar.groups(series.smiles), jobs=1, progress=False, cache="none"
    )
    mixed = 0
    for i in range(12):
        members = around.neighbors(i)
        assert members[0].origin == "itself"
        values = [member.similarity for member in members[1:]]
        assert values == sorted(values, reverse=True)
        mixed += len({member.origin for member in members}) == 3
    assert mixed


def test_groups_are_collected_once(tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.molecules.neighborhoods._MIN_CACHED", 2)
    similar = SimilarityRule()
    made = similar.groups(SMILES, cache=tmp_path)
    monkeypatch.setattr("pellucid.molecules.analogs.RGroups.seen_in", None)  # from here on nothing is made anew
    assert similar.groups(SMILES, cache=tmp_path) == made


def test_a_cache_never_stops_work(tmp_path, around):
    similar = SimilarityRule(threshold=0.4)
    groups = similar.groups(SMILES)

    def make(folder):
        return similar.neighborhoods(SMILES, SMILES, groups, jobs=1, progress=False, cache=folder)

    make(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"broken")
    with pytest.warns(UserWarning, match="could not be read and is made anew"):
        assert make(tmp_path).points == around.points
    assert make(tmp_path).points == around.points  # mended
    with pytest.warns(UserWarning, match="could not be written"):
        assert make(file / "below a file").points == around.points


def test_molecules_that_neighbors_are_sought_among_may_be_written_in_any_way():
    found = neighbors("CCCCO", ["C(CCC)O", "OCCCCC.Cl"], similar=SimilarityRule(threshold=0.5, analogs=False))
    assert [(member.smiles, member.origin) for member in found] == [("CCCCO", "itself"), ("CCCCCO", "given")]


def test_what_many_analogs_take_is_said_before_they_are_made(monkeypatch):
    similar = SimilarityRule(threshold=0.4)
    groups = similar.groups(SMILES)
    count = sum(map(len, similar_analogs(SMILES, similar, groups)))

    def make():
        return similar.neighborhoods(SMILES, SMILES, groups, jobs=1, progress=False, cache="none")

    monkeypatch.setattr(neighborhoods, "_MANY", len(SMILES))
    monkeypatch.setattr(neighborhoods, "_SAMPLE", len(SMILES))
    make()  # short: nothing is said
    monkeypatch.setattr("pellucid._capacity.LONG", 1e-9)
    said = rf"Making some {count} analogs of 6 molecules takes about 0 seconds and 0 MB of memory. To wait for less"
    with pytest.warns(PellucidWarning, match=said):
        make()
    monkeypatch.setattr("pellucid._capacity.available_memory", lambda: 1300.0 * count - 1)
    monkeypatch.setattr(neighborhoods, "in_chunks", None)  # nothing is made
    said = rf"Making some {count} analogs of 6 molecules needs about 0 MB of memory.*fewer molecules, or `write_"
    with pytest.raises(InputError, match=said):
        make()
