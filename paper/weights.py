"""What the weight does with the library's defaults: `python -m paper.weights`, a minute.

Small forecasters on four of the bearing recordings, three to learn from and one to test; the table goes into
`docs/series.md`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import torch
from paper.bearing import REPORTS
from paper.runs import ROOT, provenance, write_report, write_section

from pellucid.runs import finite_mean
from pellucid.series import Forecaster, load_bearing
from pellucid.series.data import Recordings

NAMES = ("2004.02.12.10.32.39", "2004.02.13.03.02.39", "2004.02.15.21.42.39", "2004.02.18.16.22.39")
SMALL: dict[str, Any] = {"width": 32, "epochs": 5, "batch_size": 32, "learning_rate": 0.01}
SETTINGS: dict[str, dict[str, Any]] = {
    "no game": {"game": None},
    **{f"weight {weight:g}": {"weight": weight} for weight in (0.3, 1.0, 3.0, 10.0)},
    "weight 3, ridge 1": {"weight": 3.0, "ridge": 1.0},
}
REPORT = REPORTS / "weights.json"
DOCS = ROOT / "docs"


def measure(train: Recordings, test: Recordings, **other: Any) -> dict[str, Any]:
    """Scores of every setting, of forecasts and of one-step predictions."""
    results = {}
    for name, setting in SETTINGS.items():
        model = Forecaster(**{**SMALL, **setting, **other}).fit(train, progress=False)
        results[name] = {
            "generated": model.evaluate(test)._asdict(),
            "forced": model.evaluate(test, forced=True)._asdict(),
        }
        for kind in results[name]:
            explained = finite_mean(model.held_out(test, forced=kind == "forced").explained())
            results[name][kind]["held_out_variance_explained"] = explained
    return results


def table(results: Mapping[str, Any]) -> str:
    """As it stands in the tutorial."""
    rows = {
        "relative error, 20 steps": ("generated", "relative_error"),
        "relative error, one step": ("forced", "relative_error"),
        "held-out variance explained, 20 steps": ("generated", "held_out_variance_explained"),
        "held-out variance explained, one step": ("forced", "held_out_variance_explained"),
        "relative deviation, 20 steps": ("generated", "relative_deviation"),
        "relative deviation, one step": ("forced", "relative_deviation"),
        "variation, one step": ("forced", "variation"),
    }
    lines = [f"| | {' | '.join(results)} |", "|---|" + "---|" * len(results)]
    for label, (kind, measure) in rows.items():
        lines.append(f"| {label} | {' | '.join(f'{part[kind][measure]:.3f}' for part in results.values())} |")
    return "\n".join(lines)


def main() -> None:
    torch.set_num_threads(1)
    start = time.monotonic()
    everything = load_bearing()
    places = [everything.sources.index(name) for name in NAMES]
    chosen = Recordings(values=tuple(everything.values[i] for i in places), channels=everything.channels, sources=NAMES)
    results = measure(chosen[:3], chosen[3])
    seconds = round(time.monotonic() - start, 1)
    write_report(REPORT, {"config": SMALL, "seed": 0, "results": results, **provenance(), "wall_seconds": seconds})
    write_section(DOCS / "series.md", "weights", table(json.loads(REPORT.read_text())["results"]))
    print(table(results))


if __name__ == "__main__":
    main()
