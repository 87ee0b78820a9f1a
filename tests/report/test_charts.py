import re
from xml.etree import ElementTree

import numpy as np
import pytest

from pellucid.report.charts import histogram, place_labels, place_medians, trade_off
from pellucid.report.frame import LEFT, RIGHT, Frame, ticks
from pellucid.report.traces import Trace, heat_map, lines
from pellucid.summaries import TradeOff, Trial

BAD = "</title><script>alert(1)</script>"


def parsed(svg):
    return ElementTree.fromstring(str(svg))  # noqa: S314


def of_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


def test_bars_are_where_numpy_counts_them():
    generator = np.random.default_rng(0)
    groups = {"DEEP": generator.gamma(4, 0.05, 200), "GAME": generator.gamma(2, 0.05, 150)}
    root = parsed(histogram(groups, bins=12))
    edges = np.linspace(0, max(values.max() for values in groups.values()), 13)
    tallest = max(np.histogram(values, edges)[0].max() for values in groups.values())
    for name, look in (("DEEP", "deep"), ("GAME", "game")):
        counts, _ = np.histogram(groups[name], edges)
        bars = [bar for bar in of_class(root, "bar") if look in bar.get("class").split()]
        titles = [bar.find("title").text for bar in bars]
        assert [int(re.match(rf"{name}: (\d+) of", title)[1]) for title in titles] == counts[counts > 0].tolist()
        width = (480 - LEFT - RIGHT) / 12
        expected = [LEFT + width * i for i in np.flatnonzero(counts)]
        np.testing.assert_allclose([float(bar.get("x")) for bar in bars], expected, atol=0.06)
        heights = np.array([float(bar.get("height")) for bar in bars])
        np.testing.assert_allclose(heights / heights.max(), counts[counts > 0] / counts.max(), atol=0.005)
        if counts.max() == tallest:
            assert heights.max() == max(float(bar.get("height")) for bar in of_class(root, "bar"))
        (line,) = (mark for mark in of_class(root, "median") if look in mark.get("class").split())
        place = LEFT + np.median(groups[name]) / edges[-1] * (480 - LEFT - RIGHT)
        assert float(re.match(r"M([\d.]+)", line.get("d"))[1]) == pytest.approx(place, abs=0.06)


def test_a_histogram_of_nothing_is_nothing_and_of_equals_is_one_bar():
    assert histogram({"DEEP": [], "GAME": [float("nan")]}) == ""
    root = parsed(histogram({"DEEP": [0.0] * 5}))
    assert [bar.find("title").text[:13] for bar in of_class(root, "bar")] == ["DEEP: 5 of 5 "]


def test_names_are_text_in_charts():
    for svg in (
        histogram({BAD: [1.0, 2.0]}, BAD),
        heat_map(np.ones((1, 2)), [BAD], 1.0, BAD),
        lines([Trace("forecast", 1, [1.0, 2.0])], None, BAD),
    ):
        assert "<script" not in svg
        assert "alert(1)" in "".join(parsed(svg).itertext()) + str(parsed(svg).attrib)


def costs(**more):
    trials = (Trial(3.0, 1.5, 0.1), Trial(None, 1.0, 0.4), Trial(1.0, 1.1, 0.2))
    return TradeOff(
        **{"trials": trials, "tolerance": 0.2, "chosen": 1.0, "loss": "loss", "deviation": "deviation"} | more
    )


def test_the_trade_off_has_a_point_for_each_weight_and_marks_the_choice():
    root = parsed(trade_off(costs()))
    points = of_class(root, "point")
    names = [point.find("title").text.partition(":")[0] for point in points]
    assert names == ["DEEP", "weight 1", "weight 3"]
    x, y = (np.array([float(point.get(k)) for point in points]) for k in ("cx", "cy"))
    # Losses grow upwards, deviations to the right, both in proportion.
    assert (x[0] - x[1]) / (x[1] - x[2]) == pytest.approx((0.4 - 0.2) / (0.2 - 0.1), rel=0.01)
    assert (y[1] - y[2]) / (y[0] - y[1]) == pytest.approx((1.5 - 1.1) / (1.1 - 1.0), rel=0.02)
    (ring,) = of_class(root, "chosen")
    assert (float(ring.get("cx")), float(ring.get("cy"))) == (x[1], y[1])
    (band,) = of_class(root, "band")
    # The band ends at 1.2, half as far again above 1.1 as this is above 1.0, and then as far.
    assert float(band.get("y")) == pytest.approx(y[0] - 2 * (y[0] - y[1]), abs=0.2)
    assert of_class(parsed(trade_off(costs(chosen=None))), "chosen") == []


def apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_labels_lie_neither_on_each_other_nor_on_points():
    frame = Frame(x=(0, 1), y=(0, 1))
    texts = ["weight 1, chosen", "DEEP", "weight 3", "weight 10", "weight 30"]
    points = [(200.0, 100.0, 10.0), (222.0, 95.0, 5.0), (215.0, 121.0, 5.0), (460.0, 100.0, 5.0), (150.0, 92.0, 5.0)]
    found = place_labels(frame, texts, points, range(5))
    assert [i for i, *_ in found] == [0, 1, 2, 3, 4]
    boxes = [(x - r, y - r, x + r, y + r) for x, y, r in points]
    for i, x, y, side in found:
        width = 7.8 * len(texts[i])
        low = x - {"start": 0, "mid": 0.5, "end": 1}[side] * width
        assert 0 <= low <= low + width <= 480
        assert abs(y - points[i][1]) < 40
        boxes.append((low, y - 12, low + width, y + 3))
    for k, a in enumerate(boxes[5:]):
        assert all(apart(a, b) for b in boxes[: 5 + k])
    # Where there is no room at all, a label is left out.
    assert len(place_labels(frame, ["weight 1"] * 20, [(200.0, 100.0, 5.0)] * 20, range(20))) < 20


@pytest.mark.parametrize("medians", [(0.5, 0.48), (0.48, 0.5), (0.02, 0.05), (0.97, 0.99), (0.0, 1.0), (0.3, 0.3)])
def test_labels_of_medians_do_not_lie_on_the_line_of_the_other(medians):
    frame = Frame(x=(0, 1), y=(0, 1))
    spots = place_medians(frame, medians)
    assert sorted(row for row, _ in spots) == [0, 1]
    for i, (row, left) in enumerate(spots):
        x, other = frame.across(medians[i]), frame.across(medians[1 - i])
        low, high = (x - 100, x) if left else (x, x + 100)
        assert low >= 0
        assert high <= 480
        # The line of the label above goes through the row below.
        assert row == 0 or not low < other < high


def test_ticks_are_round_and_inside():
    assert [v for v, _ in ticks(0.13, 0.87)] == [0.2, 0.4, 0.6, 0.8]
    assert [text for _, text in ticks(-2.5, 2.5)] == ["\u22122", "\u22121", "0", "1", "2"]
    assert [v for v, _ in ticks(0, 3, integers=True)] == [0, 1, 2, 3]


def test_one_value_alone_has_a_place():
    frame = Frame(x=(2.0, 2.0), y=(0.0, 0.0))
    assert frame.across(2.0) == pytest.approx((LEFT + 480 - RIGHT) / 2, abs=0.1)


def test_cells_of_a_heat_map_have_the_shade_of_their_coefficient():
    values = np.array([[1.0, 0.5, 0.5, 0.0], [-1.0, 0.02, -0.5, -0.5]])
    root = parsed(heat_map(values, ["a", "b"], 1.0, "map"))
    found = {e.get("class"): e.get("d") for e in root.iter() if re.fullmatch(r"s-?\d", e.get("class", ""))}
    assert found == {
        "s6": "M0 0h1v1h-1z",
        "s3": "M1 0h2v1h-2z",
        "s-6": "M0 1h1v1h-1z",
        "s-3": "M2 1h2v1h-2z",
    }


def test_lines_pass_through_their_values():
    traces = [Trace("context", -1, [1.0, 3.0]), Trace("witness", 1, [2.0, 2.5])]
    root = parsed(lines(traces, ([1.5, 2.0], [2.5, 3.0]), "a forecast"))
    places = {
        name: np.array([point.split(",") for point in of_class(root, name)[0].get("points").split()], dtype=float)
        for name in ("context", "witness", "sd")
    }
    (x0, y0), (x1, y1) = places["context"]
    across = lambda step: x0 + (step + 1) * (x1 - x0)  # noqa: E731
    down = lambda value: y0 + (value - 1) / 2 * (y1 - y0)  # noqa: E731
    np.testing.assert_allclose(places["witness"], [[across(1), down(2.0)], [across(2), down(2.5)]], atol=0.3)
    np.testing.assert_allclose(places["sd"][:, 1], [down(v) for v in (2.5, 3.0, 2.0, 1.5)], atol=0.3)
