from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from blockers import blockers
from rdkit import Chem

from pellucid import InputError
from pellucid.deviations import gaussian_kl
from pellucid.molecules import SimilarityRule
from pellucid.molecules.vae import Corpus, JunctionTreeVAE, decompose
from pellucid.molecules.vae.batches import encoder_batch
from pellucid.molecules.vae.fitting import AutoencoderFit
from pellucid.molecules.vae.neighborhoods import EncodableNeighborhoods
from pellucid.molecules.vae.trees import MAX_ATOMS
from pellucid.training import loop

pytestmark = pytest.mark.slow

SMILES = list(blockers().smiles[:120])
SETTINGS = {
    "width": 16, "latent": 4, "epochs": 2, "batch_size": 32, "centers": 30, "pool": 80,
    "similar": SimilarityRule(analogs=False), "share": 0.125, "members": 6, "kl_weight": 1.0, "free": 10.0,
}  # fmt: skip


def fitted(**settings):
    return JunctionTreeVAE(**SETTINGS | settings).fit(Corpus.of(SMILES), progress=False)


@pytest.fixture(scope="module")
def model():
    return fitted()


def weights(model):
    return torch.cat([value.flatten().double() for value in model.network_.state_dict().values()])


def test_training_lowers_the_loss_and_tells_its_terms(model):
    first, last = model.history_[0], model.history_[-1]
    assert last["labels"] > first["labels"]
    assert last["elbo"] == pytest.approx(last["topology"] + last["labels"] + last["assembly"] - last["kl"], abs=1e-3)
    assert 0 < first["kl_weight"] <= last["kl_weight"] == 1
    assert {"penalty", "validation_elbo"} <= set(last)
    assert last["validation_loss"] == pytest.approx(-last["validation_elbo"])


def test_a_game_of_none_is_deep():
    deep, still = fitted(game=None), fitted(weight=0.0)
    assert torch.equal(weights(deep), weights(still))
    assert "penalty" not in deep.history_[0]
    assert not torch.equal(weights(deep), weights(fitted(weight=1.0)))


@pytest.mark.parametrize("game", [None, "symmetric", "asymmetric"])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path, game, monkeypatch):
    whole = fitted(game=game)
    calls, loss = [], AutoencoderFit.loss

    def interrupted(fit, batch):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return loss(fit, batch)

    monkeypatch.setattr(AutoencoderFit, "loss", interrupted)
    monkeypatch.setattr(loop, "train", partial(loop.train, checkpoint_seconds=0))
    again = JunctionTreeVAE(**SETTINGS, game=game)
    with pytest.raises(KeyboardInterrupt, match="Training was stopped. Resume with"):
        again.fit(Corpus.of(SMILES), folder=tmp_path, progress=False)
    again.fit(Corpus.of(SMILES), folder=tmp_path, resume=True, progress=False)
    assert torch.equal(weights(again), weights(whole))
    assert again.history_ == whole.history_


def test_a_model_comes_back_from_disk(model, tmp_path):
    model.save(tmp_path)
    again = JunctionTreeVAE.load(tmp_path)
    assert torch.equal(weights(again), weights(model))
    assert again.vocabulary_.labels == model.vocabulary_.labels
    assert again.sample(3) == model.sample(3)
    assert np.array_equal(again.encode(SMILES[:3]).mean, model.encode(SMILES[:3]).mean)
    assert (tmp_path / "vocabulary.txt").read_text().startswith(model.vocabulary_.labels[0] + "\t")
    (tmp_path / "vocabulary.txt").write_text("CC\t1\n")
    with pytest.raises(InputError, match="as they were saved"):
        JunctionTreeVAE.load(tmp_path)


def test_samples_are_valid(model):
    for greedy in (False, True):
        for text in model.sample(50, seed=1, greedy=greedy):
            assert Chem.MolToSmiles(Chem.MolFromSmiles(text)) == text
            assert len(decompose(text).atoms) <= MAX_ATOMS


def test_latent_space(model):
    encoding = model.encode(SMILES[:4])
    assert encoding.mean.shape == encoding.log_variance.shape == (4, 8)
    assert (encoding.log_variance < 0).all()
    assert model.reconstruct(SMILES[:4]) == model.decode(encoding.mean)
    along = model.interpolate(SMILES[0], SMILES[50], steps=5)
    assert along[0] == model.reconstruct(SMILES[0])[0]
    assert along[-1] == model.reconstruct(SMILES[50])[0]
    assert all(a != b for a, b in pairwise(along))
    assert np.array_equal(model.encode(Corpus.of(SMILES[:4])).mean, encoding.mean)


def test_molecules_that_cannot_be_read_are_told(model):
    given = [SMILES[0], "nonsense", "C[Si](C)(C)C", "CC.O", SMILES[1]]
    encoding = model.encode(given, on_error="skip")
    assert [r.row for r in encoding.rejected] == [2, 3, 4]
    assert [r.reason.split(" ")[-2:] for r in encoding.rejected][1] == ["the", "vocabulary"]
    assert np.isnan(encoding.mean).all(1).tolist() == [False, True, True, True, False]
    assert np.array_equal(encoding.mean[[0, 4]], model.encode(SMILES[:2]).mean)
    with pytest.raises(
        InputError, match=r"3 rows that cannot be read: row 2 \('nonsense'\): not a valid SMILES; row 3"
    ):
        model.encode(given)


def test_bounds_are_means_over_draws(model):
    one = [model.elbo(SMILES[:5], draws=1, seed=s) for s in (0, 1)]
    assert len(one[0]) == 5
    assert one[0].values == pytest.approx(one[0].topology + one[0].labels + one[0].assembly - one[0].kl)
    assert not np.array_equal(one[0].labels, one[1].labels)
    assert np.array_equal(one[0].kl, one[1].kl)
    many = model.elbo(SMILES[:5], draws=50)
    assert many.mean == pytest.approx(one[0].mean, abs=3)
    assert str(many).startswith(f"ELBO {many.mean:.2f} over 5 molecules = topology")


def test_scores_are_those_of_the_definitions(model):
    test = list(blockers().smiles[130:140])
    scores = model.evaluate(test, seed=3)
    places = model.encodable(model.neighborhoods(test))
    witnesses = model.witnesses(places)
    f = torch.from_numpy(np.concatenate(model.encode(list(places.points))[:2], axis=1))
    for i in range(len(test)):
        where = places.hoods.members_of(i)
        g = torch.stack([witnesses[i].predict(places.fingerprints.dense()[m][None])[0] for m in where]).float()
        assert scores.deviations[i] == pytest.approx(gaussian_kl(f[where], g).mean().item(), rel=1e-4)
    assert scores.neural.values == pytest.approx(model.elbo(test, seed=3).values, abs=1e-4)
    # With the trees' posteriors: the divergence by hand.
    centers = witnesses.at_centers()
    mean, log_variance = centers.chunk(2, dim=1)
    kl = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(1)
    assert scores.tree.kl == pytest.approx(kl.numpy(), rel=1e-4)
    assert scores.to_dict()["molecules"] == len(test)
    assert scores.deviation == pytest.approx(scores.deviations[scores.sizes > 2].mean())


def test_scores_are_in_the_order_of_what_was_given(model):
    a, b = blockers().smiles[130:132]
    scores = model.evaluate([b, "nonsense", a, b], seed=1)
    assert scores.rows.tolist() == [0, 2, 3]
    assert scores.rejected_count == 1
    assert scores.deviations[0] == scores.deviations[2]
    assert scores.deviations == pytest.approx(model.evaluate([b, a, b], seed=1).deviations)
    assert "1 molecule could not be read" in str(scores)
    assert model.evaluate(Corpus.of([b, "nonsense", a])).rejected_count == 1


def test_stereochemistry_changes_nothing():
    flat = ["CC(N)C(=O)O", "CC(N)C(=O)N", "CC(O)C(=O)O", "CC(N)CO", "CCC(N)C(=O)O", "CC(N)C(=O)OC"]
    similar = SimilarityRule(analogs=False, threshold=0.3)
    small = JunctionTreeVAE(**SETTINGS | {"similar": similar}).fit(Corpus.of(flat), validation=0, progress=False)
    assert small.explain("C[C@H](N)C(=O)O").to_dict() == small.explain(flat[0]).to_dict()
    assert small.evaluate(["C[C@H](N)C(=O)O"]).deviation == pytest.approx(small.explain(flat[0]).divergence)


@pytest.mark.parametrize("smiles", [["C"] * 4, ["FF"] * 3, ["[Na+]", "CCO", "CCN", "CCC"]])
def test_labels_that_nothing_fits_have_no_children(smiles):
    small = JunctionTreeVAE(**SETTINGS | {"game": None}).fit(Corpus.of(smiles), validation=0, progress=False)
    for greedy in (False, True):
        assert all(Chem.MolFromSmiles(text) is not None for text in small.sample(100, greedy=greedy))


def fitting(**settings):
    return AutoencoderFit(JunctionTreeVAE(**SETTINGS | settings), Corpus.of(SMILES), validation=0)


def test_the_encoder_pays_for_its_deviation():
    setting = fitting(share=0.5, members=5, warm=0, free=0, weight=0.3)
    batch = setting.take(torch.arange(8), torch.Generator().manual_seed(0))
    hoods = batch.game.hoods
    assert len(hoods) == 4
    assert hoods.sizes.max() <= 5
    terms = setting.loss(batch)
    f = setting.network.encode(batch.game.members).joined()
    trees = JunctionTreeVAE().family().best_response(batch.game.x, f.detach(), hoods)
    expected = [
        gaussian_kl(f[hoods.members_of(i)], trees.at_members()[a:b]).mean()
        for i, (a, b) in enumerate(pairwise(hoods.offsets.tolist()))
    ]
    assert terms["penalty"].item() == pytest.approx(0.3 * torch.stack(expected).mean().item(), rel=1e-5)
    assert terms["loss"].item() == pytest.approx((terms["penalty"] - terms["elbo"]).item(), rel=1e-5)


def test_free_nats_cost_nothing():
    losses = []
    for free in (0.0, 1e6):
        setting = fitting(game=None, free=free, warm=0.5, epochs=2, batch_size=8)
        setting.batches.position = 7  # of 2 epochs with 15 batches: the weight rises over the first 15
        terms = setting.loss(setting.take(torch.arange(8), torch.Generator().manual_seed(0)))
        assert terms["kl_weight"].item() == pytest.approx(7 / 15)
        losses.append(terms["loss"] + terms["topology"] + terms["labels"] + terms["assembly"])
    assert losses[0].item() == pytest.approx(7 / 15 * terms["kl"].item(), rel=1e-4)
    assert losses[1].item() == pytest.approx(7 / 15 * 1e6)


def test_the_weight_of_the_kl_term_is_the_price_of_a_nat():
    model = JunctionTreeVAE(**SETTINGS | {"kl_weight": 0.25, "game": None, "warm": 0.0, "free": 0.0})
    fit = AutoencoderFit(model, Corpus.of(SMILES), validation=0.2)
    for batches in (fit.batches, fit.validation):
        batch, _ = next(iter(batches))
        terms = fit.loss(batch)
        said = terms["topology"] + terms["labels"] + terms["assembly"]
        assert terms["loss"].item() == pytest.approx((0.25 * terms["kl"] - said).item(), rel=1e-5)
        assert terms["elbo"].item() == pytest.approx((said - terms["kl"]).item(), rel=1e-5)


def test_cheap_nats_are_spent():
    codes = [fitted(kl_weight=weight, free=0.0, warm=0.0, epochs=6, game=None) for weight in (1.0, 0.01)]
    dear, cheap = (model.history_[-1]["kl"] for model in codes)
    assert cheap > 1.5 * dear


def test_molecules_near_one(model):
    near = model.sample_near(SMILES[3], 20, spread=3.0)
    assert len(set(near)) == len(near) > 0
    assert Chem.CanonSmiles(SMILES[3]) not in near
    assert all(Chem.MolFromSmiles(text) is not None for text in near)
    assert near == model.sample_near(SMILES[3], 20, spread=3.0)
    # Without spread there is one point, the mean.
    (mean,) = model.reconstruct([SMILES[3]])
    assert model.sample_near(SMILES[3], 5, spread=0.0) == ([mean] if mean != Chem.CanonSmiles(SMILES[3]) else [])
    with pytest.raises(InputError, match="one at a time"):
        model.sample_near(SMILES[:2], 5)
    with pytest.raises(InputError, match=r"known labels. Got 'CC\(=O': not a valid SMILES; correct it\.$"):
        model.sample_near("CC(=O", 5)


def test_members_that_cannot_be_read_leave_their_neighborhoods(model):
    around = model.neighborhoods(SMILES[:5])
    texts = list(around.points)
    texts[7] = "C[Si](C)(C)C"
    places = EncodableNeighborhoods.of(
        replace(around, points=tuple(texts)), model.vocabulary_, model.similar.fingerprints
    )
    assert places.hoods.n_points == len(texts) - 1
    assert places.hoods.sizes.sum() == len(places.kept_members) == int((around.hoods.members != 7).sum())
    for i in range(5):
        before = [texts[m] for m in around.hoods.members_of(i).tolist() if m != 7]
        assert [places.points[m] for m in places.hoods.members_of(i).tolist()] == before
    packed = places.packed(np.array([0, 8]))
    mean = model.network_.encode(encoder_batch(packed)).mean.detach().numpy()
    assert mean == pytest.approx(model.encode([places.points[0], places.points[8]]).mean, abs=1e-6)


def test_explanations_are_trees_over_substructures(model):
    text = max(SMILES[:30], key=lambda smiles: len(model.neighborhoods(smiles).points))
    explanation = model.explain(text)
    encoding = model.encode(text)
    assert explanation.prediction == pytest.approx(np.concatenate(encoding[:2], axis=1)[0], abs=1e-5)
    assert explanation.targets[0] == "mean of tree 1"
    assert explanation.targets[-1] == "log-variance of graph 4"
    assert len(explanation.members) == len(model.neighborhoods(text).points)
    assert explanation.divergence == pytest.approx(model.evaluate([text]).deviation, rel=1e-5)
    assert f"KL(tree || network) = {explanation.divergence:.3g} nats" in str(explanation)
    assert type(explanation).from_dict(explanation.to_dict()).divergence == explanation.divergence
    with pytest.raises(InputError, match="is not in the vocabulary"):
        model.explain("C[Si](C)(C)C")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "uniform"}, '"symmetric", "asymmetric" or None'),
        ({"similar": 0.6}, "must be a SimilarityRule"),
        ({"width": 0}, "width"),
        ({"warm": 1.5}, "`warm` of JunctionTreeVAE must be a share, at most 1. Got 1.5"),
        ({"weight": -1}, "weight"),
        ({"free": -1}, "free"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InputError, match=message):
        JunctionTreeVAE(**settings)


def test_use_is_checked(model):
    with pytest.raises(InputError, match="must be trained first"):
        JunctionTreeVAE().sample(1)
    with pytest.raises(InputError, match=r"\(N, 8\). Got \(8,\); a single one is `z\[None\]`"):
        model.decode(np.zeros(8))
    with pytest.raises(InputError, match="NaN or infinity"):
        model.decode(np.full((1, 8), np.nan))
    with pytest.raises(InputError, match=r"1 row that cannot be read: row 6 \('nonsense'\)"):
        JunctionTreeVAE(**SETTINGS).fit([*SMILES[:5], "nonsense"], on_error="raise", progress=False)
    with pytest.raises(InputError, match="must be molecules left to learn from"):
        JunctionTreeVAE(**SETTINGS).fit(Corpus.of(SMILES[:1]), progress=False)
    for call in (lambda: model.encode(None), lambda: model.elbo(5)):
        with pytest.raises(InputError, match="pass a list of texts"):
            call()
    with pytest.raises(InputError, match="must be at least one molecule"):
        model.encode([])
    with pytest.raises(InputError, match="seed"):
        model.elbo(SMILES[:1], seed=-1)
    with pytest.raises(InputError, match='"raise" or "skip"'):
        model.encode(SMILES[:1], on_error="ignore")
    with pytest.raises(InputError, match="One molecule is explained at a time"):
        model.explain(SMILES[:2])


def test_an_error_says_how_to_go_on(model):
    with pytest.raises(InputError, match=r'Remove these; `encode\(..., on_error="skip"\)` goes on without them'):
        model.encode(["CCO", "nonsense"])
    with pytest.raises(InputError, match="Remove these; pass at least one that can be read"):
        model.evaluate(["nonsense", "more nonsense"])
    with pytest.raises(InputError, match="'nonsense': not a valid SMILES; correct it"):
        model.interpolate("CCO", "nonsense")
    with pytest.raises(InputError, match="not in the vocabulary; train with molecules that have it"):
        model.encode("C[Si](C)(C)C")


def test_molecules_that_cannot_be_read_may_be_all_of_them(model):
    encoding = model.encode(["nonsense", "C[Si](C)(C)C"], on_error="skip")
    assert encoding.mean.shape == (2, 2 * model.latent)
    assert np.isnan(encoding.mean).all()
    assert [rejection.row for rejection in encoding.rejected] == [1, 2]


def test_dropped_stereochemistry_is_counted(model):
    assert model.flattened_ == Corpus.of(SMILES).flattened
    assert model.encode(["C[C@H](N)CO", "CCO", "[2H][C@H](N)CO"], on_error="skip").flattened == 1
