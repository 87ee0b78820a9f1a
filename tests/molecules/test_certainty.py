"""How sure predictions are: nearest labeled molecules, intervals, probabilities."""

import json
from dataclasses import replace

import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem
from rdkit.DataStructs import TanimotoSimilarity
from report.pages import Page

import pellucid as pl
from pellucid.molecules import MoleculeExplanation, PropertyModel, SimilarityRule
from pellucid.molecules.certainty import SIMILARITIES, Certainty, nearest_molecules
from pellucid.molecules.domain import MoleculeDomain, MoleculePredicting, MoleculeReading
from pellucid.molecules.fingerprints import Morgan

LABELED = ["CCO", "CCCO", "CCCCO", "c1ccccc1", "c1ccccc1O", "CC(=O)O"]


def test_the_nearest_labeled_molecule_is_that_of_rdkit():
    from rdkit.Chem import rdFingerprintGenerator

    morgan = Morgan()
    y = np.arange(6.0)[:, None]
    asked = ["CCCCCO", "c1ccccc1N", "CCO", "[Xe]"]
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=morgan.radius, fpSize=morgan.size)
    prints = {text: generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in {*LABELED, *asked}}
    for text, nearest in zip(asked, nearest_molecules(asked, LABELED, y, morgan), strict=True):
        values = [0.0 if other == text else TanimotoSimilarity(prints[text], prints[other]) for other in LABELED]
        assert nearest.similarity == pytest.approx(max(values))
        if max(values) > 0:
            assert nearest.smiles == LABELED[int(np.argmax(values))]
            assert nearest.measured.tolist() == [float(np.argmax(values))]
        else:
            assert nearest.smiles == ""
            assert np.isnan(nearest.measured).all()


def test_the_nearest_molecule_is_one_that_was_learned_from(property_model, sulfonamides):
    model = property_model
    held_out = set(model.fitted_.held_out)
    assert len(held_out) == round(0.2 * len(sulfonamides))
    assert held_out < set(model.smiles_)
    nearest = [molecule.smiles for molecule in model.nearest(sulfonamides)]
    assert not held_out & set(nearest)
    # Measured values that the network has not seen would make a molecule look more familiar than it is.
    every = nearest_molecules(sulfonamides.smiles, model.smiles_, model.y_, model.morgan)
    assert any(molecule.smiles in held_out for molecule in every)


@pytest.mark.slow
def test_intervals_hold_at_molecules_that_nothing_was_learned_from(property_model, sulfonamides):
    learned = set(sulfonamides.smiles)
    others = [i for i, text in enumerate(blockers().smiles) if text not in learned]
    order = np.random.default_rng(0).permutation(others)
    validation, test = blockers().select(order[:400]), blockers().select(order[400:])
    model = property_model.with_fitted(property_model.calibrated(validation))
    similarity = np.array([molecule.similarity for molecule in model.nearest(test)])
    edges = model.intervals_.edges[0]
    assert edges
    assert set(edges) <= set(SIMILARITIES)
    bins, learned_bins = np.searchsorted(edges, similarity, "right"), [len(part) for part in model.intervals_.errors[0]]
    for level in (0.5, 0.8, 0.9):
        low, high = model.predict_interval(test, level=level)[:, 0].T
        held = (low <= test.y[:, 0]) & (test.y[:, 0] <= high)
        for b, count in enumerate(learned_bins):
            # Four standard deviations: of the share, and of the quantile that was learned.
            allowed = 4 * np.sqrt(level * (1 - level) * (1 / count + 1 / (bins == b).sum()))
            assert held[bins == b].mean() == pytest.approx(level, abs=allowed)
        allowed = 4 * np.sqrt(level * (1 - level) * (1 / 400 + 1 / len(test)))
        assert held.mean() == pytest.approx(level, abs=allowed)


def test_an_explanation_says_how_sure_the_prediction_is_and_how_close_the_witness(property_model, sulfonamides):
    model = property_model
    size = int(model.neighborhoods(sulfonamides).hoods.sizes.argmax())
    explanation = model.explain(sulfonamides.smiles[size], level=0.8)
    (known,) = model.certainty(sulfonamides.smiles[size], level=0.8)
    nearest, (low, high) = known.nearest, known.interval[0]
    text = str(explanation)
    assert f"with 80 % confidence a measurement gives activity between {low:.2f} and {high:.2f} (learned from " in text
    assert (
        f"nearest training molecule: {nearest.smiles}  (similarity {nearest.similarity:.2f}, measured: activity = "
        f"{nearest.measured[0]:g})"
    ) in text
    # Two sentences, of which each says what it is about.
    lines = [line.strip() for line in text.splitlines() if "80 % confidence" in line]
    assert [line.split(":")[0] for line in lines] == ["prediction and measurement", "tree and network"]
    again = MoleculeExplanation.from_dict(json.loads(json.dumps(explanation.to_dict(), allow_nan=False)))
    assert str(again) == text
    content = explanation.to_dict()["certainty"]
    assert content["prediction_interval"] == [[pytest.approx(low), pytest.approx(high)]]
    assert content["nearest_training_molecule"]["smiles"] == nearest.smiles
    assert content["interval_learned_from"] == model.intervals_.counts(nearest.similarity)[0].tolist()
    # Files of earlier versions say nothing of it, and can still be read.
    old = {name: value for name, value in explanation.to_dict().items() if not name.startswith(("certainty", "held_"))}
    assert "measurement" not in str(MoleculeExplanation.from_dict(old))


@pytest.mark.slow
def test_the_page_draws_the_nearest_molecule_beside_both_sentences(property_model, sulfonamides):
    largest = int(property_model.neighborhoods(sulfonamides).hoods.sizes.argmax())
    explanation = property_model.explain(sulfonamides.smiles[largest])
    words, nearest = Page(explanation._repr_html_()).words, explanation.certainty.nearest
    assert f"nearest training molecule similarity {nearest.similarity:.2f} measured {nearest.measured[0]:g}" in words
    assert "Prediction and measurement. With 90 % confidence a measurement gives activity between" in words
    assert "Tree and network. With 90 % confidence the tree is within" in words
    alone = replace(explanation, certainty=None)
    assert "nearest training molecule" not in Page(alone._repr_html_()).words
    assert "Prediction and measurement" not in Page(alone._repr_html_()).words


def test_what_is_not_known_is_said(property_model, sulfonamides):
    explanation = property_model.explain(sulfonamides.smiles[0], level=0.999)
    assert "how far they are apart with 99.9 % confidence is not known, as " in str(explanation)
    assert "not known" in Page(explanation._repr_html_()).words
    nothing = Certainty(nearest=explanation.certainty.nearest._replace(smiles="", similarity=0.0), level=0.9)
    strange = replace(explanation, certainty=nothing)
    assert "how far they are apart is not known, as no held-out measured values were learned from" in str(strange)
    assert "nearest training molecule: none is similar at all" in str(strange)
    assert "none is similar at all" in Page(strange._repr_html_()).words
    again = Certainty.from_dict(json.loads(json.dumps(nothing.to_dict(), allow_nan=False)), outputs=1)
    assert (again.nearest.smiles, again.interval, again.probability) == ("", None, None)


def test_intervals_of_a_model_are_conformal_in_its_own_errors(property_model, sulfonamides):
    model = property_model
    smiles = list(sulfonamides.smiles[:5])
    intervals = model.predict_interval(smiles, level=0.8)
    assert intervals.shape == (5, 1, 2)
    predictions = model.predict(smiles)
    np.testing.assert_allclose(intervals.mean(2), predictions)
    similarity = [molecule.similarity for molecule in model.nearest(smiles)]
    np.testing.assert_allclose(
        (intervals[..., 1] - intervals[..., 0]) / 2, model.intervals_.half_widths(similarity, 0.8)
    )
    # The errors are those of the molecules that were held out, every one of them once.
    assert sum(len(part) for part in model.intervals_.errors[0]) == round(0.2 * len(sulfonamides))
    with pytest.raises(pl.InputError, match="use `predict_interval`"):
        model.predict_probability(smiles)


@pytest.mark.slow
def test_probabilities_of_a_model_are_calibrated_on_labels_held_out(sulfonamides, tmp_path):
    labels = (sulfonamides.y > np.median(sulfonamides.y)).astype(float)
    small = {"similar": SimilarityRule(analogs=False), "play": "banked", "width": 16, "epochs": 1, "game": None}
    model = PropertyModel(explain_with_analogs=False, **small).fit(
        sulfonamides.smiles, labels, targets=["active"], validation=0.4, progress=False
    )
    values = model.predict_probability(list(sulfonamides.smiles))
    expected = model.probabilities_(model.predict(sulfonamides))
    np.testing.assert_allclose(values, expected)
    # Of molecules that were held out as many are active as the probabilities say.
    chosen = np.array([text in model.fitted_.held_out for text in sulfonamides.smiles])
    assert values[chosen].mean() == pytest.approx(labels[chosen].mean(), abs=0.02)
    explanation = model.explain(sulfonamides.smiles[0])
    sentence = f"the probability of a positive test, calibrated on held-out labels, is active = {values[0, 0]:.2f}"
    assert f"prediction and measurement: {sentence}" in str(explanation)
    assert f"calibrated probability {values[0, 0]:.2f}" in Page(explanation._repr_html_()).words
    assert explanation.to_dict()["certainty"]["calibrated_probability"] == pytest.approx(values[0])
    (tmp_path / "a.csv").write_text(f"smiles\n{sulfonamides.smiles[0]}\n")
    head, row = MoleculeDomain().predict(
        model, tmp_path / "a.csv", MoleculeReading(), MoleculePredicting(certainty=True), progress=False, warn=print
    )
    assert head[2:4] == ["calibrated probability: active", "nearest training molecule"]
    assert row[2] == pytest.approx(values[0, 0], rel=1e-5)
    with pytest.raises(pl.InputError, match="use `predict_probability`"):
        model.predict_interval("CCO")


def test_models_that_were_not_calibrated_with_values_say_so(sulfonamides, tmp_path):
    small = {"similar": SimilarityRule(analogs=False), "play": "banked", "width": 8, "depth": 2, "epochs": 1}
    model = PropertyModel(task="regression", explain_with_analogs=False, game=None, **small)
    model.fit(sulfonamides, validation=0, progress=False)
    with pytest.raises(pl.InputError, match="call `calibrate` with such molecules"):
        model.predict_interval("CCO")
    (tmp_path / "a.csv").write_text("smiles\nCCO\n")
    warnings = []
    _, row = MoleculeDomain().predict(
        model, tmp_path / "a.csv", MoleculeReading(), MoleculePredicting(certainty=True), progress=False,
        warn=warnings.append,
    )  # fmt: skip
    assert row[2:4] == ["", ""]
    assert warnings == ["There are no prediction intervals: the model was not calibrated on held-out molecules with "
                        "measured values."]  # fmt: skip
