"""Runs: what is written down, whatever was learned from."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid import runs
from pellucid.cli.output import summary_text
from pellucid.domains import Evaluation
from pellucid.molecules.domain import MoleculeDomain
from pellucid.summaries import DataSummary, ModelSummary, RunSummary
from pellucid.trust import Calibration, HeldOut


def test_a_run_tells_the_bounds_that_there_are():
    gaps = np.linspace(0.1, 1.0, 99)[:, None, None] * np.ones(2)
    held_out = HeldOut(gaps, np.full((99, 1, 2), 0.1), gaps, np.ones(2), np.array([0.85, 9.0]))
    measured = Evaluation(
        scores={},
        tested=99,
        deviations=np.zeros(99),
        held_out=held_out,
        calibration=Calibration.of(held_out),
        units=np.array([1.0, 10.0]),
    )
    trust = runs.trust_summary({"GAME": measured}, 0.9)
    assert runs.scores(measured, 0.9)["bound"] == trust.bound["GAME"][1]  # a mean over the bounds that there are
    assert runs.scores(replace(measured, calibration=None), 0.9)["bound"] is None
    assert trust.bound["GAME"] == (None, pytest.approx(10 * np.sort(gaps[:, 0, 0])[89], rel=2e-6))
    assert trust.coverage["GAME"] == (None, pytest.approx(90 / 99))
    summary = RunSummary(
        kind="molecules",
        models={"GAME": ModelSummary()},
        data=DataSummary(parts={"test": 99}),
        outputs=("a", "b"),
        trust=trust,
    )
    text = summary_text(summary, MoleculeDomain())
    assert "within 9.17 (b) of the network at a nearby molecule (medians; not known for 1 more);" in text
    assert "held in 91 % of 99 test neighborhoods" in text
    none = replace(trust, bound={"GAME": (None, None)}, coverage={"GAME": (None, None)})
    text = summary_text(replace(summary, trust=none), MoleculeDomain())
    assert "trust: how far it can be trusted with 90 % confidence is not known: a bound would be as wide" in text


def test_examples_are_both_ends_and_others_evenly_between():
    deviations = np.arange(101)[::-1] / 10.0
    chosen = runs.results.select_examples(deviations, count=5, extremes=2)
    assert [index for index, _ in chosen] == [100, 75, 50, 25, 0]
    assert [rank for _, rank in chosen] == ["most", "most", "others", "least", "least"]
    assert runs.results.select_examples([0.5], count=5, extremes=2) == [(0, "others")]
    assert runs.results.select_examples([]) == []


def test_numbers_that_are_not_known_are_none():
    assert runs.results.finite_or_none(np.array([1.5, np.nan, np.inf])) == (1.5, None, None)
    assert runs.results.finite_mean(np.array([1.0, np.nan, 4.0, -np.inf])) == 2.5
    assert runs.results.finite_mean(np.array([np.nan])) is None
