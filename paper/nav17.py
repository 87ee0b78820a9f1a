"""Sodium-channel blockers: a network with and without the game, on the series that comes with RDKit.

`python -m paper.nav17` (`make demo`) trains DEEP and GAME, prints how accurate and how transparent each is on
molecules that it has not seen, and draws both trees of one of them. `python -m paper.nav17 --study` repeats this for
several seeds and weights, with a report each in `paper/nav17/`, and writes the table in `paper/README.md`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.runs import ROOT, SIZES, Cell, load_config, read_reports, run_cells, save_figure, write_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.molecules import Explanation, Molecules, PropertyModel

REPORTS = ROOT / "paper" / "nav17"
README = ROOT / "paper" / "README.md"
OUT = ROOT / "out"
# A tree on fewer members has little to say.
MEMBERS = 15


def split(config: dict[str, Any], seed: int) -> tuple[Molecules, Molecules, Molecules]:
    """Training, validation and test molecules, at random."""
    from pellucid.molecules import nav17

    series = nav17()
    order = np.random.default_rng(seed).permutation(len(series))
    ends = np.round(np.cumsum(config["split"][:2]) * len(order)).astype(int)
    train, validation, test = (series.select(part) for part in np.split(order, ends))
    return train, validation, test


def untrained(config: dict[str, Any], seed: int, weight: float | None) -> PropertyModel:
    """DEEP, or GAME with a weight. Neighbors are the other molecules of the series: it is dense enough."""
    from pellucid.molecules import PropertyModel, Similar

    names = ("criterion", "delta", "refit", "batch_size", "learning_rate", "width", "depth", "epochs")
    return PropertyModel(
        task="regression",
        game=None if weight is None else "symmetric",
        weight=weight or 0.0,
        play="banked",
        similar=Similar(analogs=False),
        seed=seed,
        **{name: config[name] for name in names},
    )


# -- the demo ------------------------------------------------------------------------------------------------------


def demo(config: dict[str, Any], out: Path) -> None:
    """Train both, print the table, draw the trees."""
    import torch

    seed = config["seed"]
    train, _, test = split(config, seed)
    print(f"{len(train)} molecules to learn from, {len(test)} to test on; activity is a negative decimal logarithm")
    torch.set_num_threads(1)  # as in the study, so that the numbers are the same
    models: dict[str, PropertyModel] = {}
    results = {}
    for name, weight in (("DEEP", None), ("GAME", config["weight"])):
        models[name] = untrained(config, seed, weight).fit(train, validation=0)
        results[name] = models[name].evaluate(test).to_dict()
    print(f"\n{demo_table(results)}\n")
    smiles = interesting(models["GAME"], test)
    explanations = {name: model.explain(smiles) for name, model in models.items()}
    print(f"The most active test molecule with {MEMBERS} neighbors or more, as GAME sees it:\n")
    print(explanations["GAME"])
    save_figure(side_by_side(explanations), out / "nav17")
    print(f"\nBoth trees are drawn in {(out / 'nav17.svg')} and .png")


def demo_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Test scores of several models as the terminal shows them."""
    columns = {
        "accuracy": "error of f",
        "witness_accuracy": "of its trees",
        "local_auc": "AUC locally",
        "global_auc": "globally",
        "variation": "total variation",
    }
    head = f"{'':<6}" + "".join(f"{title:>17}" for title in columns.values())
    rows = [f"{name:<6}" + "".join(f"{scores[key]:>17.3f}" for key in columns) for name, scores in results.items()]
    return "\n".join([head, "-" * len(head), *rows])


def interesting(model: PropertyModel, test: Molecules) -> str:
    """The most active molecule whose neighborhood is large enough."""
    sizes = model.surroundings(test.smiles).hoods.sizes.numpy()
    active = np.where(sizes >= min(MEMBERS, sizes.max()), test.y[:, 0], -np.inf)
    return test.smiles[int(active.argmax())]


def side_by_side(explanations: dict[str, Explanation]) -> Figure:
    """Several trees in one figure, each in the size that it wants."""
    from matplotlib.figure import Figure

    from pellucid.molecules.drawing import plot_tree

    sizes = [explanation.plot().get_size_inches() for explanation in explanations.values()]
    widths, height = [float(size[0]) for size in sizes], max(float(size[1]) for size in sizes)
    figure = Figure(figsize=(sum(widths), height))
    axes = figure.subplots(1, len(sizes), width_ratios=widths)
    figure.subplots_adjust(0.01, 0.01, 0.99, 0.99, wspace=0.02)
    for ax, (name, explanation) in zip(np.atleast_1d(axes), explanations.items(), strict=True):
        k = 0
        plot_tree(
            explanation.witness,
            explanation.substructures,
            path=explanation.path,
            title=f"{name}: {explanation.targets[k]} {explanation.prediction[k]:.2f}, its tree "
            f"{explanation.witnessed[k]:.2f}, off by {explanation.deviation[k]:.2f} on average",
            molecule=explanation.smiles,
            ax=ax,
        )
    return figure


# -- how robust it is ----------------------------------------------------------------------------------------------


def cells(config: dict[str, Any]) -> list[Cell]:
    """DEEP and all weights, for every seed."""
    shared = {name: value for name, value in config.items() if name not in ("seeds", "weights", "weight", "seed")}
    found = []
    for seed in config["seeds"]:
        for weight in (None, *config["weights"]):
            name = "deep" if weight is None else f"game-{weight:g}"
            found.append({**shared, "name": f"{name}-seed{seed}", "seed": seed, "lambda": weight})
    return found


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    train, validation, test = split(cell, cell["seed"])
    start = time.monotonic()
    model = untrained(cell, cell["seed"], cell["lambda"]).fit(train, validation=0, progress=False)
    return {
        "training_seconds": round(time.monotonic() - start, 1),
        "molecules": {"train": len(train), "validation": len(validation), "test": len(test)},
        "validation": model.evaluate(validation).to_dict(),
        "test": model.evaluate(test).to_dict(),
    }


def chosen(config: dict[str, Any], reports: dict[str, dict[str, Any]]) -> float:
    """The largest weight whose validation RMSE, a mean over the seeds, is within the tolerance of DEEP's."""

    def error(name: str) -> float:
        return float(np.mean([reports[f"{name}-seed{s}"]["validation"]["accuracy"] for s in config["seeds"]]))

    limit = error("deep") * (1 + config["tolerance"])
    good = [weight for weight in config["weights"] if error(f"game-{weight:g}") <= limit]
    return float(max(good) if good else min(config["weights"]))


def table(config: dict[str, Any], reports: dict[str, dict[str, Any]]) -> str:
    """Test scores of all seeds, and the change against DEEP with the same seed."""
    measures = {"accuracy": "RMSE(f, y)", "local_auc": "AUC_B", "global_auc": "AUC_D", "variation": "TV"}
    best = chosen(config, reports)
    rows = ["| model | validation RMSE | " + " | ".join(f"test {title}" for title in measures.values()) + " |",
            "|---|---|" + "---|" * len(measures)]  # fmt: skip

    def values(name: str, part: str, measure: str) -> np.ndarray:
        return np.array([reports[f"{name}-seed{seed}"][part][measure] for seed in config["seeds"]], dtype=float)

    for name, title in [("deep", "DEEP"), *((f"game-{w:g}", f"GAME, weight {w:g}") for w in config["weights"])]:
        mark = " (chosen)" if name == f"game-{best:g}" else ""
        cells = [", ".join(f"{value:.3f}" for value in values(name, "test", measure)) for measure in measures]
        rows.append(f"| {title}{mark} | {values(name, 'validation', 'accuracy').mean():.3f} | {' | '.join(cells)} |")
    return "\n".join(rows)


def committed_demo(config: dict[str, Any], reports: dict[str, dict[str, Any]]) -> str:
    """What `make demo` prints, from the reports of the same runs."""
    names = {"DEEP": f"deep-seed{config['seed']}", "GAME": f"game-{config['weight']:g}-seed{config['seed']}"}
    return demo_table({title: reports[name]["test"] for title, name in names.items()})


def study(config: dict[str, Any], jobs: int) -> None:
    """Run the cells that have not been run, and write the table."""
    folder = REPORTS / config["size"]
    run_cells(cells(config), run, folder, jobs)
    reports = read_reports(folder)
    text = table(config, reports)
    print(f"{text}\n\nchosen on the validation sets: weight {chosen(config, reports):g}")
    if config["size"] == "cpu":
        write_section(README, "nav17: table", text)
        write_section(ROOT / "README.md", "demo", f"```\n{committed_demo(config, reports)}\n```")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES[1:], default="cpu")
    parser.add_argument("--study", action="store_true", help="several seeds and weights instead of the demo")
    parser.add_argument("--jobs", type=int, default=2, help="cells of the study to run side by side, each on one core")
    parser.add_argument("--out", type=Path, default=OUT, help="where the demo's figure goes")
    arguments = parser.parse_args()
    config = load_config("nav17", arguments.size)
    if arguments.study:
        study(config, arguments.jobs)
    else:
        demo(config, arguments.out)


if __name__ == "__main__":
    main()
