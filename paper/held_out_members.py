"""How many analogs determine a law that holds at the next molecule?

`python -m paper.held_out_members` explains models of `paper.held_out`, trained again where they are missing, in
neighborhoods with analogs of few and of many groups: the network can be asked about any of them. Nothing is trained for
it. The variance explained is that at all members, and at real molecules alone, each left out in its turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from paper import held_out
from paper.held_out import MODELS, judged, untrained
from paper.nav17 import split
from paper.runs import ROOT, Cell, load_config, matching, read_reports, run_cells, show, study_parser

if TYPE_CHECKING:
    from pellucid.molecules import MoleculeNeighborhoods, Molecules, PropertyModel

REPORTS = ROOT / "paper" / "held_out_members"
README = ROOT / "paper" / "README.md"
FAMILIES = ("contributions", "shrunken tree")


def cells(config: dict[str, Any]) -> list[Cell]:
    """A cell for each model and seed."""
    trained = {cell["name"]: cell for cell in held_out.cells(load_config("held_out", config["size"]))}
    names = [f"{model}-seed{seed}" for seed in config["seeds"] for model in config["models"]]
    return [{**trained[name], "groups": config["groups"], "most_explained": config["most"]} for name in names]


def model_of(cell: Cell, train: Molecules) -> PropertyModel:
    """The trained model of a cell."""
    from pellucid.molecules import PropertyModel

    folder = MODELS / cell["size"] / cell["name"]
    if not folder.exists():
        untrained(cell).fit(train, validation=0, progress=False).save(folder)
    return PropertyModel.load(folder)


def run(cell: Cell) -> dict[str, Any]:
    """Explain one model with every number of groups."""
    import torch

    from pellucid.molecules.neighborhoods import SimilarityRule
    from pellucid.molecules.play import featurize

    torch.set_num_threads(1)  # cells run side by side
    train, validation, test = split(cell, cell["seed"])
    model = model_of(cell, train)
    kinds = {name: family for name, family in held_out.families(model).items() if name in FAMILIES}
    answers: dict[str, dict[str, Any]] = {}
    known: dict[str, Any] = {}
    for groups in sorted(cell["groups"], reverse=True):  # the most analogs first: they hold the others
        rule = replace(SimilarityRule(), groups_per_kind=groups, most=cell["most_explained"])
        parts, real = {}, None
        for name, data in (("validation", validation), ("test", test)):
            around = rule.neighborhoods(data.smiles, model.smiles_, rule.groups(model.smiles_), progress=False)
            fresh = tuple(text for text in around.points if text not in known)
            if fresh:
                known |= dict(zip(fresh, model._values(featurize(fresh, model.morgan, False)), strict=True))
            f = torch.stack([known[text] for text in around.points])
            parts[name] = (f, model.morgan.many(around.points).dense(), around.hoods)
            real = around
        assert real is not None  # noqa: S101 - that of the test molecules
        answers[str(groups)] = {
            "members": float(parts["test"][2].sizes.double().median()),
            **{
                name: {**judged(family, parts, model.task_.scale), "measured": at_measured(family, parts["test"], real)}
                for name, family in kinds.items()
            },
        }
    return {
        "rmse": {"validation": held_out._rmse(model, validation), "test": held_out._rmse(model, test)},
        "groups": answers,
    }


def at_measured(family: Any, part: tuple[Any, Any, Any], neighborhoods: MoleculeNeighborhoods) -> float:
    """Held-out variance explained at the members that are no analogs."""
    import torch

    from pellucid.molecules.neighborhoods import ORIGINS
    from pellucid.witnesses.leave_one_out import distances_from_others

    f, x, hoods = part
    real = torch.from_numpy(neighborhoods.origins != ORIGINS.index("analog")) & (hoods.sizes > 1)[hoods.rows]
    gaps = f[hoods.members] - family.best_response(x, f, hoods).held_out_values()
    return 1 - float(gaps[real].square().sum() / distances_from_others(f, hoods)[real].square().sum())


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each model and number of groups: means over the seeds that have been run."""
    rows = [
        "| model | seeds | test RMSE against DEEP's | groups of a kind | members (median) | contributions: held out "
        "| at real molecules | 90 % bound | held in | shrunken tree: held out | bound |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for model in config["models"]:
        seeds = [s for s in config["seeds"] if f"{model}-seed{s}" in reports and f"deep-seed{s}" in reports]
        if not seeds:
            continue
        own, deep = ([reports[f"{name}-seed{seed}"] for seed in seeds] for name in (model, "deep"))
        gains = np.array([a["rmse"]["test"] - b["rmse"]["test"] for a, b in zip(own, deep, strict=True)])
        accuracy = f"{np.mean([report['rmse']['test'] for report in own]):.3f}"
        if model != "deep":
            accuracy += f" ({', '.join(f'{gain:+.3f}' for gain in gains)})"
        for groups in config["groups"]:
            parts = [report["groups"][str(groups)] for report in own]

            def mean(kind: str, *path: str, parts: Any = parts) -> float:
                return float(np.mean([held_out._at(part[kind], path) for part in parts]))

            rows.append(
                f"| {model} | {', '.join(map(str, seeds))} | {accuracy} | {groups} "
                f"| {np.mean([part['members'] for part in parts]):.0f} "
                f"| {mean('contributions', 'test', 'held_out'):.3f} | {mean('contributions', 'measured'):.3f} "
                f"| {mean('contributions', 'bound'):.2f} | {100 * mean('contributions', 'coverage'):.0f} % "
                f"| {mean('shrunken tree', 'test', 'held_out'):.3f} | {mean('shrunken tree', 'bound'):.2f} |"
            )
    return "\n".join(rows)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"), jobs=2)
    arguments = parser.parse_args(words)
    config = load_config("held_out_members", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        run_cells(matching(cells(config), arguments.only), run, folder, arguments.jobs)
    show({"held-out: members": table(config, read_reports(folder))}, arguments, REPORTS)


if __name__ == "__main__":
    main()
