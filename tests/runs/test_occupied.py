"""Only what a run wrote is ever replaced, and only where a user asks."""

import json
import os
from dataclasses import replace

import pytest
import torch
from toy import CurveDomain

from pellucid import ConvergenceError, InputError, registry, runs
from pellucid.domains import Source
from pellucid.runs import occupied


@pytest.fixture(scope="module")
def curve():
    x = torch.linspace(-1, 1, 300)
    return torch.stack([x, x**2], 1)


@pytest.fixture(scope="module", autouse=True)
def registered():
    before = dict(registry._registered)
    registry.register(CurveDomain())
    yield
    registry._registered.clear()
    registry._registered.update(before)


def train(curve, folder, domain=None, **options):
    domain = domain or CurveDomain()
    settings = replace(domain.Settings(), game="none", epochs=1, batch_size=120)
    return runs.train(domain, Source(curve), settings, folder, title="curve", progress=False, **options)


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", ["report.html", "summary.json", "game/notes.txt", "deep/notes.txt", "reading.json",
                                  "checkpoints/mine/data.csv", "deep", "checkpoints/deep/mine.ckpt"])  # fmt: skip
@pytest.mark.parametrize("force", [False, True])
def test_files_of_users_stay(curve, tmp_path, name, force):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = content(tmp_path)
    with pytest.raises(InputError, match=f"replaces nothing that no run wrote. Got .*{name}; move it, or choose"):
        train(curve, tmp_path, force=force)
    assert content(tmp_path) == before


def test_a_run_is_replaced_where_a_user_asks(curve, tmp_path):
    train(curve, tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    before = content(tmp_path / "run")
    with pytest.raises(InputError, match="must hold no other run. Got .*replace it with `force=True`"):
        train(curve, tmp_path / "run")
    assert content(tmp_path / "run") == before
    (tmp_path / "run" / "deep" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="replaces nothing that no run wrote. Got .*deep/notes.txt"):
        train(curve, tmp_path / "run", force=True)
    (tmp_path / "run" / "deep" / "notes.txt").unlink()
    train(curve + 1, tmp_path / "run", force=True)
    after = content(tmp_path / "run")
    assert after.keys() == before.keys()
    assert {str(name) for name in after if after[name] == before[name]} == {"notes.txt"}


def test_models_are_no_folders_of_runs(curve, tmp_path):
    train(curve, tmp_path / "run")
    model = registry.load(tmp_path / "run")
    model.save(tmp_path / "saved")
    model.save(tmp_path / "own" / "game")
    before = content(tmp_path)
    for name in ("saved", "saved/inside", "run/deep", "run/inside"):
        with pytest.raises(InputError, match="A run has a folder of its own, which is in no other run and no model"):
            train(curve, tmp_path / name, force=True)
    with pytest.raises(InputError, match="must hold no other run. Got .*own; replace it with"):
        train(curve, tmp_path / "own")
    assert content(tmp_path) == before


def test_a_first_step_that_diverges_does_not_block_the_folder(curve, tmp_path):
    with pytest.raises(ConvergenceError):
        train(curve * float("1e30"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(curve, tmp_path / "run")


def test_a_run_that_was_killed_before_its_first_checkpoint_binds_nobody(curve, tmp_path):
    child = os.fork()
    if not child:
        os.replace = lambda *_: os._exit(9)  # the first file is the identity
        train(curve, tmp_path)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert any((tmp_path / "checkpoints" / "deep").iterdir())
    train(curve, tmp_path)  # neither resumed nor forced
    assert not [path for path in tmp_path.rglob("*") if "draft" in path.name or "lock" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["history.json", "identity.json", "result.ckpt", "last.ckpt"])
@pytest.mark.parametrize("text", ["", "{", "[]", '[{"epoch": "x"}]'])
def test_damaged_files_of_a_run_are_made_again_or_named(curve, tmp_path, name, text):
    train(curve, tmp_path)
    network = (tmp_path / "deep" / "network.safetensors").read_bytes()
    (tmp_path / "checkpoints" / "deep" / name).write_text(text)
    if name in ("identity.json", "result.ckpt"):
        with pytest.raises(InputError, match="must be as it was written. Got .*deep.*start anew"):
            train(curve, tmp_path, resume=True)
    else:  # made again, or not needed
        train(curve, tmp_path, resume=True)
    assert (tmp_path / "deep" / "network.safetensors").read_bytes() == network
    train(curve, tmp_path, force=True)


def test_a_report_of_others_is_not_replaced_when_a_run_is_resumed(curve, tmp_path):
    train(curve, tmp_path)
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(InputError, match="replaces nothing that no run wrote. Got .*report.html"):
        train(curve, tmp_path, resume=True)
    assert (tmp_path / "report.html").read_text() == "mine"


def test_the_identity_of_another_run_stays_while_it_lives(curve, tmp_path):
    """A second command on the folder is refused, and leaves everything as it is."""
    seen = {}

    class Nosy(CurveDomain):
        def fit(self, model, plan, settings, *, folder, **options):
            folder.mkdir(parents=True)
            (folder / "identity.json").write_text("{}")
            for more in ({}, {"resume": True}, {"force": True}):
                with pytest.raises(InputError, match="used by one run at a time"):
                    train(curve, tmp_path / "run", **more)
                seen[str(more)] = json.loads((folder / "identity.json").read_text())
            (folder / "identity.json").unlink()
            folder.rmdir()
            return super().fit(model, plan, settings, folder=folder, **options)

    train(curve, tmp_path / "run", domain=Nosy())
    assert len(seen) == 3


def test_text_files_of_models_are_known_before_their_code_is_imported():
    from pellucid.molecules.vae.fitted import FittedAutoencoder
    from pellucid.storage import StoredRecord

    kinds = [StoredRecord]
    for kind in kinds:
        kinds += kind.__subclasses__()
    ours = {name for kind in kinds if kind.__module__.startswith("pellucid.") for name in kind.text_files()}
    assert ours == set(occupied._TEXTS) == set(FittedAutoencoder.text_files())
