"""Sodium-channel blockers: a network with and without the game, on the series that comes with RDKit.

`python -m paper.nav17` trains `pellucid demo`'s models for several seeds and weights, with a report each in
`paper/nav17/`, and writes the table in `paper/README.md`. `python -m paper.nav17 --figure out/demo` draws how both
networks of a demo see one molecule.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.runs import ROOT, SIZES, Cell, load_config, read_reports, run_cells, save_figure, write_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.molecules import MoleculeExplanation, Molecules, PropertyModel

REPORTS = ROOT / "paper" / "nav17"
README = ROOT / "paper" / "README.md"
FIGURE = ROOT / "out" / "nav17"
# A law of fewer members has little to say.
MEMBERS = 15
DPI = 150


def split(config: dict[str, Any], seed: int, series: Molecules | None = None) -> tuple[Molecules, Molecules, Molecules]:
    """Training, validation and test molecules of a series, by default the sodium-channel blockers, at random."""
    from pellucid.molecules import nav17

    series = nav17() if series is None else series
    order = np.random.default_rng(seed).permutation(len(series))
    ends = np.round(np.cumsum(config["split"][:2]) * len(order)).astype(int)
    train, validation, test = (series.select(part) for part in np.split(order, ends))
    return train, validation, test


def untrained(config: dict[str, Any], seed: int, weight: float | None) -> PropertyModel:
    """DEEP, or GAME with a weight. The other molecules of the series play: it is dense enough."""
    from pellucid.molecules import PropertyModel, SimilarityRule

    names = ("criterion", "delta", "refit", "batch_size", "learning_rate", "width", "depth", "epochs", "witness",
             "held_out_game", "ridge")  # fmt: skip
    return PropertyModel(
        task="regression",
        game=None if weight is None else "symmetric",
        weight=weight or 0.0,
        play="banked",
        similar=SimilarityRule(analogs=False),
        seed=seed,
        **{name: config[name] for name in names},
    )


# -- the demo ------------------------------------------------------------------------------------------------------


def figure(run: Path) -> Figure:
    """One molecule as DEEP and as GAME of a run of `pellucid demo` see it: the most active one that the run shows with
    a neighborhood that is large enough.
    """
    from pellucid import summaries
    from pellucid.molecules import PropertyModel

    large = [e for e in summaries.read(run).explanations if len(e.explanation["members"]) >= MEMBERS]
    smiles = max(large, key=lambda example: (example.measured or (0.0,))[0] or 0.0).explanation["smiles"]
    return below_each_other({name: PropertyModel.load(run / name.lower()).explain(smiles) for name in ("DEEP", "GAME")})


def demo_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Test scores of several models as `pellucid demo` shows them."""
    from pellucid.cli.output import measure_rows
    from pellucid.molecules.measures import measures
    from pellucid.summaries import ModelSummary
    from pellucid.text_tables import aligned

    models = {name: ModelSummary(scores=scores) for name, scores in results.items()}
    return aligned([f"on {next(iter(results.values()))['neighborhoods']} test molecules", *models],
                   measure_rows(models, measures("RMSE", noun="law")))  # fmt: skip


def below_each_other(explanations: Mapping[str, MoleculeExplanation]) -> Figure:
    """The pictures of several explanations in one figure, each in the size that it wants."""
    from matplotlib.figure import Figure
    from matplotlib.image import imread

    images = []
    for name, explanation in explanations.items():
        stream = io.BytesIO()
        explanation.plot(title=_title(name, explanation)).savefig(stream, dpi=DPI)
        stream.seek(0)
        images.append(imread(stream))
    width, height = max(image.shape[1] for image in images) / DPI, sum(len(image) for image in images) / DPI
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(len(images), 1, height_ratios=[len(image) for image in images], squeeze=False)
    figure.subplots_adjust(0, 0, 1, 1, hspace=0)
    for ax, image in zip(axes[:, 0], images, strict=True):
        ax.imshow(image)
        ax.set_axis_off()
        ax.set_anchor("W")
    return figure


def _title(name: str, explanation: MoleculeExplanation) -> str:
    return (
        f"{name}: {explanation.targets[0]} {explanation.prediction[0]:.2f}, its law {explanation.witnessed[0]:.2f}, "
        f"off by {explanation.deviation[0]:.2f} on average"
    )


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

    from pellucid.bounds import LEVEL
    from pellucid.molecules.domain import MoleculeDomain
    from pellucid.runs.results import scores

    torch.set_num_threads(1)  # cells run side by side
    train, validation, test = split(cell, cell["seed"])
    start = time.monotonic()
    model = untrained(cell, cell["seed"], cell["lambda"]).fit(train, validation=0, progress=False)
    seconds = time.monotonic() - start
    model.calibrate(validation)
    return {
        "training_seconds": round(seconds, 1),
        "molecules": {"train": len(train), "validation": len(validation), "test": len(test)},
        "validation": model.evaluate(validation).to_dict(),
        "test": scores(MoleculeDomain().evaluate(model, test), LEVEL),
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
    measures = {
        "accuracy": "RMSE(f, y)",
        "held_out_variance_explained": "held-out variance explained",
        "bound": "bound",
        "local_auc": "AUC_B",
        "global_auc": "AUC_D",
        "variation": "TV",
    }
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
    parser.add_argument("--jobs", type=int, default=2, help="cells to run side by side, each on one core")
    parser.add_argument("--figure", type=Path, metavar="RUN", help="draw the trees of a run of the demo instead")
    arguments = parser.parse_args()
    if arguments.figure:
        save_figure(figure(arguments.figure), FIGURE)
        print(f"{FIGURE}.png and .svg")
    else:
        study(load_config("nav17", arguments.size), arguments.jobs)


if __name__ == "__main__":
    main()
