"""The autoencoder as a domain: trained from a table, measured, encoded and explained."""

import csv
import math

import numpy as np
import pytest
import torch
from blockers import blockers

from pellucid import runs, summaries
from pellucid.cli.output import summary_text
from pellucid.domains import Source
from pellucid.errors import InputError
from pellucid.molecules.vae import Corpus, Elbo, JunctionTreeVAE
from pellucid.molecules.vae.domain import (
    MEASURES,
    AutoencoderDomain,
    AutoencoderReading,
    AutoencoderSettings,
    usual_weight,
)
from pellucid.summaries import HELD_OUT

DOMAIN = AutoencoderDomain()
SMILES = list(blockers().smiles[:120])
SETTINGS = AutoencoderSettings(epochs=2, width=16, latent=3, analogs="no")


def write(path, texts, names=None):
    names = [f"m{i}" for i in range(len(texts))] if names is None else names
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["name", "smiles"], *zip(names, texts, strict=True)])
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on a table with a row twice and one that is no molecule."""
    folder = tmp_path_factory.mktemp("autoencoder")
    reading = AutoencoderReading()
    path = write(folder / "a.csv", [*SMILES, SMILES[0], "C1CC"])
    source = Source(DOMAIN.read(path, reading), path, reading)
    lines = DOMAIN.describe(source)
    summary = runs.train(
        DOMAIN, source, SETTINGS, folder / "run", title="a.csv", weight=0.3, progress=False, say=lines.append
    )
    return folder, source, summary, lines


@pytest.mark.slow
def test_a_run_says_what_it_read_and_how_it_divides_it(run):
    _, source, summary, lines = run
    assert lines[0] == "a.csv: 120 molecules with a junction tree; 1 row merged with others of the same molecule; " \
                       "1 row rejected"  # fmt: skip
    assert "neighborhoods without analogs" in lines
    data = summary.data
    plan = DOMAIN.plan(source, SETTINGS)
    assert data.parts == plan.sizes == {name: len(part) for name, part in plan.parts._asdict().items()}
    assert data.parts["train"] == 96
    unused = 120 - sum(data.parts.values())
    note = f"not used to validate or test: {unused} molecule{'' if unused == 1 else 's'} with labels that do not"
    assert any(line.startswith(note) for line in lines) == (unused > 0)
    everything = [set(part.smiles) for part in plan.parts]
    assert sum(map(len, everything)) == len(set().union(*everything))
    assert data.rejected_count == 1
    assert data.rejected[0][:2] == (123, "C1CC")
    # What is validated and tested on can be encoded.
    known = Corpus.of(plan.parts.train.smiles).vocabulary()
    for part in (plan.parts.validation, plan.parts.test):
        assert len(Corpus.of(part.smiles).encodable(known)[0]) == len(part)


@pytest.mark.slow
def test_scores_are_those_of_the_models_on_the_test_molecules(run):
    folder, source, summary, _ = run
    test = DOMAIN.plan(source, SETTINGS).parts.test
    assert list(summary.models) == ["DEEP", "GAME"]
    assert [measure.key for measure in MEASURES][:3] == ["objective", "objective_of_trees", "elbo"]
    for name, found in summary.models.items():
        model = JunctionTreeVAE.load(folder / "run" / name.lower())
        scores = model.evaluate(test.smiles)
        assert set(found.scores) == {measure.key for measure in MEASURES} | {"bound"}
        assert found.scores["elbo"] == pytest.approx(scores.neural.mean)
        for key, bound in (("objective", scores.neural), ("objective_of_trees", scores.tree)):
            learned = bound.topology + bound.labels + bound.assembly - model.kl_weight * bound.kl
            assert found.scores[key] == pytest.approx(learned.mean())
        assert found.scores["rate"] == pytest.approx(scores.neural.to_dict()["kl"])
        assert found.scores["deviation"] == pytest.approx(scores.deviation)
        again = model.reconstruct(test.smiles)
        assert found.scores["reconstructed"] == np.mean([a == b for a, b in zip(again, test.smiles, strict=True)])
        assert found.scores[HELD_OUT] < 1
        assert len(summary.trust.bound[name]) == len(summary.outputs) == 4 * 3
        assert DOMAIN.validate(model, test) == pytest.approx((-found.scores["objective"], scores.deviation))
    assert summary.models["GAME"].weight == 0.3
    assert summary.settings["latent"] == 3
    game, deep = (torch.cat([v.flatten().double() for v in
                             JunctionTreeVAE.load(folder / "run" / name).network_.state_dict().values()])
                  for name in ("game", "deep"))  # fmt: skip
    assert not torch.equal(game, deep)


@pytest.mark.slow
def test_a_summary_of_a_run_comes_back_with_its_report(run):
    folder, _, summary, _ = run
    again = summaries.read(folder / "run")
    assert again.kind == "autoencoder"
    assert again.models["GAME"].scores == pytest.approx(summary.models["GAME"].scores)
    divergences = [example.explanation["divergence"] for example in again.explanations]
    assert divergences == sorted(divergences)
    page = (folder / "run" / "report.html").read_text()
    assert again.measures == summary.measures
    assert "the nats of a molecule that its encoding carries</small>" in page  # neither more nor less of them is better
    (line,) = (line for line in summary_text(summary, DOMAIN).splitlines() if line.startswith("rate "))
    assert "is better" not in line
    assert "Objective of the trees" in page
    assert all(example.place in page for example in again.explanations)


def predicted(model, path, **options):
    sentences = []
    rows = list(DOMAIN.predict(model, path, AutoencoderReading(**options), None, progress=False, warn=sentences.append))
    return rows, sentences


@pytest.mark.slow
def test_encodings_stand_beside_the_rows(run, tmp_path):
    model = DOMAIN.load(run[0] / "run" / "game")
    (head, *rows), sentences = predicted(model, write(tmp_path / "a.csv", SMILES[:3]))
    assert head == ["name", "smiles", *(f"mean of {part} {i}" for part in ("tree", "graph") for i in (1, 2, 3))]
    assert [row[:2] for row in rows] == [[f"m{i}", SMILES[i]] for i in range(3)]
    np.testing.assert_allclose([row[2:] for row in rows], model.encode(SMILES[:3]).mean, rtol=1e-5)
    assert not sentences
    (head, *rows), sentences = predicted(model, write(tmp_path / "b.csv", ["C1CC", SMILES[0]]))
    assert head[-1] == "problem"
    assert rows[0][2:8] == [""] * 6
    assert rows[0][8]
    np.testing.assert_allclose(rows[1][2:8], model.encode(SMILES[:1]).mean[0], rtol=1e-5)
    assert rows[1][8] == ""
    assert sentences == ['1 of 2 rows have no encoding, see the column "problem"; the first is row 2.']


def explained(model, what):
    return DOMAIN.explain(model, str(what), AutoencoderReading(), None, level=0.8, progress=False, warn=lambda _: None)


@pytest.mark.slow
def test_molecules_are_explained_alone_and_as_a_table(run, tmp_path):
    model = DOMAIN.load(run[0] / "run" / "game")
    (alone,) = explained(model, SMILES[5]).explanations.values()
    assert alone.to_dict() == model.explain(SMILES[5], level=0.8).to_dict()
    # An element that no molecule had which was learned from.
    result = explained(model, write(tmp_path / "a.csv", [SMILES[5], "C[Si](C)(C)C", SMILES[6]]))
    assert list(result.explanations) == ["m0 (row 2)", "m2 (row 4)"]
    assert result.explanations["m0 (row 2)"].to_dict() == alone.to_dict()
    assert list(result.rejected) == ["m1 (row 3)"]
    assert "is not in the vocabulary" in result.rejected["m1 (row 3)"]
    with pytest.raises(InputError, match="is not in the vocabulary"):
        explained(model, "C[Si](C)(C)C")
    assert DOMAIN.write_explanations(result.explanations, tmp_path / "x.html", title="two") == 0
    assert "m2 (row 4)" in (tmp_path / "x.html").read_text()


@pytest.mark.slow
def test_unknown_labels_are_not_read_for_a_trained_model(run, tmp_path):
    model = DOMAIN.load(run[0] / "run" / "game")
    path = write(tmp_path / "a.csv", [SMILES[0], "C[Si](C)(C)C"])
    assert DOMAIN.read(path, AutoencoderReading(), model).labels() == ["m0 (row 2)"]


@pytest.mark.parametrize(("price", "weight"), [({}, 0.001), ({"kl_weight": 1.0, "free": 10.0}, 0.4)])
def test_the_weight_of_the_game_follows_the_price_of_a_nat(tmp_path, price, weight):
    """The two weights that were measured; one that is set stays."""
    path = write(tmp_path / "a.csv", SMILES)
    source = Source(DOMAIN.read(path, AutoencoderReading()))
    settings = AutoencoderSettings(analogs="no", **price)
    assert DOMAIN.plan(source, settings).model.weight == weight
    assert DOMAIN.plan(source, settings, weight=0.2).model.weight == 0.2


def test_the_defaults_of_a_nat_and_a_code_are_those_of_the_library():
    settings, model = AutoencoderSettings(), JunctionTreeVAE()
    names = ("latent", "kl_weight", "free", "depth", "batch_size", "learning_rate", "seed")
    assert {name: getattr(settings, name) for name in names} == {name: getattr(model, name) for name in names}
    assert usual_weight(model.kl_weight) == model.weight


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kl_weight": 2.0}, "`kl_weight`.* Got 2.0"),
        ({"free": math.inf}, "`free`.* Got inf"),
        ({"held_out": True, "game": "none"}, "`held_out_game` is for games. Got no game .`game='none'`"),
    ],
)
def test_settings_are_checked_before_data_are_read(settings, message):
    with pytest.raises(InputError, match=message):
        DOMAIN.check(AutoencoderSettings(**settings))


def test_what_leaves_nothing_to_validate_on_is_refused(tmp_path):
    # Each is one ring that no other molecule has.
    path = write(tmp_path / "a.csv", [f"C1{'C' * size}C1" for size in range(1, 12)])
    source = Source(DOMAIN.read(path, AutoencoderReading()))
    with pytest.raises(InputError) as caught:
        DOMAIN.plan(source, AutoencoderSettings())
    assert str(caught.value) == (
        "Molecules to validate and test on must have labels that occur among the molecules to learn from. Got none of "
        "the 1 for validation with these labels; add more molecules, or use `split='random'`."
    )


def test_a_network_that_saves_nats_by_saying_less_is_no_better_where_nats_are_cheap():
    def bound(said, kl):
        terms = {name: np.zeros(2) for name in ("labels", "assembly")}
        return Elbo(topology=np.array([said, said]), kl=np.array([kl, kl]), **terms)

    deep, game = bound(-1.0, 150.0), bound(-9.0, 20.0)
    assert game.mean > deep.mean
    assert (deep.objective(0.005), game.objective(0.005)) == pytest.approx((-1.75, -9.1))
    assert (deep.objective(1), game.objective(1)) == (deep.mean, game.mean)
