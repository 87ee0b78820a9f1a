"""Condition over time: indicators by their definitions, levels that hold, planted faults that are found."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import signal, stats

from pellucid.errors import InputError
from pellucid.series import Condition, Forecaster, assess, recordings, simulate_rig
from pellucid.series.alarms import Limits, first_lasting, in_alarm
from pellucid.series.condition_text import ranked, verdicts
from pellucid.series.data import Recordings
from pellucid.series.indicators import INDICATORS, LagMoments, indicators_of
from pellucid.series.stream import Tally, hours_of, sources_of

pytestmark = pytest.mark.slow

SMALL = {
    "context": 20, "horizon": 10, "radius": 4, "order": 2, "width": 16, "kernel": 5, "stride": 5, "epochs": 8,
    "batch_size": 32, "learning_rate": 0.02,
}  # fmt: skip
# Recordings that are learned from, that calibrate, and at which faults begin.
LEARNED, HEALTHY, BEGIN = 6, 40, 50


@pytest.fixture(scope="module")
def rig():
    return simulate_rig(rows=1500, files=LEARNED + 65, bearings=3, wear=0.0, seed=0)


@pytest.fixture(scope="module")
def model(rig):
    return Forecaster(**SMALL).fit(rig[:LEARNED], progress=False)


@pytest.fixture(scope="module")
def follow(model, rig):
    """Assess the recordings after those that were learned from, with a fault of one channel from BEGIN on."""

    def run(fault=None, channel=1, **options):
        values = [table.copy() for table in rig[LEARNED:].values]
        for table in values[BEGIN:] if fault else []:
            table[:, channel] = fault(table[:, channel])
        source = Recordings(values=tuple(values), channels=rig.channels, sources=rig.sources[LEARNED:])
        return assess(model, source, **{"healthy": HEALTHY, "level": 0.95, "sequences": 20, **options})

    return run


def filtered(x, coefficient):
    """Other dynamics, just as loud: with mean and standard deviation of before."""
    y = signal.lfilter([1.0, coefficient], [1.0], x)
    return (y - y.mean()) * (x.std() / y.std()) + x.mean()


def rougher(x):
    return filtered(x, -0.5)


def smoother(x):
    return filtered(x, 0.5)


def louder(x):
    return 1.4 * x


# -- planted faults ---------------------------------------------------------------------------------------------------


def test_a_change_of_dynamics_is_found_where_loudness_does_not_change(follow):
    condition = follow(rougher)
    alarms = {(a.channel, a.indicator): a for a in condition.alarms}
    needed = condition.persistence[0]
    for indicator in ("law", "likelihood"):
        alarm = alarms["bearing 2", indicator]
        # All after the change are beyond, so that the alarm comes with the fourth of them, or a chance before.
        assert BEGIN + needed - 2 <= alarm.first <= BEGIN + needed
        assert alarm.lasts == alarm.first
        assert alarm.side == "above"
    assert ("bearing 2", "rms") not in alarms
    assert ("bearing 2", "sd") not in alarms
    assert ranked(condition)[0] == "bearing 2"
    assert verdicts(condition)[0].startswith(f"bearing 2: alarm since recording {BEGIN + needed} of 65")


def test_the_likelihood_is_blind_to_a_change_towards_what_is_easier_to_predict(follow):
    condition = follow(smoother)
    alarms = {(a.channel, a.indicator): a for a in condition.alarms}
    assert BEGIN + 2 <= alarms["bearing 2", "law"].first <= BEGIN + 4
    assert ("bearing 2", "likelihood") not in alarms
    assert ("bearing 2", "rms") not in alarms


def test_a_change_of_loudness_is_found_by_rms_and_not_by_the_law(follow):
    condition = follow(louder, channel=0)
    alarms = {(a.channel, a.indicator): a for a in condition.alarms}
    for indicator in ("rms", "sd"):
        assert BEGIN + 2 <= alarms["bearing 1", indicator].first <= BEGIN + 4
        assert alarms["bearing 1", indicator].lasts is not None
    for indicator in ("law", "kurtosis"):
        assert ("bearing 1", indicator) not in alarms
    # The law of each recording is what it was: loudness is divided out.
    sound = follow()
    law = INDICATORS.index("law")
    np.testing.assert_allclose(condition.values[:, law, 0], sound.values[:, law, 0], rtol=1e-6, atol=1e-9)
    assert ranked(condition)[0] == "bearing 1"


def test_a_silent_channel_is_below_healthy(follow):
    condition = follow(lambda x: 0 * x)
    alarm = next(a for a in condition.alarms if (a.channel, a.indicator) == ("bearing 2", "rms"))
    assert (alarm.first, alarm.side) == (BEGIN + 3, "below")
    assert np.isfinite(condition.values[BEGIN:, INDICATORS.index("law"), 1]).all()


def test_a_healthy_machine_raises_no_alarm(follow):
    condition = follow()
    assert condition.alarms == []
    assert verdicts(condition) == ["No channel shows an alarm."]
    assert "No channel shows an alarm." in str(condition)
    check = condition.false_alarms
    assert check.level == 0.95
    assert check.beyond <= 0.1  # 20 recordings of 22 indicators, of which many rise and fall together
    assert (check.raised, check.of) == (0, 22)
    assert "drift" not in str(condition)


def test_healthy_recordings_that_drift_are_told(follow):
    condition = follow()
    drift = condition.reference.copy()
    drift[20:] += 10 * condition.limits.scale
    drifting = replace(condition, reference=drift, healthy=np.zeros(65, dtype=bool))
    assert drifting.false_alarms.beyond == 1.0
    assert drifting.false_alarms.raised == 22
    assert "100 % of values in the second half are beyond; 22 of 22 indicators of channels raise" in str(drifting)
    assert "note: the healthy recordings drift" in str(drifting)
    assert replace(condition, reference=drift[:17]).false_alarms is None
    strict = replace(condition, level=0.97)
    assert strict.false_alarms.level == pytest.approx(20 / 21)
    assert "by 95.2 % limits (the highest level that 20 recordings are enough for) from the first half" in str(strict)
    assert "by 95 % limits from the first half of the healthy recordings, " in str(condition)


def test_an_alarm_that_passes_does_not_last(follow, model, rig):
    values = [table.copy() for table in rig[LEARNED:].values]
    for table in values[45:50]:
        table[:, 2] *= 3
    condition = assess(
        model,
        Recordings(values=tuple(values), channels=rig.channels, sources=rig.sources[LEARNED:]),
        healthy=HEALTHY,
        level=0.95,
        sequences=20,
    )
    alarm = next(a for a in condition.alarms if (a.channel, a.indicator) == ("bearing 3", "rms"))
    assert (alarm.first, alarm.lasts) == (48, None)
    assert alarm.peak_at in range(45, 50)
    assert any("come and go" in line for line in verdicts(condition))
    assert "49~ " in str(condition) or "49~\n" in str(condition)


def test_what_was_before_the_healthy_ones_is_not_judged(follow):
    condition = follow(rougher)
    late = replace(condition, healthy=np.arange(len(condition)) >= BEGIN - 10)
    assert late.first_judged == len(condition)
    assert late.alarms == []


# -- indicators by their definitions ----------------------------------------------------------------------------------


def test_plain_indicators_are_those_of_numpy_and_scipy(model, rig):
    table = rig.values[7]
    values = indicators_of(model, rig[7], 5, 2).values
    np.testing.assert_allclose(values[0], np.sqrt((table**2).mean(0)))
    np.testing.assert_allclose(values[1], table.std(0))
    np.testing.assert_allclose(values[2], stats.kurtosis(table, fisher=False))


def test_the_likelihood_is_that_of_scipy(model, rig):
    part = rig[7]
    part = Recordings(values=(part.values[0][:60],), channels=part.channels, sources=part.sources)  # two sequences
    z = model.scaling_.standardize(part.sequences(30))
    with torch.no_grad():
        gaussian, _ = model.network_(z[:, :-1], last=10)
    marginal, joint = [], []
    for s in range(2):
        for t in range(10):
            factor = gaussian.factor[s, t].double().numpy()
            covariance, mean, x = factor @ factor.T, gaussian.mean[s, t].numpy(), z[s, 20 + t].numpy()
            marginal.append([-stats.norm.logpdf(x[k], mean[k], np.sqrt(covariance[k, k])) for k in range(3)])
            joint.append(-stats.multivariate_normal.logpdf(x, mean, covariance))
    indicators = indicators_of(model, part, 99, 2)
    np.testing.assert_allclose(indicators.values[3], np.mean(marginal, axis=0), rtol=1e-4)
    assert indicators.joint == pytest.approx(np.mean(joint), rel=1e-4)
    # In the units of the data it is the score that a run reports.
    expected = model.evaluate(part, forced=True).negative_log_likelihood
    assert indicators.joint + np.log(model.scaling_.scale).sum() == pytest.approx(expected, rel=1e-4)


def test_deviation_and_explained_are_those_of_held_out_steps(model, rig):
    held = model.held_out(rig[7], forced=True)
    values = indicators_of(model, rig[7], 1000, 2).values
    gaps = model.in_units(held.gaps) / model.scaling_.scale
    np.testing.assert_allclose(values[4], np.sqrt((gaps**2).mean((0, 1))))
    np.testing.assert_allclose(values[5], held.explained())


def test_sequences_are_evenly_spaced_over_the_recording(model, rig, monkeypatch):
    seen = []
    monkeypatch.setattr(Forecaster, "held_out", lambda self, parts, **_: seen.append(parts) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        indicators_of(model, rig[7], 4, 2)
    starts = range(0, 1500, 30)
    expected = [rig.values[7][starts[i] :][:30] for i in (0, 16, 33, 49)]
    np.testing.assert_array_equal(seen[0], np.stack(expected))


@pytest.mark.parametrize("order", [1, 2, 5])
def test_a_law_is_that_of_least_squares(rig, order):
    z = stats.zscore(rig.values[7])
    x = np.concatenate([z[order - 1 - i : len(z) - 1 - i] for i in range(order)], axis=1)
    theta, *_ = np.linalg.lstsq(x, z[order:], rcond=None)
    moments = LagMoments.of(rig.values[7], order)
    np.testing.assert_allclose(moments.law(), theta, atol=2e-4)
    missed = ((z[order:] - x @ theta) ** 2).mean(0)
    np.testing.assert_allclose(moments.error(theta), missed, atol=2e-6)
    other = np.random.default_rng(0).normal(size=theta.shape)
    np.testing.assert_allclose(moments.error(other), ((z[order:] - x @ other) ** 2).mean(0), rtol=1e-6)
    assert (moments.change(other) > 0).all()


def test_the_change_between_two_first_order_laws_has_a_closed_form():
    generator = np.random.default_rng(0)
    a, b = 0.5, -0.3
    one, other = (signal.lfilter([1.0], [1.0, -rho], generator.normal(size=(400_000, 1)), axis=0) for rho in (a, b))
    law = LagMoments.of(one, 1).law()
    expected = 0.5 * np.log((1 - 2 * a * b + a**2) / (1 - b**2))
    assert LagMoments.of(other, 1).change(law)[0] == pytest.approx(expected, rel=0.02)
    assert LagMoments.of(one, 1).change(law)[0] == pytest.approx(0.0, abs=1e-12)


def test_moments_without_one_are_those_of_the_others(rig):
    parts = [LagMoments.of(table, 2) for table in rig.values[:5]]
    left = LagMoments.mean(parts).without(parts[2], 5)
    for moment, expected in zip(left, LagMoments.mean(parts[:2] + parts[3:]), strict=True):
        np.testing.assert_allclose(moment, expected, atol=1e-12)


def test_healthy_laws_are_compared_with_those_of_the_others(follow, rig):
    condition = follow()
    sound = [LagMoments.of(table, 2) for table in rig[LEARNED:].values[:HEALTHY]]
    law = INDICATORS.index("law")
    expected = sound[3].change(LagMoments.mean(sound[:3] + sound[4:]).law())
    np.testing.assert_allclose(condition.values[3, law, :3], expected, rtol=1e-6)
    later = LagMoments.of(rig[LEARNED:].values[60], 2).change(LagMoments.mean(sound).law())
    np.testing.assert_allclose(condition.values[60, law, :3], later, rtol=1e-6)


# -- levels and alarms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "level"), [(19, 0.95), (40, 0.9), (99, 0.99)])
@pytest.mark.parametrize("kind", ["normal", "skewed", "tied"])
@pytest.mark.parametrize("rising", [True, False])
def test_a_further_healthy_recording_stays_within_its_limit(count, level, kind, rising):
    generator = np.random.default_rng(0)
    repeats = 4000
    drawn = {
        "normal": lambda size: generator.normal(size=size),
        "skewed": lambda size: generator.lognormal(size=size),
        "tied": lambda size: generator.integers(0, 6, size=size).astype(float),
    }[kind]
    limits = Limits.of(drawn((count, 1, repeats)), level, [rising])
    within = (limits.beyond(drawn((1, 1, repeats))) == 0).mean()
    assert within >= level - 0.011  # three standard errors of 4,000 trials at 95 %
    if kind != "tied":
        assert within <= level + 1 / count + 0.011


@pytest.mark.parametrize("count", [2, 3, 4, 7, 30])
def test_limits_are_those_of_a_loop(count):
    values = np.random.default_rng(count).integers(0, 9, size=(count, 1, 5)).astype(float)
    scale = Limits.of(values, 0.5, [False]).scale
    gaps = [np.abs(values[i] - np.median(np.delete(values, i, axis=0), axis=0)) / scale for i in range(count)]
    rank = int(np.ceil((count + 1) * 0.5))
    np.testing.assert_allclose(Limits.of(values, 0.5, [False]).limit, np.sort(gaps, axis=0)[rank - 1])


def test_too_few_healthy_recordings_know_no_limit():
    values = np.random.default_rng(0).normal(size=(99, 1, 1))
    assert np.isfinite(Limits.of(values, 0.99, [False]).limit).all()
    assert np.isinf(Limits.of(values[:98], 0.99, [False]).limit).all()
    few = Limits.of(values[:1], 0.5, [False])
    assert (few.beyond(np.full((1, 1, 1), 1e9)) == 0).all()


def test_values_that_are_not_known_are_never_beyond():
    values = np.random.default_rng(0).normal(size=(30, 1, 2))
    values[:, 0, 1] = np.nan
    limits = Limits.of(values, 0.9, [False])
    assert limits.beyond(np.full((1, 1, 2), np.nan)).tolist() == [[[0, 0]]]
    assert limits.beyond(np.full((1, 1, 2), 1e9)).tolist() == [[[1, 0]]]


def test_equal_values_have_limits_of_their_own():
    limits = Limits.of(np.full((30, 1, 1), 5.0), 0.9, [False])
    assert limits.beyond(np.array([[[5.0]], [[5.1]], [[4.9]]])).ravel().tolist() == [0, 1, -1]


@pytest.mark.parametrize("rule", [(1, 1), (2, 3), (4, 5), (3, 3)])
def test_alarms_stand_as_counting_says(rule):
    beyond = np.random.default_rng(0).integers(-1, 2, size=(200, 2))
    needed, window = rule
    expected = np.zeros(beyond.shape, dtype=bool)
    for i in range(len(beyond)):
        for k in range(2):
            last = beyond[max(0, i + 1 - window) : i + 1, k].tolist()
            expected[i, k] = max(last.count(1), last.count(-1)) >= needed
    np.testing.assert_array_equal(in_alarm(beyond, rule), expected)


def test_an_alarm_lasts_from_where_nine_tenths_stand():
    alarms = np.array([False, True, False, False] + [True] * 18 + [False] * 2)
    assert first_lasting(alarms) == 4
    assert first_lasting(np.array([False] * 5)) is None


# -- what is followed, and what with ----------------------------------------------------------------------------------


def test_healthy_recordings_are_named_in_any_way(follow, model, rig):
    first = follow()
    for healthy in (HEALTHY / 65, slice(None, HEALTHY), slice(0, HEALTHY)):
        np.testing.assert_array_equal(follow(healthy=healthy).values, first.values)
    others = follow(healthy=rig[LEARNED : LEARNED + HEALTHY])
    np.testing.assert_allclose(others.reference, first.reference)
    np.testing.assert_allclose(others.limits.limit, first.limits.limit)
    assert not others.healthy.any()
    assert "40 others" in str(others)


def test_a_folder_is_read_in_the_order_of_time_and_file_by_file(model, rig, tmp_path, monkeypatch):
    from pellucid.series import sources

    source = rig[LEARNED : LEARNED + 24]
    for i, table in enumerate(source.values):
        np.savez(tmp_path / f"run {i + 1}.npz", x=table, channels=rig.channels)
    (tmp_path / ".hidden").write_text("nothing")
    seen = []
    once = sources.read
    monkeypatch.setattr(sources, "read", lambda path, **options: seen.append(path.name) or once(path, **options))
    condition = assess(model, tmp_path, healthy=20, level=0.95, sequences=5)
    assert seen == [f"run {i + 1}.npz" for i in range(24)]
    assert condition.recordings == tuple(seen)
    expected = assess(model, source, healthy=20, level=0.95, sequences=5)
    np.testing.assert_array_equal(condition.values, expected.values)
    listed = assess(model, [tmp_path / name for name in seen], healthy=20, level=0.95, sequences=5)
    np.testing.assert_array_equal(listed.values, expected.values)


def test_one_long_recording_is_cut(model, rig):
    source = np.concatenate(rig[LEARNED : LEARNED + 4].values)
    cut = assess(model, recordings(source, rig.channels), every=300, healthy=10, level=0.9, sequences=3)
    parts = [source[row : row + 300] for row in range(0, 6000, 300)]
    expected = assess(model, parts, healthy=10, level=0.9, sequences=3)
    np.testing.assert_array_equal(cut.values, expected.values)
    assert cut.recordings[1] == "the array, rows 301 to 600"


def test_what_is_too_short_is_skipped_and_counted(model, rig):
    source = rig[LEARNED : LEARNED + 4]
    # 700 rows, 20 in between two gaps, and 1,000.
    cut = source.cut([(0, 0, 700), (0, 740, 760), (0, 0, 250), (1, 100, 1100), (2, 0, 1500), (3, 0, 1500)])
    condition = assess(model, cut, every=300, healthy=10, level=0.9, sequences=3)
    assert len(condition) == 2 + 3 + 5 + 5
    assert condition.notes == (
        "470 rows are not used: 200 at the ends of recordings, too few for a further piece; 270 in 2 parts of fewer "
        "than 300 rows",
    )
    assert condition.to_dict()["notes"] == list(condition.notes)
    label = source.sources[1]
    assert condition.recordings[2:4] == (f"{label}, rows 101 to 400", f"{label}, rows 401 to 700")
    pieces = assess(model, cut, healthy=4, level=0.5, sequences=3)
    assert pieces.notes == ("20 rows are not used: 20 in 1 part of fewer than 30 rows",)
    assert len(pieces) == 5
    with pytest.raises(
        InputError, match=r"context \+ horizon = 30 rows. Got 20 in .*, the longest piece between gaps and blanks"
    ):
        assess(model, source.cut([(0, 0, 20), (0, 40, 50)]))
    with pytest.raises(InputError, match="several recordings .* Got 1; choose a smaller `every`"):
        assess(model, rig[8], every=1000)


def test_notes_of_many_files_are_few():
    tally = Tally(30)
    for i in range(9):
        tally.note("2 gaps in time", f"{i}.csv")
    for i in range(7):
        tally.note(f"{i + 3} gaps in time", f"more {i}.csv")
    assert tally.sentences() == [
        "0.csv and 8 more files: 2 gaps in time",
        *(f"more {i}.csv: {i + 3} gaps in time" for i in range(4)),
        "3 more files have notes like these",
    ]


def test_recordings_of_an_array_follow_each_other(model, rig, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.stack(rig[LEARNED : LEARNED + 4].values), channels=rig.channels)
    condition = assess(model, tmp_path / "a.npz", every=300, healthy=10, level=0.9, sequences=3)
    assert len(condition) == 20
    assert condition.notes == ()


def test_a_single_channel_has_no_others(rig):
    source = rig.select(["bearing 1"])
    model = Forecaster(**SMALL | {"epochs": 1, "stride": 10}).fit(source[:4], progress=False)
    condition = assess(model, source[4:34], healthy=25, level=0.9, sequences=4)
    assert condition.channels == ("bearing 1",)
    assert np.isfinite(condition.values).all()


def test_the_order_of_the_laws_is_the_models_or_yours(follow):
    law = INDICATORS.index("law")
    assert follow().order == 2
    longer = follow(order=6)
    assert longer.order == 6
    assert not np.allclose(longer.values[:, law, :3], follow().values[:, law, :3])


def test_names_tell_the_time():
    names = ["2004.02.12.10.32.39", "2004.02.12.10.42.39"]
    assert hours_of(names) == pytest.approx([0, 1 / 6])
    assert hours_of(names[::-1]) is None
    assert hours_of(["a", "b"]) is None
    assert hours_of(["2004.13.12.10.32.39", "2004.14.12.10.32.39"]) is None


def test_it_is_written_down(follow, tmp_path):
    condition = follow(rougher)
    condition.to_json(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["indicators"] == list(INDICATORS)
    assert content["healthy"] == list(range(HEALTHY))
    assert content["calibrated"] == HEALTHY
    assert content["values"][2][0][1] == pytest.approx(condition.values[2, 0, 1], rel=1e-5)
    assert content["values"][2][0][3] is None  # all channels together have no rms
    assert [a["first"] for a in content["alarms"]] == [a.first for a in condition.alarms]
    condition.to_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 65 * 4
    row = rows[4 * 60 + 1]
    assert (row["number"], row["channel"], row["healthy"]) == ("61", "bearing 2", "0")
    assert float(row["law"]) == pytest.approx(condition.values[60, -1, 1], rel=1e-5)
    assert float(row["law: distance"]) == pytest.approx(condition.distances[60, -1, 1], rel=1e-5)
    assert "law" in row["alarm"].split()
    assert rows[1]["alarm"] == ""


def test_the_picture_marks_the_first_alarm(follow, tmp_path):
    condition = follow(rougher)
    figure = condition.plot(["bearing 2"], ["rms", "law"])
    top, bottom = figure.axes
    texts = [text.get_text().strip() for text in bottom.texts]
    first = next(a.first for a in condition.alarms if (a.channel, a.indicator) == ("bearing 2", "law"))
    assert texts == [str(first + 1)]
    assert not list(top.texts)
    (line,) = (line for line in bottom.lines if len(line.get_xdata()) == 65)
    np.testing.assert_allclose(line.get_ydata(), condition.distances[:, -1, 1])
    figure.savefig(tmp_path / "a.png")
    figure.savefig(tmp_path / "a.svg")
    for axis in condition.plot().axes:
        low, high = axis.get_ylim()
        ticks = [tick for tick in axis.get_yticks() if low <= tick <= high]
        assert len(ticks) > 1
        texts = [axis.yaxis.get_major_formatter()(tick, 0) for tick in ticks]
        assert [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts] == ticks
        assert not any("-" in text for text in texts)
    assert len(condition.plot().axes) == 7 * 3
    with pytest.raises(InputError, match="Every channel must be one of bearing 1, bearing 2, .* Got nothing."):
        condition.plot(["nothing"])
    with pytest.raises(InputError, match="Every indicator must be one of rms, sd, .* Got peak"):
        condition.plot(indicators=["peak"])


def test_alarm_levels_that_are_not_known_are_told(follow, tmp_path):
    condition = follow(level=0.99)
    assert condition.alarms == []
    assert (
        "Alarm levels of 99 % are not known: 40 healthy recordings are enough for 97.5 %; name more of them with "
        "`healthy=`, or lower `level`." in str(condition)
    )
    assert "first alarm" not in str(condition)
    assert condition.to_dict()["limit"][0][0] is None
    condition.plot().savefig(tmp_path / "a.svg")
    assert isinstance(condition, Condition)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"healthy": 0}, "`healthy` must be a whole number >= 1. Got 0"),
        ({"healthy": 1.5}, r"`healthy` must be a share in \(0, 1\], a number of recordings, a slice, or data. Got 1.5"),
        ({"healthy": slice(70, 80)}, "There must be healthy recordings to compare with. Got none of the 65 by 70:80"),
        ({"level": 1.0}, "`level` must be a confidence between 0 and 1. Got 1.0"),
        ({"persistence": 4}, r"`persistence` must be two whole numbers, as in \(4, 5\).* Got 4"),
        ({"persistence": (6, 5)}, "`persistence` must be a whole number between 1 and 5. Got 6"),
        ({"sequences": 0}, "`sequences` must be a whole number >= 1. Got 0"),
        ({"every": 10}, "`every` must be a whole number >= 30. Got 10"),
        ({"every": 5000}, "A recording must have at least the 5000 rows of a piece. Got 1500 in simulated recording 7"),
        ({"order": 30}, "`order` must be a whole number between 1 and 29. Got 30"),
        ({"healthy": "nowhere"}, "The data must be a file or a folder. Got nowhere, which does not exist"),
    ],
)
def test_what_cannot_be_followed_is_refused(follow, options, message):
    with pytest.raises(InputError, match=message):
        follow(**options)


def test_other_refusals(model, rig, tmp_path):
    with pytest.raises(InputError, match="There must be several recordings .* Got 1; cut it .* with `every=`"):
        assess(model, rig[8])
    with pytest.raises(InputError, match="must be trained first"):
        assess(Forecaster(), rig)
    with pytest.raises(InputError, match="The folder must hold files that match '\\*.csv'. Got none in"):
        sources_of(tmp_path, "*.csv")
    with pytest.raises(InputError, match="Every recording must have the 3 channels .* Got 2 columns"):
        assess(model, [rig.values[8][:, :2], rig.values[9][:, :2]])
    with pytest.raises(InputError, match="Every channel must be a column of .* Got 'bearing 3'"):
        assess(model, rig.select(["bearing 1", "bearing 2"]))
    with pytest.raises(InputError, match=r"at least context \+ horizon = 30 rows. Got 12"):
        assess(model, [rig.values[8], rig.values[9][:12]], healthy=1)
