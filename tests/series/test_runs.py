"""Runs on recordings: what a linear law does, and what is said before the numbers."""

import numpy as np
import pytest

from pellucid import runs
from pellucid.series import recordings
from pellucid.series.runs import baseline


def test_the_linear_law_forecasts_a_linear_recording():
    generator = np.random.default_rng(0)
    table = np.zeros((3000, 2))
    for t in range(2, 3000):
        table[t] = 0.5 * table[t - 1] - 0.3 * table[t - 2, ::-1] + generator.normal(size=2) * [0.1, 0.1]
    found = baseline(recordings(table[:2000]), recordings(table[2000:]), 4, 1)
    # What is left is the noise.
    noise = 0.1 / table[2000:].std()
    assert found["scores"]["relative_error"] == pytest.approx(noise, rel=0.05)
    assert found["scores"]["error"] == pytest.approx(0.1, rel=0.05)
    far = baseline(recordings(table[:2000]), recordings(table[2000:]), 4, 30)
    assert found["scores"]["relative_error"] < far["scores"]["relative_error"] < 1.05


@pytest.mark.parametrize(
    ("deep", "game", "tested", "words"),
    [
        ((0.5, 0.2), (0.5, 0.1), 100, []),
        ((0.5, 0.2), (1.0, 0.1), 100, ["hardly better"]),
        ((0.5, 0.2), (0.5, 0.2), 100, ["no more transparent"]),
        ((0.5, 0.2), (float("nan"), 0.3), 5, ["hardly better", "no more transparent", "The test is small (5)"]),
        ((1.0, None), None, 100, ["hardly better"]),
    ],
)
def test_what_is_said_before_the_numbers(deep, game, tested, words):
    models = {
        name: {"scores": {"relative_error": scores[0], "deviation": scores[1]}}
        for name, scores in (("DEEP", deep), ("GAME", game))
        if scores is not None
    }
    found = runs.verdict(models, tested=tested, deviation="deviation")
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))
    assert runs.verdict(models, tested=tested, deviation="deviation", more=["first"])[0] == "first"
