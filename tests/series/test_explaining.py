"""Which forecasts of a file or a folder are explained."""

import re

import numpy as np
import pytest
from series.machines import DOMAIN, RIG, ROWS, as_flags

from pellucid import runs
from pellucid.errors import InputError, written_as
from pellucid.series import Forecaster, read
from pellucid.series.explaining import SeriesExplaining, relative_deviations


def explain(machine, what, *, level=0.9, warn=lambda _: None, **settings):
    model = Forecaster.load(machine[0] / "run" / "deep")
    reading = runs.load_reading(DOMAIN, machine[0] / "run", {})
    return DOMAIN.explain(
        model, str(what), reading, SeriesExplaining(**settings), level=level, progress=False, warn=warn
    )


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
    head = ["forecast", "held-out variance explained: local", "whole", "relative deviation: held out", "where fitted"]
    assert re.split("  +", lines[0]) == [*head, "change of the law"]
    assert lines[4].startswith("held-out variance explained and the change of the law are over one-step predictions of")
    overall, local = law.shares()
    gaps = np.square(explanation.mean - explanation.witnessed).mean(0) / explanation.mean.var(axis=0)
    unseen = np.square(explanation.mean - explanation.held_out).mean(0) / explanation.mean.var(axis=0)
    assert relative_deviations(explanation) == pytest.approx((np.sqrt(unseen.mean()), np.sqrt(gaps.mean())))
    assert relative_deviations(explanation, "right") == pytest.approx((np.sqrt(unseen[1]), np.sqrt(gaps[1])))
    change = f"{law.steadiness.change:.2g} ({law.steadiness.word})"
    shares = [f"{100 * local:.0f} %", f"{100 * overall:.0f} %"]
    cells = [*shares, *(f"{np.sqrt(gap.mean()):.3g}" for gap in (unseen, gaps)), change]
    assert re.split("  +", lines[3])[1:] == cells
    cells[2:4] = [f"{np.sqrt(gap[1]):.3g}" for gap in (unseen, gaps)]
    assert re.split("  +", DOMAIN.overview(result.explanations, "right").splitlines()[3])[1:] == cells
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
    closest = min(explanations, key=lambda label: relative_deviations(explanations[label]))
    assert [label in page for label in explanations] == [label != closest for label in explanations]
