"""What a nat may cost: `python -m paper.rates --size cpu` trains the autoencoder at several weights of its KL term.

Each model is measured on test molecules of MOSES: the bound with all of the KL term at weight 1, the KL term itself,
how many molecules come back from the means of their posteriors and from points drawn from these, samples of the prior,
and the trees that follow its encoder (`paper.rate_games` compares these with those of games). A cell leaves a report in
`paper/rates/<size>/`; an interrupted call goes on where it stopped, in mid-training.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from paper import moses
from paper.runs import ROOT, Cell, load_config, matching, not_run, read_reports, run_cells, show, study_parser

if TYPE_CHECKING:
    from pellucid.molecules.vae import Corpus, JunctionTreeVAE

REPORTS = ROOT / "paper" / "rates"
MODELS = ROOT / "out" / "rates"
MOSES_TRAIN = 1_584_663
_SHARES = ("from_means", "from_draws", "valid", "unique", "new")
_SETTINGS = ("seed", "centers", "pool", "share", "members", "latent", "depth", "warm", "width", "epochs", "batch_size",
             "learning_rate", "positional", "kl_weight", "free", "game", "weight", "held_out_game")  # fmt: skip
# What belongs to no single cell.
_LISTS = ("rates", "recurrent", "larger", "sweeps", "sweep_molecules", "tolerance", "seeds")
# Settings of DEEP.
_NO_GAME: dict[str, Any] = {"game": None, "weight": 0.0, "held_out_game": False}


def cells(config: dict[str, Any]) -> list[Cell]:
    """A cell for each weight of the KL term, with a positional code, those without one, and those of more molecules."""
    prices = [(True, *rate) for rate in config["rates"]] + [(False, *rate) for rate in config["recurrent"]]
    cells = [deep_cell(config, positional, weight, free) for positional, weight, free in prices]
    return cells + [larger_cell(config, weight, free, count) for weight, free, count in config["larger"]]


def deep_cell(config: dict[str, Any], positional: bool, weight: float, free: float) -> Cell:
    """DEEP at a weight of the KL term."""
    return {
        **{name: value for name, value in config.items() if name not in _LISTS},
        "name": f"{'positional' if positional else 'recurrent'}-{weight:g}-free-{free:g}",
        "positional": positional,
        "kl_weight": weight,
        "free": free,
        **_NO_GAME,
    }


def larger_cell(config: dict[str, Any], weight: float, free: float, molecules: int) -> Cell:
    """The same with more molecules to learn from."""
    cell = deep_cell(config, True, weight, free)
    return {**cell, "name": f"{cell['name']}-{molecules}-molecules", "molecules": molecules}


@lru_cache(maxsize=2)
def corpus(embedded: bool, part: Literal["train", "test"], count: int, seed: int) -> Corpus:
    """Junction trees of molecules chosen at random: the files of MOSES are ordered, and beginnings are no sample."""
    from pellucid.molecules.vae import Corpus
    from pellucid.molecules.vae.corpus_format import rows_of

    if embedded:
        return moses.corpus(embedded, part, count)
    from pellucid.molecules import moses as file_of

    texts = [text for _, text in rows_of(file_of(part))]
    return Corpus.build([texts[i] for i in np.random.default_rng(seed).permutation(len(texts))[:count]], progress=False)


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch
    from rdkit import Chem

    torch.set_num_threads(1)  # cells run side by side
    embedded = bool(cell.get("embedded"))
    folder = MODELS / cell["size"] / cell["name"]
    learned = corpus(embedded, "train", cell["molecules"], cell["chosen"])
    start = time.monotonic()
    model = new_model(cell).fit(learned, validation=0, folder=folder / "checkpoints", resume=True, progress=False)
    trained = time.monotonic() - start
    model.save(folder / "model")
    test = corpus(embedded, "test", cell["test"], cell["chosen"])
    known, _ = test.encodable(model.vocabulary_)
    texts = [test.smiles(int(i)) for i in known]
    terms = model.elbo(texts).to_dict()
    some = texts[: cell["reconstructed"]]
    encoding = model.encode(some)
    noise = np.random.default_rng(0).standard_normal(encoding.mean.shape)
    drawn = encoding.mean + np.exp(0.5 * encoding.log_variance) * noise
    samples = model.sample(cell["samples"])
    valid = [text for text in samples if Chem.MolFromSmiles(text) is not None]
    train = {learned.smiles(i) for i in range(len(learned))}
    report = {
        "molecules": {"train": len(learned), "test": len(texts), "epochs": len(model.history_)},
        "training_seconds": round(trained, 1),
        "bound": terms,
        "from_means": share_of(some, model.decode(encoding.mean)),
        "from_draws": share_of(some, model.decode(drawn)),
        "valid": len(valid) / len(samples),
        "unique": len(set(samples)) / len(samples),
        "new": float(np.mean([text not in train for text in samples])),
        **trees(model, texts[: cell["explained"]]),
    }
    # At the end, so that whoever is interrupted does not train again, and whoever wants to can.
    shutil.rmtree(folder / "checkpoints")
    return report


def new_model(cell: Cell) -> JunctionTreeVAE:
    """An untrained model with the settings of a cell."""
    from pellucid.molecules import SimilarityRule
    from pellucid.molecules.vae import JunctionTreeVAE

    similar = SimilarityRule(groups_per_kind=cell["groups_per_kind"], most=cell["most"])
    return JunctionTreeVAE(similar=similar, **{name: cell[name] for name in _SETTINGS})


def trees(model: JunctionTreeVAE, texts: Sequence[str]) -> dict[str, Any]:
    """Network and trees on these molecules: means, and the values of each, which are paired among models."""
    scores = model.evaluate(texts)
    each = {
        "neural": scores.neural.values,
        "tree": scores.tree.values,
        "deviation": scores.deviations,
        "held_out_deviation": scores.held_out_deviations,
    }
    large = scores.sizes > 2
    return {"trees": scores.to_dict(), "each": {name: values[large].round(3).tolist() for name, values in each.items()}}


def share_of(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of molecules that came back as they were."""
    return float(np.mean([a == b for a, b in zip(first, second, strict=True)]))


def rate(cell: Cell) -> str:
    """The price of a nat."""
    return f"{cell['free']:g} nats free" if cell["free"] else f"price {cell['kl_weight']:g}"


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each cell that has been run."""
    rows = [
        "| code | training molecules | weight of the KL term | free nats | bound (nats) | KL "
        f"| given back from the mean | from a draw | valid of {config['samples']:,} samples | unique | new |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells(config):
        if (report := reports.get(cell["name"])) is not None:
            bound, shares = report["bound"], [report[key] for key in _SHARES]
            numbers = f"{bound['elbo']:.2f} | {bound['kl']:.1f} | " + " | ".join(f"{100 * x:.1f} %" for x in shares)
            code = "positional" if cell["positional"] else "recurrent"
            rows.append(f"| {code} | {cell['molecules']:,} | {cell['kl_weight']:g} | {cell['free']:g} | {numbers} |")
    if len(rows) == 2:
        return "Not run yet."
    share = config["molecules"] / MOSES_TRAIN
    return "\n".join(rows) + (
        f"\n\n{config['molecules']:,} molecules are {100 * share:.1f} % of MOSES; {config['epochs']} epochs, width "
        f"{config['width']}, {config['latent']} + {config['latent']} latent coordinates, seed {config['seed']}."
        f"{not_run(cells(config), reports)}"
    )


def minutes_of_a_cell(cell: Cell, steps: int = 5) -> float:
    """How long a cell trains on this machine as it is now, from a few steps of it."""
    import torch

    from pellucid.molecules.vae.fitting import AutoencoderFit

    torch.set_num_threads(1)
    few = corpus(bool(cell.get("embedded")), "train", min(cell["molecules"], 1000), cell["chosen"])
    fit = AutoencoderFit(new_model({**cell, "centers": 1, "pool": 1, "game": None}), few, validation=0)
    optimizer, generator = torch.optim.Adam(fit.network.parameters()), torch.Generator().manual_seed(0)

    def step() -> None:
        chosen = torch.randperm(len(few), generator=generator)[: cell["batch_size"]]
        optimizer.zero_grad()
        fit.loss(fit.take(chosen, generator))["loss"].backward()
        optimizer.step()

    step()  # compiles
    start = time.monotonic()
    for _ in range(steps):
        step()
    count = cell["epochs"] * -(-cell["molecules"] // cell["batch_size"])
    return float(count * (time.monotonic() - start) / steps / 60)


def main(words: Sequence[str] | None = None) -> None:
    parser = study_parser(__doc__, REPORTS, sizes=("cpu", "smoke"))
    arguments = parser.parse_args(words)
    config = load_config("rates", arguments.size)
    folder = arguments.out / config["size"]
    if not arguments.table:
        wanted = matching(cells(config), arguments.only)
        minutes = minutes_of_a_cell(wanted[0])
        print(f"training of a cell takes about {minutes:.0f} minutes of one core", flush=True)
        run_cells(wanted, run, folder, arguments.jobs)
    show({"rates: table": table(config, read_reports(folder))}, arguments, REPORTS)


if __name__ == "__main__":
    main()
