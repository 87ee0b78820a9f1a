"""How much of the network could any witness explain at a molecule that it has not seen?

`python -m paper.held_out_ceiling` asks learners that nobody can read, with the same members and the same substructures:
kernel ridge with Tanimoto similarity, and forests of a hundred trees. What they miss at held-out members, a law that
people can read is not to be blamed for. Beside them a law over how often each substructure occurs, each with a column
of its own. By five folds; settings of a learner are chosen inside the other four. The models are those of
`paper.held_out`, trained again where they are missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from paper.held_out import MODELS, REPORTS, cells, untrained
from paper.nav17 import split
from paper.runs import Cell, load_config, read_reports, run_cells

if TYPE_CHECKING:
    from pellucid.molecules import Morgan

FOLDS = 5
RIDGES = np.logspace(-3, 2, 11)


def kernel_ridge(kernel: np.ndarray, f: np.ndarray, fit: np.ndarray, ask: np.ndarray) -> np.ndarray:
    """Answers of kernel ridge, its ridge chosen by leave-one-out among the members that it is fitted to."""
    mean = f[fit].mean()
    values, vectors = np.linalg.eigh(kernel[np.ix_(fit, fit)])
    best, answer = np.inf, np.zeros(len(ask))
    for ridge in RIDGES:
        inverse = (vectors / (values.clip(0) + ridge)) @ vectors.T
        weights = inverse @ (f[fit] - mean)
        error = np.square(weights / np.diag(inverse)).mean()  # leave-one-out
        if error < best:
            best, answer = error, mean + kernel[np.ix_(ask, fit)] @ weights
    return answer


def contributions(bits: np.ndarray, f: np.ndarray, fit: np.ndarray, ask: np.ndarray) -> np.ndarray:
    """A linear law, which people can read."""
    centered = bits - bits[fit].mean(0)
    return kernel_ridge(centered @ centered.T, f, fit, ask)


def tanimoto(bits: np.ndarray, f: np.ndarray, fit: np.ndarray, ask: np.ndarray) -> np.ndarray:
    """Kernel ridge with Tanimoto similarity: a Gaussian process over molecules."""
    common, counts = bits @ bits.T, bits.sum(1)
    return kernel_ridge(common / (counts[:, None] + counts - common), f, fit, ask)


def pairs(bits: np.ndarray, f: np.ndarray, fit: np.ndarray, ask: np.ndarray) -> np.ndarray:
    """Contributions of substructures and of all pairs of them."""
    centered = bits - bits[fit].mean(0)
    kernel = centered @ centered.T
    return kernel_ridge(kernel + kernel**2 / np.abs(np.diag(kernel)).mean(), f, fit, ask)


def forest(bits: np.ndarray, f: np.ndarray, fit: np.ndarray, ask: np.ndarray) -> np.ndarray:
    """A forest of a hundred trees."""
    from sklearn.ensemble import RandomForestRegressor

    varied = bits[:, bits.std(0) > 0]
    trees = RandomForestRegressor(100, max_features=0.3, random_state=0).fit(varied[fit], f[fit])
    return np.asarray(trees.predict(varied[ask]))


LEARNERS: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
    "contributions": ("bits", contributions),
    "contributions of counts": ("counts", contributions),
    "contributions of pairs": ("bits", pairs),
    "Tanimoto kernel": ("bits", tanimoto),
    "forest": ("bits", forest),
}
"""What each learner reads of the molecules, and the learner."""


def counts_of(smiles: Sequence[str], morgan: Morgan) -> np.ndarray:
    """(N, S) how often each molecule has each substructure of all of them: no two share a column."""
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=morgan.radius)
    rows = [generator.GetSparseCountFingerprint(Chem.MolFromSmiles(text)).GetNonzeroElements() for text in smiles]
    columns = {key: column for column, key in enumerate(dict.fromkeys(key for row in rows for key in row))}
    table = np.zeros((len(rows), len(columns)), dtype=np.float32)
    for row, entries in zip(table, rows, strict=True):
        row[[columns[key] for key in entries]] = list(entries.values())
    return table


def explained(f: np.ndarray, features: Mapping[str, np.ndarray], hoods: Any, fewest: int) -> dict[str, float]:
    """The variance of the network around each test molecule that each learner explains, held out."""
    missed = dict.fromkeys(LEARNERS, 0.0)
    total = 0.0
    for i in range(len(hoods)):
        members = hoods.members_of(i).numpy()
        if len(members) < fewest:
            continue
        values, own = f[members], {name: table[members].astype(float) for name, table in features.items()}
        for fold in range(FOLDS):
            ask = np.arange(fold, len(members), FOLDS)
            fit = np.setdiff1d(np.arange(len(members)), ask)
            total += np.square(values[ask] - values[fit].mean()).sum()
            for name, (kind, learner) in LEARNERS.items():
                missed[name] += np.square(values[ask] - learner(own[kind], values, fit, ask)).sum()
    return {name: 1 - miss / total for name, miss in missed.items()}


def run(cell: Cell) -> dict[str, Any]:
    """Ask every learner about the network of one cell."""
    import torch

    from pellucid.molecules import PropertyModel
    from pellucid.molecules.play import featurize

    torch.set_num_threads(1)
    train, _, test = split(cell, cell["seed"])
    folder = MODELS / "cpu" / cell["name"].removeprefix("ceiling-")
    if not folder.exists():
        untrained(cell).fit(train, validation=0, progress=False).save(folder)
    model = PropertyModel.load(folder)
    neighborhoods = model.neighborhoods(test)
    points = featurize(neighborhoods.points, model.morgan, False)
    f = model._values(points)[:, 0].double().numpy()
    features = {"bits": points.fingerprints.dense().numpy(), "counts": counts_of(neighborhoods.points, model.morgan)}
    return {"held_out": explained(f, features, neighborhoods.hoods, cell["fewest"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["deep-seed0"], help="cells of paper.held_out")
    arguments = parser.parse_args()
    wanted = [cell for cell in cells(load_config("held_out", "cpu")) if cell["name"] in arguments.names]
    folder = REPORTS / "ceiling"
    run_cells([{**cell, "name": f"ceiling-{cell['name']}", "fewest": 30} for cell in wanted], run, folder, 1)
    for name, report in read_reports(folder).items():
        print(name, {learner: round(share, 3) for learner, share in report["held_out"].items()})


if __name__ == "__main__":
    main()
