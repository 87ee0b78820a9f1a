"""Machines followed from files."""

from pathlib import Path

import numpy as np
import pytest
from scipy import signal
from series.machines import DOMAIN, as_flags

from pellucid.capabilities import SupportsMonitoring
from pellucid.errors import InputError, written_as
from pellucid.series import Forecaster, read, simulate_rig
from pellucid.series.monitoring import SeriesAssessing
from pellucid.series.reading import SeriesReading

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


@pytest.mark.slow
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


@pytest.mark.slow
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
