"""Explanations at the next row: the held-out and the in-sample game on two tables that come with scikit-learn.

`python -m paper.held_out_tables` trains a small network without a game, and with the games {linear, tree} x {in-sample,
held-out} x {the nearest rows, sampled rows among them} x weights, for several seeds, with a report each in
`paper/held_out_tables/`. Every network is measured in the same neighborhoods of test rows, which hold sampled rows.
This uses nothing but `pellucid`'s core: a training loop with a game is three lines longer than one without.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from paper.held_out import judged
from paper.runs import ROOT, Cell, load_config, matching, mean_difference, read_reports, run_cells, show, study_parser

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from pellucid import Neighborhoods, SymmetricGame
    from pellucid.witnesses import WitnessFamily

REPORTS = ROOT / "paper" / "held_out_tables"


class Table(NamedTuple):
    """A table, standardized by its training rows, and the rows of each part."""

    x: Tensor
    y: Tensor
    classes: bool
    parts: dict[str, Tensor]


def cells(config: dict[str, Any]) -> list[Cell]:
    """A network without a game and all games, for each table and seed."""
    varied = ("data", "seeds", "weights", "families", "members")
    shared = {name: value for name, value in config.items() if name not in varied}
    choices = itertools.product(config["weights"], config["families"], config["members"], (True, False))
    games = [None, *({"weight": w, "family": g, "members": m, "held_out": held_out} for w, g, m, held_out in choices)]
    return [
        {**shared, "name": f"{data.replace(' ', '-')}-{name_of(game)}-seed{seed}", "data": data, "seed": seed,
         "game": game}
        for data in config["data"] for seed in config["seeds"] for game in games
    ]  # fmt: skip


def name_of(game: Mapping[str, Any] | None) -> str:
    """The name of a game's reports, without table and seed."""
    if game is None:
        return "deep"
    kind = "held-out" if game["held_out"] else "in-sample"
    return f"{game['family']}-{kind}-{game['members']}-{game['weight']:g}"


def read(cell: Cell) -> Table:
    """The table of a cell, divided by its seed."""
    import torch
    from sklearn.datasets import load_breast_cancer, load_diabetes

    classes = cell["data"] == "breast cancer"
    x, y = (load_breast_cancer if classes else load_diabetes)(return_X_y=True)
    order = np.random.default_rng(cell["seed"]).permutation(len(x))
    ends = np.round(np.cumsum(cell["split"][:2]) * len(order)).astype(int)
    parts = dict(zip(("train", "validation", "test"), map(torch.from_numpy, np.split(order, ends)), strict=True))
    train = parts["train"].numpy()
    x = (x - x[train].mean(0)) / x[train].std(0)
    y = y if classes else (y - y[train].mean()) / y[train].std()
    return Table(torch.from_numpy(x), torch.from_numpy(y.astype(float))[:, None], classes, parts)


def families(ridge: float | Literal["auto"] = "auto") -> dict[str, WitnessFamily]:
    """The witnesses that every network is measured by; the same play, with a ridge that is fixed, which is faster."""
    from pellucid import LinearFamily, TreeFamily

    return {"linear": LinearFamily(ridge=ridge), "tree": TreeFamily(shrinkage=10.0, min_leaf=3)}


def neighborhoods(cell: Cell, table: Table, part: str, members: str) -> tuple[Tensor, Neighborhoods]:
    """Neighborhoods of the rows of a part and the points that they are of.

    "given": the row, and the training rows nearest to it. "sampled": fewer of them, and points that take every column
    either from the row or from one of these neighbors, or a value between both: x + t (x' - x), with t uniform in
    [0, 1] for each column by itself.
    """
    import torch

    from pellucid import Neighborhoods, nearest

    train, rows = table.x[table.parts["train"]], table.x[table.parts[part]]
    count = cell["neighbors"] if members == "sampled" else cell["most"]
    near = nearest(train, k=count + 1, query=rows).members.reshape(len(rows), -1)
    # A training row is its own nearest neighbor, and a member already.
    near = near[:, 1:] if part == "train" else near[:, :-1]
    points = [rows, train]
    columns = [torch.arange(len(rows))[:, None], len(rows) + near]
    if members == "sampled":
        extra = cell["most"] - count
        generator = torch.Generator().manual_seed(cell["seed"])
        chosen = near.gather(1, torch.randint(count, (len(rows), extra), generator=generator))
        shares_of_neighbor = torch.rand(len(rows), extra, table.x.shape[1], generator=generator, dtype=torch.float64)
        points.append((rows[:, None] + shares_of_neighbor * (train[chosen] - rows[:, None])).flatten(0, 1))
        columns.append(len(rows) + len(train) + torch.arange(len(rows) * extra).reshape(len(rows), extra))
    index = torch.cat(columns, 1)
    x = torch.cat(points)
    offsets = torch.arange(len(rows) + 1) * index.shape[1]
    return x, Neighborhoods(index.flatten(), offsets, torch.arange(len(rows)), len(x))


def game_of(cell: Cell) -> SymmetricGame | None:
    """The game of a cell."""
    from pellucid import SymmetricGame

    game = cell["game"]
    if game is None:
        return None
    return SymmetricGame(families(cell["ridge"])[game["family"]], weight=game["weight"], held_out=game["held_out"])


def trained(cell: Cell, table: Table) -> torch.nn.Module:
    """The network with the least validation loss; what the game costs is no part of it."""
    import torch
    from torch import nn
    from torch.nn import functional

    from pellucid import sample_minibatch

    torch.manual_seed(cell["seed"])
    network = nn.Sequential(
        nn.Linear(table.x.shape[1], cell["width"]), nn.ReLU(), nn.Linear(cell["width"], cell["width"]), nn.ReLU(),
        nn.Linear(cell["width"], 1),
    ).double()  # fmt: skip
    optimizer = torch.optim.AdamW(network.parameters(), lr=cell["learning_rate"], weight_decay=cell["decay"])
    loss_of = functional.binary_cross_entropy_with_logits if table.classes else functional.mse_loss
    game, rows = game_of(cell), table.parts["train"]
    if game is not None:
        points, hoods = neighborhoods(cell, table, "train", cell["game"]["members"])
    best, state, since = float("inf"), copy.deepcopy(network.state_dict()), 0
    for _ in range(cell["epochs"]):
        for batch in torch.randperm(len(rows)).split(cell["batch_size"]):
            y = table.y[rows[batch]]
            if game is None:
                loss = loss_of(network(table.x[rows[batch]]), y)
            else:
                play = sample_minibatch(hoods, batch, share=cell["share"])
                x = points[play.points]
                f = network(x)
                loss = loss_of(f[: len(batch)], y) + game(f, x, play.hoods).penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            now = float(loss_of(network(table.x[table.parts["validation"]]), table.y[table.parts["validation"]]))
        since += 1
        if now < best:
            best, state, since = now, copy.deepcopy(network.state_dict()), 0
        if since == cell["patience"]:
            break
    network.load_state_dict(state)
    return network


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    table = read(cell)
    start = time.process_time()
    network = trained(cell, table)
    seconds = time.process_time() - start
    errors, parts = {}, {}
    with torch.no_grad():
        for part in ("validation", "test"):
            rows = table.parts[part]
            f, y = network(table.x[rows]), table.y[rows]
            wrong = ((f > 0) != (y > 0)).double().mean()
            errors[part] = float(wrong if table.classes else (f - y).square().mean().sqrt())
            x, hoods = neighborhoods(cell, table, part, "sampled")
            parts[part] = (network(x), x, hoods)
    f, _, hoods = parts["test"]
    means = (hoods.sum(f) / hoods.sizes[:, None])[hoods.rows]
    return {
        "training_processor_seconds": round(seconds, 2),
        "rows": {name: len(rows) for name, rows in table.parts.items()},
        "error": errors,
        "local_deviation": float((f[hoods.members] - means).square().mean().sqrt()),
        "witnesses": {name: judged(family, parts, 1.0) for name, family in families().items()},
    }


def table_of(config: dict[str, Any], data: str, reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each network: means over the seeds, and the paired difference of the error with its 95 % interval."""
    seeds = config["seeds"]
    names = dict.fromkeys(name_of(cell["game"]) for cell in cells(config))
    rows = [
        "| network | validation error | test error | against DEEP | linear: held out | bound | tree: held out | bound "
        "| local deviation of the network |",
        "|---|---|---|---|---|---|---|---|---|",
    ]

    def values(name: str, *path: str) -> np.ndarray:
        result = []
        for seed in seeds:
            content: Any = reports[f"{data.replace(' ', '-')}-{name}-seed{seed}"]
            for key in path:
                content = content[key]
            result.append(float(content))
        return np.array(result)

    for name in names:
        errors, deep = (values(one, "error", "test") for one in (name, "deep"))
        shown = [f"{values(name, 'error', part).mean():.3f}" for part in ("validation", "test")]
        shown.append("" if name == "deep" else mean_difference(errors - deep))
        for kind in ("linear", "tree"):
            shown.append(f"{values(name, 'witnesses', kind, 'test', 'held_out').mean():.3f}")
            shown.append(f"{values(name, 'witnesses', kind, 'bound').mean():.3f}")
        shown.append(f"{values(name, 'local_deviation').mean():.3f}")
        rows.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(rows)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"), jobs=2)
    arguments = parser.parse_args(words)
    config = load_config("held_out_tables", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        run_cells(matching(cells(config), arguments.only), run, folder, arguments.jobs)
    reports = read_reports(folder)
    show({f"held-out: {data}": table_of(config, data, reports) for data in config["data"]}, arguments, REPORTS)


if __name__ == "__main__":
    main()
