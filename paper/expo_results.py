"""The tables of the study of ExpO's tables, from its reports: python -m paper.expo_results"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from paper.expo import PUBLISHED, REPORTS, name_of
from paper.runs import ROOT, half_width, load_config, read_reports, write_section

README = ROOT / "paper" / "README.md"
Reports = Mapping[str, Mapping[str, Any]]
DEEP, GAME = 0, 1


def finals(reports: Reports, data: str) -> list[Mapping[str, Any]]:
    """The reports of a table's trials."""
    found = (reports.get(f"{name_of(data)}-trial{trial}") for trial in range(len(reports)))
    return [report for report in found if report is not None]


def values(trials: Sequence[Mapping[str, Any]], model: int, *path: str) -> np.ndarray:
    """One measure of a model in all trials."""
    result = []
    for trial in trials:
        content: Any = trial["results"][model]
        for key in path:
            content = content[key]
        result.append(float(content))
    return np.array(result)


def goals_table(config: dict[str, Any], reports: Reports) -> str:
    """Each table against ExpO's numbers: means over trials, and whether the three goals hold."""
    lines = [
        "| table | error: none → ExpO | DEEP → GAME | not above ExpO's | LIME's neighborhood fidelity: none → ExpO "
        "| DEEP → GAME | below ExpO's | witnesses, held out: DEEP → GAME | above 0.9 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for data in config["data"]:
        trials = finals(reports, data)
        theirs = PUBLISHED[data.partition(",")[0]]
        error = [values(trials, model, "error").mean() for model in (DEEP, GAME)]
        lime = [values(trials, model, "lime", "neighborhood").mean() for model in (DEEP, GAME)]
        held_out = [values(trials, model, "witnesses", "near", "explained").mean() for model in (DEEP, GAME)]
        half = half_width(values(trials, GAME, "error"))
        lines.append(
            f"| {data} | {theirs['error'][0]:.3f} → {theirs['error'][1]:.3f} "
            f"| {error[0]:.3f} → {error[1]:.3f} ± {half:.3f} | {verdict(error[1] <= theirs['error'][1])} "
            f"| {theirs['neighborhood'][0]:.3g} → {theirs['neighborhood'][1]:.2g} | {lime[0]:.3f} → {lime[1]:.4f} "
            f"| {verdict(lime[1] < theirs['neighborhood'][1])} "
            f"| {held_out[0]:.3f} → {held_out[1]:.3f} | {verdict(held_out[1] > 0.9)} |"
        )
    return "\n".join(lines)


def verdict(holds: bool) -> str:
    return "yes" if holds else "**no**"


def measures_table(config: dict[str, Any], reports: Reports) -> str:
    """All measures, DEEP and GAME below each other."""
    columns: dict[str, tuple[Callable[[float], str], tuple[str, ...]]] = {
        "error": (lambda v: f"{v:.3f}", ("error",)),
        "local variance of f": (lambda v: f"{v:.4f}", ("lime", "variance")),
        "LIME: point": (lambda v: f"{v:.4f}", ("lime", "point")),
        "neighborhood": (lambda v: f"{v:.4f}", ("lime", "neighborhood")),
        "stability": (lambda v: f"{v:.4f}", ("lime", "stability")),
        "explained": (lambda v: f"{v:.2f}", ("lime", "explained")),
        "witnesses at 0.1: explained": (lambda v: f"{v:.3f}", ("witnesses", "near", "explained")),
        "at 1: explained": (lambda v: f"{v:.3f}", ("witnesses", "wide", "explained")),
    }
    lines = [
        f"| table | model | {' | '.join(columns)} | ExpO: LIME explained |",
        f"|---|---|{'---|' * (len(columns) + 1)}",
    ]
    for data in config["data"]:
        trials = finals(reports, data)
        theirs = PUBLISHED[data.partition(",")[0]]["explained"]
        for model, label in ((DEEP, "DEEP"), (GAME, "GAME")):
            shown = [write_number(values(trials, model, *path).mean()) for write_number, path in columns.values()]
            lines.append(f"| {data if model == DEEP else ''} | {label} | {' | '.join(shown)} | {theirs[model]:.2g} |")
    return "\n".join(lines)


def settings_table(config: dict[str, Any], reports: Reports) -> str:
    """What the validation parts have chosen."""
    lines = ["| table | rows | columns | trials | network | game | weight |", "|---|---|---|---|---|---|---|"]
    for data in config["data"]:
        trials = finals(reports, data)
        model = trials[0]["config"]["models"][GAME]
        kind = "held-out" if model["game"]["held_out"] else "in-sample"
        lines.append(
            f"| {data} | {sum(trials[0]['rows'].values()):,} | {trials[0]['columns']} | {len(trials)} "
            f"| {model['activation']}, noise {model['noise']:g} | {kind} | {model['game']['weight']:g} |"
        )
    return "\n".join(lines)


def conditions(config: dict[str, Any], reports: Reports) -> str:
    """How the reports came about."""
    seconds = sum(r["training_processor_seconds"] for report in reports.values() for r in report["results"])
    return (
        f"Size `{config['size']}`: {config['steps']} steps of {config['batch_size']} rows, {config['members']} "
        f"perceptrons of {config['depth']} layers of {config['width']}, explanations measured at {config['rows']} test "
        f"rows of each trial, LIME with {config['lime_samples']:,} samples. {len(reports)} reports, "
        f"{seconds / 60:.0f} minutes of one core for the trainings; commits "
        f"{', '.join(sorted({str(report['commit'])[:12] for report in reports.values()}))}."
    )


def write(config: dict[str, Any], folder: Path) -> None:
    """Write all sections into the README."""
    reports = read_reports(folder)
    for mark, text in (
        ("conditions", conditions(config, reports)),
        ("goals", goals_table(config, reports)),
        ("measures", measures_table(config, reports)),
        ("settings", settings_table(config, reports)),
    ):
        print(f"{text}\n")
        write_section(README, f"expo: {mark}", text)


def main() -> None:
    write(load_config("expo", "cpu"), REPORTS / "cpu")


if __name__ == "__main__":
    main()
