"""Runs of every domain, as small as they can be: what is killed, and must resume to the same."""

import json
from pathlib import Path

import torch
from blockers import blockers
from houses import houses
from toy import CurveDomain

from pellucid import registry, runs, summaries
from pellucid.domains import Source
from pellucid.runs.occupied import is_begun
from pellucid.series import simulate_rig


def curves(_):
    x = torch.linspace(-1, 1, 300)
    domain = CurveDomain()
    return domain, Source(torch.stack([x, torch.sin(4 * x)], 1), None, domain.Reading()), {"batch_size": 120}


def table(folder):
    x, price = houses(60)
    path = folder / "houses.csv"
    x.assign(price=price).to_csv(path, index=False)
    small = {"width": 4, "ensemble": 1, "witness": "linear", "neighbors": 4, "batch_size": 24}
    return _read("table", path, small, target="price")


def molecules(folder):
    some = blockers().select(range(0, 1017, 17))
    path = folder / "assay.csv"
    path.write_text("smiles,activity\n" + "".join(f"{s},{y}\n" for s, (y,) in zip(some.smiles, some.y, strict=True)))
    return _read("molecules", path, {"width": 4, "analogs": "no"})


def series(folder):
    rig = simulate_rig(files=1, rows=500, bearings=1, seed=0)
    path = folder / "rig.csv"
    path.write_text("a\n" + "".join(f"{value}\n" for value in rig.values[0][:, 0]))
    return _read("series", path, {"width": 4, "context": 10, "horizon": 5, "radius": 4, "order": 1, "linear": 1})


def autoencoder(folder):
    path = folder / "molecules.smi"
    path.write_text("".join(f"CCCO{'C' * (i % 7)}{'N' * (i // 7 % 3)}C{'O' * (i // 21)}\n" for i in range(42)))
    return _read("autoencoder", path, {"width": 4, "latent": 2, "analogs": "no"})


def _read(name, path, settings, **reading):
    domain = registry.domain_named(name)
    options = domain.Reading(**reading)
    return domain, Source(domain.read(path, options), path, options), settings


DOMAINS = {"toy": curves, "table": table, "molecules": molecules, "series": series, "autoencoder": autoencoder}


class SmallRun:
    """A run of a domain, in any folder, as often as it is asked for."""

    def __init__(self, name, folder, **settings):
        self.domain, self.source, own = DOMAINS[name](folder)
        self.settings = self.domain.Settings(**{"epochs": 2, **own, **settings})

    def train(self, folder):
        """Train, or resume what has begun."""
        runs.train(
            self.domain, self.source, self.settings, folder, title="small", progress=False, resume=is_begun(folder)
        )


def result(folder: Path):
    """All that a run leaves, but for how long it took and when it was."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".ckpt" and path.name not in (summaries.FILE, "report.html")
    }
    summary = json.loads((folder / summaries.FILE).read_text())
    del summary["made"]
    for model in summary["models"].values():
        del model["seconds"]
    return files, summary
