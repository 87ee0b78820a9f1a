"""Checkpoints: whole or not there, and read back as plain tensors and numbers; see `pellucid.training.folders`."""

from __future__ import annotations

import io
import math
import pickle
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import lightning.pytorch as lightning
import torch
from lightning.fabric.plugins import CheckpointIO
from lightning.pytorch.callbacks import Callback

from pellucid import _processes
from pellucid.errors import InputError
from pellucid.schemas import reason_of
from pellucid.training.batches import Batches
from pellucid.writing import write_bytes


@final
class PlainCheckpointIO(CheckpointIO):
    """Reads and writes checkpoints as files: Lightning's own takes paths such as `~/x` and `a::b` for addresses."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        stream = io.BytesIO()
        torch.save(checkpoint, stream)
        write_bytes(path, stream.getvalue())

    def load_checkpoint(self, path: str | Path, map_location: Any = None, weights_only: Any = None) -> Any:
        return load(Path(path))

    def remove_checkpoint(self, path: str | Path) -> None:
        Path(path).unlink(missing_ok=True)


@final
class CheckpointWriter(Callback):
    """Writes `last.ckpt` every so often and at the end of every epoch; killed in between, the old one stays."""

    # Checkpoints name callbacks by this key; the one of version 0.1 is still read.
    state_key = "_Keeper"

    def __init__(self, path: Path, batches: Batches, seconds: float) -> None:
        self.path, self.batches, self.seconds = path, batches, seconds
        self.written = time.monotonic()

    # Lightning asks loaders for their state too, but gives it back only to runs interrupted in mid-epoch.
    def state_dict(self) -> dict[str, Any]:
        return self.batches.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.batches.load_state_dict(state)

    def on_train_batch_start(self, trainer: lightning.Trainer, *_: Any) -> None:
        # What a network draws by itself, such as dropout, depends on the seed and the step alone, too.
        # Each process draws for its own part.
        rank = _processes.current().rank
        seed = (self.batches.seed or 0) * 1_000_003 + trainer.global_step + rank * 2**40
        # On the CPU its generator alone: `torch.manual_seed` writes down the stack for every accelerator that is not
        # there, which takes as long as a step of a small network.
        if trainer.strategy.root_device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        # Not after an epoch's last batch: a run that went on from there would skip the epoch's validation.
        ended = self.batches.position == len(self.batches)
        if not ended and _processes.decision_of_first(time.monotonic() - self.written >= self.seconds):
            self._save(trainer)

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self._save(trainer)

    def _save(self, trainer: lightning.Trainer) -> None:
        trainer.save_checkpoint(self.path)
        self.written = time.monotonic()


@final
class BestEpoch(Callback):
    """Keeps the epoch with the smallest validation loss, the first of equals, as `best.ckpt`; ends a run after
    `patience` epochs without a better one, or where the loss is no longer finite.

    What it remembers has no path in it: Lightning's own callback forgets the best epoch of a folder that was moved.
    """

    # Checkpoints name callbacks by this key.
    state_key = "_Best"

    def __init__(self, path: Path, result: Path, patience: int) -> None:
        self.path, self.result, self.patience = path, result, patience
        self.score: float | None = None
        self.waited = 0
        self.ended = False

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        trainer.should_stop = self.ended  # a run that was killed right after its last epoch is not to have another

    def on_validation_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        score = float(trainer.callback_metrics["validation_loss"])
        self.waited += 1
        if self.score is None or score < self.score:
            self.score, self.waited = math.inf if math.isnan(score) else score, 0
            trainer.save_checkpoint(self.path)
        self.ended = self.waited >= self.patience or not math.isfinite(score)
        trainer.should_stop = trainer.should_stop or self.ended

    def state_dict(self) -> dict[str, Any]:
        return {"score": self.score, "waited": self.waited, "ended": self.ended}

    def on_load_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        states = checkpoint["callbacks"]
        if self.state_key in states:
            state = states[self.state_key]
            self.score, self.waited, self.ended = state["score"], state["waited"], state["ended"]
        else:  # written by Pellucid 0.1, which left this to callbacks of Lightning
            old = {name.partition("{")[0]: state for name, state in states.items()}
            score, self.waited = old["ModelCheckpoint"]["best_model_score"], old["EarlyStopping"]["wait_count"]
            self.score, self.ended = None if score is None else float(score), self.waited >= self.patience
        if self.score is not None and not (self.path.exists() or self.result.exists()):
            raise InputError(
                "The folder of a run must be whole",
                got=f"{self.path.parent} without {self.path.name}, the best epoch so far",
                cure="copy or move all of its files, or start anew in another folder",
            )


def load(path: Path) -> Any:
    """A checkpoint's content, tensors and plain values only."""
    with as_checkpoint(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it might be, where it is no checkpoint
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def as_checkpoint(path: Path) -> Iterator[None]:
    """Say of anything that goes wrong inside that a checkpoint is not as it was written."""
    try:
        yield
    except InputError:
        raise  # which says what is wrong already
    except (
        pickle.UnpicklingError,
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RuntimeError,
        AssertionError,
    ) as error:
        raise InputError(
            "A checkpoint must be as it was written",
            got=f"{path}, which is damaged or not a checkpoint ({reason_of(error)})",
            cure="delete its folder and start anew",
        ) from None
