"""Recordings as a domain: what a run decides, finds and says, and what forecasts, explanations and alarms follow."""

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from scipy import signal

from pellucid import runs, summaries
from pellucid.domains import Source, SupportsMonitoring
from pellucid.errors import InputError, written_as
from pellucid.options import options_of
from pellucid.series import Forecaster, read, recordings, simulate_rig
from pellucid.series.domain import SeriesDomain
from pellucid.series.explaining import SeriesExplaining, relative_deviation
from pellucid.series.measures import MEASURES
from pellucid.series.monitoring import SeriesAssessing
from pellucid.series.planning import SeriesSettings
from pellucid.series.reading import SeriesReading
from pellucid.summaries import HELD_OUT

DOMAIN = SeriesDomain()
SMALL = {"context": 20, "horizon": 10, "radius": 4, "epochs": 1, "width": 8, "game": "none"}
ROWS = 700
RIG = simulate_rig(files=2, rows=ROWS, bearings=2, seed=0).values


def as_flags(parameter):
    """As a command line may write parameters."""
    return f"--{parameter.name}" + ("" if parameter.value is ... else f" {parameter.value}")


def write(path, head, columns):
    """A table of columns; None is a blank."""
    rows = zip(*columns, strict=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([*([head] if head else []), *rows])
    return path


def stamps(keep):
    return [(datetime(2024, 5, 1) + timedelta(seconds=10 * i)).isoformat(sep=" ") for i in keep]


def source_of(path, **options):
    reading = SeriesReading(**options)
    return Source(DOMAIN.read(path, reading), path, reading)


def train(source, folder, *, weight=None, **settings):
    """The summary, and everything that was said."""
    lines = DOMAIN.describe(source)
    summary = runs.train(
        DOMAIN,
        source,
        SeriesSettings(**{**SMALL, **settings}),
        folder,
        title="title" if source.path is None else source.path.name,
        weight=weight,
        progress=False,
        say=lines.append,
    )
    return summary, lines


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A folder of two recordings with gaps and times, and a run on them."""
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "data").mkdir()
    for values, name in zip(RIG, ("a.csv", "b.csv"), strict=True):
        keep = [i for i in range(ROWS) if name == "b.csv" or not 300 <= i < 400]
        left, right = values[keep].round(5).T
        write(folder / "data" / name, ["when", "left", "right"], [stamps(keep), left, right])
    return folder, *train(source_of(folder / "data"), folder / "run", split="time")


def explain(machine, what, *, level=0.9, warn=lambda _: None, **settings):
    model = Forecaster.load(machine[0] / "run" / "deep")
    reading = runs.load_reading(DOMAIN, machine[0] / "run", {})
    return DOMAIN.explain(
        model, str(what), reading, SeriesExplaining(**settings), level=level, progress=False, warn=warn
    )


# -- a run -------------------------------------------------------------------------------------------------------------


def test_what_laws_explain_where_they_were_not_fitted_comes_before_how_close_they_are():
    transparency = (HELD_OUT, "relative_deviation", "deviation", "unstable", "spectral_radius", "variation")
    keys = [measure.key for measure in MEASURES]
    assert keys[0] == "relative_error"
    assert next(key for key in keys if key in transparency) == HELD_OUT
    assert set(transparency) < set(keys)


def test_what_was_decided_is_said_and_written_down(machine):
    folder, _, lines = machine
    assert lines[0] == "when is ignored, as it holds dates or times"
    assert lines[1].startswith("1 gap in time, 16.8 min after row 300 of a.csv, where a step is 10 s: the recording is")
    assert lines[2] == "data: 3 recordings of left, right; 1,300 rows"
    assert lines[3].startswith("rows: ")
    assert lines[3].endswith(", 120 to test on")
    assert "split: tested on the end of each recording, validated on the rows before" in lines
    data = summaries.read(folder / "run").data
    assert list(data.decisions) == lines[:2]
    assert data.split == "time"
    # Of 19 and 23 sequences two each are tested on.
    assert data.parts["test"] == 4 * 30
    assert data.description == "3 recordings of left, right; counts below are rows"
    page = (folder / "run" / "report.html").read_text()
    assert "1 gap in time, 16.8 min" in page
    assert "tested on the end of each recording" in page


def test_scores_are_those_of_the_model_on_the_test_data(machine):
    folder, summary, _ = machine
    plan = DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**SMALL, split="time"))
    model, test = Forecaster.load(folder / "run" / "deep"), plan.parts.test
    assert plan.digest == summary.data.test_digest
    scores = summary.models["DEEP"].scores
    assert set(scores) >= {measure.key for measure in MEASURES}
    assert scores["relative_error"] == pytest.approx(model.evaluate(test).relative_error)
    explained = model.held_out(test, seed=1).explained()
    assert scores[HELD_OUT] == pytest.approx(explained[np.isfinite(explained)].mean())
    assert summary.deviations["DEEP"] == pytest.approx(model.deviations(test))
    assert summary.outputs == ("left", "right")
    other = DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**SMALL, split="time", seed=1))
    assert other.digest == plan.digest  # in time nothing is left to chance
    assert DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**SMALL)).digest != plan.digest


@pytest.mark.slow
def test_a_run_says_what_it_chose_and_that_its_laws_say_nothing(tmp_path):
    # Each value follows from the one 25 steps before: along 20 steps no law of the last few values holds.
    generator = np.random.default_rng(0)
    table = generator.normal(size=(3000, 2))
    for t in range(25, 3000):
        table[t] = 0.97 * table[t - 25] + 0.2 * table[t]
    settings = {"context": 30, "horizon": 20, "radius": None, "width": 4, "linear": 25, "game": "symmetric"}
    summary, lines = train(Source(recordings(table)), tmp_path / "run", weight=0.01, **settings)
    assert lines[0] == "1 recording of channel 1, channel 2; 3,000 rows"
    (laws,) = (text for text in lines if text.startswith("laws: "))
    (network,) = (text for text in lines if text.startswith("network: "))
    assert "(chosen by leave-one-out): " in laws
    assert laws.startswith(f"laws: order {summary.settings['order']}, radius {summary.settings['radius']}, ")
    assert network == "network: begins as one linear law of the last 25 values (as set)"
    assert summary.choices == (laws, network)
    assert summary.models["GAME"].weight == summary.settings["weight"] == 0.01
    assert summary.baseline.title == "linear"
    assert summary.baseline.about.startswith("one linear law of the last 25 values for everything, ")
    assert 0 < summary.baseline.scores["relative_error"] < 0.5
    # First what is said of the data, then of the linear law, then of the laws.
    beginnings = ["The recordings trend (", "5 validation sequences are too few ", "DEEP: ", "GAME: "]
    assert [text[: len(begin)] for text, begin in zip(summary.verdict, beginnings, strict=False)] == beginnings
    for example in summary.explanations:
        label, _, row = example.place.rpartition(", after row ")
        assert label == "the array"
        np.testing.assert_array_equal(example.explanation["context"], table[int(row) - 30 : int(row)])
    gaps = [np.mean(np.square(np.subtract(e.explanation["mean"], e.explanation["witnessed"])))
            for e in summary.explanations]  # fmt: skip
    assert gaps[0] < gaps[-1]
    assert [example.rank for example in summary.explanations].count("most") <= 4
    assert summary.models["DEEP"].scores["relative_error"] < 0.5
    assert max(model.scores[HELD_OUT] for model in summary.models.values()) < 0.05
    nothing = "the laws explain nothing at steps they were not fitted to"
    assert [text.partition(":")[0] for text in summary.verdict if nothing in text] == ["DEEP", "GAME"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.index("Held-out variance explained") < page.index("Relative deviation")
    assert f"GAME: {nothing} (held-out variance explained " in page
    assert nothing in str(Forecaster.load(tmp_path / "run" / "game").explain(table[100:130]))


def test_a_trend_is_said_before_the_training_and_with_the_numbers(tmp_path):
    drift = RIG[0][:, 0] + np.arange(ROWS) * 0.01
    source = source_of(write(tmp_path / "a.csv", ["wear", "right"], [drift, RIG[0][:, 1]]))
    summary, lines = train(source, tmp_path / "run")
    assert "split: validation and test pieces cut out at random" in lines
    assert sum(line.startswith("The recordings trend (the level of wear)") for line in lines) == 1
    assert summary.verdict[0].startswith("The recordings trend (the level of wear)")
    assert not DOMAIN.plan(source, SeriesSettings(**SMALL, split="time")).remarks


def test_columns_that_are_left_out_are_named_to_be_kept(tmp_path):
    micro = 65_664 + 390 * np.arange(ROWS)
    clock = [np.full(ROWS, 9), np.full(ROWS, 39), 39 + micro // 1_000_000, micro % 1_000_000]
    source = source_of(write(tmp_path / "acc.csv", None, [*clock, *RIG[0].T]))
    names = [f"channel {i}" for i in range(1, 7)]
    sentence, _ = DOMAIN.describe(source)
    assert sentence.startswith("channel 1, channel 2, channel 3 and channel 4 are ignored, as each belongs to a clock")
    assert sentence.endswith(f"keep with `channels={names}`")
    with written_as(as_flags):
        assert DOMAIN.describe(source)[0].endswith(f"keep with --channels {names}")
    kept = source_of(source.path, channels=(",".join(names[:5]), names[5])).data
    assert kept.channels == tuple(names)


def test_other_recordings_are_tested_on_as_they_are(machine, tmp_path):
    folder = machine[0]
    times = stamps([i for i in range(ROWS) if i != 400])
    other = np.delete(RIG[1], 400, axis=0)
    test = write(tmp_path / "c.csv", ["when", "left", "right"], [times, *other.T])
    plan = DOMAIN.plan(source_of(folder / "data" / "b.csv"), SeriesSettings(**SMALL, test=test))
    np.testing.assert_array_equal(np.concatenate(plan.parts.test.values), other)
    (note,) = plan.notes
    assert note.startswith("test: 1 gap in time")
    assert plan.split_about == "validation pieces cut out at random"
    with written_as(as_flags), pytest.raises(InputError) as caught:
        DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**SMALL, test=folder / "data" / "b.csv"))
    assert str(caught.value) == (
        "--test must be other recordings than those to learn from. Got b.csv in both; move it out of one, or leave "
        "--test out: a tenth is then held out."
    )


def test_a_run_is_read_again_as_it_was(machine, tmp_path):
    left = RIG[0][:, 0].tolist()
    left[100] = left[101] = None
    path = write(tmp_path / "a.csv", ["left", "right", "note"], [left, RIG[0][:, 1], [f"n{i}" for i in range(ROWS)]])
    with pytest.raises(InputError, match="column 'note', row 2; correct it, or leave that column out with"):
        source_of(path)
    source = source_of(path, drop=("note",), fill="linear")
    assert any(line.startswith("2 blank cells filled by straight lines (left 2)") for line in DOMAIN.describe(source))
    train(source, tmp_path / "run")
    reading = runs.load_reading(DOMAIN, tmp_path / "run" / "deep", {})
    assert reading == source.reading
    model = DOMAIN.load(tmp_path / "run" / "deep")
    rows = list(DOMAIN.predict(model, path, reading, None, progress=False, warn=lambda _: None))
    assert len(rows) == 1 + 10 * 2
    split = runs.load_reading(DOMAIN, tmp_path / "run", {"fill": "split"})
    assert len(DOMAIN.read(path, split, model)) == 2
    # As an earlier version wrote it down.
    old = {"decimal": ".", "header": None, "pattern": "*", "drop": ["note"], "by": None, "pivot": None,
           "fill": "linear", "gaps": "split"}  # fmt: skip
    (tmp_path / "run" / "reading.json").write_text(json.dumps(old))
    assert runs.load_reading(DOMAIN, tmp_path / "run", {}) == source.reading


def test_options_are_told_with_their_defaults():
    flags = {each.name: each for each in options_of(SeriesReading)}
    assert flags["by"].flags == ("--recordings-by",)
    assert flags["fill"].choices == ("linear", "previous", "split")
    assert {name for name, each in flags.items() if each.training_only} == {"channels", "drop", "by", "pivot"}
    settings = {each.name: each for each in options_of(SeriesSettings)}
    model = Forecaster()
    for name in ("context", "horizon", "patience"):
        assert settings[name].default == getattr(model, name)
    assert {"epochs", "width", "batch_size", "learning_rate", "seed"} < set(settings)


# -- use ---------------------------------------------------------------------------------------------------------------


def test_forecasts_are_a_table(tmp_path, machine):
    when = stamps(range(ROWS))
    columns = [when * 2, ["left"] * ROWS + ["right"] * ROWS, RIG[0].T.ravel()]
    path = write(tmp_path / "a.csv", ["when", "sensor", "value"], columns)
    model, reading = Forecaster.load(machine[0] / "run" / "deep"), SeriesReading(pivot="sensor")
    head, *rows = DOMAIN.predict(model, path, reading, None, progress=False, warn=lambda _: None)
    assert head == ["recording", "step", "channel", "forecast", "one-step sd"]
    forecast = model.forecast(read(path, pivot="sensor"))
    assert [row[:3] for row in rows[:3]] == [["a.csv", 1, "left"], ["a.csv", 1, "right"], ["a.csv", 2, "left"]]
    assert [row[3] for row in rows] == pytest.approx(forecast.mean.ravel(), rel=1e-5)
    deviations = np.sqrt(np.diagonal(forecast.covariance, axis1=1, axis2=2))
    assert [row[4] for row in rows] == pytest.approx(deviations.ravel(), rel=1e-5)


def test_a_forecast_is_explained_after_any_row(machine):
    file, model = machine[0] / "data" / "b.csv", Forecaster.load(machine[0] / "run" / "deep")
    values = read(file).values[0]
    (label, explanation), *rest = explain(machine, file, at=250).explanations.items()
    assert not rest
    assert label == "b.csv, after row 250"
    np.testing.assert_allclose(explanation.mean, model.explain(values[:250]).mean)
    np.testing.assert_allclose(explanation.actual, values[250:260])
    (forced,) = explain(machine, file, at=250, forced=True).explanations.values()
    np.testing.assert_allclose(forced.mean, model.explain(values[:250], values[250:260]).mean)
    assert not np.allclose(forced.mean, explanation.mean)
    # Without a row: along the last values of the file.
    ((label, forced),) = explain(machine, file, forced=True).explanations.items()
    assert label == f"b.csv, after row {ROWS - 10}"
    np.testing.assert_allclose(forced.actual, values[-10:])
    (last,) = explain(machine, file).explanations.values()
    assert last.actual is None
    np.testing.assert_array_equal(last.context, values[-20:])


def test_rows_are_counted_across_gaps(machine):
    notes = []
    result = explain(machine, machine[0] / "data" / "a.csv", at=350, warn=notes.append)
    assert any(note.startswith("1 gap in time") for note in notes)
    (explanation,) = result.explanations.values()
    np.testing.assert_allclose(explanation.context, RIG[0][430:450], atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"at": 305}, "A forecast needs the 20 rows before it. Got 5 in a.csv (rows 301 to 600) up to row 305; choose "
                      "a later row with --at, or a longer recording."),
        ({"at": 601}, "--at must be a row of the recording. Got 601 for a.csv, which has the rows 1 to 300, 301 to 600;"
                      " choose one of them."),
        ({"at": 595, "forced": True}, "--forced needs the 10 rows that came after. Got 5 in a.csv (rows 301 to 600) "
                                      "after row 595; choose an earlier row with --at."),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_explained_are_said(machine, settings, message):
    with written_as(as_flags), pytest.raises(InputError) as caught:
        explain(machine, machine[0] / "data" / "a.csv", **settings)
    assert str(caught.value) == message
    assert caught.value.parameter == "at"


def test_every_recording_of_a_folder_is_explained(machine, tmp_path):
    result = explain(machine, machine[0] / "data")
    assert result.title == "each step from the forecast so far"
    assert not result.rejected
    first, second = (f"a.csv, after row {ROWS - 100}", f"b.csv, after row {ROWS}")
    assert list(result.explanations) == [first, second]
    law = Forecaster.load(machine[0] / "run" / "deep").law_of(machine[0] / "data" / "b.csv")
    explanation = result.explanations[second]
    np.testing.assert_allclose(explanation.overall.parameters, law.parameters)
    lines = DOMAIN.overview(result.explanations, None).splitlines()
    assert [line.split(",")[0] for line in lines[2:4]] == ["a.csv", "b.csv"]
    assert lines[4] == "held-out variance explained is over one-step predictions of the whole recording"
    overall, local = law.shares()
    assert lines[3].split()[-2:] == [f"{local:.0%}", f"{overall:.0%}"]
    gaps = np.square(explanation.mean - explanation.witnessed).mean(0) / explanation.mean.var(axis=0)
    assert relative_deviation(explanation) == pytest.approx(np.sqrt(gaps.mean()))
    assert relative_deviation(explanation, "right") == pytest.approx(np.sqrt(gaps[1]))
    assert f"{np.sqrt(gaps[1]):.3g}" in DOMAIN.overview(result.explanations, "right").splitlines()[3]
    shares = [explanation.overall.shares() for explanation in result.explanations.values()]
    enough = sum(overall >= local for overall, local in shares)
    sentence = f"in {enough} of 2 one law for the whole recording is enough"
    assert any(line.startswith(sentence) for line in lines) == (enough > 0)
    assert DOMAIN.write_explanations(result.explanations, tmp_path / "x.html", title="data, " + result.title) == 0
    page = (tmp_path / "x.html").read_text()
    assert first in page
    assert second in page
    assert "<h1>data, each step from the forecast so far</h1>" in page
    assert page.count("Law of the recording as a whole") == 4


@pytest.mark.parametrize("bad", [True, False])
def test_files_that_cannot_be_explained_are_listed(machine, tmp_path, bad):
    good = (machine[0] / "data" / "b.csv").read_text()
    (tmp_path / "b.csv").write_text(good)
    (tmp_path / "c.csv").write_text(good)
    (tmp_path / "short.csv").write_text("\n".join(good.splitlines()[:9]) + "\n")
    if bad:
        (tmp_path / "a.csv").write_text("when,left\n2024-05-01 12:00:00,1\n")
    result = explain(machine, tmp_path)
    assert list(result.explanations) == [f"{name}.csv, after row {ROWS}" for name in "bc"]
    assert list(result.rejected) == [*(["a.csv"] if bad else []), "short.csv"]
    assert result.rejected["short.csv"].startswith("A forecast needs the 20 rows before it. Got 8 in short.csv")
    if bad:
        assert result.rejected["a.csv"].startswith("Every channel must be a column of a.csv. Got 'right'")
    # The same explanations as without the others; of a file alone it is an error.
    (alone,) = explain(machine, machine[0] / "data" / "b.csv").explanations.values()
    assert result.explanations[f"b.csv, after row {ROWS}"].to_dict() == alone.to_dict()
    with pytest.raises(InputError, match="needs the 20 rows"):
        explain(machine, tmp_path / "short.csv")


def test_a_folder_of_which_nothing_can_be_explained_is_an_error(machine, tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("when,left\n2024-05-01 12:00:00,1\n")
    with pytest.raises(InputError, match="Got 'right'; its columns are when, left"):
        explain(machine, tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\n".join((machine[0] / "data" / "b.csv").read_text().splitlines()[:9]) + "\n")
    with pytest.raises(InputError, match=r"Got 8 in a\.csv up to row 8"):
        explain(machine, tmp_path)


def test_a_page_of_many_recordings_shows_the_least_close(machine, tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.series.report._PANELS", 4)
    names = [f"{i}.csv" for i in range(3)]
    for i, name in enumerate(names):
        lines = (machine[0] / "data" / "b.csv").read_text().splitlines()
        (tmp_path / name).write_text("\n".join(lines[: len(lines) - 40 * i]) + "\n")
    explanations = explain(machine, tmp_path).explanations
    assert DOMAIN.write_explanations(explanations, tmp_path / "x.html", title="all") == 1
    page = (tmp_path / "x.html").read_text()
    closest = min(explanations, key=lambda label: relative_deviation(explanations[label]))
    assert [label in page for label in explanations] == [label != closest for label in explanations]


# -- over time ---------------------------------------------------------------------------------------------------------

LEARNED, FILES, BEGIN = 4, 40, 30


@pytest.fixture(scope="module")
def worn(tmp_path_factory):
    """A model of a healthy machine, and recordings with a fault of the second channel: other dynamics, as loud."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "learned").mkdir()
    (folder / "machine").mkdir()
    rig = simulate_rig(files=LEARNED + FILES, rows=800, bearings=2, wear=0.0, seed=0)
    for i, table in enumerate(rig.values):
        if i >= LEARNED + BEGIN:
            rough = signal.lfilter([1.0, -0.6], [1.0], table[:, 1])
            table[:, 1] = rough * table[:, 1].std() / rough.std()
        path = folder / ("learned" if i < LEARNED else "machine") / f"{i}.csv"
        np.savetxt(path, table, delimiter=";", header="left;right", comments="", fmt="%.7g")
    model = Forecaster(context=20, horizon=10, radius=4, order=2, ridge=0.1, linear=4, width=8, epochs=1)
    return folder, model.fit(read(folder / "learned"), progress=False)


def assess(worn, path, warn=lambda _: None, trained_on=None, **settings):
    chosen = SeriesAssessing(**{"healthy": "24", "level": 0.95, "sequences": 5, **settings})
    return DOMAIN.assess(worn[1], path, SeriesReading(), chosen, trained_on=trained_on, warn=warn)


@pytest.mark.slow
def test_a_machine_is_followed_over_time(worn):
    assert isinstance(DOMAIN, SupportsMonitoring)
    condition = assess(worn, worn[0] / "machine")
    assert len(condition) == FILES
    assert condition.healthy.sum() == 24
    rough = [alarm for alarm in condition.alarms if alarm.channel == "right" and alarm.indicator == "law"]
    assert rough[0].first == BEGIN + 3  # the fourth rough recording
    by_slice = assess(worn, worn[0] / "machine", healthy="0:24")
    by_share = assess(worn, worn[0] / "machine", healthy="0.6", persistence="2/3")
    for other in (by_slice, by_share):
        np.testing.assert_array_equal(other.limits.limit, condition.limits.limit)
    assert by_share.persistence == (2, 3)


@pytest.mark.slow
def test_healthy_recordings_that_were_learned_from_are_told(worn):
    sentences = []
    folder = worn[0]
    assess(worn, folder / "machine", sentences.append, trained_on="learned", healthy=str(folder / "learned"), level=0.5)
    (sentence,) = sentences
    assert sentence.startswith("the run was trained on a folder of the same name, learned: if the healthy recordings")
    assess(worn, folder / "machine", sentences.append, trained_on="learned")
    assess(worn, folder / "machine", sentences.append, trained_on=None, healthy=str(folder / "learned"), level=0.5)
    assert len(sentences) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"healthy": "nowhere"}, "--healthy must be a number of recordings, a share such as 0.2, places such as 20:160,"
                                 " or a folder. Got nowhere, which does not exist; correct it."),
        ({"healthy": "60:70"}, "There must be healthy recordings to compare with. Got none of the 40 by 60:70; name "
                               "others with --healthy."),
        ({"healthy": "1.5"}, "--healthy must be a number of recordings, a share such as 0.2, places such as 20:160, or "
                             "a folder. Got 1.5, which is no share; a share is more than 0 and at most 1."),
        ({"persistence": "four"}, "--persistence must be K/N with K from 1 to N, as in 4/5. Got 'four'."),
        ({"persistence": "6/5"}, "--persistence must be K/N with K from 1 to N, as in 4/5. Got '6/5'."),
        ({"persistence": "0/5"}, "--persistence must be K/N with K from 1 to N, as in 4/5. Got '0/5'."),
        ({"level": 2.0}, "--level must be between 0 and 1. Got 2."),
        ({"every": 20}, "--every must be a whole number >= 30. Got 20; choose one within these bounds."),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(worn, settings, message):
    with written_as(as_flags), pytest.raises(InputError) as caught:
        assess(worn, worn[0] / "machine", **settings)
    assert str(caught.value) == message


def test_one_recording_must_be_cut_to_be_followed(worn):
    file = worn[0] / "machine" / f"{LEARNED}.csv"
    with written_as(as_flags), pytest.raises(InputError) as caught:
        assess(worn, file)
    assert str(caught.value) == (
        "There must be several recordings to follow a machine over time. Got 1; cut it into pieces with --every."
    )
    assert len(assess(worn, file, every=100, healthy="4", level=0.5)) == 8
    with written_as(as_flags):
        assert "name more of them with --healthy, or lower --level" in str(assess(worn, file, every=100, healthy="2"))


def test_a_path_that_holds_nothing_is_said():
    with pytest.raises(InputError, match="The data must be a file or a folder. Got nowhere, which does not exist"):
        DOMAIN.read(Path("nowhere"), SeriesReading())
