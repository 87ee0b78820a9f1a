"""Indicators over time: where lines, levels and marks lie."""

import math
import re

import numpy as np
import pytest

from pellucid.report.frame import BOTTOM, LEFT, RIGHT
from pellucid.report.timelines import squeezed, timeline

USUAL = {"limit": 3.0, "rising": False, "healthy": None, "alarm": None, "label": "a chart"}


def points(svg):
    return [
        [tuple(map(float, pair.split(","))) for pair in line.split()]
        for line in re.findall(r'class="track" points="([^"]*)"', svg)
    ]


def test_lines_pass_through_the_distances():
    distances = [0.0, 3.0, -3.0, 100.0, 1.0]
    (line,) = points(timeline(distances, **USUAL))
    across = np.linspace(LEFT, 480 - RIGHT, 5)
    np.testing.assert_allclose([x for x, _ in line], across, atol=0.06)
    heights = np.array([math.asinh(d / 3) for d in distances])
    down = np.array([y for _, y in line])
    slope = (down[3] - down[0]) / (heights[3] - heights[0])
    np.testing.assert_allclose(down, down[0] + slope * heights, atol=0.15)
    assert slope < 0


def test_levels_lie_where_a_value_on_them_lies():
    svg = timeline([0.0, 4.0, -4.0, 0.0], **USUAL | {"limit": 4.0})
    (line,) = points(svg)
    levels = [float(y) for y in re.findall(r'class="level" d="M[\d.]+ ([\d.]+)H', svg)]
    assert levels == [line[1][1], line[2][1]]
    rising = timeline([0.0, 4.0, -4.0, 0.0], **USUAL | {"limit": 4.0, "rising": True})
    assert len(re.findall('class="level"', rising)) == 1
    assert re.search(r'class="within" x="48.0" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', rising)
    top, height = map(float, re.search(r'class="within"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"', rising).groups())
    assert top + height == pytest.approx(190 - BOTTOM, abs=0.1)
    assert "level" not in timeline([0.0, 1.0], **USUAL | {"limit": math.inf})


def test_the_first_alarm_and_the_healthy_ones_are_marked():
    svg = timeline([0.0] * 11, **USUAL | {"alarm": 4, "healthy": (0, 2)})
    across = np.linspace(LEFT, 480 - RIGHT, 11)
    assert float(re.search(r'path class="alarm" d="M([\d.]+)', svg)[1]) == pytest.approx(across[4], abs=0.06)
    assert "first alarm: 5<" in svg
    begin, width = map(float, re.search(r'class="healthy" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg).groups())
    assert (begin, begin + width) == pytest.approx((across[0], across[2]), abs=0.11)
    assert "alarm:" not in timeline([0.0] * 11, **USUAL)


def test_the_selected_recording_does_not_hide_the_first_alarm():
    svg = timeline([0.0] * 11, **USUAL | {"alarm": 4})
    # What comes later is drawn on top.
    assert svg.index('class="cursor"') < svg.index('path class="alarm"')


def test_a_low_level_leaves_marks_beside_0():
    svg = timeline([0.0, 0.1], **USUAL | {"limit": 0.7})
    assert re.findall(r'<text class="end"[^>]*>([^<]*)</text>', svg) == ["\N{MINUS SIGN}3", "0", "3"]


def test_gaps_part_the_line_and_nothing_at_all_is_drawn_without_values():
    assert [len(line) for line in points(timeline([0.0, 1.0, math.nan, 2.0], **USUAL))] == [2, 1]
    assert points(timeline([math.nan, math.nan], **USUAL)) == []


def test_of_many_values_the_extremes_are_drawn():
    distances = np.random.default_rng(0).normal(size=5000)
    distances[1234], distances[4321] = 500.0, -400.0
    (line,) = points(timeline(distances.tolist(), **USUAL))
    assert len(line) <= 600
    top, bottom = min(y for _, y in line), max(y for _, y in line)
    full = timeline([0.0, 500.0, -400.0], **USUAL)
    assert (top, bottom) == (points(full)[0][1][1], points(full)[0][2][1])
    assert [x for x, _ in line] == sorted(x for x, _ in line)


@pytest.mark.parametrize("largest", [1, 8, 90, 900, 1e5, 1e8])
def test_marks_along_the_axis_are_few(largest):
    svg = timeline([0.0, float(largest), -float(largest)], **USUAL)
    marks = re.findall(r'<text class="end"[^>]*>([^<]*)</text>', svg)
    assert 1 <= len(marks) <= 7
    assert "0" in marks
    assert squeezed(-2.0) == -squeezed(2.0)
