"""What several processes gain: the time of a training step in one and in two processes, and the share of it that is
spent on communication.

    python -m benchmarks.devices            # measure, save to devices.json, and update the table in README.md
    python -m benchmarks.devices --smoke    # tiny models, nothing saved

Each process has one thread. Times are those of the first process from one step to the next; those of communication
include waiting for the other process. About thirty steps each, a few minutes in all; the table is written after each
kind of model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
import torch
from benchmarks.run import publish
from torch import distributed

from pellucid import _processes
from pellucid.molecules import PropertyModel, SimilarityRule, nav17
from pellucid.molecules.fitting import PropertyFit
from pellucid.series import Forecaster, simulate_rig
from pellucid.series.fitting import ForecastFit
from pellucid.tabular.fitting import LabeledRows, TableFit
from pellucid.tabular.frames import frame_of
from pellucid.tabular.model import TableModel
from pellucid.training import Fit, Hardware, TrainingSettings
from pellucid.training.loop import train

_EXCHANGES = ("all_reduce", "all_gather", "broadcast")
# Steps at the beginning that do not count: kernels are loaded, and memory is asked for.
_WARM = 3


def forecaster(smoke: bool) -> tuple[str, TrainingSettings, Fit[Any]]:
    """CNN and LSTM on recordings of a test rig, symmetric game."""
    width, size = (8, 8) if smoke else (128, 64)
    model = Forecaster(width=width, batch_size=size, epochs=1)
    rig = simulate_rig(rows=1500 if smoke else 40_000)
    return f"recordings, width {width}, batches of {size}", model, ForecastFit(model, rig, None)


def properties(smoke: bool) -> tuple[str, TrainingSettings, Fit[Any]]:
    """Message passing on molecules, symmetric game."""
    width, size = (8, 16) if smoke else (200, 64)
    table = nav17().select(range(0, 1017, 10 if smoke else 1))
    model = PropertyModel(
        task="regression", similar=SimilarityRule(analogs=False), width=width, batch_size=size, epochs=2
    )
    return f"molecules, width {width}, batches of {size}", model, PropertyFit(model, table, table)


def rows(smoke: bool) -> tuple[str, TrainingSettings, Fit[Any]]:
    """An ensemble on a table, symmetric game."""
    count, width, size = (200, 8, 32) if smoke else (8000, 128, 256)
    x = np.random.default_rng(0).normal(size=(count, 10))
    model = TableModel(task="regression", width=width, batch_size=size, epochs=1)
    labeled = LabeledRows(frame_of(x), x[:, 0] * x[:, 1] + x[:, 2])
    return f"table of 10 columns, width {width}, batches of {size}", model, TableFit(model, labeled, None, target="y")


def step_times(fit: Fit[Any], settings: TrainingSettings, processes: int) -> tuple[float, float]:
    """Seconds of a step, and those of them that are spent on communication."""
    notes = torch.zeros(2, 2 + settings.epochs * len(fit.batches), dtype=torch.float64).share_memory_()
    loss, count = fit.loss, 0

    def noted(batch: Any) -> Any:
        nonlocal count
        if torch.is_grad_enabled() and _processes.current().rank == 0:
            notes[0, count] = time.perf_counter()
            notes[1, count] = spent[0]
            count += 1
        return loss(batch)

    fit.loss = noted  # type: ignore[method-assign]
    with _timed_exchanges() as spent:
        train(fit, settings, progress=False, hardware=Hardware(device="cpu", devices=processes))
    begun = int((notes[0] > 0).sum())
    steps = [median(row[_WARM:begun].diff().tolist()) for row in notes]
    return steps[0], steps[1]


@contextmanager
def _timed_exchanges() -> Iterator[list[float]]:
    """Seconds that exchanges between processes took; they are forked inside, and each has its own."""
    spent = [0.0]
    plain = {name: getattr(distributed, name) for name in _EXCHANGES}

    def timed(exchange: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return exchange(*arguments, **options)
            finally:
                spent[0] += time.perf_counter() - start

        return call

    for name, exchange in plain.items():
        setattr(distributed, name, timed(exchange))
    try:
        yield spent
    finally:
        for name, exchange in plain.items():
            setattr(distributed, name, exchange)


def compared(make: Callable[[bool], tuple[str, TrainingSettings, Fit[Any]]], smoke: bool) -> list[dict[str, Any]]:
    """Steps in one and in two processes."""
    torch.set_num_threads(1)
    took = {}
    for processes in (1, 2):
        name, settings, fit = make(smoke)
        took[processes] = step_times(fit, settings, processes)
    common = {"goal": "", "met": True, "threads": 2}
    (one, _), (two, exchanged) = took[1], took[2]
    return [
        {
            "name": f"training step in two processes: {name}",
            "against": "one process",
            "seconds": two,
            "ratio": two / one,
            "unit": "times the cost",
            **common,
        },
        {
            "name": "of that, communication and waiting",
            "against": "the step in two processes",
            "seconds": exchanged,
            "ratio": exchanged / two,
            "unit": "times the cost",
            **common,
        },
    ]


def table_steps(smoke: bool) -> list[dict[str, Any]]:
    return compared(rows, smoke)


def molecule_steps(smoke: bool) -> list[dict[str, Any]]:
    return compared(properties, smoke)


def recording_steps(smoke: bool) -> list[dict[str, Any]]:
    return compared(forecaster, smoke)


SECTIONS = (table_steps, molecule_steps, recording_steps)

if __name__ == "__main__":
    publish("devices", SECTIONS)
