"""Tables of predictions, and audits of them."""

import csv

import numpy as np
from typer.testing import CliRunner

from pellucid.cli import command_line

SPEED, LOAD = (np.random.default_rng(seed).uniform(size=80) * unit for seed, unit in enumerate((10, 1000)))

WAVE = np.sin(SPEED) + LOAD / 500


def write(path, columns, separator=","):
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter=separator).writerows([columns, *zip(*columns.values(), strict=True)])
    return path


def run(*arguments):
    result = CliRunner().invoke(command_line(), ["audit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))
