"""The report of a table in a real browser: the map of laws by mouse and by keyboard, and the explained rows."""

import pytest
from report.browsing import CONTRASTS, NEEDS_BROWSER, check_page, dismiss, element, elements, go, opened_browser, press

from pellucid.summaries import Example, RunSummary
from pellucid.tabular import Change, Counterfactual, LawMap, NearRow, Region, RowExplanation, Swarm, Term, report

pytestmark = NEEDS_BROWSER
TAB, END, HOME, LEFT, RIGHT = "\ue004", "\ue010", "\ue011", "\ue012", "\ue014"
BAD = "<img src=x onerror=alert(1)>"
LABELS = ("row 2", "row 3", f"{BAD} (row 4)", "row 5")
ROOMS = Swarm(
    column="rooms", contributions=(30.0, -20.0, 5.0, -10.0), positions=(1.0, 0.0, 0.7, 0.3), values=("7", "1", "5", "3")
)
COLOUR = Swarm(
    column=BAD, contributions=(-2.0, 1.0, 0.5, 4.0), positions=(0.0, 0.5, 0.5, 1.0), values=("red", "blue", BAD, "red")
)


def explanation():
    return RowExplanation(
        label="row 2", output="price", answer="130", prediction=130.0, law=129.0, base=101.0, interval=(110.0, 150.0),
        probability=None, calibrated=None,
        terms=(
            Term(column="rooms", value="7", usual="5.5", contribution=30.0, effect="+20 per 1"),
            Term(column=BAD, value="red", usual="blue", contribution=-2.0, effect="red against blue -2"),
        ),
        equation="price = -9 + 20 rooms - 2 (colour = red)", held_out_explained=0.93, held_out_deviation=1.5,
        bound=4.0, why_not=None, stability=0.95, stability_word="stable",
        neighbors=(NearRow(row=7, distance=0.4, measured=128.0, prediction=127.0, cells={"rooms": "6.8"}),),
        counterfactuals=(
            Counterfactual(
                changes=(Change(column="rooms", before="7", after="4"),), size=1.2, prediction=69.0, codes=(4.0, 0.0)
            ),
        ),
        wanted="at most 70", level=0.9, members=64, witness="linear",
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    regions = (
        Region(rule="rooms > 4", count=3, law="+20 per rooms", explained=0.93, prediction=120.0),
        Region(rule="rooms <= 4", count=1, law="+5 per rooms", explained=None, prediction=40.0),
    )
    law_map = LawMap(output="price", rows=4, labels=LABELS, swarms=(ROOMS, COLOUR), regions=regions, shared=0.8)
    summary = RunSummary(
        kind="table", title="houses.csv", outputs=("price",), landscape=law_map.to_dict(),
        explanations=(Example(explanation=explanation().to_dict(), place="row 2", measured=(128.0,)),),
    )  # fmt: skip
    return report.write(summary, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver
        dismiss(driver)


def status(browser):
    return element(browser, "#swarm-status").text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_and_its_text_stands_out(browser, page, scheme):
    check_page(go(browser, page, scheme=scheme), page, scheme)
    assert browser.execute_script(CONTRASTS) == []
    assert elements(browser, "img") == []


def test_a_dot_says_on_hover_which_row_it_is(browser, page):
    from selenium.webdriver import ActionChains

    go(browser, page)
    hint = status(browser)
    assert hint.startswith("Point at a dot")
    rooms, colour = elements(browser, "g.swarm")
    dots = elements(rooms, "circle")
    assert len(dots) == len(ROOMS.values)
    ActionChains(browser).move_to_element(dots[1]).perform()
    assert status(browser) == "row 3: rooms = 1, \u221220.0"
    ActionChains(browser).move_to_element(elements(colour, "circle")[2]).perform()
    assert status(browser) == f"{BAD} (row 4): {BAD} = {BAD}, +0.5"
    # One dot at a time stands out.
    assert len(elements(browser, "circle.now")) == 1
    # A contribution is where it belongs: from left to right in the order of the numbers.
    places = [dot.rect["x"] for dot in dots]
    assert sorted(range(4), key=lambda i: places[i]) == sorted(range(4), key=lambda i: ROOMS.contributions[i])


def test_columns_and_rows_are_chosen_by_keyboard(browser, page):
    go(browser, page)
    browser.execute_script("document.querySelector('g.swarm').focus()")
    order = ["row 3: rooms = 1, \u221220.0", "row 5: rooms = 3, \u221210.0", f"{BAD} (row 4): rooms = 5, +5.0",
             "row 2: rooms = 7, +30.0"]  # fmt: skip
    assert status(browser) == order[0]
    for text in (*order[1:], order[-1]):  # at the end it stays
        press(browser, RIGHT)
        assert status(browser) == text
    press(browser, LEFT)
    assert status(browser) == order[2]
    press(browser, HOME)
    assert status(browser) == order[0]
    press(browser, END)
    assert status(browser) == order[-1]
    press(browser, TAB)
    assert browser.execute_script("return document.activeElement.getAttribute('aria-label')").startswith(BAD)
    assert status(browser) == "row 2: " + BAD + " = red, \u22122.0"
    ring = browser.execute_script("return getComputedStyle(document.activeElement.querySelector('rect')).stroke")
    assert ring != "none"


def test_regions_and_the_explained_row_can_be_read(browser, page):
    go(browser, page)
    regions = [region.text for region in elements(browser, ".regions li")]
    assert regions == ["rooms > 4\n3 rows, price 120.0 on average: +20 per rooms; held out, laws explain 93 %",
                       "rooms <= 4\n1 row, price 40.0 on average: +5 per rooms"]  # fmt: skip
    text = element(browser, "#explanations article").text
    for words in ("price 130.0, measured 128.0", "+30", "at most 70", "stable"):
        assert words in text


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_page(browser, page, width):
    go(browser, page, width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
