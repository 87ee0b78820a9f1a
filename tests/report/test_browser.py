"""The pages in a real browser: what people see, click and type."""

import copy
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from report.browsing import (
    CONTRASTS,
    NEEDS_BROWSER,
    check_page,
    dismiss,
    element,
    elements,
    go,
    opened_browser,
    press,
    requests,
    shown,
)
from report.summaries import condition_over_time, write_molecules, write_series

import pellucid as pl
from pellucid.molecules import MoleculeExplanation
from pellucid.molecules.report import write_explanations
from pellucid.report import write_audit
from pellucid.report.frame import LEFT, RIGHT
from pellucid.series import ForecastExplanation
from pellucid.series.indicators import INDICATORS

pytestmark = NEEDS_BROWSER
BAD = ("<img src=x onerror=alert(1)>", "</script><script>window.bad=1</script>")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def pages(molecules, series, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
    features = ["the temperature outside of the chamber", "the pressure inside"]
    f = torch.sin(4 * x[:, 0]) + x[:, 1]
    audit = pl.audit(f, x, pl.nearest(x, k=10), pl.LinearFamily(), features=features)
    forecast = ForecastExplanation.from_dict(series["explanations"][0]["explanation"])
    forecast.to_html(folder / "forecast.html", title="rig.csv")
    one = MoleculeExplanation.from_dict(molecules["explanations"][0]["explanation"])
    one.to_html(folder / "one.html")
    condition_over_time().to_html(folder / "condition.html", title="machine")
    return {
        "molecules": write_molecules(molecules, folder / "molecules.html"),
        "series": write_series(series, folder / "series.html"),
        "audit": write_audit(audit, folder / "audit.html", title="forest.csv"),
        "one": folder / "one.html",
        "forecast": folder / "forecast.html",
        "condition": folder / "condition.html",
    }


@pytest.fixture
def show(browser, pages):
    """Open a page by its name or path."""
    yield lambda page, **how: go(browser, pages.get(page, page), **how)
    dismiss(browser)


def choose(browser, selector, text):
    from selenium.webdriver.support.ui import Select

    Select(element(browser, selector)).select_by_visible_text(text)


@pytest.mark.parametrize("page", ["molecules", "series", "audit", "one", "forecast", "condition"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_open_without_errors_and_without_a_network(show, pages, page, scheme):
    check_page(show(page, scheme=scheme), pages[page], scheme)


@pytest.mark.parametrize("page", ["molecules", "series", "audit", "condition"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(show, page, scheme):
    browser = show(page, scheme=scheme)
    if page == "molecules":
        element(browser, "#cards .open").click()
    assert browser.execute_script(CONTRASTS) == []


def test_searching_leaves_what_was_asked_for(show, molecules):
    browser = show("molecules")
    total = len(molecules["explanations"])
    count = element(browser, "#count")
    assert count.text == f"{total} of {total} shown"
    assert count.get_attribute("aria-live") == "polite"
    box = element(browser, "#search")
    box.send_keys("test MOLECULE 11")
    assert [card.text.splitlines()[0] for card in shown(browser, "#cards .card")] == ["test molecule 11"]
    assert count.text == f"1 of {total} shown"
    box.clear()
    smiles = molecules["explanations"][0]["explanation"]["smiles"]
    box.send_keys(smiles)
    expected = [i for i in molecules["explanations"] if smiles.lower() in i["explanation"]["smiles"].lower()]
    assert len(shown(browser, "#cards .card")) == len(expected)
    box.clear()
    box.send_keys("nothing like it")
    assert count.text == f"0 of {total} shown"
    assert shown(browser, "#cards .card") == []


def test_sorting_by_every_number(show, molecules):
    browser = show("molecules")
    items = {item["place"]: item for item in molecules["explanations"]}

    def order():
        return [items[card.text.splitlines()[0]] for card in elements(browser, "#cards .card")]

    def rising(values):
        return all(a <= b + 1e-5 for a, b in pairwise(values))

    assert rising([-item["explanation"]["deviation"][0] for item in order()])
    for text, value in (
        ("deviation, smallest first", lambda item: item["explanation"]["deviation"][0]),
        ("bound, smallest first", lambda item: item["explanation"]["bound"][0]),
        ("prediction, highest first", lambda item: -item["explanation"]["prediction"][0]),
        ("prediction, lowest first", lambda item: item["explanation"]["prediction"][0]),
        ("measured, highest first", lambda item: -item["measured"][0]),
        (
            "similarity to known molecules, highest first",
            lambda item: -max((m["similarity"] for m in item["explanation"]["members"][1:]), default=-1),
        ),
    ):
        choose(browser, "#sort", text)
        assert rising([value(item) for item in order()]), text


def test_molecules_that_a_user_asks_for_stay_in_their_order(show, molecules, tmp_path):
    listed = [MoleculeExplanation.from_dict(item["explanation"]) for item in molecules["explanations"][:20]]
    # Of those that deviate alike, one.
    apart = sorted({explanation.deviation[0]: explanation for explanation in listed}.items())
    named = {f"step {i}": explanation for i, (_, explanation) in enumerate(apart)}
    browser = show(write_explanations(named, tmp_path / "way.html", title="way"))

    def order():
        return [card.text.splitlines()[0] for card in elements(browser, "#cards .card")]

    assert order() == list(named)
    choose(browser, "#sort", "deviation, largest first")
    assert order() == list(named)[::-1]
    choose(browser, "#sort", "as listed")
    assert order() == list(named)


def test_a_molecule_opens_by_mouse_and_gives_the_focus_back(show, molecules):
    browser = show("molecules")
    card = element(browser, "#cards .card")
    place = card.text.splitlines()[0]
    card.click()  # anywhere on it
    (dialog,) = shown(browser, "dialog")
    assert dialog.text.splitlines()[0] == place
    content = next(item for item in molecules["explanations"] if item["place"] == place)["explanation"]
    assert content["smiles"] in dialog.text
    assert dialog.text.count("this molecule") == 1
    for picture in elements(dialog, ".tree .pl-substructure"):
        assert picture.rect["width"] > 60
    element(dialog, ".close").click()
    assert shown(browser, "dialog") == []
    assert browser.execute_script("return document.activeElement.innerText") == place


@pytest.mark.parametrize("key", ["\ue007", " "], ids=["enter", "space"])
def test_a_molecule_opens_by_keyboard_and_escape_closes_it(show, key):
    browser = show("molecules")
    browser.execute_script("document.querySelector('#sort').focus()")
    press(browser, "\ue004")  # tab, to the first card
    active = "return document.activeElement"
    place = browser.execute_script(active).text
    assert place == element(browser, "#cards .open").text
    ring = browser.execute_script("return getComputedStyle(document.activeElement, '::after').outlineStyle")
    assert ring == "solid"
    press(browser, key)
    (dialog,) = shown(browser, "dialog")
    assert browser.execute_script("return document.querySelector('dialog[open]').contains(document.activeElement)")
    assert dialog.get_attribute("aria-labelledby") in [h.get_attribute("id") for h in elements(dialog, "h2")]
    press(browser, "\ue00c")  # escape
    assert shown(browser, "dialog") == []
    assert browser.execute_script(active).text == place


def test_the_first_tab_skips_to_the_content(show):
    browser = show("molecules")
    press(browser, "\ue004")
    skip = browser.execute_script("return document.activeElement")
    assert skip.text == "Skip to the content"
    assert skip.rect["x"] >= 0
    press(browser, "\ue007")
    assert browser.execute_script("return document.activeElement.id") == "main"


def test_a_channel_and_a_step_are_chosen(show, series):
    browser = show("series")
    assert browser.get_log("browser") == []
    names = series["outputs"]
    choose(browser, "#channel", names[2])
    panels = shown(browser, ".panel")
    assert [panel.get_attribute("data-channel") for panel in panels] == ["2"] * len(series["explanations"])
    slider, law = element(browser, ".item input"), element(panels[0], "code")
    first = law.text
    assert first.startswith(f"{names[2]}[t+1] = ")
    slider.send_keys("\ue014\ue014")  # two steps on
    assert element(panels[0], ".step").text == "3"
    assert law.text.startswith(f"{names[2]}[t+1] = ")
    assert law.text != first
    least = series["explanations"][-1]
    assert element(browser, ".item h3").text.startswith(least["place"])
    choose(browser, "#which", "the most trustworthy")
    assert element(browser, "#count").text == f"2 of {len(series['explanations'])} shown"


def test_a_step_is_chosen_where_a_forecast_is_alone(show, series):
    browser = show("forecast")
    names = series["outputs"]
    laws = shown(browser, ".panel code")
    first = [law.text for law in laws]
    assert [text.split("[t+1]")[0] for text in first] == names
    element(browser, "input").send_keys("\ue014\ue014")  # two steps on
    assert [step.text for step in elements(browser, ".step")] == ["3"] * len(names)
    assert all(law.text != before for law, before in zip(laws, first, strict=True))
    columns = shown(browser, ".column")
    assert len(columns) == len(names)


def test_a_recording_is_chosen_by_keyboard_and_by_mouse(show):
    from selenium.webdriver.common.keys import Keys

    condition = condition_over_time()
    browser = show("condition")
    slider, law = element(browser, "#recording"), 7 + INDICATORS.index("law")
    chart = element(browser, f"[data-chart='{law}']")

    def told():
        return element(browser, "#name").text, chart.text.split("\n")[0]

    # It begins at the first alarm.
    assert told()[0] == "34 of 40: 2024-06-14 10-00-00.csv"
    assert told()[1].startswith("law 50 (")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert told()[0].startswith("35 of 40")
    slider.send_keys(Keys.HOME)
    value, distance = condition.values[0, -1, 1], condition.distances[0, -1, 1]
    assert told() == (
        f"1 of 40: {condition.recordings[0]}",
        f"law {value:.4g} ({distance:.3g} sd)".replace("-", "\u2212"),
    )
    # A click moves the cursor of all charts to the recording under the mouse.
    from selenium.webdriver import ActionChains

    svg = element(browser, f"[data-chart='{law}'] svg")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
    ActionChains(browser).move_to_element(svg).click().perform()
    middle = (240 - LEFT) / (480 - LEFT - RIGHT)
    assert told()[0].startswith(f"{1 + round(39 * middle)} of 40")
    places = {cursor.get_attribute("transform") for cursor in elements(browser, ".cursor")}
    assert len(places) == 1


@pytest.mark.parametrize("page", ["molecules", "series"])
def test_tables_of_a_telephone_hide_nothing(show, page):
    browser = show(page, width=400)
    cells = shown(browser, ".stacked td.num, .stacked tbody th")
    texts = {cell.get_attribute("data-of") for cell in cells}
    assert {"DEEP", "GAME", "change", "DEEP: bound", "GAME: bound", "DEEP: coverage", "GAME: coverage"} <= texts
    for cell in cells:
        assert cell.rect["x"] >= 0
        assert cell.rect["x"] + cell.rect["width"] <= 400
    found = "[...document.querySelectorAll('.stacked tbody :is(td, th)')]"
    widths = f"return {found}.map((e) => e.scrollWidth - e.clientWidth)"
    assert max(browser.execute_script(widths)) <= 0


def test_equations_of_an_audit_wrap(show):
    browser = show("audit", width=400)
    widths = "return [...document.querySelectorAll('pre')].map((e) => e.scrollWidth - e.clientWidth)"
    assert browser.execute_script(widths) == [0] * 10


@pytest.mark.parametrize("page", ["molecules", "series", "audit", "one", "forecast", "condition"])
def test_nothing_overflows_a_telephone(show, page):
    for width in (750, 360):
        browser = show(page, width=width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    if page == "molecules":
        browser.execute_script("document.querySelector('#cards .open').click()")
        sizes = "const d = document.querySelector('dialog[open]'); return [d.scrollWidth, d.clientWidth]"
        wide, room = browser.execute_script(sizes)
        assert wide <= room <= 360


def reasons(browser):
    cells = "[...document.querySelectorAll('details td:last-child')]"
    return browser.execute_script(f"return {cells}.filter((e) => e.checkVisibility()).map((e) => e.textContent)")


@pytest.mark.parametrize("page", ["molecules", "series", "audit", "condition"])
def test_paper_shows_everything_and_no_controls(show, page):
    assert reasons(show(page)) == []
    browser = show(page, media="print", scheme="dark")
    assert shown(browser, ".controls, .sections, .skip, .opens, .steps, .close") == []
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(255, 255, 255)"
    if page not in ("audit", "condition"):
        assert reasons(browser)[0] == "ring is not closed"
    if page == "molecules":
        assert len(shown(browser, "dialog")) == len(elements(browser, "dialog.printed")) == 6
        assert all(tree.is_displayed() for tree in elements(browser, "dialog.printed .tree"))


@pytest.mark.parametrize("bad", BAD)
def test_names_inject_nothing(show, molecules, series, bad, tmp_path):
    content = copy.deepcopy(molecules) | {"title": bad, "outputs": [bad]}
    content["data"] |= {"source": bad, "rejected": [[1, bad, bad]]}
    for item in content["explanations"]:
        explanation = MoleculeExplanation.from_dict(item["explanation"])
        item |= {"place": bad, "explanation": replace(explanation, targets=(bad,)).to_dict()}
    sequence = copy.deepcopy(series) | {"title": bad, "outputs": [bad, *series["outputs"][1:]]}
    for item in sequence["explanations"]:
        item |= {"place": bad}
        item["explanation"]["channels"][0] = bad
    for write, summary in ((write_molecules, content), (write_series, sequence)):
        browser = show(write(summary, tmp_path / "report.html"))
        assert browser.get_log("browser") == []
        assert browser.execute_script("return window.bad") is None
        assert elements(browser, "img") == []
        assert element(browser, "h1").text == bad
        assert len(requests(browser)) == 1
    assert elements(browser, "#channel option")[0].text == bad
    assert element(browser, ".panel code").text.startswith(f"{bad}[t+1] = ")
