"""ExpO's tables with our games: python -m paper.expo

Plumb et al. (NeurIPS 2020) train networks whose local linear explanations are meant to hold, and report six tables.
This repeats their measurements for a network without a game and with one. For each table, validation parts choose the
network, then the game and its weight; then every trial trains both and its test part is measured, once. A cell is a
trial; its report is in `paper/expo/`.

    python -m paper.expo --size smoke    # seconds: shows that everything runs
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.expo_data import SUPPORT2, Table, read
from paper.expo_measures import NEAR, fidelities, witnessed
from paper.runs import ROOT, Cell, Stage, load_config, reports_to_choose_by, run_stages, study_parser

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

REPORTS = ROOT / "paper" / "expo"
PUBLISHED: dict[str, dict[str, tuple[float, float]]] = {
    "autompg": {"error": (0.135, 0.130), "neighborhood": (0.041, 0.011), "explained": (-5.6, -1.5)},
    "housing": {"error": (0.143, 0.149), "neighborhood": (0.141, 0.057), "explained": (-14.0, -9.6)},
    "communities": {"error": (0.488, 0.460), "neighborhood": (0.106, 0.079), "explained": (-13.0, -22.0)},
    "music": {"error": (0.724, 0.669), "neighborhood": (0.105, 0.066), "explained": (-19.0, -26.0)},
    "winequality-red": {"error": (0.653, 0.640), "neighborhood": (0.033, 0.0025), "explained": (-6.9, 0.02)},
    "support2": {"error": (0.167, 0.166), "neighborhood": (0.182, 0.051), "explained": (-8.5, -5.1)},
}
"""Their numbers without and with ExpO. The error is the mean squared error of the standardized target, for SUPPORT2 the
share of wrong answers; "explained" is recomputed from their variances."""

SETTINGS = (
    "split", "members", "width", "depth", "decay", "learning_rate", "batch_size", "check", "scale", "centers", "ridge",
    "steps", "lime_samples",
)  # fmt: skip


def stages(config: dict[str, Any], folder: Path) -> Iterator[Stage]:
    """Choose the networks of all tables, then their games, then train and measure every trial."""
    networks = [
        {"activation": a, "noise": noise, "game": None} for a in config["activations"] for noise in config["noises"]
    ]
    tables = [data for data in config["data"] if data not in config["like"]]
    yield Stage([cell for data in tables for cell in search_cells(config, data, "network", networks)])
    chosen = {data: best_network(networks, searched(config, folder, data, "network")) for data in tables}
    candidates = {
        data: [
            {**network, "game": {"held_out": held_out, "weight": weight}}
            for held_out, weights in ((False, config["in_sample"]), (True, config["held_out"]))
            for weight in weights
        ]
        for data, network in chosen.items()
    }
    yield Stage(
        [cell for data, games in candidates.items() for cell in search_cells(config, data, "game", games)],
        note=str(chosen),
    )  # fmt: skip
    games = {}
    for data, network in chosen.items():
        deep = searched(config, folder, data, "network")[networks.index(network)]
        allowed = deep["error"] + config["allowance_of_classes" if data.startswith(SUPPORT2) else "allowance"]
        games[data] = best_game(candidates[data], searched(config, folder, data, "game"), allowed)
    models = {data: [chosen[like], games[like]] for data in config["data"] for like in [config["like"].get(data, data)]}
    cells = [cell for data in config["data"] for cell in final_cells(config, data, models[data])]
    # By trials, so that all tables grow together.
    yield Stage(sorted(cells, key=lambda cell: int(cell["trial"])), note=str(games))


def name_of(data: str) -> str:
    """A table in the names of reports."""
    return data.replace(", ", "-").replace(" ", "-")


def search_cells(config: dict[str, Any], data: str, what: str, models: list[dict[str, Any]]) -> list[Cell]:
    """Cells that measure models on the validation parts of a few trials."""
    shared = {"data": data, **{key: config[key] for key in SETTINGS}, "rows": config["search_rows"]}
    return [
        {**shared, "name": f"{name_of(data)}-{what}-trial{t}", "part": "validation", "trial": t, "models": models}
        for t in config["search_trials"]
    ]


def final_cells(config: dict[str, Any], data: str, models: list[dict[str, Any]]) -> list[Cell]:
    """Cells that measure the network without and with the game on the test part of every trial."""
    shared = {"data": data, **{key: config[key] for key in SETTINGS}, "rows": config["rows"]}
    trials = config["trials"] if data not in config["fewer_trials"] else config["fewer_trials"][data]
    return [
        {**shared, "name": f"{name_of(data)}-trial{t}", "part": "test", "trial": t, "models": models}
        for t in range(trials)
    ]


def searched(config: dict[str, Any], folder: Path, data: str, what: str) -> list[dict[str, float]]:
    """Error and LIME's neighborhood fidelity of each model on validation parts, means over the trials."""
    reports = reports_to_choose_by(folder, REPORTS)
    results = [reports[f"{name_of(data)}-{what}-trial{trial}"]["results"] for trial in config["search_trials"]]
    return [
        {
            "error": float(np.mean([result["error"] for result in same])),
            "neighborhood": float(np.mean([result["lime"]["neighborhood"] for result in same])),
        }
        for same in zip(*results, strict=True)
    ]


def best_network(networks: Sequence[dict[str, Any]], results: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """The network with the least validation error."""
    return networks[int(np.argmin([result["error"] for result in results]))]


def best_game(
    games: Sequence[dict[str, Any]], results: Sequence[Mapping[str, float]], allowed: float
) -> dict[str, Any]:
    """The game with the least validation fidelity of LIME (0 is perfect) among those whose validation error is allowed;
    if there is none, the most accurate one.
    """
    within = [i for i, result in enumerate(results) if result["error"] <= allowed]
    if not within:
        return games[int(np.argmin([result["error"] for result in results]))]
    return games[min(within, key=lambda i: results[i]["neighborhood"])]


def network_of(cell: Cell, model: Mapping[str, Any], columns: int) -> nn.Module:
    """The mean of several perceptrons, each with its own weights, and of a linear function that they share."""
    import torch
    from torch import nn

    activation = {"relu": nn.functional.relu, "silu": nn.functional.silu}[model["activation"]]
    sizes = [columns, *[cell["width"]] * cell["depth"], 1]

    class Perceptrons(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.skip = nn.Parameter(torch.zeros(columns, 1))
            self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
            for inputs, outputs in itertools.pairwise(sizes):
                for values, rows in ((self.weights, inputs), (self.biases, 1)):
                    bound = inputs**-0.5
                    values.append(nn.Parameter(torch.empty(cell["members"], rows, outputs).uniform_(-bound, bound)))

        def members(self, x: Tensor) -> Tensor:
            h = x.expand(cell["members"], *x.shape)
            for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                h = torch.baddbmm(bias, h if i == 0 else activation(h), weight)
            return h + x @ self.skip

        def forward(self, x: Tensor) -> Tensor:
            mean: Tensor = self.members(x).mean(0)
            return mean

    return Perceptrons()


def loss_of(classes: bool) -> Callable[[Tensor, Tensor], Tensor]:
    """Squared error; of classes the cross-entropy, whose log-odds are 2 f: f is one of ExpO's two opposite logits."""
    from torch.nn import functional

    if classes:
        return lambda f, y: functional.binary_cross_entropy_with_logits(2 * f, y.expand_as(f))
    return lambda f, y: (f - y).square().mean()


def trained(cell: Cell, model: Mapping[str, Any], table: Table) -> nn.Module:
    """The state with the least validation loss; what the game costs is no part of it.

    Each of the perceptrons has its own task loss, and their mean plays.
    """
    import torch

    from pellucid import LinearFamily, Neighborhoods, SymmetricGame

    torch.manual_seed(cell["trial"])
    x, y = table.x["train"], table.y["train"]
    network, loss_at = network_of(cell, model, x.shape[1]), loss_of(table.classes)
    optimizer = torch.optim.AdamW(network.parameters(), lr=cell["learning_rate"], weight_decay=cell["decay"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cell["steps"])
    game = None
    if model["game"] is not None:
        family = LinearFamily(ridge=cell["ridge"])
        game = SymmetricGame(family, weight=model["game"]["weight"], held_out=model["game"]["held_out"])
    n, size = cell["centers"], 1 + max(24, round(1.2 * x.shape[1]))
    hoods = Neighborhoods(torch.arange(n * size), torch.arange(n + 1) * size, torch.arange(n) * size, n * size)
    best, state = float("inf"), copy.deepcopy(network.state_dict())
    for step in range(1, cell["steps"] + 1):
        batch = torch.randint(len(x), (cell["batch_size"],))
        rows = x[batch] + model["noise"] * torch.randn(len(batch), x.shape[1])
        if game is None:
            loss = loss_at(network.members(rows), y[batch])  # type: ignore[operator]
        else:
            points = x[torch.randint(len(x), (n, 1))] + cell["scale"] * torch.randn(n, size, x.shape[1]).index_fill_(
                1, torch.tensor([0]), 0.0
            )
            points = points.flatten(0, 1)
            f = network.members(torch.cat([points, rows]))  # type: ignore[operator]
            penalty = game(f[:, : len(points)].mean(0), points, hoods).penalty
            loss = loss_at(f[:, len(points) :], y[batch]) + penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % cell["check"] == 0:
            with torch.no_grad():
                now = float(loss_at(network(table.x["validation"]), table.y["validation"]))
            if now < best:
                best, state = now, copy.deepcopy(network.state_dict())
    network.load_state_dict(state)
    return network


def measured(cell: Cell, network: nn.Module, table: Table) -> dict[str, Any]:
    """Error and explanations on the part of the cell."""
    import torch

    def f(points: Tensor) -> Tensor:
        return torch.cat([network(part)[:, 0] for part in points.split(20_000)])

    x, y, train = table.x[cell["part"]], table.y[cell["part"]][:, 0], table.x["train"]
    generator: Generator = torch.Generator().manual_seed(cell["trial"])
    rows = x[torch.randperm(len(x), generator=generator)[: cell["rows"]]]
    with torch.no_grad():
        values = f(x)
        wrong = ((values > 0) != (y > 0)).double().mean()
        return {
            "error": float(wrong if table.classes else (values - y).square().mean()),
            "lime": fidelities(f, train, rows, samples=cell["lime_samples"], generator=generator),
            "witnesses": {
                name: witnessed(f, rows, scale=scale, generator=generator)
                for name, scale in (("near", NEAR), ("wide", cell["scale"]))
            },
        }


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure the models of a cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    table = read(cell["data"], cell["trial"], cell["split"])
    results = []
    for model in cell["models"]:
        start = time.process_time()
        network = trained(cell, model, table)
        seconds = time.process_time() - start
        results.append({**measured(cell, network, table), "training_processor_seconds": round(seconds, 2)})
    return {
        "rows": {part: len(rows) for part, rows in table.x.items()},
        "columns": table.x["train"].shape[1],
        "results": results,
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"), jobs=2, table=False)
    arguments = parser.parse_args(words)
    config = load_config("expo", arguments.size)
    folder = arguments.out / config["size"]
    run_stages(stages(config, folder), run, folder, arguments.jobs, arguments.only)
    if config["size"] == "cpu" and arguments.out == REPORTS:
        from paper.expo_results import write

        write(config, folder)


if __name__ == "__main__":
    main()
