"""A molecule explained by contributions."""

import csv
import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from blockers import blockers
from matplotlib.colors import to_hex
from rdkit import Chem
from report.pages import Page

import pellucid as pl
from pellucid import InputError
from pellucid.molecules import ContributionExplanation, MoleculeExplanation, Morgan, SimilarityRule, TreeExplanation
from pellucid.molecules._scale import STEPS, step_color, steps
from pellucid.molecules.explaining import explain_each
from pellucid.molecules.tasks import Task
from pellucid.numbers import percent

SERIES = blockers()
SHIFT, SCALE = 100.0, 10.0


def around(smiles):
    similar = SimilarityRule(analogs=False)
    return similar.neighborhoods([smiles], SERIES.smiles, similar.groups([]), jobs=1, progress=False, cache="none")


def explained(targets=("activity",), center=0, family=None, names=None):
    """A law of measured activities themselves, so that nothing has to be trained."""
    neighborhoods = around(SERIES.smiles[center])
    activity = dict(zip(SERIES.smiles, SERIES.y[:, 0], strict=True))
    f = torch.tensor([[activity[text] / (k + 1) for k in range(len(targets))] for text in neighborhoods.points])
    x = Morgan()(neighborhoods.points).dense()
    witnesses = (family or pl.LinearFamily(ridge="auto")).best_response(x, f, neighborhoods.hoods)
    task = Task(kind="regression", shift=np.full(len(targets), SHIFT), scale=np.full(len(targets), SCALE))
    measured = {text: np.full(len(targets), 7.125) for text in neighborhoods.points[1:2]}
    (explanation,) = explain_each(
        witnesses.named(outputs=names or targets), neighborhoods, task=task, morgan=Morgan(), measured=measured
    )
    return explanation, witnesses, f, x


@pytest.fixture(scope="module")
def explanation():
    return explained()[0]


def test_contributions_add_up_to_the_law(explanation):
    assert isinstance(explanation, ContributionExplanation)
    values = np.array([member.witness for member in explanation.members])
    np.testing.assert_allclose(explanation.base, values.mean(0), rtol=1e-6)
    total = sum(term.contribution for term in explanation.terms)
    np.testing.assert_allclose(explanation.base + total, explanation.witnessed, rtol=1e-6)
    assert len(explanation.terms) > 10


def test_atoms_add_up_to_the_terms_that_the_molecule_has(explanation):
    present = sum(term.contribution for term in explanation.terms if term.present)
    np.testing.assert_allclose(explanation.atoms.sum(0), present, atol=1e-9)
    assert len(explanation.atoms) == Chem.MolFromSmiles(explanation.smiles).GetNumAtoms()


def test_terms_are_what_they_say(explanation):
    _, witnesses, _, x = explained()
    coefficients = witnesses.coefficients[0].numpy()
    members = x[witnesses.hoods.members].numpy()
    for term in explanation.terms:
        columns = members[:, list(term.bits)]
        assert (columns == columns[:, :1]).all()
        assert term.count == columns[:, 0].sum()
        assert term.present == bool(columns[0, 0])
        np.testing.assert_allclose(term.value, SCALE * coefficients[list(term.bits)].sum(0), rtol=1e-9)
        np.testing.assert_allclose(term.contribution, term.value * (term.present - term.count / len(members)))
        assert {s.bit for s in term.substructures} <= set(term.bits)
    assert sum(len(term.bits) for term in explanation.terms) == (np.ptp(members, axis=0) > 0).sum()
    sizes = [abs(term.contribution[0]) for term in explanation.terms]
    assert sizes == sorted(sizes, reverse=True)
    assert all(term.substructures for term in explanation.strongest(present=True)[:12])
    assert all(term.substructures for term in explanation.strongest(present=False)[:12])
    for term in explanation.terms:
        order = [(bool(s.others), -s.radius) for s in term.substructures]
        assert order == sorted(order)


def test_held_out_numbers_are_those_of_laws_fitted_without_the_member(explanation):
    _, witnesses, f, _ = explained()
    values = f[witnesses.hoods.members].double().numpy()
    left_out = witnesses.held_out_values().double().numpy()
    others = (values.sum(0) - values) / (len(values) - 1)
    share = 1 - np.square(values - left_out).sum() / np.square(values - others).sum()
    assert explanation.held_out_explained[0] == pytest.approx(share, rel=1e-6)
    assert explanation.held_out_deviation[0] == pytest.approx(SCALE * np.abs(values - left_out).mean(), rel=1e-6)
    assert explanation.held_out_deviation[0] > explanation.deviation[0]
    np.testing.assert_allclose([m.held_out[0] for m in explanation.members], SHIFT + SCALE * left_out[:, 0], rtol=1e-6)


def test_exchanges_are_sorted_by_effect(explanation):
    exchanges = explanation.exchanges()
    assert exchanges
    changes = [e.predicted_change[0] for e in exchanges]
    assert changes == sorted(changes, reverse=True)
    own = explanation.members[0]
    for e in exchanges:
        np.testing.assert_array_equal(e.predicted_change, e.member.prediction - own.prediction)
        np.testing.assert_array_equal(e.witness_change, e.member.witness - own.witness)
    head, *rows = explanation.exchange_rows()
    assert head[:4] == ["exchange out", "exchange in", "predicted change: activity", "change of the law: activity"]
    assert [row[:2] for row in rows] == [[e.out, e.into] for e in exchanges]
    assert [row[2] for row in rows] == changes


def test_the_text_tells_held_out_first(explanation):
    text, (digits,) = str(explanation), explanation.decimals
    first = f"the law is off by activity = {explanation.held_out_deviation[0]:.{digits}f} on average"
    second = f"the law is off by activity = {explanation.deviation[0]:.{digits}f} on average where it was fitted"
    assert 0 < text.index(first) < text.index(second)
    strongest = explanation.strongest(present=True)[0]
    assert f"{strongest.value[0]:+.{digits}f} ± {strongest.error[0]:.{digits}f}" in text
    assert f"{strongest.count} of {len(explanation.members)}" in text
    assert strongest.name in text
    assert f"without {explanation.strongest(present=False)[0].name}" in text
    up = explanation.exchanges()[0]
    assert f"{up.out} -> {up.into}" in text
    assert "tree" not in text


def test_what_the_text_shows_adds_up(explanation):
    lines = str(explanation).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("activity: "))
    change = float(re.search(r"([+-][\d.]+) here", lines[begin])[1])
    end = next(i for i, line in enumerate(lines) if line.endswith("weaker terms"))
    table = [float(line.split()[0]) for line in lines[begin + 3 : end + 1]]
    half = 0.5 * 10 ** -explanation.decimals[0]  # what each number may be rounded by
    assert sum(table) == pytest.approx(change, abs=(len(table) + 1) * half)


@pytest.mark.slow
def test_of_many_targets_those_that_vary_are_shown_or_the_one_asked_for():
    many, *_ = explained(("a", "b", "c", "d", "e"))
    assert many.target(None) == [0, 1, 2]
    assert "e = " not in str(many)
    assert "e: " in many.text("e")
    assert len(many.plot().axes[0].collections) > len(many.plot("e").axes[0].collections)
    with pytest.raises(InputError, match="`target` must be one of a, b, c, d, e. Got 'f'"):
        many.strongest("f")


def test_it_comes_back_from_json(explanation, tmp_path):
    explanation.to_json(tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    assert content["kind"] == "contributions"
    again = MoleculeExplanation.from_dict(content)
    assert isinstance(again, ContributionExplanation)
    assert str(again) == str(explanation)
    assert again.to_dict() == explanation.to_dict()
    assert again._repr_html_() == explanation._repr_html_()


def test_what_earlier_versions_wrote_is_a_tree():
    tree, *_ = explained(family=pl.TreeFamily())
    content = tree.to_dict()
    assert content.pop("kind") == "tree"
    for row in content["members"]:
        del row["exchange out"], row["exchange in"]
    again = MoleculeExplanation.from_dict(json.loads(json.dumps(content)))
    assert isinstance(again, TreeExplanation)
    assert again.to_dict() == tree.to_dict()


def test_tables(explanation, tmp_path):
    explanation.to_csv(tmp_path / "members.csv")
    with (tmp_path / "members.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert float(rows[4]["law: activity"]) == pytest.approx(explanation.members[4].witness[0])
    assert float(rows[4]["law, held out: activity"]) == pytest.approx(explanation.members[4].held_out[0])
    exchanged = {row["smiles"]: (row["exchange out"], row["exchange in"]) for row in rows if row["exchange out"]}
    assert exchanged == {e.member.smiles: (e.out, e.into) for e in explanation.exchanges()}
    for e in explanation.exchanges():
        (row,) = (row for row in rows if row["smiles"] == e.member.smiles)
        assert float(row["predicted change: activity"]) == pytest.approx(e.predicted_change[0])
        assert float(row["change of the law: activity"]) == pytest.approx(e.witness_change[0])
    assert rows[0]["predicted change: activity"] == ""  # the molecule itself
    explanation.exchanges_to_csv(tmp_path / "exchanges.csv")
    with (tmp_path / "exchanges.csv").open() as stream:
        sorted_rows = list(csv.DictReader(stream))
    assert [(row["exchange out"], row["exchange in"]) for row in sorted_rows] == [
        (e.out, e.into) for e in explanation.exchanges()
    ]
    head, *terms = explanation.term_rows()
    assert dict(zip(head, terms[0], strict=True))["value: activity"] == explanation.terms[0].value[0]
    assert len(terms) == len(explanation.terms)


def test_steps_of_the_scale_are_symmetric():
    assert steps(np.array([-2.0, -1.0, 0.0, 0.1, 2.0])) == [-STEPS, -STEPS // 2, 0, 0, STEPS]
    assert steps(np.zeros(2)) == [0, 0]
    assert step_color(0) is None

    def light(color):  # the relative luminance of WCAG, by which black letters on it are legible
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    for sign in (-1, 1):
        shades = [light(step_color(sign * step)) for step in range(1, STEPS + 1)]
        assert shades == sorted(shades, reverse=True)
        assert (shades[-1] + 0.05) / 0.05 > 7


@pytest.mark.slow
def test_atoms_are_colored_on_page_and_paper(explanation):
    levels = steps(explanation.atoms[:, 0])
    expected = sum(level != 0 for level in levels)
    page = explanation._repr_html_()
    discs = re.findall(r'<path class="a ([pm]\d)" d="([^"]+)"', page)
    assert sum(path.count("M") for _, path in discs) == expected
    assert {name for name, _ in discs} == {f"{'p' if level > 0 else 'm'}{abs(level)}" for level in levels if level}
    stream = io.StringIO()
    explanation.plot().savefig(stream, format="svg")
    root = ElementTree.fromstring(stream.getvalue())  # noqa: S314
    molecule = next(g for g in root.findall(".//{*}g") if g.get("id") == "colored-molecule-0")
    colors = {step_color(level) for level in levels if level}
    fills = [m for part in molecule.findall(".//{*}path") for m in re.findall(r"fill: (#\w+)", part.get("style", ""))]
    assert sum(fill in colors for fill in fills) == expected
    assert sum(g.get("id", "").startswith("scale-") for g in root.findall(".//{*}g")) == 2 * STEPS + 1


def test_terms_stand_on_the_color_of_their_sign_on_paper(explanation):
    drawn = {a.get_gid(): a for a in explanation.plot().axes[0].collections if (a.get_gid() or "").startswith("term-")}
    named = [term for term in explanation.strongest(0) if term.substructures][: len(drawn)]
    for term in named:
        faces = {to_hex(face) for face in drawn[f"term-0-bit-{term.substructures[0].bit}"].get_facecolors()}
        raised, lowered = ({step_color(sign * step) for step in (2, 5)} for sign in (1, -1))
        assert faces & (raised if term.contribution[0] > 0 else lowered)
        assert not faces & (lowered if term.contribution[0] > 0 else raised)
    assert {term.contribution[0] > 0 for term in named} == {True, False}


def test_the_page_shows_terms_scale_and_exchanges(explanation, tmp_path):
    explanation.to_html(tmp_path / "one.html")
    for text in ((tmp_path / "one.html").read_text(encoding="utf-8"), explanation._repr_html_()):
        page = Page(text)
        assert explanation.smiles in page.words
        assert "contribution of each atom to activity" in page.words
        first = explanation.strongest(present=True)[0]
        assert f"in {first.count} of {len(explanation.members)} members" in page.words
        assert "held-out variance explained" in page.words
        assert page.words.index("held-out deviation") < page.words.index("deviation where fitted")
        assert explanation.exchanges()[0].into in page.words
        assert "tree" not in page.words
        assert page.of("script") == []


def test_held_out_numbers_of_all_targets_are_in_the_table():
    many, *_ = explained(("a", "b", "c", "d"))
    page = Page(many._repr_html_())
    for k in range(4):
        assert percent(many.held_out_explained[k], 0) in page.words
    assert page.words.index("held-out deviation") < page.words.index("deviation where fitted")
    assert page.words.count("contribution of each atom to") == 3


@pytest.mark.slow
def test_names_are_text_on_the_page(explanation):
    hostile = '<b onclick="x">&pIC50'
    changed = replace(explanation, targets=(hostile,))
    page = changed._repr_html_()
    assert "<b onclick" not in page
    assert hostile in Page(page).words
    assert hostile in changed.text()
    changed.plot()


def test_a_lonely_molecule_is_called_so():
    similar = SimilarityRule(analogs=False)
    lonely = similar.neighborhoods(["CCO"], [], similar.groups([]), jobs=1, progress=False, cache="none")
    witnesses = pl.LinearFamily(ridge="auto").best_response(Morgan()(["CCO"]).dense(), torch.ones(1, 1), lonely.hoods)
    task = Task(kind="regression", shift=np.zeros(1), scale=np.ones(1))
    (alone,) = explain_each(witnesses.named(outputs=["y"]), lonely, task=task, morgan=Morgan())
    assert "too few similar molecules (0) for a law" in str(alone)
    assert alone.terms == ()
    assert alone.exchanges() == []
    assert np.isnan(alone.held_out_explained).all()
    assert (
        MoleculeExplanation.from_dict(json.loads(json.dumps(alone.to_dict(), allow_nan=False))).text() == alone.text()
    )
    alone.plot()
    assert "too few similar molecules" in Page(alone._repr_html_()).words


def test_other_witnesses_are_refused():
    neighborhoods = around(SERIES.smiles[0])
    x, f = Morgan()(neighborhoods.points).dense(), torch.zeros(len(neighborhoods.points), 1)
    best = pl.BestOf([pl.TreeFamily(), pl.ConstantFamily()]).best_response(x, f, neighborhoods.hoods)
    task = Task(kind="regression", shift=np.zeros(1), scale=np.ones(1))
    with pytest.raises(InputError, match="Molecules are explained by trees or by contributions"):
        explain_each(best, neighborhoods, task=task, morgan=Morgan())


def test_an_explanation_of_another_kind_is_refused(explanation):
    with pytest.raises(InputError, match="must be a TreeExplanation, one of tree. Got .contributions."):
        TreeExplanation.from_dict(explanation.to_dict())
