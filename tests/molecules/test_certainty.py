"""How sure predictions are: nearest labeled molecules, intervals, probabilities."""

import numpy as np
import pytest
from rdkit import Chem
from rdkit.DataStructs import TanimotoSimilarity

import pellucid as pl
from pellucid.molecules import PropertyModel, SimilarityRule
from pellucid.molecules.certainty import nearest_molecules
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


def test_probabilities_of_a_model_are_calibrated_on_labels_held_out(sulfonamides):
    labels = (sulfonamides.y > np.median(sulfonamides.y)).astype(float)
    small = {"similar": SimilarityRule(analogs=False), "play": "banked", "width": 16, "epochs": 1, "game": None}
    model = PropertyModel(explain_with_analogs=False, **small).fit(
        sulfonamides.smiles, labels, targets=["active"], validation=0.4, progress=False
    )
    values = model.predict_probability(list(sulfonamides.smiles))
    expected = model.probabilities_(model.predict(sulfonamides))
    np.testing.assert_allclose(values, expected)
    with pytest.raises(pl.InputError, match="use `predict_probability`"):
        model.predict_interval("CCO")


def test_models_that_were_not_calibrated_with_values_say_so(sulfonamides):
    small = {"similar": SimilarityRule(analogs=False), "play": "banked", "width": 8, "depth": 2, "epochs": 1}
    model = PropertyModel(task="regression", explain_with_analogs=False, game=None, **small)
    model.fit(sulfonamides, validation=0, progress=False)
    with pytest.raises(pl.InputError, match="call `calibrate` with such molecules"):
        model.predict_interval("CCO")
