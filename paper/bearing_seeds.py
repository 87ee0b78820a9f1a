"""Table 3's first columns, trained for longer, with three seeds: `python -m paper.bearing_seeds`.

For each seed (split, initialization, order of the data): DEEP and the asymmetric game at the paper's λ = 0.1 and 1, in
several passes over all sequences; two linear laws for everything, of two values and of the whole context; and the same
network with a linear path beside it, which begins as the second of these laws. Further cells of the first seed show
what shorter and longer training give. Each cell leaves a report in `paper/bearing_seeds/<size>/`; an interrupted call
goes on where it stopped, in mid-training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from paper import bearing
from paper.claims import Claim, table_of, verdict
from paper.runs import (
    ROOT,
    Cell,
    load_config,
    matching,
    mean_difference,
    mean_interval,
    not_run,
    read_reports,
    run_cells,
    show,
    study_parser,
)

REPORTS = ROOT / "paper" / "bearing_seeds"
README = ROOT / "paper" / "README.md"
# The paper's numbers at λ = 0, 0.1, 1 and of AR, times 100.
PUBLISHED = {
    "error": {"deep": 8.136, "asymmetric-0.1": 8.057, "asymmetric-1": 8.309, "ar": 9.832},
    "deviation": {"deep": 4.197, "asymmetric-0.1": 4.178, "asymmetric-1": 3.431},
    "variation": {"deep": 7.341, "asymmetric-0.1": 7.197, "asymmetric-1": 5.706},
    "held_out_deviation": {},
}
_DISTANCES = ("held_out_deviation", "deviation", "variation")
TITLES = {
    "ar": "one law of two values (AR)",
    "law": "one law of the context's 80 values",
    "deep": "DEEP",
    "asymmetric-0.1": "GAME, λ = 0.1",
    "asymmetric-1": "GAME, λ = 1",
    "linear-path": "DEEP with a linear path",
}


def cells(config: dict[str, Any]) -> list[Cell]:
    """All cells, those of the first seed first."""
    shared = {name: value for name, value in config.items() if name not in ("seeds", "longer", "weight_of_lambda")}
    factor = config["weight_of_lambda"]

    def cell(name: str, seed: int, strength: float = 0.0, **other: Any) -> Cell:
        game = "asymmetric" if strength else None
        settings = {"game": game, "weight": factor * strength, "linear": 0}
        return {**shared, **settings, "name": f"{name}-seed{seed}", "seed": seed, **other}

    def of_seed(seed: int) -> Iterator[Cell]:
        yield cell("ar", seed)
        yield cell("law", seed, linear=config["context"])
        yield cell("deep", seed)
        yield cell("asymmetric-0.1", seed, 0.1)
        yield cell("asymmetric-1", seed, 1.0)
        yield cell("linear-path", seed, linear=config["context"])

    first = config["seeds"][0]
    longer = [cell(f"deep-{epochs}-epochs", first, epochs=epochs) for epochs in config["longer"]]
    return [every for seed in config["seeds"] for every in of_seed(seed)] + longer


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    parts = bearing.sequences(cell)
    kind = cell["name"].partition("-seed")[0]
    counts = {"sequences": {name: len(part) for name, part in parts.items()}}
    if kind == "ar":
        return {**counts, **bearing.autoregression(cell, parts)}
    if kind == "law":
        return {**counts, **law(cell, parts)}
    bearing.train(cell, parts)
    return {**counts, **bearing.measure(cell, parts)}


def law(cell: Cell, parts: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """One linear law of the whole context, by least squares on all training sequences."""
    from pellucid.series.linear_law import Moments

    context, horizon = cell["context"], cell["horizon"]
    shift, scale = parts["train"].mean((0, 1)), parts["train"].std((0, 1))
    standardized = {name: (part - shift) / scale for name, part in parts.items()}
    # A little ridge: neighboring values of one channel are nearly the same.
    every = len(parts["train"]) * horizon
    fitted = Moments.of(list(standardized["train"]), context, most=every).law(context, 1e-3)
    results: dict[str, Any] = {}
    for name in ("validation", "test"):
        z = standardized[name]
        missed = (fitted.forecast(z[:, :context], horizon) - z[:, context:]) * scale
        relative = fitted.errors(z, horizon)
        results[name] = {
            "error": float(np.sqrt(np.square(missed).mean())),
            "relative_error": relative.rolled_out,
            "relative_error_one_step": relative.one_step,
        }
    return results


def errors(reports: Mapping[str, Mapping[str, Any]], kind: str, part: str = "test", measure: str = "error") -> Any:
    """Of the seeds that have been run, times 100, by seed."""
    by_seed = {
        report["config"]["seed"]: 100 * float(report[part][measure])
        for name, report in reports.items()
        if name.partition("-seed")[0] == kind and measure in report[part]
    }
    return dict(sorted(by_seed.items()))


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each model: its errors by seed, and the differences from DEEP with the same seed."""
    rows = [
        "| | the paper: error ×10⁻² | error, by seed | mean | against DEEP, paired | held-out variance explained "
        "| held-out deviation ×10⁻² | deviation where fitted | TV | best epoch |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    deep = errors(reports, "deep")
    for kind, title in TITLES.items():
        ours = errors(reports, kind)
        if not ours:
            continue
        published = f"{PUBLISHED['error'][kind]:.3f}" if kind in PUBLISHED["error"] else ""
        against = "" if kind == "deep" else mean_difference([ours[seed] - deep[seed] for seed in ours if seed in deep])
        explained = mean_text(errors(reports, kind, measure="held_out_variance_explained"), unit=0.01)
        others = [mean_text(errors(reports, kind, measure=measure)) for measure in _DISTANCES]
        mine = [report for name, report in reports.items() if name.partition("-seed")[0] == kind]
        kept = ", ".join(str(best_epoch(report)) for report in mine if "history" in report)
        by_seed = ", ".join(f"{value:.3f}" for value in ours.values())
        cells = [title, published, by_seed, mean_text(ours), against, explained, *others, kept]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + f"\n\n{conditions(config, reports)}" if deep else "Not run yet."


def mean_text(values: Mapping[int, float], unit: float = 1.0) -> str:
    """The mean over the seeds, if there are any."""
    return f"{unit * np.mean(list(values.values())):.3f}" if values else ""


def best_epoch(report: Mapping[str, Any]) -> int:
    """The epoch whose network was kept."""
    return 1 + int(np.argmin([epoch["validation_loss"] for epoch in report["history"]]))


def claims(reports: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """What the paper says of these columns, and what is asked for, with intervals over the seeds."""

    def values(kind: str, measure: str = "error") -> dict[int, float]:
        return dict(errors(reports, kind, measure=measure))

    def gaps(kind: str, than: str, measure: str = "error") -> np.ndarray:
        ours, theirs = values(kind, measure), values(than, measure)
        return np.array([ours[seed] - theirs[seed] for seed in ours if seed in theirs])

    def published(kind: str, than: str, measure: str) -> str:
        known = PUBLISHED[measure]
        return f"{known[kind] - known[than]:+.3f}" if kind in known and than in known else ""

    def lower(text: str, kind: str, than: str, measure: str = "error", sign: int = 1) -> Claim:
        found = gaps(kind, than, measure)
        return Claim(text, published(kind, than, measure), mean_difference(found), verdict(-sign * found))

    deep = np.array(list(values("deep").values()))
    if not len(deep):
        return []
    game, paper = "λ = 0.1", PUBLISHED["error"]["deep"]
    # Test sets differ in how hard they are; divided by AR's error on the same sequences, ours and the paper's do less.
    ar = values("ar")
    relative = np.array([error / ar[seed] for seed, error in values("deep").items() if seed in ar])
    paper_relative = paper / PUBLISHED["error"]["ar"]
    return [
        Claim(f"DEEP's error is at most the paper's {paper}", f"{paper}", mean_interval(deep), verdict(paper - deep)),
        Claim(
            "DEEP's error divided by AR's on the same sequences is at most the paper's", f"{paper_relative:.3f}",
            mean_interval(relative), verdict(paper_relative - relative),
        ),
        lower(f"{game} forecasts better than DEEP", "asymmetric-0.1", "deep"),
        lower("λ = 1 forecasts worse than DEEP", "asymmetric-1", "deep", sign=-1),
        lower(f"{game} deviates less than DEEP (where fitted, as in the paper)", "asymmetric-0.1", "deep", "deviation"),
        lower("λ = 1 deviates less than DEEP (where fitted)", "asymmetric-1", "deep", "deviation"),
        lower("λ = 1 deviates less than DEEP at steps that laws have not seen", "asymmetric-1", "deep",
              "held_out_deviation"),
        lower(f"TV falls at {game}", "asymmetric-0.1", "deep", "variation"),
        lower("TV falls at λ = 1", "asymmetric-1", "deep", "variation"),
        lower("DEEP forecasts better than AR", "deep", "ar"),
        lower("DEEP forecasts better than one linear law of the context", "deep", "law"),
        lower("A linear path beside the network makes it better", "linear-path", "deep"),
    ]  # fmt: skip


def epochs_table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """DEEP's errors after trainings of different lengths, first seed."""
    seed = config["seeds"][0]
    names = {f"deep-{epochs}-epochs-seed{seed}": epochs for epochs in config["longer"]}
    found = {epochs: reports[name] for name, epochs in names.items() if name in reports}
    if (main := reports.get(f"deep-seed{seed}")) is not None:
        found[config["epochs"]] = main
    if not found:
        return "Not run yet."
    rows = ["| passes over the data | validation error ×10⁻² | test error ×10⁻² |", "|---|---|---|"]
    rows += [
        f"| {epochs} | {100 * report['validation']['error']:.3f} | {100 * report['test']['error']:.3f} |"
        for epochs, report in sorted(found.items())
    ]
    return "\n".join(rows)


def conditions(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """How the numbers came about."""
    commits = sorted({str(report["commit"])[:12] for report in reports.values()})
    hours = sum(report["wall_seconds"] for report in reports.values()) / 3600
    parts = next(iter(reports.values()))["sequences"]
    return (
        f"{sum(parts.values()):,} sequences ({config['share']:.0%} of the data), {config['epochs']} passes, batches of "
        f"{config['batch_size']}, peak rate {config['learning_rate']:g}, width {config['width']}, "
        f"{'LSTM trained in bfloat16, ' if config['mixed'] else ''}measured in float32; seeds "
        f"{', '.join(map(str, config['seeds']))}. {len(reports)} cells, {hours:.1f} hours of one core in all, commit"
        f"{'s' if len(commits) > 1 else ''} {', '.join(commits)}.{not_run(cells(config), reports)}"
    )


def sections(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What is written into the README, by the mark where it goes."""
    return {
        "bearing: seed claims": table_of([claim for claim in claims(reports) if claim.ours])
        if reports
        else "Not run yet.",
        "bearing: three seeds": table(config, reports),
        "bearing: epochs": epochs_table(config, reports),
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS)
    arguments = parser.parse_args(words)
    config = load_config("bearing_seeds", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        run_cells(matching(cells(config), arguments.only), run, folder, arguments.jobs)
    show(sections(config, read_reports(folder)), arguments, REPORTS)


if __name__ == "__main__":
    main()
