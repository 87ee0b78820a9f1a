"""kill -9 at every rename, and at any time: what is left resumes to the same result, bit by bit."""

import json
import os
import random
from dataclasses import replace

import pytest
import torch
from fuzz.kills import killed_after, killed_at, moments
from toy import CurveDomain
from training.small_fits import run as train_small

from pellucid import InputError, runs, summaries
from pellucid.domains import Source
from pellucid.runs.occupied import is_begun

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def curve():
    x = torch.linspace(-1, 1, 300)
    return torch.stack([x, torch.sin(4 * x)], 1)


def train(curve, folder):
    """A run of two models, resumed where one has begun."""
    domain = CurveDomain()
    settings = replace(domain.Settings(), epochs=2, batch_size=120)
    source = Source(curve, None, domain.Reading())
    runs.train(domain, source, settings, folder, title="curve", progress=False, resume=is_begun(folder))


def result(folder):
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


@pytest.fixture(scope="module")
def whole(curve, tmp_path_factory):
    """The result of a run that nobody killed, and how many renames it made."""
    folder, renames, real = tmp_path_factory.mktemp("whole"), [], os.replace

    def count(source, target, **options):
        renames.append(target)
        real(source, target, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", count)
        train(curve, folder)
    assert len(renames) > 15
    return result(folder), len(renames)


def test_a_run_that_was_killed_at_a_rename_resumes_to_the_same(curve, whole, tmp_path, fuzz_size):
    expected, renames = whole
    for moment, before in moments(renames, fuzz_size):
        folder = tmp_path / f"{moment}-{before}"
        assert killed_at(lambda folder=folder: train(curve, folder), moment, before=before)
        train(curve, folder)
        assert result(folder) == expected, (moment, before)


def test_a_run_that_is_killed_again_and_again_resumes_to_the_same(curve, whole, tmp_path, fuzz_size):
    expected, _ = whole
    generator, kills = random.Random(1), 0
    for number in range(30 if fuzz_size == "large" else 1):
        folder = tmp_path / f"{number}"
        for _ in range(10 if fuzz_size == "large" else 4):
            if not killed_after(lambda folder=folder: train(curve, folder), generator.uniform(0, 0.4)):
                break
            kills += 1
        train(curve, folder)
        assert result(folder) == expected, number
    assert kills


@pytest.mark.parametrize("validated", [True, False])
def test_a_training_that_was_killed_at_a_rename_resumes_to_the_same(tmp_path, fuzz_size, validated):
    options = {"validated": validated, "epochs": 2, "dropout": 0.3}
    weights, history, _ = train_small(tmp_path / "whole", **options)
    for moment, before in moments(24, fuzz_size, seed=2):
        folder = tmp_path / f"{moment}-{before}"
        killed = killed_at(lambda folder=folder: train_small(folder, **options), moment, before=before)
        again = train_small(folder, resume=True, **options)
        assert torch.equal(again[0], weights), (moment, before, killed)
        assert again[1] == history, (moment, before, killed)


def test_a_model_that_is_saved_over_another_is_one_of_them_or_none(curve, tmp_path, fuzz_size):
    from toy import CurveModel

    train(curve, tmp_path / "a")
    train(curve + 1, tmp_path / "b")
    old, new = (CurveModel.load(tmp_path / name / "game") for name in "ab")
    answers = [model.predict(curve).tolist() for model in (old, new)]
    for moment, before in moments(2, "large"):
        old.save(tmp_path / "model")
        assert killed_at(lambda: new.save(tmp_path / "model"), moment, before=before)
        try:
            assert CurveModel.load(tmp_path / "model").predict(curve).tolist() in answers
        except InputError as error:
            assert "without curve_model.json" in str(error)  # noqa: PT017 - either is right
        new.save(tmp_path / "model")
        assert CurveModel.load(tmp_path / "model").predict(curve).tolist() == answers[1]
