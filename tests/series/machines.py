"""Tables of recordings as users have them, and runs on them."""

import csv
from datetime import datetime, timedelta

from pellucid import runs
from pellucid.domains import Source
from pellucid.series import simulate_rig
from pellucid.series.domain import SeriesDomain
from pellucid.series.planning import SeriesSettings
from pellucid.series.reading import SeriesReading

DOMAIN = SeriesDomain()

MACHINE = {"context": 20, "horizon": 10, "radius": 4, "epochs": 1, "width": 8, "game": "none"}

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
        SeriesSettings(**{**MACHINE, **settings}),
        folder,
        title="title" if source.path is None else source.path.name,
        weight=weight,
        progress=False,
        say=lines.append,
    )
    return summary, lines
