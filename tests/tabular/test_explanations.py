import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from houses import SMALL, houses

from pellucid import InputError, from_lists
from pellucid.tabular import RowExplanation, TransparentRegressor
from pellucid.tabular.frames import frame_of
from pellucid.tabular.laws import contributions

pytestmark = pytest.mark.slow


def test_the_planted_laws_are_recovered_in_the_units_of_the_table():
    x, price = houses(600, seed=1)
    model = TransparentRegressor(witness="linear", **SMALL).fit(x, price)
    inner = x[(x.rooms > 2) & (x.rooms < 7) & (x.age > 15) & (x.age < 75)]
    explanations = model.explain(inner)
    effects = {name: [] for name in ("rooms in the city", "rooms outside", "age")}
    for explanation, city in zip(explanations, inner.city, strict=True):
        terms = {term.column: term.effect for term in explanation.terms}
        effects["rooms in the city" if city else "rooms outside"].append(float(terms["rooms"].split()[0]))
        effects["age"].append(float(terms["age"].split()[0]))
    # Neighborhoods reach over to the other kind of place, where rooms are worth less or more.
    assert np.median(effects["rooms in the city"]) == pytest.approx(40, abs=5)
    assert np.median(effects["rooms outside"]) == pytest.approx(20, abs=5)
    assert np.median(effects["age"]) == pytest.approx(-0.5, abs=0.1)


@pytest.mark.parametrize("witness", ["linear", "sparse", "tree"])
def test_contributions_add_up_to_the_difference_that_they_explain(regressor, table, witness):
    model = regressor.model_
    hoods = model.neighborhoods(model.read(table[0][:20]))
    laws = model.witnesses(hoods, witness)
    k, members = hoods.nearest.shape[1], hoods.points.reshape(20, hoods.size, -1)
    amounts = contributions(laws, members[:, 0], members[:, 1 : 1 + k], model.encoding_)
    values = laws.at_members().double().numpy().reshape(20, hoods.size, -1)
    difference = values[:, 0] - values[:, 1 : 1 + k].mean(1)
    np.testing.assert_allclose(amounts.sum(1), difference, atol=1e-9)


def test_an_explanation_is_consistent_with_itself(regressor, table):
    explanation = regressor.explain(table[0][:3])[1]
    assert explanation.base + sum(term.contribution for term in explanation.terms) == pytest.approx(explanation.law)
    assert explanation.prediction == pytest.approx(regressor.predict(table[0][1:2])[0])
    assert abs(explanation.law - explanation.prediction) < 10
    sizes = [abs(term.contribution) for term in explanation.terms]
    assert sizes == sorted(sizes, reverse=True)


def test_the_equation_gives_the_value_of_the_law(regressor, table):
    x = table[0][:1]
    explanation = regressor.explain(x)[0]
    left, right = explanation.equation.split(" = ", 1)
    assert left == "price"
    row = {"rooms": x.rooms.iloc[0], "age": x.age.iloc[0], "sold": (x.sold.iloc[0] - np.datetime64("1970-01-01")).days}
    total, sign = 0.0, 1.0
    parts = right.replace("- ", "+ -").split(" + ")
    for part in parts:
        number, _, name = part.partition(" ")
        if name.startswith("("):
            column, level = name.strip("()").split(" = ")
            cell = {True: "yes", False: "no"}.get(x[column].iloc[0], x[column].iloc[0])
            total += sign * float(number) * (cell == level)
        else:
            total += float(number) * row.get(name, 1.0)
    assert total == pytest.approx(explanation.law, abs=1.0)


def test_explanations_do_not_depend_on_their_company(regressor, table):
    together, alone = regressor.explain(table[0][:6])[4], regressor.explain(table[0][4:5], labels=["row 5"])[0]
    assert together.law == pytest.approx(alone.law)
    assert together.equation == alone.equation


def test_counterfactuals_change_the_answer_and_only_what_is_allowed(binary, table):
    x = table[0]
    answers = binary.predict(x)
    explanations = binary.explain(x[:40], changeable=["rooms", "colour"])
    count = 0
    for i in range(40):
        explanation = explanations[i]
        for one in explanation.counterfactuals:
            count += 1
            assert {change.column for change in one.changes} <= {"rooms", "colour"}
            codes = np.array(one.codes)
            values = binary.model_.exact_values(binary.model_.encoding_.scaled(codes[None]))
            assert (values[0, 0] > 0) == (explanation.wanted == "dear")
            assert explanation.wanted != answers[i]
            same = [
                c for c, column in enumerate(binary.model_.encoding_.used) if column.name not in ("rooms", "colour")
            ]
            np.testing.assert_array_equal(codes[same], explanations.codes[i][same])
            low, high = x.rooms.min(), x.rooms.max()
            assert low <= codes[0] <= high
    assert count > 20


def test_counterfactuals_of_a_number_reach_the_range_that_is_wanted(regressor, table):
    x = table[0][:20]
    explanations = regressor.explain(x, wanted=(100, 120), changeable=["rooms"])
    for i, explanation in enumerate(explanations):
        inside = 100 <= regressor.predict(x)[i] <= 120
        assert inside == (explanation.wanted is None)
        for one in explanation.counterfactuals:
            assert 100 <= one.prediction <= 120
            assert [change.column for change in one.changes] == ["rooms"]


@pytest.mark.slow
def test_counterfactuals_do_as_they_are_read(regressor, binary, table):
    x = table[0][:60]
    count = 0
    for model, wanted in ((regressor, (None, 100)), (regressor, (130, None)), (binary, None)):
        for i, explanation in enumerate(model.explain(x, wanted=wanted, changeable=["rooms", "age"])):
            for one in explanation.counterfactuals:
                typed = x[i : i + 1].copy()
                for change in one.changes:
                    typed[change.column] = float(change.after)
                answer = model.predict(typed)[0]
                if wanted is None:
                    assert answer != model.predict(x[i : i + 1])[0]
                else:
                    assert (wanted[0] or -np.inf) <= answer <= (wanted[1] or np.inf)
                count += 1
    assert count > 60


def test_a_level_and_a_number_change_together_where_neither_is_enough():
    """What is wanted is x + 2 [level is "b"] >= 4.5, with x up to 3: neither is enough."""
    from pellucid.tabular.counterfactuals import CounterfactualSearch
    from pellucid.tabular.deciding import decide
    from pellucid.tabular.encoding import Encoding

    frame = frame_of(pd.DataFrame({"x": np.linspace(0, 3, 40).round(3), "kind": list("ab") * 20}))
    encoding = Encoding.of(decide(frame), frame)

    def accept(codes):
        numbers = codes[:, 0] + 2 * (codes[:, 1] == 1)
        return numbers >= 4.5, numbers

    gain = np.where(encoding.is_indicator, 2.0, 1.0)
    search = CounterfactualSearch(encoding=encoding, accept=accept)
    (one,) = search.find(np.array([0.5, 0.0]), gain, ["x", "kind"])
    assert [(change.column, change.before, change.after) for change in one.changes] == [
        ("x", "0.5000", "2.500"),
        ("kind", "a", "b"),
    ]
    assert one.prediction == 4.5
    assert not search.find(np.array([0.5, 0.0]), gain, ["x"])


def test_bad_wishes_are_refused(regressor, classifier, table):
    x = table[0][:2]
    with pytest.raises(InputError, match="`wanted` must be two numbers, between which the prediction is to be"):
        regressor.explain(x, wanted=5)
    with pytest.raises(InputError, match="`wanted` must be one of the classes, cheap, dear, fair. Got 'free'"):
        classifier.explain(x, wanted="free")
    with pytest.raises(InputError, match="must be a column of the table. Got 'room'; did you mean 'rooms'?"):
        regressor.explain(x, changeable=["room"])


def test_laws_that_are_the_same_everywhere_are_stable(regressor, table):
    stability = regressor.explain(table[0][:30]).stability
    assert np.nanmedian(stability) > 0.8
    assert (stability <= 1).all()


def test_explanations_survive_json_and_are_written(classifier, table, tmp_path):
    explanation = classifier.explain(table[0][:1])[0]
    again = RowExplanation.from_dict(json.loads(json.dumps(explanation.to_dict())))
    assert again.text() == explanation.text()
    explanation.to_html(tmp_path / "row.html")
    page = (tmp_path / "row.html").read_text()
    assert "Contributions:" in page
    assert explanation.equation.split(" = ")[0] in page
    explanation.plot().savefig(tmp_path / "row.svg")
    assert "pl-bars" in explanation._repr_html_()
    rows = list(explanation.rows())
    assert len(rows) == 1 + len(explanation.terms)


def test_names_of_users_are_never_markup(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    x = pd.DataFrame({"<b>a</b>": rng.normal(size=60), "$x$": rng.choice(["<i>", "&"], 60)})
    model = TransparentRegressor(epochs=1, width=4, ensemble=1, random_state=0, witness="linear").fit(
        x, x["<b>a</b>"] ** 2
    )
    explanation = model.explain(x[:1])[0]
    explanation.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<b>a</b>" not in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    explanation.plot().savefig(tmp_path / "page.svg")


def test_held_out_shares_are_those_of_laws_fitted_without_the_member(regressor, table):
    model = regressor.model_
    explanations = regressor.explain(table[0][:2])
    hoods = model.neighborhoods(explanations.scaled)
    f = model.values_at(hoods.points).double()[: hoods.size, 0].numpy()
    x = hoods.points[: hoods.size]
    misses, alone = [], []
    for j in range(hoods.size):
        rest = torch.arange(hoods.size) != j
        law = model.family().best_response(
            x[rest], torch.from_numpy(f)[rest, None], from_lists([range(hoods.size - 1)])
        )
        misses.append(f[j] - float(law.evaluate(torch.tensor([0]), x[j : j + 1])[0, 0]))
        alone.append(f[j] - f[rest.numpy()].mean())
    share = 1 - np.square(misses).sum() / np.square(alone).sum()
    assert explanations.held_out_explained[0, 0] == pytest.approx(share, abs=1e-3)


def test_an_audit_of_the_laws(regressor, table):
    audit = regressor.audit(table[0][:50])
    assert float(audit.held_out.explained()[0]) > 0.9


def test_the_title_of_a_picture_has_room(regressor, table):
    long = regressor.explain(table[0][:1], labels=["rooms=5; " * 30])[0].plot()
    (title,) = (axes.get_title(loc="left") for axes in long.axes)
    assert title.startswith("rooms=5; rooms=5; ")
    assert "...: " in title
    assert len(title) < 90


def test_a_chart_cuts_names_and_keeps_values(table, tmp_path):
    x = table[0].rename(columns={"rooms": "number of rooms with windows to the south", "age": "age"})
    model = TransparentRegressor(epochs=1, width=4, ensemble=1, random_state=0, witness="linear").fit(x, table[1])
    explanation = model.explain(x[:1], wanted=(float(model.predict(x[:1])[0]) + 0.1, None))[0]
    explanation.to_html(tmp_path / "row.html")
    page = (tmp_path / "row.html").read_text()
    (term,) = (term for term in explanation.terms if term.column.startswith("number of rooms"))
    name = f"{term.column[: 30 - 4 - len(term.value)]}\u2026 = {term.value}"
    assert len(name) == 30
    assert f">{name}</text>" in page
    assert explanation.counterfactuals
    for change in explanation.counterfactuals[0].changes:
        assert f"{change.before} \u2192 {change.after}" in page


def test_days_have_no_time_on_average(regressor, table):
    for explanation in regressor.explain(table[0][:3]):
        (term,) = (term for term in explanation.terms if term.column == "sold")
        assert re.fullmatch(r"2024-\d\d-\d\d", term.usual)


def test_all_rows_are_one_table(regressor, classifier, table, tmp_path):
    x = table[0][:6]
    explanations = regressor.explain(x)
    frame = explanations.to_frame()
    assert list(frame.index) == [f"row {i}" for i in range(1, 7)]
    amounts = frame[[name for name in frame if name.startswith("contribution: ")]]
    np.testing.assert_allclose(frame.base + amounts.sum(axis=1), frame.law, rtol=1e-12)
    np.testing.assert_array_equal(frame["predicted: price"], regressor.predict(x))
    one = explanations[4]
    assert frame["held-out variance explained"].iloc[4] == one.held_out_explained
    assert (frame.bound.iloc[4], frame.stability.iloc[4]) == (one.bound, one.stability)
    assert tuple(frame.iloc[4][["measured above", "measured below"]]) == one.interval
    explanations.to_csv(tmp_path / "all.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "all.csv", index_col="row"), frame, check_exact=True)
    frame = classifier.explain(x).to_frame()
    assert frame.iloc[:, 0].tolist() == classifier.predict(x).tolist()
    np.testing.assert_allclose(frame.probability, classifier.predict_proba(x).max(1), rtol=1e-12)


def test_without_pandas_there_is_a_file(regressor, table, monkeypatch):
    explanations = regressor.explain(table[0].head(1))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="A table of pandas needs pandas. Got none; pip install pandas, or write a"):
        explanations.to_frame()


def test_neighbors_of_classes_have_the_probability_of_the_answer(classifier, table):
    explanation = classifier.explain(table[0][:1])[0]
    places = [row.row - 1 for row in explanation.neighbors]
    which = [str(name) for name in classifier.classes_].index(explanation.answer)
    # Rows are numbered as in the table that was learned from.
    expected = classifier.predict_proba(table[0].iloc[places])[:, which]
    np.testing.assert_allclose([row.probability for row in explanation.neighbors], expected, atol=1e-6)
    assert f"probability of {explanation.answer}" in str(explanation)
    assert "log-odds here" in str(explanation)
