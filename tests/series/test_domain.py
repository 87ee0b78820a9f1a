"""Recordings as a domain: read, divided, trained on, and read again."""

import json

import numpy as np
import pytest
from series.machines import DOMAIN, MACHINE, RIG, ROWS, as_flags, source_of, stamps, train, write

from pellucid import runs, summaries
from pellucid.domains import Source
from pellucid.errors import InputError, written_as
from pellucid.options import options_of
from pellucid.series import Forecaster, recordings
from pellucid.series.measures import MEASURES
from pellucid.series.planning import SeriesSettings
from pellucid.series.reading import SeriesReading
from pellucid.summaries import HELD_OUT


def test_what_was_decided_is_said_and_written_down(machine):
    folder, _, lines = machine
    assert lines[0] == "when is ignored, as it holds dates or times"
    assert lines[1].startswith("1 gap in time, 16.8 min after row 300 of a.csv, where a step is 10 s: the recording is")
    assert lines[2] == "data: 3 recordings of left, right; 1,300 rows"
    assert lines[3].startswith("rows: ")
    assert lines[3].endswith(", 120 for testing")
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


@pytest.mark.slow
def test_scores_are_those_of_the_model_on_the_test_data(machine):
    folder, summary, _ = machine
    plan = DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**MACHINE, split="time"))
    model, test = Forecaster.load(folder / "run" / "deep"), plan.parts.test
    assert plan.digest == summary.data.test_digest
    scores = summary.models["DEEP"].scores
    assert set(scores) >= {measure.key for measure in MEASURES}
    assert scores["relative_error"] == pytest.approx(model.evaluate(test).relative_error)
    assert scores[HELD_OUT] == pytest.approx(model.evaluate(test).held_out_variance_explained)
    assert summary.deviations["DEEP"] == pytest.approx(model.deviations(test, held_out=True))
    assert summary.outputs == ("left", "right")
    other = DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**MACHINE, split="time", seed=1))
    assert other.digest == plan.digest  # in time nothing is left to chance
    assert DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**MACHINE)).digest != plan.digest


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
    assert summary.baselines[0].title == "linear"
    assert summary.baselines[0].about.startswith("one linear law of the last 25 values for everything, ")
    assert 0 < summary.baselines[0].scores["relative_error"] < 0.5
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


@pytest.mark.slow
def test_a_trend_is_said_before_the_training_and_with_the_numbers(tmp_path):
    drift = RIG[0][:, 0] + np.arange(ROWS) * 0.01
    source = source_of(write(tmp_path / "a.csv", ["wear", "right"], [drift, RIG[0][:, 1]]))
    summary, lines = train(source, tmp_path / "run")
    assert "split: validation and test pieces cut out at random" in lines
    assert sum(line.startswith("The recordings trend (the level of wear)") for line in lines) == 1
    assert summary.verdict[0].startswith("The recordings trend (the level of wear)")
    assert not DOMAIN.plan(source, SeriesSettings(**MACHINE, split="time")).remarks


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
    plan = DOMAIN.plan(source_of(folder / "data" / "b.csv"), SeriesSettings(**MACHINE, test=test))
    np.testing.assert_array_equal(np.concatenate(plan.parts.test.values), other)
    (note,) = plan.notes
    assert note.startswith("test: 1 gap in time")
    assert plan.split_about == "validation pieces cut out at random"
    with written_as(as_flags), pytest.raises(InputError) as caught:
        DOMAIN.plan(source_of(folder / "data"), SeriesSettings(**MACHINE, test=folder / "data" / "b.csv"))
    assert str(caught.value) == (
        "--test must be other recordings than those to learn from. Got b.csv in both; move it out of one, or leave "
        "--test out: a tenth is then held out."
    )


@pytest.mark.slow
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
