"""Intervals and probabilities, against crepes, scikit-learn and their definitions."""

import json

import numpy as np
import pytest
from crepes import ConformalRegressor
from sklearn.calibration import _SigmoidCalibration

import pellucid as pl
from pellucid.intervals import PredictionIntervals, ProbabilityCalibration
from pellucid.schemas import SchemaError

EDGES = (0.4, 0.6)


def points(n, seed=0, k=1):
    generator = np.random.default_rng(seed)
    familiarity = generator.random(n)
    predictions = generator.normal(size=(n, k))
    # Unfamiliar points have larger errors.
    return predictions + (1.5 - familiarity[:, None]) * generator.normal(size=(n, k)), predictions, familiarity


def test_widths_are_those_of_crepes_in_mondrian_bins():
    y, predictions, familiarity = points(300)
    intervals = PredictionIntervals.of(y, predictions, familiarity, EDGES)
    _, new, known = points(50, seed=1)
    for level in (0.5, 0.8, 0.9, 0.95):
        oracle = ConformalRegressor()
        oracle.fit(residuals=(y - predictions)[:, 0], bins=np.searchsorted(EDGES, familiarity, "right"))
        expected = oracle.predict_int(new[:, 0], bins=np.searchsorted(EDGES, known, "right"), confidence=level)
        widths = intervals.half_widths(known, level)[:, 0]
        np.testing.assert_allclose(new[:, 0] - widths, expected[:, 0])
        np.testing.assert_allclose(new[:, 0] + widths, expected[:, 1])


def test_intervals_hold_as_often_as_they_say_in_every_bin():
    y, predictions, familiarity = points(2000)
    intervals = PredictionIntervals.of(y, predictions, familiarity, EDGES)
    y, predictions, familiarity = points(20000, seed=1)
    within = np.abs(y - predictions)[:, 0] <= intervals.half_widths(familiarity, 0.9)[:, 0]
    bins = np.searchsorted(EDGES, familiarity, "right")
    for b in range(3):
        assert within[bins == b].mean() == pytest.approx(0.9, abs=0.03)


def test_small_bins_join_their_neighbors_and_blanks_do_not_count():
    y, predictions, familiarity = points(60, k=2)
    familiarity[:5], familiarity[5:40], familiarity[40:] = 0.1, 0.5, 0.9
    y[40:55, 1] = np.nan
    intervals = PredictionIntervals.of(y, predictions, familiarity, EDGES)
    assert intervals.edges == ((0.6,), ())
    assert [len(part) for part in intervals.errors[0]] == [40, 20]
    assert [len(part) for part in intervals.errors[1]] == [45]
    assert intervals.counts([0.1, 0.9]).tolist() == [[40, 45], [20, 45]]


def test_too_few_errors_give_no_interval():
    y, predictions, familiarity = points(8)
    intervals = PredictionIntervals.of(y, predictions, familiarity, EDGES)
    assert np.isinf(intervals.half_widths([0.5], 0.9)).all()
    assert np.isfinite(intervals.half_widths([0.5], 0.8)).all()


def test_intervals_survive_json():
    intervals = PredictionIntervals.of(*points(100, k=2), EDGES)
    again = PredictionIntervals.from_dict(json.loads(json.dumps(intervals.to_dict())))
    np.testing.assert_array_equal(again.half_widths([0.2, 0.9]), intervals.half_widths([0.2, 0.9]))


def test_probabilities_are_calibrated_as_scikit_learn_does():
    generator = np.random.default_rng(0)
    scores = generator.normal(size=500)
    labels = (generator.random(500) < 1 / (1 + np.exp(-(0.5 * scores - 1)))).astype(float)
    calibration = ProbabilityCalibration.of(labels[:, None], (1 / (1 + np.exp(-scores)))[:, None])
    oracle = _SigmoidCalibration().fit(scores, labels)
    ((scaling,),) = calibration.scalings
    assert scaling.slope == pytest.approx(-oracle.a_, abs=1e-3)
    assert scaling.offset == pytest.approx(-oracle.b_, abs=1e-3)
    expected = oracle.predict(scores)
    np.testing.assert_allclose(calibration((1 / (1 + np.exp(-scores)))[:, None])[:, 0], expected, atol=1e-3)


def test_no_probability_is_surer_than_those_of_the_held_out_points():
    generator = np.random.default_rng(0)
    p = generator.uniform(0.45, 0.55, size=200)  # a network that hardly tells the classes apart: a steep calibration
    labels = (generator.random(200) < 1 / (1 + np.exp(-40 * (p - 0.5)))).astype(float)
    calibration = ProbabilityCalibration.of(labels[:, None], p[:, None])
    assert calibration.scalings[0][0].slope > 5
    ends = calibration([[p.min()], [p.max()]])
    np.testing.assert_allclose(calibration([[0.001], [0.999]]), ends)
    assert (ends > 0.01).all()
    assert (ends < 0.99).all()
    again = ProbabilityCalibration.from_dict(json.loads(json.dumps(calibration.to_dict())))
    np.testing.assert_array_equal(again([[0.001], [0.5]]), calibration([[0.001], [0.5]]))


def test_bins_are_calibrated_each_for_itself():
    generator = np.random.default_rng(0)
    familiarity = generator.choice([0.2, 0.5, 0.9], size=6000)
    truth = generator.uniform(0.05, 0.95, size=6000)
    labels = (generator.random(6000) < truth).astype(float)[:, None]
    # What is unfamiliar is said three times as surely as it is known.
    logits = np.log(truth / (1 - truth)) * np.where(familiarity < 0.4, 3.0, 1.0)
    said = (1 / (1 + np.exp(-logits)))[:, None]
    calibration = ProbabilityCalibration.of(labels, said, familiarity, (0.4, 0.6))
    assert calibration.edges == ((0.4, 0.6),)
    np.testing.assert_allclose([scaling.slope for scaling in calibration.scalings[0]], [1 / 3, 1, 1], rtol=0.1)
    np.testing.assert_allclose(calibration(said, familiarity)[:, 0], truth, atol=0.05)
    # Each is that of its points alone.
    alone = familiarity == 0.5
    expected = ProbabilityCalibration.of(labels[alone], said[alone])([[0.3]])
    np.testing.assert_allclose(calibration([[0.3]], [0.5]), expected)
    again = ProbabilityCalibration.from_dict(json.loads(json.dumps(calibration.to_dict())))
    np.testing.assert_array_equal(again(said, familiarity), calibration(said, familiarity))


def test_bins_of_few_labels_join_the_next():
    labels = np.array([1.0, 0.0] * 30)[:, None]
    familiarity = np.repeat([0.2, 0.5, 0.9], [10, 25, 25])
    calibration = ProbabilityCalibration.of(labels, np.full((60, 1), 0.4), familiarity, (0.4, 0.6))
    assert calibration.edges == ((0.6,),)


def test_calibrations_of_earlier_versions_have_one_bin():
    old = {"slope": [0.5, 1.0], "offset": [-1.0, 0.0]}
    calibration = ProbabilityCalibration.from_dict(old)
    np.testing.assert_allclose(calibration([[0.5, 0.3]], [0.1]), [[1 / (1 + np.e), 0.3]])
    short = ProbabilityCalibration.from_dict(old | {"lowest": [0.0, -9.0], "highest": [1.0, 9.0]})
    np.testing.assert_allclose(short([[0.01, 0.3]]), [[1 / (1 + np.e), 0.3]])


@pytest.mark.parametrize(
    "wrong", [{"edges": [[0.6, 0.4]]}, {"edges": [[]]}, {"scalings": [[[1, 0, 0]] * 3]}, {"scalings": "all"}]
)
def test_damaged_calibrations_are_refused(wrong):
    good = {"edges": [[0.4, 0.6]], "scalings": [[[1.0, 0.0, -9.0, 9.0]] * 3]}
    assert ProbabilityCalibration.from_dict(good).edges == ((0.4, 0.6),)
    with pytest.raises(SchemaError):
        ProbabilityCalibration.from_dict(good | wrong)


def test_few_labels_leave_probabilities_as_they_are():
    labels = np.array([[1.0]] * 9 + [[0.0]] * 40)
    calibration = ProbabilityCalibration.of(labels, np.full((49, 1), 0.3))
    np.testing.assert_allclose(calibration([[0.3]]), [[0.3]])


@pytest.mark.parametrize("level", [0.0, 1.0, -1, "high"])
def test_levels_are_between_0_and_1(level):
    intervals = PredictionIntervals.of(*points(100), EDGES)
    with pytest.raises(pl.InputError, match="`level`"):
        intervals.half_widths([0.5], level)
