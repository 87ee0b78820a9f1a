"""A model that explains by contributions, and what is said of it."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from report.pages import Page

from pellucid import InputError
from pellucid.domains import Source
from pellucid.molecules import PropertyModel
from pellucid.molecules import report as molecules_report
from pellucid.molecules.domain import MoleculeDomain, MoleculePredicting, MoleculeReading, MoleculeSettings


@pytest.fixture(scope="module")
def contribution_model(property_model_folder, tmp_path_factory):
    """The model of the sulfonamides, explained by contributions among given molecules."""
    folder = tmp_path_factory.mktemp("contributions") / "model"
    shutil.copytree(property_model_folder, folder)
    (path,) = folder.glob("*.json")
    content = json.loads(path.read_text())
    content["settings"] |= {"witness": "contributions", "explain_with_analogs": False}
    path.write_text(json.dumps(content | {"witness": "contributions"}))
    return PropertyModel.load(folder)


@pytest.mark.slow
def test_a_model_explains_by_the_law_of_its_witnesses(contribution_model, sulfonamides):
    model = contribution_model
    assert model.witness_noun == "law"
    several = model.explain_many(sulfonamides.smiles[:6])
    assert [e.smiles for e in several] == list(sulfonamides.smiles[:6])
    witnesses = model.witnesses(model.neighborhoods(sulfonamides.smiles[:6]))
    np.testing.assert_allclose(
        [e.witnessed[0] for e in several], model.task_.natural(witnesses.at_centers())[:, 0], rtol=1e-5
    )
    for e in several:
        total = e.base + sum((term.contribution for term in e.terms), np.zeros(1))
        np.testing.assert_allclose(total, e.witnessed, rtol=1e-6)
        np.testing.assert_allclose(e.prediction, model.predict(e.smiles)[0], rtol=1e-5)
    assert model.explain(several[0].smiles).to_dict() == several[0].to_dict()
    with pytest.raises(InputError, match="`delta` is the size of trees. Got contributions"):
        model.explain(several[0].smiles, delta=1)


@pytest.mark.slow
def test_tables_and_measures_speak_of_laws(contribution_model, sulfonamides, tmp_path):
    lines = ["smiles", *sulfonamides.smiles[:3], "CCO"]
    (tmp_path / "some.csv").write_text("\n".join(lines) + "\n")
    warnings = []
    head, *rows = MoleculeDomain().predict(
        contribution_model, tmp_path / "some.csv", MoleculeReading(), MoleculePredicting(trust=True), progress=False,
        warn=warnings.append,
    )  # fmt: skip
    assert head[2:5] == ["law: activity", "deviation: activity", "law-network bound 90 %: activity"]
    assert rows[0][2] == pytest.approx(contribution_model.explain(sulfonamides.smiles[0]).witnessed[0], rel=1e-5)
    few = sum(len(e.members) < 3 for e in contribution_model.explain_many([*sulfonamides.smiles[:3], "CCO"]))
    assert warnings[0] == f'{few} of 4 molecules have too few similar ones for a law; see the column "note".'
    measures = MoleculeDomain().measures(sulfonamides, contribution_model)
    assert "RMSE of its laws" in [m.title for m in measures]
    assert not any("tree" in f"{m.title} {m.about}" for m in measures)


@pytest.mark.slow
def test_a_gallery_speaks_of_laws(contribution_model, sulfonamides, tmp_path):
    smiles = sulfonamides.smiles[:2]
    named = dict(zip(("one", "two"), contribution_model.explain_many(smiles), strict=True))
    path = molecules_report.write_explanations(named, tmp_path / "some.html", title="some.csv")
    words = Page(path.read_text(encoding="utf-8")).words
    assert "Each opens its law" in words
    assert "tree" not in words


def test_settings_of_a_run_choose_the_witness_and_the_game(sulfonamides):
    settings = MoleculeSettings(witness="contributions", held_out=True, analogs="no")
    model = MoleculeDomain().plan(Source(sulfonamides), settings).model
    assert (model.witness, model.held_out_game) == ("contributions", True)
    default = MoleculeDomain().plan(Source(sulfonamides), MoleculeSettings(analogs="no")).model
    assert (default.witness, default.held_out_game) == ("auto", False)


def test_a_run_tells_which_witnesses_were_chosen(contribution_model, property_model, sulfonamides):
    settings = MoleculeSettings(witness="auto", analogs="no")
    plan = MoleculeDomain().plan(Source(sulfonamides), settings)
    alike, *_ = MoleculeDomain().remarks({"DEEP": contribution_model, "GAME": contribution_model}, plan)
    assert alike.startswith("Predictions are explained by contributions of substructures, which hold at least as well")
    apart, *_ = MoleculeDomain().remarks({"DEEP": property_model, "GAME": contribution_model}, plan)
    assert "DEEP by trees, GAME by contributions of substructures. What is measured" in apart
    asked = replace(plan, model=replace(plan.model, witness="tree"))
    asked_for = MoleculeDomain().remarks({"DEEP": property_model, "GAME": property_model}, asked)
    assert not any("explained by" in remark for remark in asked_for)


@pytest.mark.slow
def test_a_molecule_is_explained_alike_alone_and_among_others(property_model, sulfonamides):
    many = property_model.explain_many(sulfonamides.smiles[:60])
    for explanation in many[::3]:
        alone = property_model.explain(explanation.smiles)
        assert str(alone) == str(explanation)
        assert alone.to_dict() == explanation.to_dict()
