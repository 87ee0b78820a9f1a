"""Writes the example notebooks and runs them, so that they are kept with their outputs: python examples/make.py"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


class Words(str):
    """A cell that is read, not run."""


SIZE = """import os

smoke = os.environ.get("PELLUCID_SIZE") == "smoke"  # the tests run it in seconds"""

ANY_MODEL = (
    Words("""# Judge a model, then mend it

You have a model, perhaps scikit-learn's, and want to know whether simple functions can explain it; then you train one
that they can. The data, 569 biopsies of breast tumors, come with scikit-learn."""),
    SIZE,
    """import torch
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
import pellucid as pl

cells = load_breast_cancer()
raw = torch.tensor(cells.data, dtype=torch.float32)
malignant = torch.tensor(1 - cells.target, dtype=torch.float32)[:, None]
x = (raw - raw.mean(0)) / raw.std(0)  # what models read: 30 measurements of the cell nuclei, standardized
shown = x[:, :10]  # what a witness reads: ten of them, the means
names = [str(name) for name in cells.feature_names[:10]]

order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
learn, watch, test = order[:341], order[341:427], order[427:]""",
    Words("""## A model that you already have

Predictions suffice. Around every test biopsy, the 25 that are most alike, a simple function is fitted to what the model
says there. Which kind? One that also explains members that it was not fitted to. This is decided around other biopsies
than those of the test:"""),
    """boosted = GradientBoostingClassifier(random_state=0, n_estimators=10 if smoke else 100)
boosted.fit(x[learn], malignant[learn, 0])
near = pl.nearest(shown, k=25)
linear = pl.LinearFamily(ridge=1.0)


def shares(f, points, family):
    found = pl.audit(f, shown, near.select(points), family, features=names, outputs=["log-odds"])
    left_out = found.left_out.explained()[0]
    return found, f"explains {found.explained:.0%} where fitted, {left_out:.0%} at members left out"


for family in (pl.TreeFamily(depth=2), linear):
    print(family, shares(boosted.decision_function(x), watch, family)[1])""",
    Words("""Where they were fitted, trees of two questions look better. At members left out they are worse than a
constant, so most of what they said of the model was noise; linear laws keep about half of what they promised. So linear
laws it is, and now the test:"""),
    """judged, _ = shares(boosted.decision_function(x), test, linear)
judged""",
    Words("""At members left out the laws explain 22 % of this model: it is hard to explain, and bounds are wide.
The law of a biopsy from the middle of the field, in units of standard deviations, with its bound:"""),
    """def typical(audit):
    middle = int(audit.deviations.argsort()[len(audit.deviations) // 2])
    print(audit[middle])


typical(judged)""",
    Words("""## Three lines in a training loop

A network, trained as usual, with early stopping; the game takes the three lines marked 1, 2, 3."""),
    """loss_of = torch.nn.functional.binary_cross_entropy_with_logits
hoods = pl.nearest(shown[learn], k=25)  # 1: who is near whom
game = pl.SymmetricGame(linear, weight=0.1)  # 2: which witnesses, and how much they count


def train(game):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(30, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best = float("inf")
    for _ in range(5 if smoke else 150):
        optimizer.zero_grad()
        f = model(x[learn])
        loss = loss_of(f, malignant[learn])
        if game is not None:
            loss = loss + game(f, shown[learn], hoods).penalty  # 3: witnesses answer, the model pays
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            f = model(x)
        watched = float(loss_of(f[watch], malignant[watch]))
        if watched < best:
            best, kept = watched, f
    return kept


found = {}
for name, played in (("DEEP", None), ("GAME", game)):
    f = train(played)
    found[name], explains = shares(f, test, linear)
    wrong = int(((f[test] > 0) != (malignant[test] > 0)).sum())
    loss = loss_of(f[test], malignant[test])
    print(f"{name}: test loss {loss:.3f}, {wrong} of {len(test)} wrong; a linear law {explains}")""",
    Words("""Linear laws account for more of GAME than of DEEP, where they were fitted and where they were not, and
its errors are no more. [Other splits](../docs/models.md) say the same. What does it follow?"""),
    """typical(found["GAME"])""",
    """found["GAME"]""",
)

MOLECULES = (
    Words("""# A series of molecules

A graph network learns the activity of 1,017 sodium-channel blockers that come with RDKit, and every prediction is
explained by a small tree of substructures. No download is needed."""),
    SIZE,
    """import numpy as np
from pellucid.molecules import PropertyModel, Similar, nav17

series = nav17()
order = np.random.default_rng(0).permutation(len(series))
train, test = series.select(order[: 600 if smoke else 900]), series.select(order[900:])
train""",
    Words("""## Train

Neighbors are other molecules of the series, so no analogs are needed and the game can be played with a bank, which
costs hardly more than training without one."""),
    """settings = dict(
    task="regression",
    similar=Similar(analogs=False),
    play="banked",
    criterion="squared",
    delta=-1,  # trees one level smaller than the rule
    width=16 if smoke else 100,
    epochs=2 if smoke else 40,
    batch_size=32,
    learning_rate=3e-3,
)
game = PropertyModel(weight=1.0, **settings).fit(train, progress=False)
deep = PropertyModel(game=None, **settings).fit(train, progress=False)
print("DEEP", deep.evaluate(test), sep="\\n")
print("GAME", game.evaluate(test), sep="\\n")""",
    """for name, model in (("DEEP", deep), ("GAME", game)):
    explained = [model.held_out(test, seed=seed).explained()[0] for seed in range(5)]
    print(f"{name}: explained at members left out, five draws:", *(f"{share:.1%}" for share in explained))""",
    Words("""At the same error the trees follow GAME more closely: the total variation between tree and network is
smaller, and they account for a little more of what the network does inside the neighborhoods. The order into which they
put molecules (AUC) is about as right as before. But all this is measured at the molecules that the trees were fitted
to. Leave one out of each neighborhood, and its tree explains about a third of GAME there and a quarter of DEEP, not
seven eighths: GAME is ahead in each of the five draws, and most of what either network does at a further molecule is
still not in the tree. So read a tree with its bound.
[How robust this is](../paper/README.md#sodium-channel-blockers)."""),
    Words("""## Explain

An explanation shows itself: what is predicted, what the tree says, how far the tree can be trusted, and the tree with
its substructures drawn."""),
    """best = test.smiles[int(np.argmax(game.predict(test.smiles)))]
explanation = game.explain(best)
explanation""",
    Words("""In words, with what would change the prediction:"""),
    """print(explanation)""",
    Words("""What one more question costs: [choosing](../docs/choosing.md). What the bound promises:
[trust](../docs/trust.md)."""),
)

NOTEBOOKS = {"any_model": ANY_MODEL, "molecules": MOLECULES}


def notebook(cells: tuple[str, ...]) -> nbformat.NotebookNode:
    """Cells of words and of code, not run yet."""
    made = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    for i, text in enumerate(cells):
        words = isinstance(text, Words)
        make = nbformat.v4.new_markdown_cell if words else nbformat.v4.new_code_cell
        made.cells.append(make(re.sub(r"(?<!\n)\n(?!\n)", " ", text) if words else text, id=f"cell-{i}"))
    return made


if __name__ == "__main__":
    for name in sys.argv[1:] or NOTEBOOKS:
        made = notebook(NOTEBOOKS[name])
        os.environ.pop("PELLUCID_SIZE", None)
        NotebookClient(made, timeout=600, resources={"metadata": {"path": str(HERE)}}).execute()
        for cell in made.cells:
            cell.metadata.pop("execution", None)  # times differ from run to run
            if cell.cell_type == "code":  # warnings of libraries are about this computer
                cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        nbformat.write(made, HERE / f"{name}.ipynb")
