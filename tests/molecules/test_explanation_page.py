"""The page of a molecule."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from report.pages import Page

from pellucid.molecules import MoleculeExplanation
from pellucid.molecules.explanation_text import title


@pytest.mark.slow
def test_a_molecule_alone(molecules, tmp_path):
    content = molecules["explanations"][0]["explanation"]
    explanation = MoleculeExplanation.from_dict(content)
    explanation.to_html(tmp_path / "one.html")
    page = Page((tmp_path / "one.html").read_text(encoding="utf-8"))
    fragment = Page(explanation._repr_html_())
    for found in (page, fragment):
        assert explanation.smiles in found.words
        assert found.words.count("this molecule") >= 1
        assert "confidence the tree is within" in found.words
        assert found.of("script") == []
        leaves = [text for text in found.text if re.fullmatch(r"\d+ members?", text)]
        sizes = explanation.witness.nodes["size"][explanation.witness.nodes["feature"] < 0]
        assert sorted(int(text.split()[0]) for text in leaves) == sorted(sizes.tolist())
    explanation.to_html(tmp_path / "titled.html", title="assay.csv, row 4")
    titled = Page((tmp_path / "titled.html").read_text(encoding="utf-8"))
    assert titled.words.count("assay.csv, row 4") == 2  # in the window's title and on the page
    unknown = replace(explanation, bound=None, calibrated=0)
    assert "is not known" in Page(unknown._repr_html_()).words
    # Of several targets one may have a bound and another none; where none has, the reason is told.
    nothing = replace(explanation, bound=np.array([np.nan]), calibrated=50)
    for words in (Page(nothing._repr_html_()).words, nothing.trust()):
        assert "a bound would be as wide as the predictions range" in words
    assert nothing.to_dict()["bound"] == [None]
    assert np.isnan(
        MoleculeExplanation.from_dict(json.loads(json.dumps(nothing.to_dict(), allow_nan=False))).bound
    ).all()
    assert "nearby within" not in title(nothing, [0])


@pytest.mark.slow
def test_the_way_of_the_molecule_is_marked(molecules):
    for item in molecules["explanations"]:
        explanation = MoleculeExplanation.from_dict(item["explanation"])
        if len(explanation.members) < 3:
            assert '<div class="tree">' not in explanation._repr_html_()  # two members say nothing
            continue
        tree = re.search(r'<div class="tree">.*?<p class="key">', explanation._repr_html_(), flags=re.DOTALL)[0]
        assert len(re.findall(r'<li class="on', tree)) == len(explanation.path) - 1
        assert tree.count('class="here"') == 1


def test_of_many_outputs_those_that_differ_are_shown(molecules):
    e = MoleculeExplanation.from_dict(molecules["explanations"][0]["explanation"])
    names, scale = tuple(f"z{k}" for k in range(20)), np.arange(20.0)
    tree = replace(e.witness, nodes=e.witness.nodes | {"value": e.witness.nodes["value"] * scale}, output_names=names)
    many = {name: np.full(20, 0.5) for name in ("prediction", "deviation", "local_auc")}
    members = tuple(
        m._replace(prediction=m.prediction * scale, witness=m.witness * scale, measured=None, held_out=None)
        for m in e.members
    )
    nothing = dict.fromkeys(("bound", "certainty", "held_out_deviation", "held_out_explained"))
    wide = replace(e, targets=names, witness=tree, members=members, divergence=0.25, **nothing, **many)
    words = Page(wide._repr_html_()).words
    assert "3 of 20 outputs" in words
    assert "is 0.250 nats on average" in words
    assert "z19" in words
    assert "z2 " not in words


@pytest.mark.slow
def test_neighbors_show_what_was_measured(molecules):
    e = MoleculeExplanation.from_dict(max((item["explanation"] for item in molecules["explanations"]),
                                  key=lambda content: len(content["members"])))  # fmt: skip
    members = tuple(m._replace(measured=np.array([7.125]) if k == 1 else None) for k, m in enumerate(e.members))
    words = Page(replace(e, members=members)._repr_html_()).words
    assert words.count(", measured 7.1") >= 1
    assert (
        ", measured"
        not in Page(replace(e, members=tuple(m._replace(measured=None) for m in members))._repr_html_()).words
    )
