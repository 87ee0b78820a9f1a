"""Reports of molecules, several on one page."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from report.pages import Page
from report.summaries import write_molecules

from pellucid.molecules import MoleculeExplanation
from pellucid.molecules import report as molecules_report
from pellucid.report.numbers import number


def test_several_molecules_of_several_targets(molecules, tmp_path):
    explanations = []
    for item in molecules["explanations"][:3]:
        e = MoleculeExplanation.from_dict(item["explanation"])
        nodes = e.witness.nodes | {"value": np.repeat(e.witness.nodes["value"], 2, axis=1)}
        names = ("prediction", "deviation", "local_auc", "bound", "held_out_deviation", "held_out_explained")
        twice = {name: np.repeat(getattr(e, name), 2) for name in names}
        pairs = [(np.repeat(m.prediction, 2), np.repeat(m.witness, 2)) for m in e.members]
        members = tuple(m._replace(prediction=prediction, witness=witness, measured=None, held_out=None)
                        for m, (prediction, witness) in zip(e.members, pairs, strict=True))  # fmt: skip
        tree = replace(e.witness, nodes=nodes, output_names=["a", "b"])
        explanations.append(replace(e, targets=("a", "b"), witness=tree, members=members, certainty=None, **twice))
    named = {f"molecule {i}": explanation for i, explanation in enumerate(explanations)}
    path = molecules_report.write_explanations(named, tmp_path / "some.html", title="some.csv")
    page = Page(path.read_text(encoding="utf-8"))
    assert [attrs["id"] for attrs in page.of("section")] == ["gallery"]
    assert [attrs for attrs in page.of("select") if attrs["id"] == "target"]
    assert len(page.of("dialog")) == 3
    bound = number(float(explanations[0].bound[0]), 2)
    assert f"within {bound} (a), {bound} (b) of the network" in page.words


@pytest.mark.slow
def test_molecules_that_are_shown_again_are_not_drawn_again(molecules, tmp_path):
    again = copy.deepcopy(molecules)
    again["explanations"] *= 2
    once, twice = (write_molecules(content, tmp_path / "report.html").read_text() for content in (molecules, again))
    assert twice.count("<use") > once.count("<use")
    assert twice.count("<symbol") == once.count("<symbol") > 0
