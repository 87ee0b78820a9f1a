"""From a forecaster and recordings to the condition of a machine: is there a fault, in which channel, since when?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.series.alarms import LEVEL, PERSISTENCE, check_persistence
from pellucid.series.condition import Condition
from pellucid.series.indicators import ALL, INDICATORS, LagMoments, RecordingIndicators, indicators_of
from pellucid.series.stream import Reader, Tally, one_by_one, sources_of
from pellucid.trust import check_level

if TYPE_CHECKING:
    from pellucid.series.forecaster import Forecaster

SEQUENCES = 50
HEALTHY = 0.2


def assess(
    model: Forecaster,
    data: Any,
    *,
    healthy: Any = HEALTHY,
    level: float = LEVEL,
    persistence: tuple[int, int] = PERSISTENCE,
    sequences: int = SEQUENCES,
    every: int | None = None,
    order: int | None = None,
    pattern: str = "*",
    read: Reader | None = None,
    progress: bool = False,
) -> Condition:
    """Follow a machine over time: indicators of every recording and channel, compared with healthy recordings.

    Parameters
    ----------
    model : Forecaster
        A forecaster that was trained on the healthy machine.
    data : object
        Recordings in the order of time: a folder with one per file (read one by one, in the order of their names,
        where numbers count as numbers), or anything that `recordings` takes.
    healthy : object
        The recordings of a healthy machine, which calibrate the limits: a share of the first ones, their number, or a
        slice; or other data of any of these kinds. The model must not have learned from them, or its own indicators
        look better there than they will be.
    level : float
        The probability that a further healthy recording stays within a limit. 99 % needs 99 healthy recordings, 95 %
        needs 19.
    persistence : (int, int)
        (k, n): an alarm is raised when k of the last n recordings are beyond a limit on the same side.
    sequences : int
        Number of sequences of each recording that pass through the network, evenly spaced.
    every : int, optional
        Cut recordings into pieces of this many rows, each of which then counts as one. Shorter ones, and the remaining
        rows at the ends, are not used; `Condition.notes` counts them.
    order : int, optional
        Order of the law of each recording; by default that of the model's laws.
    pattern : str
        Which files of a folder to read.
    read : Reader, optional
        How a file becomes `Recordings`; by default as `series.read` does.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> from pellucid.series import Forecaster, assess, simulate_rig
    >>> rig = simulate_rig(rows=1000, files=40, bearings=2, wear=0.0, seed=0)
    >>> model = Forecaster(context=20, horizon=10, radius=4, width=8, epochs=1).fit(rig[:5], progress=False)
    >>> assess(model, rig[5:], healthy=25, level=0.95, sequences=10)
    Condition(35 recordings of bearing 1, bearing 2; 0 alarms)
    """
    model_order = model.order_  # an untrained model is refused before the work begins
    length = model.context + model.horizon
    sequences = _checks.whole(sequences, 1, "sequences")
    every = None if every is None else _checks.whole(every, length, "every")
    order = model_order if order is None else _checks.whole(order, 1, "order", length - 1)
    level, persistence = check_level(level), check_persistence(persistence)
    selection = healthy_selection(healthy)
    tally = Tally(length if every is None else every, every)

    def indicators(sources: Sequence[Any]) -> tuple[list[str], list[RecordingIndicators]]:
        """The names of all recordings, and their indicators."""
        from tqdm.auto import tqdm

        names, parts = [], []
        with tqdm(total=len(sources), unit="recording", disable=not progress, dynamic_ncols=True) as bar:
            for source in sources:
                for one in one_by_one(source, model.channels_, tally, read=read, alone=len(sources) == 1):
                    parts.append(indicators_of(model, one, sequences, order))
                    names.append(one.sources[0])
                bar.update()
        if not parts:
            raise tally.refusal()
        return names, parts

    # Both first: what is wrong with them is an error before the work.
    sources, others = sources_of(data, pattern), sources_of(healthy, pattern) if selection is None else []
    names, parts = indicators(sources)
    if len(names) < 2:
        pieces = f"cut it into pieces with {Parameter('every'):=}"
        raise InputError(
            "There must be several recordings to follow a machine over time",
            got="1",
            cure=pieces if every is None else f"choose a smaller {Parameter('every')}",
            parameter="every",
        )
    is_healthy = np.zeros(len(names), dtype=bool)
    if selection is None:
        _, healthy_parts = indicators(others)
    else:
        is_healthy[selection(len(names))] = True
        if not is_healthy.any():
            raise InputError(
                "There must be healthy recordings to compare with",
                got=f"none of the {len(names)} by {_healthy_text(healthy)}",
                cure=f"name others with {Parameter('healthy'):=}",
                parameter="healthy",
            )
        healthy_parts = [part for part, chosen in zip(parts, is_healthy, strict=True) if chosen]
    count = len(healthy_parts)
    mean = LagMoments.mean([part.moments for part in healthy_parts])
    law = mean.law()
    # The law of a healthy recording is compared with that of the others, as any further recording's will be.
    reference = [_row(part, mean.without(part.moments, count).law() if count > 1 else law) for part in healthy_parts]
    healthy_rows = iter(reference)
    return Condition(
        channels=(*model.channels_, *([ALL] if len(model.channels_) > 1 else [])),
        recordings=tuple(names),
        values=np.stack(
            [next(healthy_rows) if chosen else _row(part, law) for part, chosen in zip(parts, is_healthy, strict=True)]
        ),
        reference=np.stack(reference),
        healthy=is_healthy,
        level=level,
        persistence=persistence,
        sequences=sequences,
        order=order,
        notes=tuple(tally.sentences()),
    )


def healthy_selection(healthy: Any) -> Callable[[int], slice] | None:
    """From the number of recordings to a slice of the healthy ones; None if these are other data."""
    if isinstance(healthy, slice):
        return lambda count: healthy
    if isinstance(healthy, int | np.integer) and not isinstance(healthy, bool):
        number = _checks.whole(healthy, 1, "healthy")
        return lambda count: slice(number)
    if isinstance(healthy, float):
        if not 0 < healthy <= 1:
            raise InputError(
                f"{Parameter('healthy')} must be a share in (0, 1], a number of recordings, a slice, or data",
                got=f"{healthy!r}",
                cure=f"try {HEALTHY}",
                parameter="healthy",
            )
        return lambda count: slice(max(1, round(healthy * count)))
    return None


def _healthy_text(healthy: Any) -> str:
    """As it is written, a slice as in Python's brackets."""
    if not isinstance(healthy, slice):
        return repr(healthy)
    return ":".join("" if end is None else str(end) for end in (healthy.start, healthy.stop))


def _row(part: RecordingIndicators, law: np.ndarray) -> np.ndarray:
    """(M, C) indicators of one recording, its law compared with this one."""
    values = np.concatenate([part.values, part.moments.change(law)[None]])
    if values.shape[1] == 1:
        return values
    joint = np.where(np.array(INDICATORS) == "likelihood", part.joint, np.nan)
    return np.concatenate([values, joint[:, None]], axis=1)
