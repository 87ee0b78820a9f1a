"""The report of an audit."""

import re

import numpy as np
import pytest
import torch
from report.pages import Page

import pellucid as pl
from pellucid import InputError
from pellucid.report import write_audit
from pellucid.report.numbers import number


def test_an_audit_names_its_extremes(audited, tmp_path):
    names = [f"row {i}" for i in range(60)]
    audited.to_html(tmp_path / "audit.html", title="forest", names=names)
    page = Page((tmp_path / "audit.html").read_text(encoding="utf-8"))
    shown = re.findall(r"\brow (\d+)\b", page.words)
    order = np.argsort(-audited.relative(), kind="stable").tolist()
    assert [int(i) for i in shown] == [*order[:5], *order[::-1][:5]]
    assert audited.witnesses[order[0]].text() in "".join(page.text)
    assert "confidence a witness is within" in page.words
    assert "confidence a witness is within" in Page(audited._repr_html_()).words
    with pytest.raises(InputError, match="a name for each of the 60 neighborhoods. Got 2"):
        write_audit(audited, tmp_path / "audit.html", names=["a", "b"])


@pytest.fixture
def audited_twice():
    """Two outputs, one a hundred times the other and exactly linear."""
    x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
    f = torch.stack([torch.sin(4 * x[:, 0]) + x[:, 1], 100 * x[:, 0]], 1)
    return pl.audit(f, x, pl.nearest(x, k=10), pl.LinearFamily(), outputs=["yield", "mass"])


def test_bounds_of_an_audit_are_told_for_each_output(audited_twice, tmp_path):
    names = [f"row {i + 2}" for i in range(60)]
    conditions = [("family", "linear"), ("columns left out", "<b>id</b>")]
    path = write_audit(audited_twice, tmp_path / "audit.html", names=names, level=0.8, conditions=conditions)
    page = Page(path.read_text(encoding="utf-8"))
    bounds = np.median(audited_twice.bound(0.8), axis=0)
    told = [number(float(bound), 2) for bound in bounds]
    assert f"a witness is within {told[0]} (yield), {told[1]} (mass) of the predictor" in page.words
    tile = page.words.partition("Trust bound, yield")[2]
    assert tile.split()[0] == told[0]
    assert "Rows are lines of the file" in page.words
    assert "columns left out <b>id</b>" in page.words
    # A card of the worst: prediction, witness, rmse and bound of each output.
    i = int(np.argmax(audited_twice.relative()))
    card = page.words.partition(f" row {i + 2} ")[2].split(" row ")[0]
    center = int(audited_twice.witnesses.hoods.centers[i])
    predicted, said = audited_twice.witnesses.f[center], audited_twice.witnesses.at_centers()[i]
    row = card.partition("yield ")[2].split()[:4]
    assert float(row[0]) == pytest.approx(float(predicted[0]), abs=0.006)
    assert float(row[1]) == pytest.approx(float(said[0]), abs=0.006)
    assert row[3] == number(float(audited_twice.bound(0.8)[i, 0]), 2)
    with_few = Page(write_audit(audited_twice, tmp_path / "plain.html").read_text(encoding="utf-8"))
    assert "Rows are lines" not in with_few.words


def test_an_audit_tells_which_variance_is_honest(audited, tmp_path):
    page = Page(write_audit(audited, tmp_path / "audit.html").read_text(encoding="utf-8"))
    found = audited.to_dict()
    words = page.words.replace("\u00a0", " ")
    held_out, fitted = (
        f"{100 * found[key]:.0f} %" for key in ("held_out_variance_explained", "explained_where_fitted")
    )
    assert f"Held-out variance explained {held_out} at members not fitted to; {fitted} at those fitted to" in words
    assert f"high even for noise {100 * found['explained_where_fitted']:.1f} %" in words
    assert f"no better than a constant {100 * found['held_out_variance_explained']:.1f} %" in words


def test_an_audit_that_explains_nothing_says_so_first(tmp_path):
    generator = torch.Generator().manual_seed(0)
    x, f = torch.rand(80, 3, generator=generator), torch.rand(80, generator=generator)
    noise = pl.audit(f, x, pl.nearest(x, k=8), pl.LinearFamily())
    share = noise.to_dict()["held_out_variance_explained"]
    assert share < 0
    page = Page(write_audit(noise, tmp_path / "audit.html").read_text(encoding="utf-8"))
    sentence = (
        f"Held-out variance explained is {100 * share:.1f} %: at members that it was not fitted to, a witness says no"
    )
    assert page.words.index(sentence) < page.words.index("confidence a witness is within")
    assert "Take larger neighborhoods, a ridge, fewer features, or another family." in page.words
    assert sentence in Page(noise._repr_html_()).words


def test_an_audit_shows_candidates_and_columns(audited, tmp_path):
    candidates = (["ridge 0", "ridge <1>"], [("10 neighbors", [("5 %", False), ("48 %", True)])], "Held out.")
    columns = [("<dose>", "feature", "3 blank cells filled"), ("time", "left out", "by its name an outcome")]
    path = write_audit(audited, tmp_path / "audit.html", columns=columns, candidates=candidates)
    words = Page(path.read_text(encoding="utf-8")).words
    assert "How it was chosen Held out. ridge 0 ridge <1> 10 neighbors 5 % 48 % (chosen)" in words
    assert "<dose> feature 3 blank cells filled time left out by its name an outcome" in words


def test_of_few_neighborhoods_none_is_the_least_trustworthy(tmp_path):
    x = torch.rand(7, 1, generator=torch.Generator().manual_seed(0))
    few = pl.audit(x[:, 0] ** 2, x, pl.nearest(x, k=4), pl.LinearFamily())
    page = Page(write_audit(few, tmp_path / "audit.html").read_text(encoding="utf-8"))
    order = np.argsort(-few.relative(), kind="stable").tolist()
    assert [int(i) for i in re.findall(r"\bpoint (\d+)\b", page.words)] == order
    assert "Trust bound \u2013 not known with 90" in page.words
    assert "trustworthy" not in page.words
