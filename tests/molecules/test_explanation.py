import csv
import json

import numpy as np
import pytest
import torch
from blockers import blockers

import pellucid as pl
from pellucid import InputError
from pellucid.molecules import MoleculeExplanation, Morgan, SimilarityRule
from pellucid.molecules.explaining import explain_each
from pellucid.molecules.tasks import Task

SERIES = blockers()


def explained(targets=("activity",), center=0):
    """A witness of measured activities themselves, so that nothing has to be trained."""
    similar = SimilarityRule(analogs=False)
    around = similar.neighborhoods(
        [SERIES.smiles[center]], SERIES.smiles, similar.groups([]), jobs=1, progress=False, cache="none"
    )
    activity = dict(zip(SERIES.smiles, SERIES.y[:, 0], strict=True))
    f = torch.tensor([[activity[text] / (k + 1) for k in range(len(targets))] for text in around.points])
    x = Morgan()(around.points).dense()
    witnesses = pl.TreeFamily(criterion="absolute").best_response(x, f, around.hoods).named(outputs=targets)
    task = Task(kind="regression", shift=np.full(len(targets), 100.0), scale=np.full(len(targets), 10.0))
    return explain_each(witnesses, around, task=task, morgan=Morgan())[0], f, x


@pytest.fixture(scope="module")
def explanation():
    return explained()[0]


def test_numbers_are_their_definitions(explanation):
    _, f, _ = explained()
    members = explanation.members
    assert members[0].smiles == explanation.smiles == SERIES.smiles[0]
    assert members[0].origin == "itself"
    similarity = [m.similarity for m in members]
    assert similarity == sorted(similarity, reverse=True)
    np.testing.assert_allclose(explanation.prediction, 100 + 10 * f[0].numpy(), rtol=1e-6)
    gaps = [abs(m.prediction[0] - m.witness[0]) for m in members]
    assert explanation.deviation[0] == pytest.approx(np.mean(gaps))
    values, answers = (np.array([getattr(m, name)[0] for m in members]) for name in ("prediction", "witness"))
    above = values[:, None] > values
    assert explanation.local_auc[0] == pytest.approx((above & (answers[:, None] > answers)).sum() / above.sum())
    nodes = explanation.witness.nodes
    for leaf in {m.leaf for m in members}:
        inside = [m for m in members if m.leaf == leaf]
        assert len(inside) == nodes["size"][leaf]
        assert inside[0].witness[0] == pytest.approx(np.median([m.prediction[0] for m in inside]))


def test_the_path_is_the_molecules_own(explanation):
    bits = Morgan()([explanation.smiles]).dense()[0]
    nodes, node = explanation.witness.nodes, 0
    for step in explanation.path:
        assert step == node
        if nodes["feature"][node] >= 0:
            node = int(nodes["right" if bits[nodes["feature"][node]] else "left"][node])
    assert explanation.members[0].leaf == explanation.path[-1]
    np.testing.assert_array_equal(explanation.witnessed, explanation.members[0].witness)


def test_changes_are_the_nearest_members_of_the_other_leaves(explanation):
    changes = explanation.changes()
    leaves = {m.leaf for m in explanation.members} - {explanation.path[-1]}
    assert {change.member.leaf for change in changes} == leaves
    own = Morgan()([explanation.smiles]).dense()[0]
    for change in changes:
        rivals = [m.similarity for m in explanation.members if m.leaf == change.member.leaf]
        assert change.member.similarity == max(rivals)
        theirs = Morgan()([change.member.smiles]).dense()[0]
        assert bool(theirs[change.split]) == change.gains
        assert bool(own[change.split]) != change.gains
    similarity = [change.member.similarity for change in changes]
    assert similarity == sorted(similarity, reverse=True)


def test_the_text_tells_all_of_it(explanation):
    text = str(explanation)
    assert explanation.smiles in text
    assert text.count("<-- this molecule") == 1
    assert f"{len(explanation.members)} members in its neighborhood ({len(explanation.members) - 1} given)" in text
    assert "what would change it" in text
    for structure in explanation.substructures.values():
        assert f"with {structure.smiles}" in text
        assert bool(structure.others) == (f"bit {structure.bit} also stands for" in text)
    leaves = (explanation.witness.nodes["feature"] < 0).sum()
    assert text.count(" members)") + text.count(" member)") == leaves


def test_of_many_targets_those_that_vary_are_shown_or_the_one_asked_for():
    explanation, _, _ = explained(("a", "b", "c", "d", "e"))
    assert explanation.target(None) == [0, 1, 2]
    assert "a = " in str(explanation)
    assert "e = " not in str(explanation)
    assert "e = " in explanation.text("e")
    assert "a = " not in explanation.text("e")
    with pytest.raises(InputError, match="`target` must be one of a, b, c, d, e. Got 'f'"):
        explanation.text("f")


def test_the_neighborhood_is_a_table(explanation, tmp_path):
    explanation.to_csv(tmp_path / "members.csv")
    with (tmp_path / "members.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(explanation.members)
    assert [row["smiles"] for row in rows] == [m.smiles for m in explanation.members]
    assert float(rows[4]["predicted: activity"]) == pytest.approx(explanation.members[4].prediction[0])
    assert float(rows[4]["tree: activity"]) == pytest.approx(explanation.members[4].witness[0])


def test_it_comes_back_from_json(explanation, tmp_path):
    explanation.to_json(tmp_path / "x.json")
    again = MoleculeExplanation.from_dict(json.loads((tmp_path / "x.json").read_text()))
    assert str(again) == str(explanation)
    assert again.to_dict() == explanation.to_dict()


@pytest.mark.slow
def test_it_draws_itself(explanation):
    picture = explanation._repr_svg_()
    assert picture.count('id="substructure-') == len(
        explanation.witness.nodes["feature"][explanation.witness.nodes["feature"] >= 0]
    )
    assert "<image" not in picture


def test_a_lonely_molecule_is_called_so():
    similar = SimilarityRule(analogs=False)
    around = similar.neighborhoods(["CCO"], [], similar.groups([]), jobs=1, progress=False, cache="none")
    witnesses = pl.TreeFamily().best_response(Morgan()(["CCO"]).dense(), torch.ones(1, 1), around.hoods)
    task = Task(kind="regression", shift=np.zeros(1), scale=np.ones(1))
    (alone,) = explain_each(witnesses.named(outputs=["y"]), around, task=task, morgan=Morgan())
    assert "too few similar molecules" in str(alone)
    assert alone.changes() == []
    alone.plot()
