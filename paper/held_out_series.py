"""Explanations at the next step: the held-out and the in-sample game on the bearings of the second IMS test.

`python -m paper.held_out_series` trains a network without a game, and with the games {in-sample, held-out} x weights,
on a share of the sequences, for several seeds, with a report each in `paper/held_out_series/`. Each is measured by
the same autoregressive laws, at steps whose values the law has not seen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from paper.bearing import sequences
from paper.held_out import LEVEL
from paper.runs import ROOT, Cell, load_config, matching, mean_difference, read_reports, run_cells, show, study_parser

REPORTS = ROOT / "paper" / "held_out_series"


def cells(config: dict[str, Any]) -> list[Cell]:
    """A network without a game and all games, for each seed."""
    shared = {name: value for name, value in config.items() if name not in ("seeds", "weights", "game")}
    games: list[dict[str, Any]] = [{"game": None, "weight": 0.0, "held_out_game": False}]
    games += [
        {"game": config["game"], "weight": weight, "held_out_game": held_out}
        for weight in config["weights"]
        for held_out in (True, False)
    ]
    return [
        {**shared, **game, "name": f"{name_of(game)}-seed{seed}", "seed": seed}
        for seed in config["seeds"]
        for game in games
    ]


def name_of(game: Mapping[str, Any]) -> str:
    """The name of a game's reports, without the seed."""
    if game["game"] is None:
        return "deep"
    return f"{'held-out' if game['held_out_game'] else 'in-sample'}-{game['weight']:g}"


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    from pellucid.series import Forecaster

    torch.set_num_threads(1)  # cells run side by side
    parts = sequences(cell)
    settings = ("context", "horizon", "order", "radius", "game", "weight", "held_out_game", "ridge", "width")
    training = ("epochs", "batch_size", "learning_rate", "patience", "seed")
    model = Forecaster(**{name: cell[name] for name in (*settings, *training)})
    start = time.process_time()
    model.fit(parts["train"], validation=parts["validation"], progress=False)
    seconds = time.process_time() - start
    results: dict[str, Any] = {}
    for part in ("validation", "test"):
        scores, laws = model.evaluate(parts[part]), model.held_out(parts[part], seed=1)
        gaps = model.in_units(laws.gaps) / model.scaling_.scale
        results[part] = {
            "relative_error": scores.relative_error,
            "fitted": 1 - scores.relative_deviation**2,
            "held_out": float(np.mean(laws.explained())),
            "gap": float(np.quantile(np.abs(gaps[np.isfinite(gaps)]), LEVEL)),
        }
    return {
        "training_processor_seconds": round(seconds, 1),
        "sequences": {name: len(part) for name, part in parts.items()},
        "epochs_trained": len(model.history_),
        **results,
    }


def table_of(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each network: means over the seeds, and the paired difference of the error with its 95 % interval."""
    rows = [
        "| network | validation: relative error | test | against DEEP | held out: variance explained | where fitted "
        "| 90 % of held-out gaps below |",
        "|---|---|---|---|---|---|---|",
    ]

    def values(name: str, part: str, measure: str) -> np.ndarray:
        return np.array([reports[f"{name}-seed{seed}"][part][measure] for seed in config["seeds"]])

    for name in dict.fromkeys(name_of(cell) for cell in cells(config)):
        errors, deep = (values(one, "test", "relative_error") for one in (name, "deep"))
        shown = [
            f"{values(name, 'validation', 'relative_error').mean():.3f}",
            f"{errors.mean():.3f}",
            "" if name == "deep" else mean_difference(errors - deep),
            *(f"{values(name, 'test', measure).mean():.3f}" for measure in ("held_out", "fitted", "gap")),
        ]
        rows.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(rows)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"), jobs=2)
    arguments = parser.parse_args(words)
    config = load_config("held_out_series", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        run_cells(matching(cells(config), arguments.only), run, folder, arguments.jobs)
    show({"held-out: bearing": table_of(config, read_reports(folder))}, arguments, REPORTS)


if __name__ == "__main__":
    main()
