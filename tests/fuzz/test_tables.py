"""Files of models of tables that are not as they were written: they are used, or refused in a sentence."""

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest
import torch
from fuzz.mutations import mutated_json
from fuzz.test_checkpoints import mutated_copy
from fuzz.test_models import lie, mutate
from fuzz.test_summaries import use as use_summary
from houses import houses

from pellucid import InputError, runs, summaries
from pellucid.domains import Source
from pellucid.tabular import TransparentClassifier, TransparentRegressor
from pellucid.tabular.domain import TableDomain, TableReading, TableSettings
from pellucid.tabular.model import TableModel

pytestmark = pytest.mark.slow
TINY = {"epochs": 1, "width": 4, "ensemble": 1}
FILE = "transparent_table.json"


def table(rows=150):
    """Rows with blanks, and what is learned: numbers, two classes, and three."""
    x, price = houses(rows)
    x = x.assign(sold=x["sold"].astype(str))
    x.loc[3, "rooms"], x.loc[5, "colour"] = np.nan, None
    return x, {
        "regression": price,
        "binary": np.where(price > 110, "dear", "cheap"),
        "classes": np.where(price > 140, 2, np.where(price > 70, 1, 0)),
    }


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folders of estimators: of numbers with linear laws, of numbers with trees, of two classes and of three."""
    x, targets = table()
    kinds = [("regression", "linear"), ("regression", "tree"), ("binary", "sparse"), ("classes", "linear")]
    folders = []
    for target, witness in kinds:
        kind = TransparentRegressor if target == "regression" else TransparentClassifier
        folders.append(tmp_path_factory.mktemp("table"))
        kind(witness=witness, random_state=0, **TINY).fit(x, targets[target]).save(folders[-1])
    return folders


def use(folder):
    """Load, predict and explain, with the estimator that fits."""
    model = TableModel.load(folder)
    kind = TransparentRegressor if model.task == "regression" else TransparentClassifier
    estimator = kind.load(folder)
    rows = table(12)[0][:3]
    estimator.predict(rows)
    explanations = estimator.explain(rows, wanted=(None, 10) if model.task == "regression" else None)
    str(explanations[0])
    if model.task == "regression" and model.intervals_ is not None:
        model.predict_interval(rows)
    elif model.task == "classification":
        estimator.predict_proba(rows)


def test_models_as_they_were_saved_are_used(saved):
    for folder in saved:
        use(folder)


def test_mutated_models(saved, tmp_path, tally):
    for original in saved:
        use(original)
    folder = tmp_path / "model"

    def prepare(random, number):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(saved[number % len(saved)], folder)
        mutate(folder, random, FILE)
        return folder

    tally("models: table", 20, 1600).try_all(prepare, use).check()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["settings", "width"], 2**62, "`width` must be a whole number between 1 and 16384"),
        (["settings", "ensemble"], 10**9, "`ensemble` must be a whole number between 1 and 1024"),
        (["settings", "explained_members"], 10**9, "between 3 and 10000"),
        (["settings", "task"], "classification", "it is a regression, and its settings are of a classification"),
        (["encoding", "scale", 0], 0.0, "scale has values outside"),
        (["encoding", "columns", 0, "kind"], "x", "kind is 'x', not one of"),
        (["encoding", "columns", 2, "levels", 0], "blue", "or one is there twice"),
        (["encoding", "columns", 2, "shares", 0], 1.5, "is 1.5, not between 0 and 1"),
        (["encoding", "columns", 0, "name"], "age", "two have the same name"),
        (["task", "scale"], -1.0, "scale is -1.0, not between"),
        (["task", "classes"], ["a"], "the classes are not those of the task"),
        (["witness"], "os", "witness: it is 'os', not one of 'linear', 'sparse', 'tree'"),
        (["intervals"], None, None),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_model_is_said(path, value, message, saved, tmp_path):
    shutil.copytree(saved[0], tmp_path / "model")
    file = tmp_path / "model" / FILE
    content = json.loads(file.read_text())
    lie(path, value)(content)
    file.write_text(json.dumps(content))
    if message is None:
        use(tmp_path / "model")
        return
    with pytest.raises(InputError, match=message):
        use(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("codes", (0, 2), 7.0, "codes of 'colour' has values outside of -1 to 2"),
        ("codes", (0, 2), 0.5, "codes of 'colour' are not whole numbers"),
        ("codes", (0, 0), np.inf, "the values 'codes' are not finite"),
        ("y", 0, np.nan, "y has values outside"),
    ],
)
def test_rows_that_no_table_has_are_refused(name, place, value, message, saved, tmp_path):
    from safetensors.numpy import load_file, save_file

    shutil.copytree(saved[0], tmp_path / "model")
    arrays = dict(load_file(tmp_path / "model" / "rows.safetensors"))
    arrays[name][place] = value
    save_file(arrays, tmp_path / "model" / "rows.safetensors")
    with pytest.raises(InputError, match=message):
        use(tmp_path / "model")


# -- runs ----------------------------------------------------------------------------------------------------------


def train(folder, target="regression", *, resume=False, **settings):
    """A run on a table, as the command makes it."""
    x, targets = table()
    path = folder.parent / f"{target}.csv"
    x.assign(y=targets[target]).to_csv(path, index=False)
    domain, reading = TableDomain(), TableReading(target="y")
    source = Source(domain.read(path, reading), path, reading)
    options = TableSettings(**{"witness": "linear", **TINY, **settings})
    return runs.train(domain, source, options, folder, title="Houses", progress=False, resume=resume)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The content of summaries of numbers and of classes, with two explanations each."""
    contents = []
    for target in ("regression", "classes"):
        folder = tmp_path_factory.mktemp("run") / "run"
        train(folder, target)
        content = json.loads((folder / summaries.FILE).read_text())
        content["explanations"] = content["explanations"][:2]
        contents.append(content)
    return contents


def test_mutated_summaries(written, tmp_path, tally):
    def prepare(random, number):
        (tmp_path / summaries.FILE).write_bytes(mutated_json(written[number % len(written)], random))
        return tmp_path

    tally("summaries of tables", 15, 800).try_all(prepare, use_summary).check()


def fit(folder, *, stop=None, resume=False):
    """A small training with checkpoints, interrupted at a step if need be."""
    x, targets = table(60)
    steps = 0

    class Network(torch.nn.Linear):
        def forward(self, values):
            nonlocal steps
            steps += torch.is_grad_enabled()
            if steps == stop:
                raise KeyboardInterrupt
            return super().forward(values)

    model = TableModel(witness="linear", epochs=2, batch_size=16, members=8, neighbors=4, share=0.5)
    torch.manual_seed(0)
    model.fit(x, targets["regression"].to_numpy(), network=Network, folder=folder, resume=resume, progress=False)
    return torch.cat([part.detach().flatten() for part in model.network_.parameters()])


def test_mutated_checkpoints(tmp_path, tally):
    with suppress(KeyboardInterrupt):
        fit(tmp_path / "interrupted", stop=12)
    whole = fit(tmp_path / "finished")
    originals = [tmp_path / "interrupted", tmp_path / "finished"]
    folder = tmp_path / "run"
    for original in originals:
        shutil.copytree(original, folder)
        assert torch.equal(fit(folder, resume=True), whole)
        shutil.rmtree(folder)

    def prepare(random, number):
        mutated_copy(originals[number % 2], folder, random)
        return folder

    tally("checkpoints of tables", 6, 400).try_all(prepare, lambda _: fit(folder, resume=True)).check()
