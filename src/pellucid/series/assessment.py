"""From a forecaster and recordings to the condition of a machine: does a fault show, in which channel, since when?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.series.alarms import LEVEL, PERSISTENCE, check_persistence
from pellucid.series.condition import ALL, Condition
from pellucid.series.indicators import INDICATORS, Measured, Moments, measure
from pellucid.series.stream import Read, Tally, one_by_one, sources_of
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
    read: Read | None = None,
    progress: bool = False,
) -> Condition:
    """Follow a machine over time: indicators of every recording and channel, beside those of healthy recordings.

    Parameters
    ----------
    model : Forecaster
        A forecaster that was trained on the healthy machine.
    data : object
        Recordings in the order of time: a folder with one per file (read one by one, in the order of their names,
        where numbers count as numbers), or anything that `recordings` takes.
    healthy : object
        Which of them show a healthy machine, and calibrate the alarm levels: a share of the first ones, their number,
        a slice of their places; or other data of any of these kinds. The model must not have learned from them, or its
        own indicators look better there than they will be.
    level : float
        Of the limits: a further healthy recording stays within each of them with this probability. 99 % need 99
        healthy recordings, 95 % need 19.
    persistence : (int, int)
        (k, n), an alarm is raised when k of the last n recordings are beyond a limit on the same side.
    sequences : int
        So many of each recording pass through the network, evenly spaced.
    every : int, optional
        Cut recordings into pieces of so many rows, each of which then counts as one. Shorter ones, and the rows that
        are left at the ends, are not used; `Condition.notes` counts them.
    order : int, optional
        Of the law of each recording; by default that of the model's laws.
    pattern, read : str or Read, optional
        Which files of a folder, and how each of them becomes `Recordings`.
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
    usual = model.order_  # an untrained model is refused before the work begins
    length = model.context + model.horizon
    sequences = _checks.whole(sequences, 1, "sequences")
    every = None if every is None else _checks.whole(every, length, "every")
    order = usual if order is None else _checks.whole(order, 1, "order", length - 1)
    level, persistence = check_level(level), check_persistence(persistence)
    places = check_healthy(healthy)
    tally = Tally(length if every is None else every, every)

    def measured(sources: Sequence[Any]) -> tuple[list[str], list[Measured]]:
        """The names of all recordings, and what was measured."""
        from tqdm.auto import tqdm

        names, parts = [], []
        with tqdm(total=len(sources), unit="recording", disable=not progress, dynamic_ncols=True) as bar:
            for source in sources:
                for one in one_by_one(source, model.channels_, tally, read=read, alone=len(sources) == 1):
                    parts.append(measure(model, one, sequences, order))
                    names.append(one.sources[0])
                bar.update()
        if not parts:
            raise tally.refusal()
        return names, parts

    # First: what is wrong with them should be told before the work.
    sources, others = sources_of(data, pattern), sources_of(healthy, pattern) if places is None else []
    names, parts = measured(sources)
    if len(names) < 2:
        pieces = f"cut it into pieces of so many rows with {Parameter('every'):=}"
        raise InputError(
            "There must be several recordings to follow a machine over time",
            got="1",
            cure=pieces if every is None else f"choose a smaller {Parameter('every')}",
            parameter="every",
        )
    inside = np.zeros(len(names), dtype=bool)
    if places is None:
        _, sound = measured(others)
    else:
        inside[places(len(names))] = True
        if not inside.any():
            raise InputError(
                "There must be healthy recordings to compare with",
                got=f"none of the {len(names)} by {_written(healthy)}",
                cure=f"name others with {Parameter('healthy'):=}",
                parameter="healthy",
            )
        sound = [part for part, kept in zip(parts, inside, strict=True) if kept]
    together = Moments.mean([part.moments for part in sound])
    law = together.law()
    # The law of a healthy recording is compared with that of the others, as any further recording's will be.
    reference = [
        _row(part, together.without(part.moments, len(sound)).law() if len(sound) > 1 else law) for part in sound
    ]
    known = iter(reference)
    return Condition(
        channels=(*model.channels_, *([ALL] if len(model.channels_) > 1 else [])),
        recordings=tuple(names),
        values=np.stack([next(known) if kept else _row(part, law) for part, kept in zip(parts, inside, strict=True)]),
        reference=np.stack(reference),
        healthy=inside,
        level=level,
        persistence=persistence,
        sequences=sequences,
        order=order,
        notes=tuple(tally.sentences()),
    )


def check_healthy(healthy: Any) -> Any:
    """From the number of recordings to the places of the healthy ones; None if these are other data."""
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


def _written(healthy: Any) -> str:
    """As people write it, a slice as in Python's brackets."""
    if not isinstance(healthy, slice):
        return repr(healthy)
    return ":".join("" if end is None else str(end) for end in (healthy.start, healthy.stop))


def _row(part: Measured, law: np.ndarray) -> np.ndarray:
    """(M, C) of one recording."""
    own = np.concatenate([part.values, part.moments.change(law)[None]])
    if own.shape[1] == 1:
        return own
    together = np.where(np.array(INDICATORS) == "likelihood", part.joint, np.nan)
    return np.concatenate([own, together[:, None]], axis=1)
