"""The bearing study (the paper's section 5.2 and appendix): `python -m paper.bearing --size cpu`.

Trains every cell of Table 3 and Figure 7 on the second IMS test, and leaves a report of each in
`paper/bearing/<size>/`. Tables and figures are made from the reports by `python -m paper.bearing_results`.
Repeating an interrupted call goes on where it stopped.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from paper.runs import ROOT, Cell, Stage, load_config, matching, provenance, run_cells, study_parser, write_report

REPORTS = ROOT / "paper" / "bearing"
MODELS = ROOT / "out" / "bearing"
# Test sequences that the figures show: the first ones of the shuffled test set, not chosen by looks.
EXAMPLES = 3


def cells(config: dict[str, Any]) -> list[Cell]:
    """DEEP, the games of Table 3, the radii of Figure 7, and the AR baseline."""
    shared = {name: value for name, value in config.items() if name not in ("lambdas", "radii", "weight_of_lambda")}
    factor = config["weight_of_lambda"]

    def cell(name: str, game: str | None, strength: float, **other: Any) -> Cell:
        return {**shared, "name": name, "game": game, "lambda": strength, "weight": factor * strength, **other}

    grid = [cell(f"{game}-{s:g}", game, s) for s in config["lambdas"] for game in ("asymmetric", "symmetric")]
    radii = [cell(f"radius-{r}", "asymmetric", 1, radius=r) for r in config["radii"]]
    return [cell("ar", None, 0), cell("deep", None, 0), *grid, *radii]


def stages(config: dict[str, Any], folder: Path) -> Iterator[Stage]:
    """All cells at once: no cell needs another's report."""
    yield Stage(cells(config))


def sequences(cell: Cell) -> dict[str, np.ndarray]:
    """The cell's share of all sequences (S, context + horizon, c), split at random into three parts."""
    from pellucid.series import load_bearing, simulate_rig

    data = simulate_rig(rows=5000, files=4, seed=0) if cell.get("simulated") else load_bearing()
    everything = data.sequences(cell["context"] + cell["horizon"])
    order = np.random.default_rng(cell["seed"]).permutation(len(everything))
    order = order[: round(cell["share"] * len(order))]
    ends = np.round(np.cumsum(cell["split"][:2]) * len(order)).astype(int)
    return {
        name: everything[part]
        for name, part in zip(("train", "validation", "test"), np.split(order, ends), strict=True)
    }


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    torch.set_num_threads(1)  # cells run side by side
    parts = sequences(cell)
    results = {"sequences": {name: len(part) for name, part in parts.items()}}
    if cell["name"] == "ar":
        return {**results, **autoregression(cell, parts)}
    train(cell, parts)
    return {**results, **measure(cell, parts)}


def autoregression(cell: Cell, parts: dict[str, np.ndarray]) -> dict[str, Any]:
    """One autoregressive model for all data, the limit of a large weight: it is its own witness."""
    from sklearn.linear_model import Ridge

    order, context = cell["order"], cell["context"]

    def lags(x: np.ndarray, at: int) -> np.ndarray:
        return np.concatenate([x[:, at - k] for k in range(order)], axis=1)

    train = parts["train"].astype(np.float64)
    positions = range(context - 1, train.shape[1] - 1)
    model = Ridge(alpha=cell["ridge"])
    model.fit(np.concatenate([lags(train, t) for t in positions]), np.concatenate([train[:, t + 1] for t in positions]))
    shift, scale = train.mean((0, 1)), train.std((0, 1))
    results: dict[str, Any] = {}
    for name, part, forced in (
        ("validation", "validation", False),
        ("test", "test", False),
        ("test_forced", "test", True),
    ):
        path = parts[part].astype(np.float64)
        future, mean = path[:, context:].copy(), np.empty_like(path[:, context:])
        for t in positions:
            mean[:, t + 1 - context] = model.predict(lags(path, t)).reshape(len(path), -1)
            if not forced:
                path[:, t + 1] = mean[:, t + 1 - context]
        errors, spread = np.square((mean - future) / scale).mean(), np.square((future - shift) / scale).mean()
        results[name] = {
            "error": float(np.sqrt(np.square(mean - future).mean())),
            "deviation": 0.0,
            "variation": 0.0,
            "relative_error": float(np.sqrt(errors / spread)),
            "relative_deviation": 0.0,
            "sequences": len(path),
        }
    results["constant_error"] = float(np.sqrt(np.square(parts["test"][:, context:] - shift).mean()))
    return results


def train(cell: Cell, parts: dict[str, np.ndarray]) -> None:
    """DEEP or a GAME, saved."""
    from pellucid.series import Forecaster

    settings = ("context", "horizon", "order", "radius", "game", "weight", "ridge", "scale", "width", "kernel")
    training = ("epochs", "batch_size", "learning_rate", "patience", "seed")
    # The paper's network has no linear path.
    path = {"linear": cell.get("linear", 0), "mixed": cell.get("mixed", False)}
    model = Forecaster(**{name: cell[name] for name in (*settings, *training)}, **path)
    home = MODELS / cell["size"] / cell["name"]
    model.fit(parts["train"], validation=parts["validation"], folder=home / "checkpoints", resume=True, progress=False)
    model.save(home / "model")
    shutil.rmtree(home / "checkpoints")


def measure(cell: Cell, parts: dict[str, np.ndarray]) -> dict[str, Any]:
    """What is reported of a saved model."""
    from pellucid.series import Forecaster

    model = Forecaster.load(MODELS / cell["size"] / cell["name"] / "model")
    results: dict[str, Any] = {"history": model.history_}
    for name, part, forced in (
        ("validation", "validation", False),
        ("test", "test", False),
        ("test_forced", "test", True),
    ):
        results[name] = model.evaluate(parts[part], forced=forced)._asdict()
    if cell["name"] in ("deep", "asymmetric-1", "asymmetric-10"):
        context = cell["context"]
        shown = parts["test"][:EXAMPLES]
        results["examples"] = {
            "future": rounded(shown[:, context:].tolist()),
            "generated": [rounded(model.explain(x[:context]).to_dict()) for x in shown],
            "forced": [rounded(model.explain(x[:context], x[context:]).to_dict()) for x in shown],
        }
    return results


def measure_again(cell: Cell, reports: Path) -> None:
    """Measure a saved model with the present code; its report keeps how it was trained."""
    import torch

    torch.set_num_threads(1)
    path = reports / f"{cell['name']}.json"
    before = json.loads(path.read_text())
    write_report(path, {**before, **measure(cell, sequences(cell)), "measured_by_commit": provenance()["commit"]})
    print(f"{cell['name']}: measured again", flush=True)


def rounded(value: Any) -> Any:
    """Numbers of a nested structure with five significant digits, enough for figures."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, jobs=2, table=False)
    parser.add_argument("--measure-again", action="store_true", help="measure the saved models, without training")
    parser.add_argument("--seed", type=int, help="another split, initialization and order than the configuration's")
    arguments = parser.parse_args(words)
    config = load_config("bearing", arguments.size)
    if arguments.seed is not None:
        config |= {"seed": arguments.seed, "size": f"{arguments.size}-seed{arguments.seed}"}
    chosen = matching(cells(config), arguments.only)
    if arguments.measure_again:
        saved = [cell for cell in chosen if (MODELS / cell["size"] / cell["name"] / "model").exists()]
        with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(measure_again, reports=arguments.out / config["size"]), saved))
    else:
        run_cells(chosen, run, arguments.out / config["size"], arguments.jobs)


if __name__ == "__main__":
    main()
