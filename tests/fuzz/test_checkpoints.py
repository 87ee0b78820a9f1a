"""Folders of interrupted and finished trainings that are not as they were written: they are resumed, or refused."""

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest
import torch
from fuzz.mutations import mutated_array, mutated_bytes, mutated_json
from training.small_fits import run

from pellucid import InputError

ODD = [None, True, -1, 0, 10**6, 10**30, 0.5, np.inf, -1e300, "x", [], {}, [1, 2], {"a": 1}, torch.ones(2)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Folders of a training that was interrupted, and of one that is finished; with and without validation data."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name, stop, validated in (("a", 15, True), ("b", 15, False), ("c", None, True)):
        with suppress(KeyboardInterrupt):
            run(folder / name, stop=stop, validated=validated)
    return [(folder / "a", True), (folder / "b", False), (folder / "c", True)]


def mutate(file, random):
    if file.suffix == ".json":
        file.write_bytes(mutated_json(json.loads(file.read_text()), random))
    elif random.random() < 0.2:
        file.write_bytes(mutated_bytes(file.read_bytes(), random))
    elif random.random() < 0.1:
        file.unlink()
    else:
        content = torch.load(file, weights_only=True)
        for _ in range(random.integers(1, 3)):
            content = mutated_content(content, random)
        torch.save(content, file)


def mutated_content(content, random):
    """Something somewhere changed, in what torch has saved: one value, or one part left out."""
    parent = content
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        if not keys:
            return content
        key = keys[random.integers(len(keys))]
        value = parent[key]
        if isinstance(value, dict | list) and len(value) and random.random() < 0.95:
            parent = value
            continue
        if isinstance(parent, dict) and random.random() < 0.15:
            del parent[key]
        elif isinstance(value, torch.Tensor) and random.random() < 0.8:
            parent[key] = torch.from_numpy(np.ascontiguousarray(mutated_array(value.numpy(), random)))
        else:
            parent[key] = ODD[random.integers(len(ODD))]
        return content


@pytest.mark.slow
def test_mutated_checkpoints(written, tmp_path, tally):
    folder = tmp_path / "run"

    def prepare(random, number):
        original, validated = written[number % len(written)]
        mutated_copy(original, folder, random)
        return validated

    def use(validated):
        run(folder, resume=True, validated=validated)

    tally("checkpoints", 12, 600).try_all(prepare, use).check()


def mutated_copy(original, folder, random):
    """A copy of a folder of checkpoints, one of whose files is not as it was written."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".ckpt"))
    mutate(files[random.integers(len(files))], random)


@pytest.mark.slow
def test_folders_as_they_were_written_are_resumed(written, tmp_path):
    results = []
    for number, (original, validated) in enumerate(written):
        shutil.copytree(original, tmp_path / str(number))
        results.append(run(tmp_path / str(number), resume=True, validated=validated)[0])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["state_dict", "network.0.bias"], torch.ones(9), "'network.0.bias' are not a tensor of the shape"),
        (["state_dict", "network.0.bias"], torch.full([8], torch.nan), "'0.bias' are not finite"),
        (["global_step"], 10**9, "global_step is 1000000000, not between"),
        (["loops", "fit_loop", "epoch_progress", "current", "processed"], -5, "loops is -5, not between"),
        (["optimizer_states", 0, "state", 0, "exp_avg"], torch.ones(1), "moments 'exp_avg' are not a tensor"),
        (["optimizer_states", 0, "state", 0], {"step": torch.ones(())}, "moments 'exp_avg' are absent"),
        (["lr_schedulers", 0, "total_steps"], 7, "lr_schedulers.total_steps is 7, not 31"),
        (["callbacks", "_Keeper", "position"], 99, "position is 99, not between"),
        (["callbacks", "_Best"], None, "a checkpoint must be as it was written"),
    ],
)
def test_what_is_wrong_with_a_checkpoint_is_said(path, value, message, written, tmp_path):
    shutil.copytree(written[0][0], tmp_path / "run")
    content = part = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    torch.save(content, tmp_path / "run" / "last.ckpt")
    with pytest.raises(InputError, match=f"(?i){message}"):
        run(tmp_path / "run", resume=True)


@pytest.mark.parametrize("name", ["identity.json", "history.json", "result.ckpt"])
def test_an_empty_file_of_a_finished_run_is_no_traceback(name, written, tmp_path):
    shutil.copytree(written[2][0], tmp_path / "run")
    whole = run(tmp_path / "run", resume=True)
    (tmp_path / "run" / name).write_bytes(b"")
    try:
        again = run(tmp_path / "run", resume=True)
    except InputError as error:
        assert name in str(error)  # noqa: PT017 - a file that can be made again may be
    else:
        assert torch.equal(again[0], whole[0])


def test_a_checkpoint_without_a_setting_of_its_schedule_is_refused(written, tmp_path):
    shutil.copytree(written[0][0], tmp_path / "run")
    content = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    del content["optimizer_states"][0]["param_groups"][0]["max_lr"]
    torch.save(content, tmp_path / "run" / "last.ckpt")
    with pytest.raises(InputError, match="param_groups.max_lr is absent"):
        run(tmp_path / "run", resume=True)
