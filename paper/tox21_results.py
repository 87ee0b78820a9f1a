"""Tables and figures of the toxicity study from its reports: `python -m paper.tox21_results`.

Writes the tables into `paper/README.md` and the figures into `paper/tox21/`. Nothing is trained or measured here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.runs import ROOT, SIZES, load_config, read_reports, save_figure, write_section
from paper.tox21 import REPORTS, chosen

from pellucid.molecules import TreeExplanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

README = ROOT / "paper" / "README.md"
MEASURES = {
    "accuracy": "AUC(f, y)",
    "witness_accuracy": "AUC(ĝ, y)",
    "local_auc": "AUC_B(ĝ, f)",
    "global_auc": "AUC_D(ĝ, f)",
}
# The paper's Table 1, in the order of MEASURES.
TABLE1 = {
    "DEEP": (0.815, 0.818, 0.735, 0.922),
    "GAME, symmetric": (0.826, 0.824, 0.759, 0.967),
    "GAME, uniform": (0.744, 0.742, 0.764, 0.959),
}
VANILLA = 0.617
DELTAS = (0, -1, -2, -3)
TABLE2 = {"GAME": (0.967, 0.967, 0.964, 0.958), "DEEP": (0.922, 0.916, 0.915, 0.914)}
COLORS = {"DEEP": "#777777", "GAME, symmetric": "#2a7f3f", "GAME, uniform": "#b5651d"}
Reports = Mapping[str, Mapping[str, Any]]


class Study:
    """The reports of one size, and what the validation set chose."""

    def __init__(self, config: dict[str, Any], reports: dict[str, dict[str, Any]]) -> None:
        self.config, self.reports = config, reports
        self.choice = chosen(config, reports)
        self.cells = {
            "DEEP": "deep",
            "GAME, symmetric": f"symmetric-{self.choice['weight']:g}",
            "GAME, uniform": f"uniform-{self.choice['margin']:g}",
        }

    def seeds(self, name: str) -> list[int]:
        """The seeds that were run."""
        return [seed for seed in self.config["seeds"] if f"{name}-seed{seed}" in self.reports]

    def scores(self, name: str, measure: str) -> np.ndarray:
        """Of the test, one per seed."""
        found = [self.reports[f"{name}-seed{seed}"]["test"][measure] for seed in self.seeds(name)]
        return np.array(found, dtype=float)

    def gains(self, name: str, measure: str) -> np.ndarray:
        """Over DEEP with the same seed, one per seed."""
        seeds = [f"seed{seed}" for seed in self.seeds(name)]
        return np.array(
            [
                self.reports[f"{name}-{seed}"]["test"][measure] - self.reports[f"deep-{seed}"]["test"][measure]
                for seed in seeds
            ]
        )

    def by_delta(self, model: str, delta: int) -> float:
        """AUC_D of the first seed with trees of another size."""
        seed = self.config["seeds"][0]
        if model == "DEEP":
            report, key = self.reports[f"deep-seed{seed}"], str(delta)
        else:
            suffix = "" if delta == 0 else f"-delta{delta}"
            report, key = self.reports[f"{self.cells['GAME, symmetric']}{suffix}-seed{seed}"], str(delta)
        return float(report["test_by_delta"][key]["global_auc"])


def spread(values: np.ndarray) -> str:
    """Mean and, of several, the standard deviation."""
    return f"{values.mean():.3f}" + (f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else "")


def conditions(study: Study) -> str:
    first = study.reports[f"deep-seed{study.config['seeds'][0]}"]
    hoods, c = first["neighborhoods"], study.config
    hours = sum(report["wall_seconds"] for report in study.reports.values()) / 3600
    commits = sorted({str(report["commit"])[:12] for report in study.reports.values()})
    counts = first["molecules"]
    share, median, largest = (hoods[key] for key in ("share_above_2", "median_above_2", "largest"))
    several = "commits" if len(commits) > 1 else "commit"
    later = {str(r["measured_by_commit"])[:12] for r in study.reports.values() if "measured_by_commit" in r}
    measured = f"; models measured again by {', '.join(sorted(later))}" if later else ""
    return (
        f"Size `{c['size']}`: {sum(counts.values()):,} molecules ({counts['train']:,} for training, "
        f"{counts['validation']:,} for validation, {counts['test']:,} for the test; {first['left_out']} rows of the "
        f"file left out), width {c['width']}, depth {c['depth']}, {c['epochs']} epochs, batches of {c['batch_size']}, "
        f"peak rate {c['learning_rate']:g}. In a step of a game {100 * c['share']:g} % of the batch's neighborhoods "
        f"play, with at most {c['members']} members each, chosen at random; all scores use whole neighborhoods. Test "
        f"neighborhoods: {share:.0%} have more than 2 members, the median of those is {median:g}, the largest has "
        f"{largest} (the paper: about 60 %, 59, 300). Seeds {', '.join(map(str, c['seeds']))} change split, "
        f"initialization and order. {len(study.reports)} cells, {hours:.1f} hours of one core in all; torch "
        f"{first['versions']['torch']}, {several} {', '.join(commits)}{measured}."
    )


def sweep(study: Study) -> str:
    """What the validation set chose from."""
    seed = study.config["seeds"][0]
    rows = ["| model | " + " | ".join(MEASURES.values()) + " | TV |", "|---|---|---|---|---|---|"]
    names = {"deep": "DEEP"}
    names |= {f"symmetric-{w:g}": f"symmetric, λ = {w:g}" for w in study.config["weights"]}
    names |= {f"uniform-{m:g}": f"uniform, δ = {m:g}" for m in study.config["margins"]}
    for name, title in names.items():
        scores = study.reports[f"{name}-seed{seed}"]["validation"]
        mark = " (chosen)" if name in study.cells.values() and name != "deep" else ""
        cells = " | ".join(f"{scores[measure]:.3f}" for measure in MEASURES)
        rows.append(f"| {title}{mark} | {cells} | {scores['variation']:.4f} |")
    return "\n".join(rows)


def table1(study: Study) -> str:
    rows = ["| model | | " + " | ".join(MEASURES.values()) + " | TV | seeds |", "|---|---|---|---|---|---|---|---|"]
    for title, name in study.cells.items():
        rows.append(f"| {title} | paper | " + " | ".join(f"{value:.3f}" for value in TABLE1[title]) + " |  |  |")
        ours = " | ".join(spread(study.scores(name, measure)) for measure in MEASURES)
        variation = study.scores(name, "variation")
        rows.append(f"|  | **ours** | {ours} | {variation.mean():.4f} | {len(variation)} |")
    tree = study.scores("tree", "accuracy")
    rows.append(f"| vanilla tree | paper | {VANILLA:.3f} |  |  |  |  |  |")
    rows.append(f"|  | **ours** | {spread(tree)} |  |  |  |  | {len(tree)} |")
    return "\n".join(rows)


def gains(study: Study) -> str:
    """Differences from DEEP with the same seed: most of the spread is the split's."""
    rows = ["| GAME minus DEEP | " + " | ".join(MEASURES.values()) + " | TV |", "|---|---|---|---|---|---|"]
    for title in ("GAME, symmetric", "GAME, uniform"):
        name = study.cells[title]
        cells = " | ".join(", ".join(f"{value:+.3f}" for value in study.gains(name, measure)) for measure in MEASURES)
        relative = study.scores(name, "variation") / study.scores("deep", "variation")[: len(study.seeds(name))] - 1
        rows.append(f"| {title} | {cells} | {', '.join(f'{value:+.0%}' for value in relative)} |")
    return "\n".join(rows)


def local(study: Study) -> str:
    """What AUC_B does not see."""
    seed = study.config["seeds"][0]
    rows = [
        "| model | variance inside neighborhoods that trees account for | members in the largest leaf | AUC_B | TV |",
        "|---|---|---|---|---|",
    ]
    names = {"deep": "DEEP"} | {f"symmetric-{w:g}": f"symmetric, λ = {w:g}" for w in study.config["weights"]}
    names[study.cells["GAME, uniform"]] = f"uniform, δ = {study.choice['margin']:g}"
    for name, title in names.items():
        report = study.reports[f"local-{name}-seed{seed}"]
        scores = report["test"]
        rows.append(
            f"| {title} | {scores['explained']:.1%} | {report['largest_leaf']:.0%} | {scores['local_auc']:.3f} | "
            f"{scores['variation']:.4f} |"
        )
    return "\n".join(rows)


def table2(study: Study) -> str:
    deltas = [0, *study.config["deltas"]]
    rows = ["| AUC_D(ĝ, f) | | " + " | ".join(f"Δ = {d}" for d in deltas) + " |", "|---|---|" + "---|" * len(deltas)]
    for model in ("GAME", "DEEP"):
        published = dict(zip(DELTAS, TABLE2[model], strict=True))
        rows.append(f"| {model} | paper | " + " | ".join(f"{published[d]:.3f}" for d in deltas) + " |")
        rows.append("|  | **ours** | " + " | ".join(f"{study.by_delta(model, d):.3f}" for d in deltas) + " |")
    return "\n".join(rows)


def claims(study: Study) -> list[tuple[str, str, bool]]:
    """What the paper says and what is asked for, what we found, and whether it holds."""
    deep = {measure: study.scores("deep", measure).mean() for measure in MEASURES}

    def mean(title: str, measure: str) -> float:
        return float(study.scores(study.cells[title], measure).mean())

    symmetric, uniform = ({m: mean(title, m) for m in MEASURES} for title in ("GAME, symmetric", "GAME, uniform"))
    # The uniform game was played with fewer seeds: the others are compared with it on the same ones.
    shared = len(study.seeds(study.cells["GAME, uniform"]))
    local = {title: study.scores(name, "local_auc")[:shared].mean() for title, name in study.cells.items()}
    cost = study.gains(study.cells["GAME, uniform"], "accuracy").mean()
    last = study.config["deltas"][-1]
    tree = study.scores("tree", "accuracy").mean()
    results = [
        (
            "GAME symmetric is at least as accurate as DEEP",
            f"{symmetric['accuracy']:.3f} and {deep['accuracy']:.3f}",
            symmetric["accuracy"] >= deep["accuracy"],
        ),
        (
            "GAME symmetric is more transparent locally (AUC_B)",
            f"{symmetric['local_auc']:.3f} and {deep['local_auc']:.3f}",
            symmetric["local_auc"] > deep["local_auc"],
        ),
        (
            "GAME symmetric is more transparent globally (AUC_D)",
            f"{symmetric['global_auc']:.3f} and {deep['global_auc']:.3f}",
            symmetric["global_auc"] > deep["global_auc"],
        ),
        (
            "GAME uniform is the most transparent locally (AUC_B, same seeds)",
            ", ".join(f"{title} {value:.3f}" for title, value in local.items()),
            local["GAME, uniform"] > max(local["GAME, symmetric"], local["DEEP"]),
        ),
        (
            "GAME uniform costs accuracy (same seeds)",
            f"{cost:+.3f}",
            cost < 0,
        ),
        (
            "All are more accurate than the vanilla tree",
            f"{tree:.3f}",
            tree < min(deep["accuracy"], uniform["accuracy"]),
        ),
        (
            f"GAME at Δ = {last} is above DEEP at Δ = 0 (AUC_D)",
            f"{study.by_delta('GAME', last):.3f} and {study.by_delta('DEEP', 0):.3f}",
            study.by_delta("GAME", last) > study.by_delta("DEEP", 0),
        ),
        ("Our aim: AUC(f, y) ≥ 0.84, GAME symmetric", f"{symmetric['accuracy']:.3f}", symmetric["accuracy"] >= 0.84),
        ("Our aim: AUC_D ≥ 0.97, GAME symmetric", f"{symmetric['global_auc']:.3f}", symmetric["global_auc"] >= 0.97),
    ]
    return [(claim, found, bool(holds)) for claim, found, holds in results]


def claims_table(study: Study) -> str:
    rows = ["| claim | ours | holds |", "|---|---|---|"]
    return "\n".join([*rows, *(f"| {c} | {f} | {'yes' if holds else '**no**'} |" for c, f, holds in claims(study))])


def figure1_table(study: Study) -> str:
    report = study.reports[f"figure1-seed{study.config['seeds'][0]}"]
    game, deep, shown = report["game"], report["deep"], report["example"]
    rows = [
        "| trees that follow the predictor equally well | depth | nodes | larger side of a split |",
        "|---|---|---|---|",
    ]
    for title, shape in (
        ("GAME, the molecule drawn", shown["game"]),
        ("DEEP, the molecule drawn", shown["deep"]),
        (f"GAME, mean of {report['compared']} test neighborhoods", game),
        (f"DEEP, mean of {report['compared']} test neighborhoods", deep),
    ):
        number = "g" if title.endswith("drawn") else ".1f"
        side = f"{shape['larger_side']:.0%} of the members"
        rows.append(f"| {title} | {shape['depth']:{number}} | {shape['nodes']:{number}} | {side} |")
    return "\n".join(
        [
            *rows,
            "",
            f"Neighborhoods with at least {report['least_members']} members; in {report['never_reached']} more DEEP's "
            "trees never reach GAME's AUC_B, however large they grow.",
        ]
    )


def variations(study: Study) -> dict[str, np.ndarray]:
    seed = study.config["seeds"][0]
    return {
        title: np.array(study.reports[f"variation-{name}-seed{seed}"]["variations"])
        for title, name in study.cells.items()
    }


def figure5_table(study: Study) -> str:
    rows = ["| total variation | mean | median | 95 % | 99 % | largest |", "|---|---|---|---|---|---|"]
    for title, values in variations(study).items():
        quantiles = np.quantile(values, [0.5, 0.95, 0.99, 1.0])
        rows.append(f"| {title} | {values.mean():.4f} | " + " | ".join(f"{q:.4f}" for q in quantiles) + " |")
    return "\n".join(rows)


def figure5(study: Study) -> Figure:
    """How the total variation is distributed over training neighborhoods."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axis = figure.subplots()
    found = variations(study)
    edges = np.linspace(0, float(np.quantile(np.concatenate(list(found.values())), 0.99)), 60).tolist()
    for title, values in found.items():
        inside = np.minimum(values, edges[-1])
        axis.hist(inside, edges, histtype="step", lw=2, color=COLORS[title], label=title)
    axis.set_yscale("log")
    axis.set_xlabel("total variation between predictor and witness (the last bin holds all above)", fontsize=9)
    axis.set_ylabel("training neighborhoods", fontsize=9)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    return figure


def figure1(study: Study, model: str) -> Figure:
    """The tree of one molecule."""
    shown = study.reports[f"figure1-seed{study.config['seeds'][0]}"]["example"][model]
    explanation = TreeExplanation.from_dict(shown["explanation"])
    return explanation.plot(title=f"{model.upper()}: depth {shown['depth']:g}, {shown['nodes']:g} nodes")


def figures(study: Study) -> dict[str, Callable[[], Figure]]:
    return {
        "figure1-game": lambda: figure1(study, "game"),
        "figure1-deep": lambda: figure1(study, "deep"),
        "figure5": lambda: figure5(study),
    }


def sections(study: Study) -> dict[str, str]:
    """What is written into the README, by the mark where it goes."""
    return {
        "tox21: conditions": conditions(study),
        "tox21: claims": claims_table(study),
        "tox21: table 1": table1(study),
        "tox21: gains": gains(study),
        "tox21: sweep": sweep(study),
        "tox21: local": local(study),
        "tox21: table 2": table2(study),
        "tox21: figure 1": figure1_table(study),
        "tox21: figure 5": figure5_table(study),
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="cpu")
    arguments = parser.parse_args(words)
    study = Study(load_config("tox21", arguments.size), read_reports(REPORTS / arguments.size))
    for mark, text in sections(study).items():
        write_section(README, mark, text)
        print(f"{text}\n")
    for name, draw in figures(study).items():
        save_figure(draw(), REPORTS / name)
    print(f"wrote {README} and the figures in {REPORTS}")


if __name__ == "__main__":
    main()
