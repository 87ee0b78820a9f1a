"""All models of the toxicity study side by side: what the validation sets chose from, and differences from DEEP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from paper.runs import mean_difference
from paper.tox21 import (
    chosen_margin,
    chosen_weight,
    name_of,
    played_cells,
    seed_cells,
    seeds_of,
    strict_cells,
    uniform_cell,
)

NOT_RUN = "Not run yet."


@final
class Study:
    """The reports of one size, and what the validation sets chose; of as many seeds as are finished."""

    def __init__(self, config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> None:
        self.config, self.reports = config, reports
        self.weight, self.margin = chosen_weight(config, reports), chosen_margin(config, reports)
        self.cells: dict[str, str | None] = {
            "DEEP": "deep",
            "GAME, symmetric": None if self.weight is None else f"symmetric-{self.weight:g}",
            "GAME, uniform": None if self.margin is None else f"uniform-{self.margin:g}",
        }

    def report(self, name: str, seed: int) -> Mapping[str, Any]:
        return self.reports[f"{name}-seed{seed}"]

    def first(self, name: str) -> Mapping[str, Any] | None:
        """The report of the first seed."""
        return self.reports.get(f"{name}-seed{self.config['seeds'][0]}")

    def seeds(self, name: str) -> list[int]:
        """The seeds that were run, DEEP included."""
        return seeds_of(self.config, self.reports, name)

    def scores(self, name: str, measure: str, family: str = "trees", part: str = "test") -> np.ndarray:
        """One per seed."""
        found = [self.report(name, seed)[part][family][measure] for seed in self.seeds(name)]
        return np.array(found, dtype=float)

    def gains(self, name: str, measure: str, family: str = "trees", than: str = "deep") -> np.ndarray:
        """Over DEEP, or another model, with the same seed, one per seed."""
        seeds = [seed for seed in self.seeds(name) if seed in self.seeds(than)]
        pairs = [[self.report(model, s)["test"][family][measure] for s in seeds] for model in (name, than)]
        ours, theirs = np.array(pairs, dtype=float)
        return np.asarray(ours - theirs)

    def by_delta(self, model: str, delta: int) -> float | None:
        """AUC_D of the first seed with trees of another size."""
        name = self.cells["DEEP" if model == "DEEP" else "GAME, symmetric"]
        report = None if name is None else self.first(f"{name}-delta{delta}" if model == "GAME" and delta else name)
        return None if report is None else float(report["global_auc_by_delta"][str(delta)])

    def games(self) -> dict[str, str]:
        """The titles of all games that have been played, by name; those with the most seeds of a kind first."""
        seed = self.config["seeds"][0]
        cells = [cell for cell in seed_cells(self.config, seed, self.config["margins"]) if cell["kind"] == "game"]
        names = {name_of(cell): cell for cell in cells}
        return {name: title(cell) for name, cell in names.items() if self.seeds(name)}

    def is_chosen(self, name: str) -> bool:
        return name != "deep" and name in self.cells.values()


def title(cell: Mapping[str, Any]) -> str:
    """What a game is called in the tables."""
    if cell["game"] == "uniform":
        faster = f", rate {cell['multiplier_rate']:g}, {cell['members']} members" if "-rate-" in cell["name"] else ""
        return f"uniform, δ = {cell['margin']:g}{faster}"
    kind = "contributions, held out" if cell["witness"] == "contributions" else "trees, held out"
    return f"{kind if cell['held_out_game'] else 'symmetric'}, λ = {cell['weight']:g}"


def gains(study: Study) -> str:
    """Differences from DEEP with the same seed: most of the spread is the split's."""
    measures = {
        "AUC(f, y)": ("accuracy", "trees"),
        "AUC(ĝ, y)": ("witness_accuracy", "trees"),
        "AUC_B": ("local_auc", "trees"),
        "AUC_B, far pairs": ("far_auc", "trees"),
        "AUC_D": ("global_auc", "trees"),
        "TV": ("variation", "trees"),
        "explained where fitted": ("explained", "trees"),
        "held out: trees": ("held_out", "trees"),
        "held out: contributions": ("held_out", "contributions"),
    }
    rows = [f"| GAME minus DEEP | seeds | {' | '.join(measures)} |", "|---|---|" + "---|" * len(measures)]
    for name, text in study.games().items():
        found = [mean_difference(study.gains(name, *where)) for where in measures.values()]
        mark = " (chosen)" if study.is_chosen(name) else ""
        rows.append(f"| {text}{mark} | {len(study.seeds(name))} | {' | '.join(found)} |")
    return "\n".join(rows) if len(rows) > 2 else NOT_RUN


def models(study: Study) -> str:
    """Every model by the trees of the paper, and by contributions; means over its seeds, on the test molecules."""
    rows = [
        "| model | seeds | AUC(f, y) | AUC_D: trees | contributions | explained where fitted: trees | contributions "
        "| held out: trees | contributions | bound: trees | contributions | processor time |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    if not study.seeds("deep"):
        return NOT_RUN
    for name, text in {"deep": "DEEP", **study.games()}.items():
        found = [f"{study.scores(name, 'accuracy').mean():.3f}"]
        found += [
            f"{study.scores(name, measure, family).mean():.3f}"
            for measure in ("global_auc", "explained", "held_out", "bound")
            for family in ("trees", "contributions")
        ]
        rows.append(f"| {text} | {len(study.seeds(name))} | {' | '.join(found)} | {_time(study, name)} |")
    return "\n".join(rows)


def _time(study: Study, name: str) -> str:
    """An epoch's processor time, in units of DEEP's."""
    ratios = [_epoch(study.report(name, seed)) / _epoch(study.report("deep", seed)) for seed in study.seeds(name)]
    return f"{np.mean(ratios):.1f}x"


def _epoch(report: Mapping[str, Any]) -> float:
    return float(report["training_processor_seconds"] / report["config"]["epochs"])


def plays(study: Study) -> str:
    """What more play brings, and costs, with the first seed: a share of a batch's neighborhoods, and their members."""
    c, deep = study.config, study.first("deep")
    measures = {
        "AUC(f, y)": ("accuracy", "trees"),
        "AUC_B": ("local_auc", "trees"),
        "AUC_B, far pairs": ("far_auc", "trees"),
        "AUC_D": ("global_auc", "trees"),
        "TV": ("variation", "trees"),
        "held out: trees": ("held_out", "trees"),
        "held out: contributions": ("held_out", "contributions"),
    }
    rows = [f"| game | neighborhoods in a step | members | {' | '.join(measures)} | processor time |"]
    rows.append("|---|---|---|" + "---|" * (len(measures) + 1))
    if deep is None:
        return NOT_RUN
    for cell in played_cells(c):
        usual = {"name": name_of(cell).partition("-play-")[0], "share": c["share"], "members": c["members"]}
        for played in usual, {**cell, "name": name_of(cell)}:
            if (report := study.first(played["name"])) is not None:
                found = [f"{report['test'][family][measure]:.3f}" for measure, family in measures.values()]
                amount = [f"{100 * played['share']:g} %", str(played["members"])]
                time = f"{_epoch(report) / _epoch(deep):.1f}x"
                rows.append(f"| {' | '.join([title(cell), *amount, *found, time])} |")
    return "\n".join(rows) if len(rows) > 2 else NOT_RUN


def sweep(study: Study) -> str:
    """What the validation sets chose from: weights by means over the seeds that have them all, margins by the first."""
    if study.weight is None:
        return NOT_RUN
    measures = {"accuracy": "AUC(f, y)", "local_auc": "AUC_B", "global_auc": "AUC_D", "variation": "TV"}
    rows = [f"| model | seeds | {' | '.join(measures.values())} |", "|---|---|" + "---|" * len(measures)]
    weights = {f"symmetric-{w:g}": f"symmetric, λ = {w:g}" for w in sorted(study.config["weights"])}
    shared = [s for s in study.seeds("deep") if all(s in study.seeds(name) for name in weights)]
    margins = {"deep": "DEEP"} | {f"uniform-{m:g}": f"uniform, δ = {m:g}" for m in sorted(study.config["margins"])}
    for names, seeds in (({"deep": "DEEP"} | weights, shared), (margins, study.config["seeds"][:1])):
        for name, text in names.items():
            if not all(seed in study.seeds(name) for seed in seeds):
                continue
            found = [np.mean([study.report(name, s)["validation"]["trees"][m] for s in seeds]) for m in measures]
            mark = " (chosen)" if study.is_chosen(name) else ""
            rows.append(f"| {text}{mark} | {len(seeds)} | {' | '.join(f'{value:.3f}' for value in found)} |")
    return "\n".join(rows)


def uniform(study: Study) -> str:
    """What strictness costs: deviations of training neighborhoods by margin, accuracy and AUC_B beside them."""
    rows = [
        "| model | rate of the multipliers | members in a step | seeds | training TV: median | 90 % | 99 % | largest "
        "| above the margin | AUC(f, y) | AUC(f, y) against DEEP | AUC_B | AUC_B, far pairs | AUC_D |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    c, seed = study.config, study.config["seeds"][0]
    games = [*(uniform_cell(c, seed, margin) for margin in sorted(c["margins"])), *strict_cells(c, seed)]
    margins = {name_of(game): game["margin"] for game in games}
    played = {name_of(game): (f"{game['multiplier_rate']:g}", str(game["members"])) for game in games}
    for name, text in {"deep": "DEEP", **{name: f"δ = {margin:g}" for name, margin in margins.items()}}.items():
        if not study.seeds(name):
            continue
        found = [np.array(study.report(name, seed)["training"]["variations"]) for seed in study.seeds(name)]
        quantiles = [f"{np.mean([np.quantile(v, q) for v in found]):.3f}" for q in (0.5, 0.9, 0.99, 1.0)]
        above = f"{np.mean([np.mean(v > margins[name]) for v in found]):.1%}" if name in margins else ""
        against = "" if name == "deep" else mean_difference(study.gains(name, "accuracy"))
        accuracy, *others = (
            f"{study.scores(name, m).mean():.3f}" for m in ("accuracy", "local_auc", "far_auc", "global_auc")
        )
        cells = [text, *played.get(name, ("", "")), str(len(found)), *quantiles, above, accuracy, against, *others]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) if len(rows) > 2 else NOT_RUN


def local(study: Study) -> str:
    """What AUC_B sees and what it does not, in neighborhoods with analogs and of real molecules."""
    rows = [
        "| model | members | seeds | more than 2 members | median of those | largest leaf | AUC_B | AUC_B, far pairs "
        "| pairs that are far | variance that trees account for | TV |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    names: dict[str, str] = {"deep": "DEEP"} | study.games()
    for name, text in names.items():
        if study.seeds(name):
            found = [(study.report(name, s)["test"]["trees"], study.report(name, s)["neighborhoods"])
                     for s in study.seeds(name)]  # fmt: skip
            rows.append(_local_row(text, "analogs", found))
    pool = study.first("pool") or {"config": {"models": []}}
    for model in pool["config"]["models"]:
        name = model.rpartition("-seed")[0]
        around = f"real molecules, {pool['pool']:,} more of them"
        rows.append(_local_row(names.get(name, name), around, [(pool[model]["trees"], pool["neighborhoods"])]))
    return "\n".join(rows) if len(rows) > 2 else NOT_RUN


def _local_row(text: str, members: str, found: list[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    def mean(measure: str, of: int = 0) -> float:
        return float(np.mean([np.nan if pair[of][measure] is None else pair[of][measure] for pair in found]))

    return (
        f"| {text} | {members} | {len(found)} | {mean('share_above_2', 1):.0%} | {mean('median_above_2', 1):g} | "
        f"{mean('largest_leaf'):.0%} | {mean('local_auc'):.3f} | {mean('far_auc'):.3f} | {mean('far_pairs'):.0%} | "
        f"{mean('explained'):.1%} | {mean('variation'):.4f} |"
    )
