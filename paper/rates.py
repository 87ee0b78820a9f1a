"""What a nat may cost: `python -m paper.rates --size cpu` trains the autoencoder at several weights of its KL term.

Each model is measured on test molecules of MOSES: the bound with all of the KL term at weight 1, the KL term itself,
how many molecules come back from the means of their posteriors and from points drawn from these, and samples of the
prior. A cell leaves a report in `paper/rates/<size>/`; an interrupted call goes on where it stopped, in mid-training.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from paper.moses import corpus
from paper.runs import ROOT, Cell, load_config, read_reports, run_cells, write_section

REPORTS = ROOT / "paper" / "rates"
README = ROOT / "paper" / "README.md"
MODELS = ROOT / "out" / "rates"
_SETTINGS = ("seed", "latent", "depth", "warm", "width", "epochs", "batch_size", "learning_rate")


def cells(config: dict[str, Any]) -> list[Cell]:
    """A cell for each weight of the KL term and number of free nats."""
    shared = {name: value for name, value in config.items() if name != "rates"}
    return [
        {**shared, "name": f"weight-{weight:g}-free-{free:g}", "kl_weight": weight, "free": free}
        for weight, free in config["rates"]
    ]


def run(cell: Cell) -> dict[str, Any]:
    """Train and measure one cell."""
    import torch

    from pellucid.molecules.vae import JunctionTreeVAE

    torch.set_num_threads(1)  # cells run side by side
    embedded = bool(cell.get("embedded"))
    settings = {name: cell[name] for name in (*_SETTINGS, "kl_weight", "free")}
    folder = MODELS / cell["size"] / cell["name"]
    learned = corpus(embedded, "train", cell["molecules"])
    model = JunctionTreeVAE(game=None, **settings).fit(
        learned, folder=folder / "checkpoints", resume=True, progress=False
    )
    model.save(folder / "model")
    test = corpus(embedded, "test", cell["test"])
    known, _ = test.encodable(model.vocabulary_)
    texts = [test.smiles(int(i)) for i in known]
    terms = model.elbo(texts).to_dict()
    some = texts[: cell["reconstructed"]]
    encoding = model.encode(some)
    noise = np.random.default_rng(0).standard_normal(encoding.mean.shape)
    drawn = encoding.mean + np.exp(0.5 * encoding.log_variance) * noise
    samples = model.sample(cell["samples"])
    train = {learned.smiles(i) for i in range(len(learned))}
    return {
        "molecules": {"train": len(learned), "test": len(texts), "epochs": len(model.history_)},
        "bound": terms,
        "from_means": share_of(some, model.decode(encoding.mean)),
        "from_draws": share_of(some, model.decode(drawn)),
        "unique": len(set(samples)) / len(samples),
        "new": float(np.mean([text not in train for text in samples])),
    }


def share_of(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of molecules that came back as they were."""
    return float(np.mean([a == b for a, b in zip(first, second, strict=True)]))


def table(config: dict[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each cell that has been run."""
    rows = [
        "| weight of the KL term | free nats | bound (nats) | KL | given back from the mean | from a draw | "
        f"unique of {config['samples']:,} samples | new |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells(config):
        if (report := reports.get(cell["name"])) is not None:
            bound, shares = report["bound"], [report[key] for key in ("from_means", "from_draws", "unique", "new")]
            numbers = f"{bound['elbo']:.2f} | {bound['kl']:.1f} | " + " | ".join(f"{100 * x:.1f} %" for x in shares)
            rows.append(f"| {cell['kl_weight']:g} | {cell['free']:g} | {numbers} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("cpu", "smoke"), default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="cells to run side by side, each on one core")
    parser.add_argument("--table", action="store_true", help="show what is there instead of running anything")
    arguments = parser.parse_args()
    config = load_config("rates", arguments.size)
    if not arguments.table:
        run_cells(cells(config), run, REPORTS / config["size"], arguments.jobs)
    text = table(config, read_reports(REPORTS / config["size"]))
    print(text)
    if config["size"] == "cpu":
        write_section(README, "rates: table", text)


if __name__ == "__main__":
    main()
