import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from blockers import blockers

from pellucid import InputError
from pellucid.molecules import Morgan, PropertyModel, RGroups, SimilarityRule, prepare
from pellucid.molecules.fitting import PropertyFit
from pellucid.training import loop

SERIES = blockers().select(range(0, 1017, 6))
ALONE = SimilarityRule(analogs=False)
SMALL = {
    "similar": ALONE,
    "explain_with_analogs": False,
    "width": 16,
    "depth": 2,
    "epochs": 3,
    "batch_size": 16,
    "learning_rate": 3e-3,
}
GAMES = {
    "deep": {"game": None},
    "fresh": {"game": "symmetric", "weight": 0.3, "members": 8},
    "banked": {"game": "symmetric", "weight": 0.3, "play": "banked", "refit": 2},
    "asymmetric": {"game": "asymmetric", "criterion": "squared"},
    "uniform": {"game": "uniform", "margin": 0.01},
}


def fitted(**settings):
    return PropertyModel(task="regression", **SMALL | settings).fit(SERIES, progress=False)


@pytest.fixture(scope="module")
def model():
    return fitted()


def same(one, two):
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_every_game_is_played_the_same_way_twice(game):
    one, two = fitted(**GAMES[game]), fitted(**GAMES[game])
    assert same(one.network_, two.network_)
    assert one.history_ == two.history_
    assert ("penalty" in one.history_[0]) == (game != "deep")


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_an_interrupted_run_goes_on_to_the_same_model(game, tmp_path, monkeypatch):
    straight = fitted(**GAMES[game])
    calls, loss = [], PropertyFit.loss

    def interrupted(fit, batch):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        return loss(fit, batch)

    begun = PropertyModel(task="regression", **SMALL | GAMES[game])
    monkeypatch.setattr(PropertyFit, "loss", interrupted)
    monkeypatch.setattr(loop, "train", partial(loop.train, checkpoint_seconds=0))
    with pytest.raises(KeyboardInterrupt, match="Resume with"):
        begun.fit(SERIES, folder=tmp_path, progress=False)
    monkeypatch.undo()
    resumed = PropertyModel(task="regression", **SMALL | GAMES[game])
    resumed.fit(SERIES, folder=tmp_path, resume=True, progress=False)
    assert same(straight.network_, resumed.network_)
    assert straight.history_ == resumed.history_


CHLORINE = np.array([10.0 + 4.0 * ("Cl" in text) for text in SERIES.smiles])
TRAINED = {"epochs": 20, "learning_rate": 1e-2}


def learned(**settings):
    model = PropertyModel(task="regression", **SMALL | TRAINED | settings)
    return model.fit(SERIES.smiles, CHLORINE, targets=["planted"], validation=0, progress=False)


@pytest.mark.slow
def test_a_planted_substructure_is_what_the_tree_splits_by():
    # Chlorine decides everything: predictor and witness must both find it, also where two members alone have it.
    model = learned(weight=0.1, shrinkage=0.0, min_leaf=1)
    assert np.abs(model.predict(SERIES.smiles)[:, 0] - CHLORINE).mean() < 0.7
    told = 0
    for text in SERIES.smiles[:40]:
        explanation = model.explain(text)
        has = np.array(["Cl" in member.smiles for member in explanation.members])
        if not 0.25 < has.mean() < 0.75 or len(has) < 6:
            continue
        # Bits that are set in the same members are the same split.
        root = (
            Morgan()([m.smiles for m in explanation.members])
            .dense()
            .numpy()[:, explanation.witness.nodes["feature"][0]]
        )
        agree = (root == has).mean()
        told += max(agree, 1 - agree) > 0.9
        assert max(agree, 1 - agree) > 0.7
    assert told >= 3


@pytest.mark.slow
@pytest.mark.parametrize("game", ["fresh", "banked", "uniform", "asymmetric"])
def test_a_strong_game_makes_the_model_follow_its_trees(game):
    # Shallow trees on large neighborhoods, which DEEP has no reason to follow.
    common = TRAINED | {"similar": SimilarityRule(analogs=False, threshold=0.4), "delta": -2}
    deep = fitted(**common | GAMES["deep"])
    played = fitted(**common | GAMES[game] | {"weight": 1.0, "margin": 0.0, "multiplier_rate": 10.0, "share": 1.0})
    assert played.evaluate(SERIES).variation < 0.85 * deep.evaluate(SERIES).variation


@pytest.mark.slow
def test_predictions_are_in_the_units_of_the_data_and_survive_saving(model, tmp_path):
    y = SERIES.y[:, 0]
    values = model.predict(SERIES.smiles)
    assert values.shape == (len(SERIES), 1)
    assert abs(values.mean() - y.mean()) < y.std()
    model.save(tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "network.safetensors",
        "property_model.json",
    ]
    again = PropertyModel.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(SERIES.smiles), values)
    assert str(again.explain(SERIES.smiles[3])) == str(model.explain(SERIES.smiles[3]))
    assert str(again.evaluate(SERIES)) == str(model.evaluate(SERIES))
    assert again.settings() == model.settings()
    content = json.loads((tmp_path / "model" / "property_model.json").read_text())
    content["settings"]["task"] = "poetry"
    (tmp_path / "model" / "property_model.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match='`task` of PropertyModel must be "classification" or "regression"'):
        PropertyModel.load(tmp_path / "model")


@pytest.mark.slow
def test_trees_are_shrunken_and_no_leaf_is_small(model):
    assert (model.shrinkage, model.min_leaf) == (10.0, 3)
    explanations = [model.explain(text) for text in SERIES.smiles[:20]]
    split = [e.witness.nodes for e in explanations if (e.witness.nodes["feature"] >= 0).any()]
    assert split
    assert all(nodes["size"][nodes["feature"] < 0].min() >= 3 for nodes in split)
    plain = replace(model, shrinkage=0.0, min_leaf=1).with_fitted(model.fitted_)
    leaves = [n["size"][n["feature"] < 0] for n in (plain.explain(text).witness.nodes for text in SERIES.smiles[:20])]
    assert min(sizes.min() for sizes in leaves) < 3
    # The witnesses of the game are those of explanations.
    family = model.new_game(5).family
    assert (family.min_leaf, family.shrinkage) == (3, 10.0)
    assert family == model.family()


def test_an_explanation_by_a_tree_states_what_holds_at_members_left_out(model):
    neighborhoods = model.neighborhoods(SERIES.smiles[:30])
    witnesses = model.witnesses(neighborhoods)
    i = int(neighborhoods.hoods.sizes.argmax())
    part = slice(*neighborhoods.hoods.offsets[i : i + 2].tolist())
    members = neighborhoods.hoods.members[part]
    values = witnesses.held_out_values()[part].double().numpy()
    f = witnesses.f[members].double().numpy()
    explanation = model.explain(SERIES.smiles[i])
    scale = model.task_.scale
    np.testing.assert_allclose(explanation.held_out_deviation, np.abs(f - values).mean(0) * scale, rtol=1e-4)
    others = np.array([np.delete(f, j, axis=0).mean(0) for j in range(len(f))])
    expected = 1 - np.square(f - values).sum(0) / np.square(f - others).sum(0)
    np.testing.assert_allclose(explanation.held_out_explained, expected, rtol=1e-3, atol=1e-4)
    text = str(explanation)
    assert f"and explains {100 * expected[0]:.0f} % of what the network does" in text
    assert "on average where it was fitted" in text
    told = [row["tree, held out: activity"] for row in explanation.table()]
    np.testing.assert_allclose(told, model.task_.natural(values)[:, 0], rtol=1e-5)


def test_a_molecule_may_be_written_in_any_way(model):
    np.testing.assert_array_equal(model.predict("OCC"), model.predict(["CCO"]))
    np.testing.assert_array_equal(model.predict("CCO.[Na+]"), model.predict(["CCO"]))


@pytest.mark.slow
def test_several_labels_with_blanks():
    labels = np.stack([SERIES.y[:, 0] > 7, SERIES.y[:, 0] > 8], axis=1).astype(float)
    labels[::3, 1] = np.nan
    model = PropertyModel(**SMALL).fit(SERIES.smiles, labels, targets=["active", "very"], progress=False)
    values = model.predict(SERIES.smiles[:5])
    assert values.shape == (5, 2)
    assert ((values > 0) & (values < 1)).all()
    scores = model.evaluate(SERIES.smiles, labels)
    assert scores.measure == "AUC"
    assert scores.targets == ("active", "very")
    assert "active = " in str(model.explain(SERIES.smiles[0]))


@pytest.mark.slow
def test_analogs_and_a_pool_are_neighbors_too():
    model = PropertyModel(task="regression", **SMALL | {"similar": SimilarityRule(groups_per_kind=3), "epochs": 1})
    learned, pool = SERIES.select(range(40)), SERIES.select(range(40, 80))
    model.fit(learned, pool=pool.smiles, validation=0, progress=False)
    origins = {m.origin for i in range(10) for m in model.explain(learned.smiles[i]).members}
    assert origins == {"itself", "given", "pool", "analog"}


@pytest.mark.slow
def test_groups_may_come_from_other_molecules(tmp_path):
    model = PropertyModel(task="regression", **SMALL | {"similar": SimilarityRule(), "epochs": 1, "game": None})
    bromide = RGroups(by_kind={"c3": ("Br[*:1]",)}, largest=4)
    model.fit(SERIES.select(range(40)), groups=bromide, validation=0, progress=False)
    model.save(tmp_path)
    for known in (model, PropertyModel.load(tmp_path)):
        made = [m.smiles for i in range(10) for m in known.explain(SERIES.smiles[i]).members if m.origin == "analog"]
        assert made
        assert all("Br" in text for text in made)
        assert known.groups_ == bromide


class Counting(torch.nn.Module):
    """A predictor that reads SMILES: how often letters occur."""

    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(4, 1)

    def forward(self, graphs):
        counts = torch.tensor([[float(text.count(letter)) for letter in "CNOF"] for text in graphs.smiles])
        return self.dense(counts / 10)


class Wide(Counting):
    def forward(self, graphs):
        return super().forward(graphs).repeat(1, 3)


@pytest.mark.slow
def test_a_network_of_ones_own(tmp_path):
    model = PropertyModel(task="regression", **SMALL)
    model.fit(SERIES, network=Counting(), progress=False)
    assert len(model.explain(SERIES.smiles[0]).members) > 2
    model.save(tmp_path)
    with pytest.raises(InputError, match="pass a module of the same kind as `network=`"):
        PropertyModel.load(tmp_path)
    again = PropertyModel.load(tmp_path, network=Counting())
    np.testing.assert_array_equal(again.predict(SERIES.smiles), model.predict(SERIES.smiles))


@pytest.mark.slow
def test_validation_molecules_are_held_out_or_given():
    held = fitted()
    assert len(held.smiles_) == len(SERIES)  # as neighbors those held out serve, too
    assert "validation_loss" in held.history_[0]
    given = PropertyModel(task="regression", **SMALL | {"epochs": 1})
    given.fit(SERIES, validation=(SERIES.smiles[:9], SERIES.y[:9]), progress=False)
    assert len(given.smiles_) == len(SERIES)
    assert "validation_loss" in given.history_[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"game": "chess"},
            '`game` of PropertyModel must be "symmetric", "asymmetric", "uniform" or None. Got .chess.',
        ),
        ({"play": "banked", "game": "uniform"}, "Only the symmetric game can be played with a bank"),
        ({"share": 0.0}, "`share`"),
        ({"share": 1.5}, "`share` of PropertyModel must be a share, at most 1. Got 1.5"),
        ({"members": 2}, "`members`"),
        ({"delta": 0.5}, "`delta` must be a whole number. Got 0.5"),
        ({"similar": 0.6}, "`similar` of PropertyModel must be a SimilarityRule. Got 0.6"),
        ({"weight": -1}, "`weight`"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        PropertyModel(**settings)


def test_input_that_makes_no_sense_is_refused(model):
    untrained = PropertyModel(task="regression", **SMALL)
    with pytest.raises(InputError, match="must be trained first"):
        untrained.predict("CCO")
    with pytest.raises(InputError, match=r"Got 1 of 2 that do not: row 2 \('no'\)"):
        untrained.fit(["CCO", "no"], [1.0, 2.0])
    with pytest.raises(InputError, match="use `read"):
        untrained.fit("data.csv")
    with pytest.raises(InputError, match="must have measured values. Got none"):
        untrained.fit(["CCO"])
    with pytest.raises(InputError, match="`validation` must be a share"):
        untrained.fit(SERIES, validation=2)
    with pytest.raises(InputError, match="Got 'no' at position 2: not a valid SMILES"):
        model.predict(["CCO", "no"])
    with pytest.raises(InputError, match="`smiles` must be SMILES. Got int"):
        model.predict(3)
    with pytest.raises(InputError, match="`delta` must be a whole number. Got 1.5"):
        model.explain("CCO", delta=1.5)
    with pytest.raises(InputError, match="must be those learned, activity. Got other; read these columns"):
        untrained.fit(SERIES, validation=prepare(["CCO", "CCN"], [1.0, 2.0], targets=["other"]))
    with pytest.raises(InputError, match="Got none; read these columns"):
        untrained.fit(SERIES, validation=prepare(["CCO", "CCN"]))
    with pytest.raises(InputError, match="`validation` must have molecules. Got none"):
        untrained.fit(SERIES, validation=SERIES.select([]))
    with pytest.raises(InputError, match="Got 1 molecule, of which 1 would be held out"):
        PropertyModel(task="regression").fit(SERIES.select([0]))
    with pytest.raises(InputError, match="`pool` must be a list of SMILES. Got one text"):
        untrained.fit(SERIES, pool="moses.csv")
    with pytest.raises(InputError, match="must be a torch module. Got .*pass an instance"):
        untrained.fit(SERIES, network=Counting)
    with pytest.raises(InputError, match=r"\(2, 1\) for 2 molecules. Got \(2, 3\); check its last layer"):
        untrained.fit(SERIES, network=Wide())
    with pytest.raises(InputError, match="One molecule is explained at a time"):
        model.explain(["CCO"])
    with pytest.raises(InputError, match="The targets must be those learned, activity. Got other"):
        model.evaluate(prepare(["CCO", "CCN"], [1.0, 2.0], targets=["other"]))


@pytest.mark.slow
def test_rows_that_cannot_be_used_are_rejected_if_allowed():
    smiles, y = [*SERIES.smiles, "no"], [*SERIES.y[:, 0], 1.0]
    model = PropertyModel(task="regression", **SMALL | {"epochs": 1, "game": None})
    assert len(model.fit(smiles, y, on_error="skip", validation=0, progress=False).smiles_) == len(SERIES)
    assert model.rejected_ == ((len(SERIES) + 1, "no", "not a valid SMILES"),)


# -- trust ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bounds_hold_on_molecules_that_were_not_seen():
    series = blockers()
    order = np.random.default_rng(0).permutation(len(series))
    train, held, test = (series.select(part) for part in np.split(order, [300, 650]))
    model = PropertyModel(
        task="regression", similar=ALONE, explain_with_analogs=False, play="banked", width=16, epochs=2
    )
    model.fit(train, validation=0, progress=False)
    assert model.calibration_ is None
    assert model.explain(test.smiles[0]).bound is None
    model.calibrate(held.smiles)
    others = model.held_out(test.smiles, seed=1)
    # Two standard deviations of a share of so many, in two sets.
    allowed = 2 * np.sqrt(0.09 * (1 / len(model.calibration_) + 1 / len(others.gaps)))
    assert model.calibration_.coverage(others) == pytest.approx([0.9], abs=allowed)


@pytest.mark.slow
def test_an_explanation_carries_its_bound_in_the_units_of_the_data(property_model, tmp_path):
    model = property_model
    smiles = max(model.smiles_, key=lambda text: len(model.neighborhoods(text).points))
    explanation = model.explain(smiles)
    expected = model.calibration_.bound(explanation.deviation / model.task_.scale) * model.task_.scale
    np.testing.assert_allclose(explanation.bound, expected)
    assert explanation.calibrated == len(model.calibration_) >= 9
    assert f"with 90 % confidence the tree is within activity = {explanation.bound[0]:.3f}"[:-3] in str(explanation)
    assert (model.explain(smiles, level=0.5).bound < explanation.bound).all()
    assert "too few" in str(model.explain(smiles, level=0.999))
    assert model.explain(smiles, delta=1).bound is None
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(PropertyModel.load(tmp_path / "model").explain(smiles).bound, explanation.bound)
    again = type(explanation).from_dict(json.loads(json.dumps(explanation.to_dict())))
    assert str(again) == str(explanation)


@pytest.mark.slow
def test_many_explanations_are_those_of_each(property_model):
    smiles = property_model.smiles_[:5]
    for explanation, text in zip(property_model.explain_many(smiles), smiles, strict=True):
        assert str(explanation) == str(property_model.explain(text))


@pytest.mark.slow
def test_neighbors_bring_what_was_measured(property_model, sulfonamides, tmp_path):
    model = property_model
    known = dict(zip(sulfonamides.smiles, sulfonamides.y, strict=True))
    smiles = max(sulfonamides.smiles, key=lambda text: len(model.neighborhoods(text).points))
    model.save(tmp_path / "model")
    for own in (model, PropertyModel.load(tmp_path / "model")):
        explanation = own.explain(smiles)
        assert len(explanation.members) > 2
        for member in explanation.members:
            np.testing.assert_array_equal(member.measured, known[member.smiles])
        assert explanation.table()[1]["measured: activity"] == known[explanation.members[1].smiles][0]
        assert "(it is among the labeled molecules)" in str(explanation)
    stranger = model.explain("CCO")
    assert stranger.members[0].measured is None
    assert "there are too few similar molecules (0) for a tree" in str(stranger)
    assert "its tree" not in str(stranger)


def test_a_target_that_would_overflow_is_refused_before_the_work_begins():
    y = [1e308, *SERIES.y[1:, 0]]
    with pytest.raises(InputError, match=r"Got 1e\+308 for molecule 1, target 1; fix it"):
        PropertyModel(task="regression", **SMALL).fit(list(SERIES.smiles), y, progress=False)


@pytest.mark.parametrize("method", ["predict", "explain", "neighborhoods"])
def test_a_smiles_with_white_space_inside_is_not_cut_short(model, method):
    message = "Got 'CC O': white space inside, so that only 'CC'"
    with pytest.raises(InputError, match=message):
        getattr(model, method)("CC O")
    np.testing.assert_array_equal(model.predict(" CCO\n"), model.predict("CCO"))


def test_scores_and_held_out_members_of_one_pass_are_those_of_two(property_model, sulfonamides):
    tested = sulfonamides.select(range(0, 204, 12))
    scores, left_out = property_model.evaluate_held_out(tested, seed=1)
    assert scores.to_dict() == property_model.evaluate(tested).to_dict()
    alone = property_model.held_out(tested, seed=1)
    assert np.array_equal(left_out.gaps, alone.gaps)
    assert np.array_equal(left_out.explained(), alone.explained(), equal_nan=True)


@pytest.mark.slow
def test_explanations_may_exchange_more_groups_than_the_game():
    settings = SMALL | {"similar": SimilarityRule(groups_per_kind=2), "explain_with_analogs": True, "epochs": 1}
    few, many = (PropertyModel(task="regression", explained_groups=groups, **settings) for groups in (2, 8))
    series = SERIES.select(range(40))
    for model in (few, many):
        model.fit(series, validation=0, progress=False)
    kinds = [max(map(len, model.groups_.by_kind.values())) for model in (few, many)]
    assert kinds == [2, 8]
    # The game is played with the same two groups of a kind: the networks are the same.
    assert np.array_equal(few.predict(series), many.predict(series))
    members = [
        [{m.smiles for m in explanation.members} for explanation in model.explain_many(series.smiles[:5])]
        for model in (few, many)
    ]
    assert all(fewer < more for fewer, more in zip(*members, strict=True))
