"""Table 4 at two rates: `python -m paper.rate_games --size cpu` plays games at 10 nats, and at the rate of use.

DEEP is that of `paper.rates`. Weights of the game are tried on few molecules, the validation data choose, and GAME, the
same game at members that trees were not fitted to, and other seeds follow in the order of their importance: a run that
is cut short leaves a table. Reports are in `paper/rates/<size>/`; an interrupted call goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from paper import rates
from paper.claims import UNKNOWN, Claim, table_of, verdict
from paper.rates import REPORTS, corpus, deep_cell, rate
from paper.runs import (
    Cell,
    Stage,
    load_config,
    mean_difference,
    mean_interval,
    not_run,
    read_reports,
    reports_to_choose_by,
    run_stages,
    show,
    study_parser,
)

Reports = Mapping[str, Mapping[str, Any]]
_COLUMNS = ("neural", "tree", "deviation", "held_out_deviation")
# What the paper says of Table 4, the sign of it, and its numbers, which are of no rate that it names.
_STATEMENTS = (
    ("deviation", "deviates less than DEEP where the trees were fitted", -1),
    ("held_out_deviation", "deviates less at members that they were not fitted to", -1),
    ("tree", "the bound with the trees' posteriors is better", 1),
    ("neural", "the bound with the neural encoder is better", 1),
)
PUBLISHED = {"deviation": "-0.66", "tree": "+0.30", "neural": "+0.10"}
# The share of the sweep's molecules that validate.
_VALIDATION = 0.1


def game_cell(deep: Cell, weight: float, *, held_out: bool = False) -> Cell:
    """The same with the symmetric game."""
    name = f"{deep['name']}-{'held-out-' if held_out else ''}game-{weight:g}"
    return {**deep, "name": name, "game": "symmetric", "weight": weight, "held_out_game": held_out}


def with_seed(cell: Cell, seed: int) -> Cell:
    """The same with another seed; the first one is not named."""
    return cell if seed == cell["seed"] else {**cell, "name": f"{cell['name']}-seed-{seed}", "seed": seed}


def deep_cells(config: dict[str, Any]) -> list[Cell]:
    """DEEP at each rate; cells of `paper.rates`."""
    return [deep_cell(config, True, sweep["kl_weight"], sweep["free"]) for sweep in config["sweeps"]]


def sweep_cells(config: dict[str, Any]) -> list[Cell]:
    """DEEP and every weight at each rate, trained on few molecules."""
    few = config["sweep_molecules"]
    found = []
    for deep, sweep in zip(deep_cells(config), config["sweeps"], strict=True):
        tried = [deep, *(game_cell(deep, weight) for weight in sweep["weights"])]
        found += [{**cell, "name": f"sweep-{cell['name']}", "molecules": few, "validation": _VALIDATION}
                  for cell in tried]  # fmt: skip
    return found


def chosen(config: dict[str, Any], reports: Reports) -> list[float]:
    """At each rate the largest weight whose validation loss is within `tolerance` of DEEP's, or the best of them."""
    if missing := [cell["name"] for cell in sweep_cells(config) if cell["name"] not in reports]:
        raise SystemExit(
            "Weights are chosen by the cells of the sweep, which must have been run. Missing are "
            f"{', '.join(missing)}; python -m paper.rate_games --size {config['size']} --only 'sweep-*' runs them."
        )
    weights = []
    for deep, sweep in zip(deep_cells(config), config["sweeps"], strict=True):

        def loss(cell: Cell) -> float:
            return float(reports[f"sweep-{cell['name']}"]["validation"]["loss"])

        losses = {weight: loss(game_cell(deep, weight)) for weight in sweep["weights"]}
        good = [weight for weight in losses if losses[weight] <= loss(deep) + config["tolerance"]]
        weights.append(float(max(good) if good else min(losses, key=lambda weight: losses[weight])))
    return weights


def compared_cells(config: dict[str, Any], weights: list[float]) -> list[Cell]:
    """DEEP and GAME at each rate, that of use first, then the held-out game there, then other seeds, then the rest."""
    pairs = [(deep, game_cell(deep, weight)) for deep, weight in zip(deep_cells(config), weights, strict=True)]
    held_out = [game_cell(deep, game["weight"], held_out=True) for deep, game in pairs]
    others = [with_seed(cell, seed) for seed in config["seeds"][1:] for pair in pairs for cell in pair]
    return [*(cell for pair in pairs for cell in pair), held_out[0], *others, *held_out[1:]]


def stages(config: dict[str, Any], folder: Path) -> Iterator[Stage]:
    """The weights are chosen by the reports of the sweep."""
    yield Stage(sweep_cells(config))
    weights = chosen(config, reports_to_choose_by(folder, REPORTS))
    yield Stage(compared_cells(config, weights), note=f"chosen on the validation data: {weights}")


def run(cell: Cell) -> dict[str, Any]:
    """Try a weight, or train and measure a cell as `paper.rates` does."""
    return try_weight(cell) if "validation" in cell else rates.run(cell)


def try_weight(cell: Cell) -> dict[str, Any]:
    """The bound on validation data, and how far trees are from the network there."""
    import torch

    from pellucid.molecules._arguments import hold_out_molecules

    torch.set_num_threads(1)  # cells run side by side
    learned = corpus(bool(cell.get("embedded")), "train", cell["molecules"], cell["chosen"])
    model = rates.new_model(cell).fit(learned, validation=cell["validation"], progress=False)
    last = model.history_[-1]
    _, held_out = hold_out_molecules(len(learned), cell["validation"], cell["seed"])
    scores = model.evaluate([learned.smiles(int(i)) for i in held_out[: cell["explained"] // 5]])
    terms = {name.removeprefix("validation_"): value for name, value in last.items() if name.startswith("validation_")}
    deviations = {"deviation": scores.deviation, "held_out_deviation": scores.held_out_deviation}
    return {"validation": {**terms, **deviations, "tree_elbo": scores.tree.mean}}


# -- tables --------------------------------------------------------------------------------------------------------


def title(cell: Cell) -> str:
    """What is played."""
    if cell["game"] is None:
        return "DEEP"
    return f"GAME{', held out' if cell['held_out_game'] else ''}, λ = {cell['weight']:g}"


def table(cells: list[Cell], reports: Reports) -> str:
    """A row for each cell that has been run."""
    rows = [
        "| rate | model | seed | ELBO, network | ELBO, trees | deviation where fitted | held out | KL | "
        "given back from the mean | from a draw | valid | unique | new |",
        "|---" * 13 + "|",
    ]
    for cell in cells:
        if (report := reports.get(cell["name"])) is not None:
            means = [mean_interval(report["each"][name], 2) for name in _COLUMNS]
            shares = [f"{100 * report[name]:.1f} %" for name in ("from_means", "from_draws", "valid", "unique", "new")]
            kl = f"{report['trees']['neural']['kl']:.1f}"
            row = [rate(cell), title(cell), str(cell["seed"]), *means, kl, *shares]
            rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows)


def differences(cells: list[Cell], reports: Reports) -> str:
    """Each game minus DEEP of the same rate and seed, molecule by molecule."""
    rows = [
        "| rate | model minus DEEP | seed | ELBO, network | ELBO, trees | deviation where fitted | held out |",
        "|---" * 7 + "|",
    ]
    for cell in cells:
        if found := gaps(cell, cells, reports):
            texts = [mean_difference(found[name], 2) for name in _COLUMNS]
            rows.append(f"| {' | '.join([rate(cell), title(cell), str(cell['seed']), *texts])} |")
    return "\n".join(rows)


def gaps(game: Cell, cells: list[Cell], reports: Reports) -> dict[str, NDArray[np.float64]]:
    """What a game has more than DEEP of the same rate and seed, for each molecule; empty if one has not been run."""
    (deep,) = (c for c in cells if c["game"] is None and (rate(c), c["seed"]) == (rate(game), game["seed"]))
    if game["game"] is None or game["name"] not in reports or deep["name"] not in reports:
        return {}
    ours, theirs = (reports[cell["name"]]["each"] for cell in (game, deep))
    return {name: np.subtract(ours[name], theirs[name]) for name in _COLUMNS}


def claims(cells: list[Cell], reports: Reports) -> list[Claim]:
    """The paper's statements about Table 4 at each rate, by intervals over molecules: they must hold with all seeds."""
    found = []
    for first in cells:
        if first["game"] is None or first["seed"] != cells[0]["seed"]:
            continue
        same = [cell for cell in cells if (rate(cell), title(cell)) == (rate(first), title(first))]
        each = [more for cell in same if (more := gaps(cell, cells, reports))]
        for name, text, sign in _STATEMENTS:
            paper = PUBLISHED.get(name, "") if first["free"] else ""
            verdicts = {verdict(sign * more[name]) for more in each}
            told = verdicts.pop() if len(verdicts) == 1 else UNKNOWN
            told += " in one run" if len(each) == 1 and told != UNKNOWN else ""
            ours = "; ".join(mean_difference(more[name], 2) for more in each)
            found += [Claim(f"{title(first)}, {rate(first)}: {text}", paper, ours, told)] if each else []
    return found


def terms_table(cells: list[Cell], reports: Reports) -> str:
    """The terms of both bounds; where nats are cheap, the KL term outweighs what is said of the molecules."""
    said = ("topology", "labels", "assembly")
    rows = [
        "| rate | model | seed | posterior | topology | labels | assembly | log p(M given z) | KL | ELBO |",
        "|---" * 10 + "|",
    ]
    for cell in cells:
        if (report := reports.get(cell["name"])) is not None:
            for posterior, key in (("network", "neural"), ("trees", "tree")):
                terms = report["trees"][key]
                values = [
                    *(terms[name] for name in said),
                    sum(terms[name] for name in said),
                    terms["kl"],
                    terms["elbo"],
                ]
                row = [
                    rate(cell),
                    title(cell),
                    str(cell["seed"]),
                    posterior,
                    *(f"{value:.2f}" for value in values),
                ]
                rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows)


def sweep_table(config: dict[str, Any], reports: Reports) -> str:
    """What the weights were chosen by."""
    names = ("loss", "elbo", "kl", "tree_elbo", "deviation", "held_out_deviation")
    rows = [
        "| rate | model | validation loss | ELBO, network | KL | ELBO, trees | deviation where fitted | held out |",
        "|---" * 8 + "|",
    ]
    for cell in sweep_cells(config):
        if (report := reports.get(cell["name"])) is not None:
            values = [f"{report['validation'][name]:.2f}" for name in names]
            rows.append(f"| {' | '.join([rate(cell), title(cell), *values])} |")
    return "\n".join(rows)


def text(config: dict[str, Any], reports: Reports) -> str:
    """All that the reports say."""
    if any(cell["name"] not in reports for cell in sweep_cells(config)):
        return "Not run yet."
    cells = compared_cells(config, chosen(config, reports))
    first = next((reports[cell["name"]] for cell in cells if cell["name"] in reports), None)
    if first is None:
        return sweep_table(config, reports)
    hoods = first["trees"]["neighborhoods"]
    conditions = (
        f"{config['molecules']:,} training molecules, {config['epochs']} epochs, width {config['width']}, positional "
        f"code. The game is played in {config['centers']:,} neighborhoods, {config['share'] * config['batch_size']:g} "
        f"in a step with at most {config['members']} members. {len(first['each']['neural']):,} test molecules with "
        f"more than 2 members in their neighborhoods, a median of {hoods['median_above_2']:g}, at most "
        f"{hoods['largest']}; their trees have {hoods['leaves']:.1f} leaves. ± is the 95 % interval over "
        "these molecules, of one training; in the table of differences they are paired. KL and the terms of the bound "
        f"are means of {first['trees']['molecules']:,} molecules, with those of small neighborhoods."
        f"{not_run(cells, reports)}"
    )
    tables = (table_of(claims(cells, reports)),
              table(cells, reports), conditions, differences(cells, reports), terms_table(cells, reports),
              f"The weights were chosen on {round(_VALIDATION * config['sweep_molecules']):,} validation molecules, by "
              f"models of {config['sweep_molecules']:,} molecules: the largest weight that costs at most "
              f"{config['tolerance']:g} nats of the validation loss, whose KL is weighed as in training.",
              sweep_table(config, reports))  # fmt: skip
    return "\n\n".join(tables)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"))
    arguments = parser.parse_args(words)
    config = load_config("rates", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        run_stages(stages(config, folder), run, folder, arguments.jobs, arguments.only)
    show({"rates: games": text(config, read_reports(folder))}, arguments, REPORTS)


if __name__ == "__main__":
    main()
