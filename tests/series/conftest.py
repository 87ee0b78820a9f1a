"""Models of recordings that several tests share."""

import numpy as np
import pytest
from series import machines
from series.followed import BEGIN, FOLLOWER, HEALTHY, LEARNED
from series.small_forecasters import RIG, SMALL, fit

from pellucid.series import Forecaster, ForecastExplanation, assess, simulate_rig
from pellucid.series.data import Recordings


@pytest.fixture(scope="session")
def sound_rig():
    return simulate_rig(rows=1500, files=LEARNED + 65, bearings=3, wear=0.0, seed=0)


@pytest.fixture(scope="session")
def sound_model(sound_rig):
    return Forecaster(**FOLLOWER).fit(sound_rig[:LEARNED], progress=False)


@pytest.fixture(scope="session")
def follow(sound_model, sound_rig):
    """Assess the recordings after those that were learned from, with a fault of one channel from BEGIN on."""

    def run(fault=None, channel=1, **options):
        values = [table.copy() for table in sound_rig[LEARNED:].values]
        for table in values[BEGIN:] if fault else []:
            table[:, channel] = fault(table[:, channel])
        source = Recordings(values=tuple(values), channels=sound_rig.channels, sources=sound_rig.sources[LEARNED:])
        return assess(sound_model, source, **{"healthy": HEALTHY, "level": 0.95, "sequences": 20, **options})

    return run


@pytest.fixture(scope="session")
def trained():
    return fit()


@pytest.fixture(scope="session")
def trusted():
    settings = {**SMALL, "order": 1, "radius": 3, "ridge": 0.01}
    return Forecaster(**settings).fit(RIG, validation=0.3, progress=False)


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A folder of two recordings with gaps and times, and a run on them."""
    folder = tmp_path_factory.mktemp("recordings")
    (folder / "data").mkdir()
    for values, name in zip(machines.RIG, ("a.csv", "b.csv"), strict=True):
        keep = [i for i in range(machines.ROWS) if name == "b.csv" or not 300 <= i < 400]
        left, right = values[keep].round(5).T
        machines.write(folder / "data" / name, ["when", "left", "right"], [machines.stamps(keep), left, right])
    return folder, *machines.train(machines.source_of(folder / "data"), folder / "run", split="time")


@pytest.fixture
def explanation():
    """Two steps of two channels, small enough to check by hand."""
    parameters = np.zeros((2, 5, 2))
    parameters[0, :, 0] = [0.5, 1, 0, -0.25, 0]
    parameters[1, :, 0] = [0.5, 0.75, 0.1, -0.25, 0]
    parameters[1, 0, 1] = 2
    return ForecastExplanation(
        channels=("left", "$<b>right$"),
        order=2,
        radius=1,
        context=np.arange(6.0).reshape(3, 2),
        mean=np.array([[1.0, 2], [3, 4]]),
        covariance=np.array([np.diag([0.25, 1]), np.diag([0.04, 9])]),
        parameters=parameters,
        witnessed=np.array([[1.0, 2], [3.3, 3.6]]),
        fit=np.array([0.1, 0.2]),
    )
