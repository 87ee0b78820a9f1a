"""Saved models that are not as they were saved: they predict and explain, or are refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fuzz.mutations import mutate_tensors, mutated_bytes, mutated_json

from pellucid import InputError, registry

SAVED = Path(__file__).parents[1] / "saved" / "v0.1"
MODELS = {"property_model": "molecules-run/game", "forecaster": "series-run/game", "junction_tree_vae": "autoencoder"}


@pytest.fixture(scope="module")
def present(tmp_path_factory):
    """Models as the present version writes them, with few molecules; by the names of their files."""
    folders = {}
    for name, place in MODELS.items():
        model = registry.load(SAVED / place)
        record = model.fitted_
        if name == "property_model":
            from pellucid.intervals import PredictionIntervals

            y = np.linspace(5, 7, 60)[:, None]
            intervals = PredictionIntervals.of(y, y + 0.1, np.linspace(0, 1, 60), (0.5,))
            record = replace(record, smiles=record.smiles[:12], y=record.y[:12], intervals=intervals)
        elif name == "junction_tree_vae":
            record = replace(record, pool=record.pool[:6])
        folders[name] = tmp_path_factory.mktemp(name)
        model.with_fitted(record).save(folders[name])
    return folders


def use(folder):
    """Predict and explain."""
    model = registry.load(folder)
    name = model.file
    if name == "forecaster":
        context = np.random.default_rng(0).normal(size=(20, 2))
        model.forecast(context)
        str(model.explain(context))
    elif name == "property_model":
        model.predict(["CCOc1ccccc1"])
        str(model.explain(model.smiles_[0]))
        model.nearest("CCOc1ccccc1")
        if model.task == "regression" and model.intervals_ is not None:
            model.predict_interval(["CCOc1ccccc1"])
    else:
        (smiles, *_) = model.pool_
        str(model.explain(smiles))
        model.decode(np.zeros((1, 2 * model.latent)))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_mutated_models(name, present, tmp_path, tally):
    originals = [SAVED / MODELS[name], present[name]]
    for original in originals:
        use(original)
    folder = tmp_path / "model"

    def prepare(random, number):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(originals[number % 2], folder)
        mutate(folder, random, f"{name}.json")
        return folder

    tally(f"models: {name}", 15, 1000).try_all(prepare, use).check()


def mutate(folder, random, first):
    """Change one of the files of a model, mostly the first."""
    files = [folder / first, *sorted(path for path in folder.iterdir() if path.is_file() and path.name != first)]
    file = files[random.choice(len(files), p=[0.7] + [0.3 / (len(files) - 1)] * (len(files) - 1))]
    if file.suffix == ".json":
        file.write_bytes(mutated_json(json.loads(file.read_text()), random))
    elif file.suffix == ".safetensors":
        mutate_tensors(file, random)
    else:
        file.write_bytes(mutated_bytes(file.read_bytes(), random))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models_as_they_were_saved_are_used(name, present):
    use(SAVED / MODELS[name])
    use(present[name])


def changed(folder, present, name, change):
    """A copy of a model with something changed in its JSON file."""
    shutil.copytree(present[name], folder)
    file = folder / f"{name}.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    return folder


def lie(path, value):
    """A change of one entry."""

    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("property_model", ["scale", 0], 0.0, "scale has values outside"),
        ("property_model", ["scale", 0], -1.0, "scale has values outside"),
        ("property_model", ["shift"], [1.0, 2.0], "scale has the shape"),
        ("property_model", ["smiles"], ["CCO"], "y has the shape"),
        ("property_model", ["targets"], [], "y has the shape"),
        ("property_model", ["groups", "C2"], ["C[*:1][*:1]"], "no group with one mark"),
        ("property_model", ["settings", "width"], 2**62, "`width` must be a whole number between 1 and 16384"),
        ("property_model", ["settings", "width"], 10_000, "size mismatch"),
        ("property_model", ["settings", "depth"], 10**9, "`depth` must be a whole number between 1 and 100"),
        ("property_model", ["settings", "similar", "fingerprints", "size"], 2**40, "between 64 and 1048576"),
        ("property_model", ["calibration", "floor"], [0.0], "floor has values outside"),
        ("property_model", ["intervals", "edges", 0], [], "errors are not those of the bins"),
        ("forecaster", ["settings", "horizon"], 10**9, "`horizon` must be a whole number between 2 and 10000"),
        ("forecaster", ["chosen", "order"], 21, "shorter than the lags"),
        ("forecaster", ["channels"], ["left"], "shift has the shape"),
        ("forecaster", ["history"], "x", "history: it is 'x', not a list"),
        ("junction_tree_vae", ["settings", "latent"], 5, "has 16 outputs, not 20|size mismatch"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_model_is_said(name, path, value, message, present, tmp_path):
    with pytest.raises(InputError, match=message):
        registry.load(changed(tmp_path / "model", present, name, lie(path, value)))
