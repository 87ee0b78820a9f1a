"""Properties of the latent space, and the search for molecules with more of one."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from blockers import blockers
from rdkit import Chem
from rdkit.Chem import Descriptors

from pellucid.errors import InputError
from pellucid.molecules import MoleculeExplanation, SimilarityRule
from pellucid.molecules.exchanges import exchanged_groups
from pellucid.molecules.tree_explanation_text import reasons_text
from pellucid.molecules.vae import Corpus, JunctionTreeVAE, LatentProperty, Optimization, optimize
from pellucid.molecules.vae.optimization import Step

SMILES = list(blockers().smiles[:60])
SETTINGS = {"width": 16, "latent": 6, "epochs": 4, "game": None, "centers": 5, "pool": 60}


def weight(texts):
    return [Descriptors.MolWt(Chem.MolFromSmiles(text)) for text in texts]


@pytest.fixture(scope="module")
def model():
    rule = SimilarityRule(analogs=False, threshold=0.3)
    return JunctionTreeVAE(similar=rule, **SETTINGS).fit(Corpus.of(SMILES), validation=0, progress=False)


@pytest.fixture(scope="module")
def head(model):
    return LatentProperty.fit(model, SMILES, weight(SMILES), name="weight")


def test_a_property_is_the_ridge_regression_that_predicts_left_out_molecules_best(model, head):
    x, y = model.encode(SMILES).mean.astype(float), np.array(weight(SMILES))
    left_out = []
    for penalty in np.logspace(-3, 5, 17):
        errors = []
        for i in range(len(y)):
            a, b = np.delete(x, i, 0), np.delete(y, i)
            c = a - a.mean(0)
            w = np.linalg.solve(c.T @ c + penalty * np.eye(a.shape[1]), c.T @ (b - b.mean()))
            errors.append(abs(y[i] - b.mean() - (x[i] - a.mean(0)) @ w))
        left_out.append(np.array(errors))
    errors = min(left_out, key=lambda each: np.square(each).mean())
    assert head.explained == pytest.approx(1 - np.square(errors).mean() / y.var(), abs=1e-3)
    assert head.errors == pytest.approx(errors, rel=1e-3)
    # ceil(61 * 0.9) = 55 of 60; 99 % would take 99 molecules.
    assert head.bound() == pytest.approx(np.sort(errors)[54], rel=1e-3)
    assert head.bound(0.99) is None
    assert head(SMILES) == pytest.approx(head.constant + x @ head.direction)
    assert head.extent == pytest.approx((head(SMILES).min(), head(SMILES).max()))
    assert "a linear function of the latent space, learned from 60 molecules" in str(head)


def test_rows_of_one_molecule_are_joined(model, head):
    y = np.random.default_rng(1).standard_normal(60)
    once = LatentProperty.fit(model, SMILES, y)
    # Other ways to write it, and measurements that differ: their mean counts.
    written = [Chem.MolToSmiles(Chem.MolFromSmiles(text), rootedAtAtom=2) for text in SMILES]
    twice = LatentProperty.fit(model, [*SMILES, *written], [*(y + 0.25), *(y - 0.25)])
    assert (once.count, once.joined) == (60, 0)
    assert (twice.count, twice.joined) == (60, 60)
    assert "60 molecules, 60 rows joined with others of the same molecule" in str(twice)
    assert twice.direction == pytest.approx(once.direction)
    assert list(twice.measured.values()) == pytest.approx(y)
    again = LatentProperty.fit(model, SMILES * 2, [*y, *y])
    assert np.array_equal(again.direction, once.direction)
    assert (again.constant, again.explained) == (once.constant, once.explained)
    some = LatentProperty.fit(model, ["C1CC", *SMILES, SMILES[0]], [1.0, *y, np.nan])
    assert (once.left_out, some.left_out) == (0, 2)
    assert str(some) == f"{once}, 2 rows without a value or an encoding left out"
    with pytest.raises(InputError, match="A property must be measured at 3 molecules .* Got 2 molecules"):
        LatentProperty.fit(model, SMILES[:2] * 3, range(6))


def test_stereoisomers_are_one_molecule(model):
    smiles = [*SMILES[:10], "C[C@H](N)CO", "C[C@@H](N)CO"]
    head = LatentProperty.fit(model, smiles, range(12))
    assert (head.count, head.joined) == (11, 1)
    assert head.measured["CC(N)CO"] == 10.5
    assert head.best() == "CC(N)CO"
    assert head.best(lower=True) == model.flat(SMILES[0])[0]


def test_every_step_is_a_valid_molecule_that_is_better(model, head):
    by_value = sorted(SMILES, key=lambda text: head(text)[0])
    found = optimize(model, head, by_value[0], steps=6, proposals=24)
    values = [step.value for step in found.steps]
    assert len(found) > 1
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    for step in found.steps:
        assert Chem.MolFromSmiles(step.smiles) is not None
        # What counts is the molecule, not the point that it was decoded from.
        assert step.value == pytest.approx(head([step.smiles])[0], rel=1e-5)
    assert str(found) == str(optimize(model, head, by_value[0], steps=6, proposals=24))
    lower = optimize(model, head, by_value[-1], steps=4, proposals=24, lower=True)
    assert lower.steps[-1].value < lower.steps[0].value


def test_the_table_says_what_was_measured(head):
    y = dict(zip(SMILES, weight(SMILES), strict=True))
    start = max(SMILES, key=y.__getitem__)
    found = optimize(head.model, head, start, steps=6, proposals=24)
    columns, first, *others = found.rows()
    assert columns == ["step", "SMILES", "predicted: weight", "within (90 %)", "measured: weight", "molecule",
                       "similarity to the first"]  # fmt: skip
    assert first[4:6] == [pytest.approx(y[start], rel=1e-5), "measured"]
    assert first[3] == pytest.approx(head.bound(), rel=0.01)
    flat = set(head.model.flat(SMILES))
    assert others
    for row in others:
        assert (row[5] == "measured") == (row[4] != "") == (row[1] in flat)
    assert str(found).startswith("weight: at molecules left out it ")


def way(head, *values, measured=None, lower=False):
    steps = [Step("C", value, 1.0, None if i else measured) for i, value in enumerate(values)]
    return Optimization(name="weight", steps=tuple(steps), tried=9, head=head, lower=lower)


def test_doubts_are_said(head):
    (low, high), bound = head.extent, head.bound()
    middle = (low + high) / 2
    assert way(head, middle).doubts() == []
    assert way(None, 1.0, 2.0).doubts() == []
    below = f"no step is predicted to reach what was measured at the first, {high:.4g}"
    assert below in str(way(head, middle, middle + 1, measured=high))
    above = f"no step is predicted to reach what was measured at the first, {low:.4g}"
    assert above in str(way(head, middle, middle - 1, measured=low, lower=True))
    small = "predicted to be 1 better than what was predicted at the first"
    assert small in str(way(head, middle, middle + 1))
    assert small in str(way(head, middle, middle - 1, lower=True))
    within = f"better than what was measured at the first, {high - bound / 2:.4g}, which is less than predictions are"
    assert within in str(way(head, middle, high, measured=high - bound / 2))
    large = way(head, low, low + 2 * bound, high + 1).doubts()
    assert large[-1].startswith("step 2 left the range of predictions that was learned from, ")
    assert way(head, low - 1, high + 1, lower=True).doubts()[-1].startswith("steps 0, 1 left the range")


def test_a_search_stays_near_its_start(model, head):
    from rdkit.Chem import rdFingerprintGenerator
    from rdkit.DataStructs import TanimotoSimilarity

    found = optimize(model, head, SMILES[3], steps=4, proposals=24, least_similarity=0.2)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [generator.GetFingerprint(Chem.MolFromSmiles(step.smiles)) for step in found.steps]
    expected = [TanimotoSimilarity(prints[0], other) for other in prints]
    assert [step.similarity for step in found.steps] == pytest.approx(expected)
    assert min(expected) >= 0.2


def test_any_function_can_be_the_goal(model):
    found = optimize(model, weight, SMILES[3], steps=3, proposals=24)
    assert [step.value for step in found.steps] == pytest.approx(weight([step.smiles for step in found.steps]))
    assert next(found.rows()) == ["step", "SMILES", "weight", "similarity to the first"]
    nameless = optimize(model, lambda texts: weight(texts)[:], SMILES[3], steps=1, proposals=2)
    assert nameless.name == "value"
    with pytest.raises(InputError, match="Values must come from a `LatentProperty` to be explained"):
        found.explain()


def test_molecules_that_the_encoder_cannot_read_do_not_count(model, head, monkeypatch):
    with pytest.raises(InputError, match="is not in the vocabulary"):
        model.encode("C[Si](C)(C)C")
    monkeypatch.setattr(JunctionTreeVAE, "decode", lambda self, z: ["C[Si](C)(C)C"] * len(z))
    way = optimize(model, head, SMILES[0], steps=2, proposals=6)
    assert (len(way), way.tried) == (1, 1)
    assert "1 different molecule compared; none is better than the first" in str(way)


@pytest.mark.parametrize(
    ("goal", "got"),
    [
        (lambda text: Descriptors.MolWt(Chem.MolFromSmiles(text)), "TypeError: No registered converter"),
        (lambda texts: 1.0, r"values of shape \(\) for 1 molecule"),
        (lambda texts: ["high"] * len(texts), "ValueError: could not convert"),
    ],
)
def test_a_goal_returns_a_number_for_each_molecule(model, goal, got):
    with pytest.raises(InputError, match=f"must be a function of a list of SMILES .* Got {got}.*lambda texts"):
        optimize(model, goal, SMILES[0], steps=1, proposals=2)


def test_a_property_that_is_not_learned_says_so(model):
    y = np.random.default_rng(0).standard_normal(len(SMILES))
    noise = LatentProperty.fit(model, SMILES, y.tolist())
    assert noise.explained <= 0
    assert "at molecules left out it is worse than their mean" in str(noise)
    assert "what a search for it finds means nothing" in str(noise)
    little, much = (replace(noise, explained=share) for share in (0.29, 0.3))
    assert "at molecules left out it explains 29 % of the variance and is off by " in str(little)
    assert "that is little: what a search for it finds may be chance" in str(little)
    assert "that is little" not in str(much)
    few = LatentProperty.fit(model, SMILES[:8], y[:8].tolist())
    assert few.bound() is None
    assert "they are too few to say how far it is off at 90 % of others" in str(few)


def test_the_tree_says_what_the_property_follows(head):
    explanation = head.explain(SMILES[3])
    assert explanation.prediction[0] == pytest.approx(head([SMILES[3]])[0], rel=1e-5)
    assert f"measured:  weight = {weight(SMILES)[3]:.1f}" in explanation.text()
    assert "held out: at a member that it was not fitted to, the tree is off by weight = " in explanation.text()


def test_reasons_add_up_to_the_value_of_the_tree(head):
    explanation = head.explain(SMILES[3])
    nodes, reasons = explanation.witness.nodes, explanation.reasons()
    assert len(reasons) == len(explanation.path) - 1
    total = nodes["value"][0] + sum(reason.change for reason in reasons)
    assert total == pytest.approx(explanation.witnessed)
    (center,) = head.model.morgan([SMILES[3]]).dense().tolist()
    members = head.model.morgan([member.smiles for member in explanation.members]).dense()
    values = np.array([member.prediction[0] for member in explanation.members])
    behind = np.ones(len(values), dtype=bool)
    for reason in reasons:
        assert reason.present == bool(center[reason.split])
        before = values[behind].mean()
        behind &= members[:, reason.split].numpy().astype(bool) == reason.present
        assert reason.change[0] == pytest.approx(values[behind].mean() - before, abs=1e-3)
    tree, raised, lowered = reasons_text(explanation)
    assert f"over all {len(values)} members; held out, trees explain " in tree
    largest = max(reasons, key=lambda reason: reason.change[0])
    assert raised.startswith(f"raised by: with{'' if largest.present else 'out'} ")
    assert explanation.substructures[largest.split].smiles in raised.split(", ")[0]
    assert lowered.startswith("lowered by: with")


def test_every_step_is_explained(head):
    by_value = sorted(SMILES, key=lambda text: head(text)[0])
    found = optimize(head.model, head, by_value[0], steps=6, proposals=24)
    assert found.explain().smiles == found.explain(-1).smiles == found.steps[-1].smiles
    assert found.explain(0).smiles == found.steps[0].smiles
    lines = found.reasons().splitlines()
    for number, step in enumerate(found.steps):
        assert f"step {number}: weight = {step.value:.4g}  {step.smiles}" in lines
    assert sum("group is another" in line or "in the place of" in line for line in lines) == len(found) - 1
    with pytest.raises(InputError, match=f"`step` must be a whole number between .* and {len(found) - 1}. Got 99"):
        found.explain(99)


def test_one_exchanged_group_is_named(head):
    first, (second, pair) = next(
        (text, (SMILES[j - 1], pair)) for text in SMILES for j, pair in exchanged_groups([text, *SMILES]).items()
    )
    steps = (Step(first, 1.0, 1.0), Step(second, 2.0, 0.5))
    found = Optimization(name="weight", steps=steps, tried=2, head=head)
    assert f"  +1: {pair.into} in the place of {pair.out}" in found.reasons().splitlines()


def test_the_bound_of_trees_is_calibrated_on_molecules_that_the_model_was_not_trained_on(head):
    # This model plays no game: its trees were fitted to nothing.
    assert len(head.calibration) == 60 - sum(len(head.explain(text).members) < 3 for text in SMILES)
    assert "with 90 % confidence the tree is within weight = " in head.explain(SMILES[3]).text()
    played = copy(head.model)
    object.__setattr__(played, "game", "symmetric")
    object.__setattr__(played, "pool", 61)  # more than it learned from: the pool is the training molecules
    trained = replace(head, model=played)
    assert trained.calibration is None
    text = trained.explain(SMILES[3]).text()
    assert "of the molecules that the property was measured at, there is none with similar ones around it" in text
    assert "add validation data" not in text
    others = list(blockers().smiles[60:100])
    some = LatentProperty.fit(played, [*SMILES, *others], weight([*SMILES, *others]))
    assert 0 < len(some.calibration) <= 40
    object.__setattr__(played, "pool", 60)  # nobody knows what else it was trained on
    assert replace(some).calibration is None


def test_nobody_is_told_to_use_analogs_who_does(model):
    lonely = "CCCCCCCCCCBr"
    texts = [*SMILES[:50], lonely]
    without = JunctionTreeVAE(**SETTINGS, similar=SimilarityRule(analogs=False))
    without = without.fit(texts, validation=0, progress=False)
    fitted = LatentProperty.fit(without, texts, weight(texts)).explain(lonely)
    assert "(0) for a tree: train with analogs (`analogs`), or with a pool of more" in fitted.text()
    analogs = replace(fitted, analogs=True)
    assert "(0, with the analogs that can be made) for a tree: train with a pool of more" in analogs.text()
    assert MoleculeExplanation.from_dict(analogs.to_dict()).trust() == analogs.trust()
    assert reasons_text(analogs) == [analogs.trust()]


def test_properties_need_values_that_vary(model, head):
    with pytest.raises(InputError, match="There must be one value for each molecule"):
        LatentProperty.fit(model, SMILES, [1.0])
    with pytest.raises(InputError, match="A property must be measured at 3 molecules .* Got 60 molecules of the same"):
        LatentProperty.fit(model, SMILES, [1.0] * 60)
    with pytest.raises(InputError, match="`least_similarity` must be between 0 and 1. Got 2"):
        optimize(model, head, SMILES[0], least_similarity=2)
