"""Fixtures that several tests share: trainings so small that they take a second, done once for all workers."""

import csv
import gc
import json
import os
import signal
from pathlib import Path

import forks
import pytest
import torch
from filelock import FileLock
from hypothesis import settings

# Compilation of the kernels falls into the first example, so a deadline would be a coin toss.
settings.register_profile("pellucid", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("pellucid")

# What imports and collection create is never freed: to look for garbage there again and again is a tenth of the time.
gc.set_threshold(100_000)

# Shells let what they start in the background ignore Ctrl-C, and tests of it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

forks.prepare()

# The problems are tiny: more threads would only get in each other's way.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _one_thread():
    """Whoever chooses another number of threads does not choose it for others: sums depend on it in the last digit."""
    yield
    torch.set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption(
        "--fuzz-size",
        choices=("small", "large"),
        default="small",
        help="of tests/fuzz: small takes seconds and is part of all tests, large takes minutes",
    )


def pytest_collection_modifyitems(items):
    """Examples in docstrings are documentation; those of models train one."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.docs)


@pytest.fixture(scope="session")
def fuzz_size(request):
    """How many cases the tests of tests/fuzz try: "small" or "large"."""
    return request.config.getoption("--fuzz-size")


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def real_data(monkeypatch):
    """The folder of published data sets, for tests that need one."""
    given = os.environ.get("PELLUCID_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the published data sets: set PELLUCID_DATA to their folder")
    monkeypatch.setenv("PELLUCID_DATA", str(folder))
    return folder


# -- made once: tests read these, and copy what they change ------------------------------------------------------------


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, worker_id):
    """`made_once(name, make)` is a folder that `make(folder)` fills, once for all workers of a test run."""
    base = tmp_path_factory.getbasetemp()
    base = base if worker_id == "master" else base.parent

    def folder_of(name, make):
        folder, done = base / f"shared-{name}", base / f"shared-{name}.done"
        with FileLock(base / f"shared-{name}.lock"):
            if not done.exists():
                folder.mkdir(exist_ok=True)
                make(folder)
                done.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def sulfonamides():
    """A fifth of the sodium-channel blockers: 204 molecules."""
    from blockers import blockers

    return blockers().select(range(0, 1017, 5))


@pytest.fixture(scope="session")
def property_model_folder(made_once, sulfonamides):
    """A saved model of the sulfonamides, calibrated on a fifth of them."""
    from pellucid.molecules import PropertyModel, SimilarityRule

    def make(folder):
        small = {"similar": SimilarityRule(analogs=False), "play": "banked", "width": 16, "epochs": 1}
        small |= {"explain_with_analogs": False}
        PropertyModel(task="regression", **small).fit(sulfonamides, validation=0.2, progress=False).save(folder)

    return made_once("property-model", make)


@pytest.fixture(scope="session")
def property_model(property_model_folder):
    from pellucid.molecules import PropertyModel

    return PropertyModel.load(property_model_folder)


@pytest.fixture(scope="session")
def rig():
    """Two recordings of two bearings."""
    from pellucid.series import simulate_rig

    return simulate_rig(files=2, rows=2500, bearings=2, seed=0)


@pytest.fixture(scope="session")
def forecaster_folder(made_once, rig):
    """A saved forecaster of the rig, of 10 steps from 20."""
    from pellucid.series import Forecaster

    def make(folder):
        Forecaster(width=8, epochs=1, context=20, horizon=10, radius=4).fit(rig, progress=False).save(folder)

    return made_once("forecaster", make)


@pytest.fixture(scope="session")
def forecaster(forecaster_folder):
    from pellucid.series import Forecaster

    return Forecaster.load(forecaster_folder)


@pytest.fixture(scope="session")
def data_folder(made_once, sulfonamides, rig):
    """Data as users have them: `assay.csv` with names, activities and labels, and `recordings` of left and right."""
    import numpy as np

    def make(folder):
        pairs = zip(sulfonamides.smiles, sulfonamides.y[:, 0], strict=True)
        with (folder / "assay.csv").open("w", newline="") as stream:
            rows = [[f"M{i}", smiles, y, int(y > 6.5)] for i, (smiles, y) in enumerate(pairs)]
            csv.writer(stream).writerows([["id", "smiles", "activity", "active"], *rows])
        (folder / "recordings").mkdir()
        for values, name in zip(rig.values, ("a.csv", "b.csv"), strict=True):
            np.savetxt(folder / "recordings" / name, values, delimiter=",", header="left,right", comments="")

    return made_once("data", make)


@pytest.fixture(scope="session")
def molecules(made_once):
    """The content of the summary of a small run on molecules."""
    from report.summaries import molecules_summary

    return _kept(made_once, "molecules-summary", molecules_summary)


@pytest.fixture(scope="session")
def series(made_once):
    """The content of the summary of a small run on recordings."""
    from report.summaries import series_summary

    return _kept(made_once, "series-summary", series_summary)


def _kept(made_once, name, summary):
    from report.summaries import with_bounds

    def make(folder):
        (folder / "summary.json").write_text(json.dumps(with_bounds(summary())))

    return json.loads((made_once(name, make) / "summary.json").read_text())
