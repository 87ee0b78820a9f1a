"""Does a fault show, in which bearing, since when? `python -m paper.condition --size cpu`, some minutes on two cores.

DEEP and GAME learn from some of the first recordings of the second IMS test, others calibrate alarm levels, and all 984
are followed until the first bearing fails: indicators of network and law beside plain RMS and kurtosis. The report is
`paper/condition/<size>.json`; its table and its picture go into `docs/condition.md`. Repeating an interrupted call goes
on where it stopped.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.runs import ROOT, Cell, load_config, read_reports, run_cells, write_report, write_section

if TYPE_CHECKING:
    from pellucid.series import Condition, Recordings

REPORTS = ROOT / "paper" / "condition"
WORK = ROOT / "out" / "condition"
DOCS = ROOT / "docs"
SIZES = ("cpu", "smoke")
# Indicators that do not ask the network, and are the same for DEEP and GAME.
PLAIN = ("rms", "sd", "kurtosis", "law")
NETWORK = ("likelihood", "deviation", "explained")
DRAWN = ("rms", "kurtosis", "likelihood", "deviation", "law")


def cells(config: Mapping[str, Any], work: Path) -> list[Cell]:
    """DEEP and GAME."""
    return [{**config, "name": name, "game": game, "work": str(work)} for name, game in
            (("deep", None), ("game", "symmetric"))]  # fmt: skip


def source(cell: Cell) -> Recordings:
    """All recordings in the order of time; the simulated ones with a planted fault."""
    from scipy.signal import lfilter

    from pellucid.series import Recordings, load_bearing, simulate_rig

    if not cell.get("simulated"):
        return load_bearing()
    rig = simulate_rig(rows=cell["rows"], files=cell["files"], bearings=3, wear=0.0, seed=cell["seed"])
    for table in rig.values[cell["fault"] :]:
        rough = lfilter([1.0, -0.5], [1.0], table[:, 1])
        table[:, 1] = rough * (table[:, 1].std() / rough.std())
    return Recordings(values=rig.values, channels=rig.channels, sources=rig.sources)


def run(cell: Cell) -> dict[str, Any]:
    """Train, follow and measure."""
    import torch

    from pellucid.series import Forecaster, assess

    torch.set_num_threads(1)  # cells run side by side
    everything = source(cell)
    settings = ("context", "horizon", "order", "radius", "game", "weight", "width")
    training = ("epochs", "batch_size", "learning_rate", "patience", "seed")
    model = Forecaster(**{name: cell[name] for name in (*settings, *training)})
    home = Path(cell["work"]) / "checkpoints" / cell["name"]
    model.fit(everything[slice(*cell["learned"])], folder=home, resume=True, progress=False)
    condition = assess(
        model,
        everything,
        healthy=slice(*cell["healthy"]),
        level=cell["level"],
        persistence=tuple(cell["persistence"]),
        sequences=cell["sequences"],
    )
    if cell["name"] == "game":
        condition.plot(indicators=DRAWN).savefig(Path(cell["work"]) / "condition.png", dpi=90)
    shutil.rmtree(home)
    validation = model.evaluate(everything[slice(*cell["sound"])][:10], forced=True)
    return {"relative_error_one_step": validation.relative_error, **results(condition, cell)}


def results(condition: Condition, cell: Cell) -> dict[str, Any]:
    """First alarms of every indicator and channel, and how often it is beyond its level while nothing is wrong."""
    from pellucid.series.indicators import INDICATORS

    begin, end = cell["sound"]
    hours = condition.hours
    table: dict[str, Any] = {}
    for m, indicator in enumerate(INDICATORS):
        for c, channel in enumerate(condition.channels):
            if not np.isfinite(condition.limits.center[m, c]):
                continue
            alarm = next((a for a in condition.alarms if (a.channel, a.indicator) == (channel, indicator)), None)
            entry: dict[str, Any] = {
                "false": float((condition.beyond[begin:end, m, c] != 0).mean()),
                "false_alarm": bool(condition.in_alarm[begin:end, m, c].any()),
                "limit": float(f"{condition.limits.limit[m, c]:.4g}"),
            }
            if alarm is not None:
                entry |= {
                    "first": alarm.first + 1,
                    "lasts": None if alarm.lasts is None else alarm.lasts + 1,
                    "side": alarm.side,
                    "peak": float(f"{alarm.peak:.4g}"),
                }
                if hours is not None:
                    entry["hours_before_end"] = round(hours[-1] - hours[alarm.first], 1)
            table.setdefault(indicator, {})[channel] = entry
    return {"recordings": len(condition), "calibrated": condition.limits.count, "alarms": table,
            "text": str(condition)}  # fmt: skip


def summary(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """The table of the page: the recording of the first alarm, and that from which on it lasts."""
    deep, game = reports["deep"]["alarms"], reports["game"]["alarms"]
    channels = list(deep["rms"])
    rows = [(name, game[name]) for name in PLAIN]
    rows += [
        (f"{name}, {model}", alarms[name]) for name in NETWORK for model, alarms in (("DEEP", deep), ("GAME", game))
    ]
    head = [*channels, f"{channels[0]}: hours before the end", "beyond the limit while healthy"]
    lines = [f"| first alarm | {' | '.join(head)} |", "|---|" + "---|" * len(head)]
    for name, alarms in rows:
        hours = alarms[channels[0]].get("hours_before_end")
        false = np.mean([alarms[channel]["false"] for channel in channels])
        cells = [cell(alarms[channel]) for channel in channels]
        lines.append(
            f"| {name} | {' | '.join(cells)} | {'–' if hours is None else f'{hours:.1f}'} | {100 * false:.1f} % |"
        )
    return "\n".join(lines)


def cell(alarm: Mapping[str, Any]) -> str:
    """A number; two, where the alarm comes and goes at first; a dash after it, where it does not last."""
    if "first" not in alarm:
        return "none"
    if alarm["lasts"] == alarm["first"]:
        return str(alarm["first"])
    return f"{alarm['first']}, passes" if alarm["lasts"] is None else f"{alarm['first']}, lasts from {alarm['lasts']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--jobs", type=int, default=2, help="cells to run side by side, each on one core")
    arguments = parser.parse_args()
    study(arguments.size, arguments.jobs, WORK / arguments.size, REPORTS, DOCS if arguments.size == "cpu" else None)


def study(size: str, jobs: int, work: Path, reports: Path, docs: Path | None) -> None:
    """Run what has not been run yet, and write the report, the table and the picture."""
    config = load_config("condition", size)
    work.mkdir(parents=True, exist_ok=True)
    run_cells(cells(config, work), run, work / "cells", jobs)
    found = read_reports(work / "cells")
    for report in found.values():
        del report["config"]["work"]  # a place on this machine
    write_report(reports / f"{size}.json", found)
    text = summary(found)
    if docs is not None:
        write_section(docs / "condition.md", "condition", text)
        shutil.copy(work / "condition.png", docs / "condition.png")
    print(text)


if __name__ == "__main__":
    main()
