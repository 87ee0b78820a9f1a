"""The recordings that are published, or come with a package."""

from __future__ import annotations

from pellucid.datasets import DataSet, installed
from pellucid.series.bearing import BEARING_DATA

DATA_SETS = (
    DataSet(
        name="eeg",
        what="an electroencephalogram, 4 channels of 800 samples; comes with matplotlib",
        size="0.03 MB",
        find=lambda: installed("matplotlib", "mpl-data", "sample_data", "eeg.dat"),
        use="numpy.fromfile(...).reshape(800, 4)",
    ),
    BEARING_DATA,
)
