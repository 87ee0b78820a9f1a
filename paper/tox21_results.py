"""Tables and figures of the toxicity study from its reports: `python -m paper.tox21_results`.

Writes the tables into `paper/README.md` and the figures into `paper/tox21/`, from as many seeds as are finished.
Nothing is trained or measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from paper import tox21_claims, tox21_models
from paper.runs import ROOT, load_config, require_reports, results_parser, save_figure, write_section
from paper.tox21 import REPORTS
from paper.tox21_models import NOT_RUN, Study

from pellucid.molecules import TreeExplanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

README = ROOT / "paper" / "README.md"
COLORS = {"DEEP": "#777777", "GAME, symmetric": "#2a7f3f", "GAME, uniform": "#b5651d"}
_MEASURES = {
    "accuracy": "AUC(f, y)",
    "witness_accuracy": "AUC(ĝ, y)",
    "local_auc": "AUC_B(ĝ, f)",
    "global_auc": "AUC_D(ĝ, f)",
}


def conditions(study: Study) -> str:
    if not study.seeds("deep"):
        return NOT_RUN
    first, c = study.report("deep", study.seeds("deep")[0]), study.config
    around, played, counts = first["neighborhoods"], first["training"]["neighborhoods"], first["molecules"]
    hours = sum(report["wall_seconds"] for report in study.reports.values()) / 3600
    commits = sorted({str(report["commit"])[:12] for report in study.reports.values()})
    several = "commits" if len(commits) > 1 else "commit"
    uniform = c["uniform"]
    return (
        f"Size `{c['size']}`: {sum(counts.values()):,} molecules ({counts['train']:,} for training, "
        f"{counts['validation']:,} for validation, {counts['test']:,} for the test; {first['left_out']} rows of the "
        f"file left out), width {c['width']}, depth {c['depth']}, {c['epochs']} epochs, batches of {c['batch_size']}, "
        f"peak rate {c['learning_rate']:g}. In a step of a game {100 * c['share']:g} % of the batch's neighborhoods "
        f"play, with at most {c['members']} members each, chosen at random; all scores use whole neighborhoods. The "
        f"uniform game goes on from DEEP's weights for {uniform['epochs']} epochs with peak rate "
        f"{uniform['learning_rate']:g}, in which every neighborhood plays "
        f"{uniform['epochs'] * uniform['share']:g} times, with {uniform['members']} members. "
        f"{_sizes('Training neighborhoods', played)}; {_sizes('test neighborhoods', around)} (the paper: about 60 %, "
        f"59, 300). Seeds {', '.join(map(str, study.seeds('deep')))} change split, initialization and order. "
        f"{len(study.reports)} cells, {hours:.1f} hours of one core in all; torch {first['versions']['torch']}, "
        f"{several} {', '.join(commits)}."
    )


def _sizes(what: str, found: dict[str, float]) -> str:
    return (
        f"{what}: {found['share_above_2']:.0%} have more than 2 members, the median of those is "
        f"{found['median_above_2']:g}, the largest has {found['largest']}"
    )


def table1(study: Study) -> str:
    rows = ["| model | | " + " | ".join(_MEASURES.values()) + " | TV | seeds |", "|---|---|---|---|---|---|---|---|"]
    for title, name in study.cells.items():
        paper = " | ".join(f"{tox21_claims.TABLE1[title][measure]:.3f}" for measure in _MEASURES)
        rows.append(f"| {title} | paper | {paper} |  |  |")
        if name is None or not (seeds := study.seeds(name)):
            rows.append("|  | **ours** |  |  |  |  |  | 0 |")
            continue
        ours = " | ".join(_spread(study.scores(name, measure)) for measure in _MEASURES)
        rows.append(f"|  | **ours** | {ours} | {study.scores(name, 'variation').mean():.4f} | {len(seeds)} |")
    rows.append(f"| vanilla tree | paper | {tox21_claims.VANILLA:.3f} |  |  |  |  |  |")
    if seeds := study.seeds("tree"):
        rows.append(f"|  | **ours** | {_spread(study.scores('tree', 'accuracy'))} |  |  |  |  | {len(seeds)} |")
    return "\n".join(rows)


def _spread(values: np.ndarray) -> str:
    """Mean and, of several, the standard deviation."""
    return f"{values.mean():.3f}" + (f" ± {values.std(ddof=1):.3f}" if len(values) > 1 else "")


def table2(study: Study) -> str:
    deltas = [0, *study.config["deltas"]]
    if study.by_delta("GAME", deltas[-1]) is None:
        return NOT_RUN
    rows = ["| AUC_D(ĝ, f) | | " + " | ".join(f"Δ = {d}" for d in deltas) + " |", "|---|---|" + "---|" * len(deltas)]
    for model in ("GAME", "DEEP"):
        published = dict(zip(tox21_claims.DELTAS, tox21_claims.TABLE2[model], strict=True))
        rows.append(f"| {model} | paper | " + " | ".join(f"{published[d]:.3f}" for d in deltas) + " |")
        found = [study.by_delta(model, d) for d in deltas]
        rows.append("|  | **ours** | " + " | ".join("" if v is None else f"{v:.3f}" for v in found) + " |")
    return "\n".join(rows)


# -- figures -------------------------------------------------------------------------------------------------------


def figure1_table(study: Study) -> str:
    report = study.first("figure1")
    if report is None:
        return NOT_RUN
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


def figure1(shown: Mapping[str, Any], model: str) -> Figure:
    """The tree of one molecule."""
    explanation = TreeExplanation.from_dict(shown["explanation"])
    return explanation.plot(title=f"{model.upper()}: depth {shown['depth']:g}, {shown['nodes']:g} nodes")


def variations(study: Study) -> dict[str, np.ndarray]:
    """Total variation in training neighborhoods of the first seed."""
    found = {title: None if name is None else study.first(name) for title, name in study.cells.items()}
    return {title: np.array(report["training"]["variations"]) for title, report in found.items() if report is not None}


def figure5_table(study: Study) -> str:
    rows = ["| total variation | mean | median | 95 % | 99 % | largest |", "|---|---|---|---|---|---|"]
    for title, values in variations(study).items():
        quantiles = np.quantile(values, [0.5, 0.95, 0.99, 1.0])
        rows.append(f"| {title} | {values.mean():.4f} | " + " | ".join(f"{q:.4f}" for q in quantiles) + " |")
    return "\n".join(rows) if len(rows) > 2 else NOT_RUN


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


def figures(study: Study) -> dict[str, Callable[[], Figure]]:
    """Those whose cells are finished."""
    result: dict[str, Callable[[], Figure]] = {}
    report = study.first("figure1")
    if report is not None:
        shown = report["example"]
        result["figure1-game"] = lambda: figure1(shown["game"], "game")
        result["figure1-deep"] = lambda: figure1(shown["deep"], "deep")
    if variations(study):
        result["figure5"] = lambda: figure5(study)
    return result


def sections(study: Study) -> dict[str, str]:
    """What is written into the README, by the mark where it goes."""
    return {
        "tox21: conditions": conditions(study),
        "tox21: claims": tox21_claims.table(study),
        "tox21: table 1": table1(study),
        "tox21: gains": tox21_models.gains(study),
        "tox21: models": tox21_models.models(study),
        "tox21: plays": tox21_models.plays(study),
        "tox21: sweep": tox21_models.sweep(study),
        "tox21: uniform": tox21_models.uniform(study),
        "tox21: local": tox21_models.local(study),
        "tox21: table 2": table2(study),
        "tox21: figure 1": figure1_table(study),
        "tox21: figure 5": figure5_table(study),
    }


def main(words: Sequence[str] | None = None) -> None:
    arguments = results_parser(__doc__).parse_args(words)
    study = Study(load_config("tox21", arguments.size), require_reports(REPORTS / arguments.size, "tox21"))
    for mark, text in sections(study).items():
        write_section(README, mark, text)
        print(f"{text}\n")
    for name, draw in figures(study).items():
        save_figure(draw(), REPORTS / name)
    print(f"wrote {README} and the figures in {REPORTS}")


if __name__ == "__main__":
    main()
