"""Training with Lightning: progress, early stopping, checkpoints, exact resume, devices.

The domains say what the loss of a batch is; this module says who moves when. Checkpoints are read back as
plain tensors and numbers, so nothing loaded from disk can run code.
"""

from __future__ import annotations

import json
import logging
import math
import os
import pickle
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import lightning.pytorch as lightning
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from tqdm.auto import tqdm

from pellucid.errors import ConvergenceError, InputError, Parameter

Loss: TypeAlias = Callable[[Any], Mapping[str, Tensor]]
"""From a batch to named numbers: "loss" is minimised, the others are only shown."""
Stepper: TypeAlias = Callable[[Any], Any]
"""From the network's optimiser to one whose `step` takes a function that computes the loss, such as `MirrorProx`."""
# Longer gradients are cut to this norm.
_STEEPEST = 1.0


class Batches:
    """Shuffled batches whose order depends on the seed and the epoch alone, and which can go on in mid-epoch.

    Parameters
    ----------
    take : callable
        From the indices of a batch, and a source of random numbers of its own, to the batch. Every batch comes with
        the number of its items.
    count : int
        The number of items.
    size : int
        Items in a batch; the last one of an epoch may be smaller.
    seed : int, optional
        Of the order; None keeps the items in order.
    arrange : callable, optional
        A random order of all items; by default each is as likely as any other.
    """

    def __init__(
        self,
        take: Callable[[Tensor, torch.Generator], Any],
        count: int,
        *,
        size: int,
        seed: int | None,
        arrange: Callable[[torch.Generator], Tensor] | None = None,
    ) -> None:
        self.take, self.count, self.size, self.seed = take, count, size, seed
        self.arrange = arrange or (lambda generator: torch.randperm(count, generator=generator))
        self.epoch = 0
        self.position = 0

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.epoch, self.position = state["epoch"], state["position"]

    def __len__(self) -> int:
        return (self.count + self.size - 1) // self.size

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        if self.position == len(self):  # the epoch before has come to its end
            self.epoch, self.position = self.epoch + 1, 0
        # Batches in order are the same in every epoch, random numbers included.
        fresh = 0 if self.seed is None else self.seed * 1_000_003 + self.epoch
        generator = torch.Generator().manual_seed(fresh)
        order = torch.arange(self.count) if self.seed is None else self.arrange(generator)
        first = int(torch.randint(2**40, (), generator=generator))
        for batch in order.split(self.size)[self.position :]:
            own = torch.Generator().manual_seed(first + self.position)
            # Counted before it is handed out: a checkpoint is written after the batch has been learned from.
            self.position += 1
            yield self.take(batch, own), len(batch)


class _Module(lightning.LightningModule):
    """Binds a network, the loss of a batch, and Adam with a one-cycle rate."""

    def __init__(
        self,
        network: nn.Module,
        loss: Loss,
        learning_rate: float,
        steps: int,
        companion: nn.Module | None,
        stepper: Stepper | None,
    ) -> None:
        super().__init__()
        self.network, self.loss, self.companion = network, loss, companion
        self.learning_rate, self.steps = learning_rate, steps
        self.stepper = stepper
        self.automatic_optimization = stepper is None

    def training_step(self, counted: tuple[Any, int]) -> Tensor | None:
        batch, self.count = counted
        if self.stepper is None:
            return self._loss(batch)
        optimizer, schedule = self.optimizers(), self.lr_schedulers()
        self.stepper(optimizer).step(lambda: self._loss(batch))
        schedule.step()  # type: ignore[union-attr]
        return None

    def _loss(self, batch: Any) -> Tensor:
        self.terms = terms = self.loss(batch)
        if not terms["loss"].isfinite():
            raise ConvergenceError(
                f"The loss must stay finite. Got {terms['loss'].item():g} at step {self.global_step + 1}; lower the "
                "learning rate, and leave out outputs that follow exactly from others."
            )
        return terms["loss"]

    def validation_step(self, counted: tuple[Any, int]) -> None:
        batch, count = counted
        terms = self.loss(batch)
        self.log_dict({f"validation_{name}": value for name, value in terms.items()}, batch_size=count)

    def configure_optimizers(self) -> Any:
        parameters = list(self.network.parameters())
        optimizer = torch.optim.Adam(parameters, lr=self.learning_rate)
        if self.stepper is not None:  # otherwise Lightning cuts gradients itself

            def cut(*_: Any) -> None:
                nn.utils.clip_grad_norm_(parameters, _STEEPEST)

            optimizer.register_step_pre_hook(cut)
        # One step more than there are: the schedule refuses to be asked beyond its end.
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.learning_rate, total_steps=self.steps + 1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class _Keeper(Callback):
    """Writes `last.ckpt` every so often and at the end of every epoch; killed in between, the old one stays."""

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
        torch.manual_seed((self.batches.seed or 0) * 1_000_003 + trainer.global_step)

    def save(self, trainer: lightning.Trainer) -> None:
        _save(trainer, self.path)
        self.written = time.monotonic()

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        # Not after an epoch's last batch: a run that went on from there would skip the epoch's validation.
        ended = self.batches.position == len(self.batches)
        if not ended and time.monotonic() - self.written >= self.seconds:
            self.save(trainer)

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.save(trainer)


class _Best(Callback):
    """Keeps the epoch with the smallest validation loss, the first of equals, as `best.ckpt`; ends a run after
    `patience` epochs without a better one, or where the loss is no longer finite.

    What it remembers has no path in it: Lightning's own callback forgets the best epoch of a folder that was moved.
    """

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
            _save(trainer, self.path)
        self.ended = self.waited >= self.patience or not math.isfinite(score)
        trainer.should_stop = trainer.should_stop or self.ended

    def state_dict(self) -> dict[str, Any]:
        return {"score": self.score, "waited": self.waited, "ended": self.ended}

    def on_load_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        states = checkpoint["callbacks"]
        if self.state_key in states:
            self.score, self.waited, self.ended = (
                states[self.state_key][name] for name in ("score", "waited", "ended")
            )
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


def _save(trainer: lightning.Trainer, path: Path) -> None:
    """Write a checkpoint, whole or not at all."""
    draft = path.with_suffix(".draft")
    trainer.save_checkpoint(draft)
    os.replace(draft, path)


class _Progress(Callback):
    """One bar for the whole run, with the losses beside it."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        total = len(self.batches) * (trainer.max_epochs or 0)
        self.bar = tqdm(total=total, initial=self.done(), unit="step", dynamic_ncols=True, desc="starting")

    def done(self) -> int:
        return self.batches.epoch * len(self.batches) + self.batches.position

    def on_train_batch_end(self, trainer: lightning.Trainer, module: _Module, *_: Any) -> None:  # type: ignore[override]
        self.show(trainer, module)
        self.bar.update(self.done() - self.bar.n)

    def show(self, trainer: lightning.Trainer, module: _Module) -> None:
        losses = {"loss": f"{module.terms['loss'].item():.4g}"} if hasattr(module, "terms") else {}
        if (value := trainer.callback_metrics.get("validation_loss")) is not None:
            losses["validation_loss"] = f"{float(value):.4g}"
        epoch = min(trainer.current_epoch + 1, trainer.max_epochs or 0)
        self.bar.set_description(f"epoch {epoch}/{trainer.max_epochs}", refresh=False)
        self.bar.set_postfix(losses, refresh=False)

    def on_train_end(self, trainer: lightning.Trainer, module: _Module) -> None:  # type: ignore[override]
        self.show(trainer, module)
        self.bar.refresh()
        self.bar.close()

    def on_exception(self, trainer: lightning.Trainer, *_: Any) -> None:
        if hasattr(self, "bar"):
            self.bar.close()


class _History(Callback):
    """Keeps the numbers of every epoch, each a mean over the epoch's items; across interruptions too."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        self.sums: dict[str, float] = {}
        self.items = 0

    def on_train_batch_end(self, trainer: lightning.Trainer, module: _Module, *_: Any) -> None:  # type: ignore[override]
        self.items += module.count
        for name, value in module.terms.items():
            self.sums[name] = self.sums.get(name, 0.0) + module.count * value.item()

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        means = {name: total / self.items for name, total in self.sums.items()}
        validated = {name: float(value) for name, value in trainer.callback_metrics.items()}
        self.epochs.append({"epoch": trainer.current_epoch + 1, **means, **validated})
        self.sums, self.items = {}, 0

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "sums": self.sums, "items": self.items}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epochs, self.sums, self.items = state["epochs"], state["sums"], state["items"]


def train(
    network: nn.Module,
    loss: Loss,
    batches: Batches,
    validation: Batches | None,
    *,
    epochs: int,
    learning_rate: float,
    patience: int,
    identity: Mapping[str, Any],
    folder: Path | None = None,
    resume: bool = False,
    progress: bool = True,
    device: str = "auto",
    checkpoint_seconds: float = 60.0,
    companion: nn.Module | None = None,
    stepper: Stepper | None = None,
) -> list[dict[str, float]]:
    """Train `network` in place and return the history, one record per epoch.

    Parameters
    ----------
    loss : Loss
        The named terms of a batch's loss.
    batches, validation : Batches, optional
        What to learn from and what to watch; without validation the last epoch is kept, with it the best one, and
        training stops early after `patience` epochs without a better one.
    identity : mapping of str to object
        Settings that a resumed run must share with the interrupted one, ready for JSON.
    folder : Path, optional
        Where checkpoints go; None keeps them for the duration of the run only.
    resume : bool
        Go on from the checkpoint in `folder`, if there is one. The result is that of a run that was never interrupted.
    device : str
        "auto", "cpu", "gpu" or another of Lightning's accelerators.
    checkpoint_seconds : float
        A checkpoint is written about this often, and at the end of every epoch.
    companion : Module, optional
        What else changes during training, and must survive an interruption: multipliers, a bank.
    stepper : Stepper, optional
        Steps with an optimiser made around Adam, for games that are not plain descent.
    """
    if resume and folder is None:
        raise InputError(
            "To resume a run, its folder must be given",
            got="none",
            cure=f"pass {Parameter('folder'):=}",
            parameter="folder",
        )
    with _folder(folder) as home, _quiet():
        last, best, result = (home / f"{name}.ckpt" for name in ("last", "best", "result"))
        finished = home / "history.json"
        _claim(home, identity, resume)
        if not (resume and finished.exists()):
            module = _Module(network.train(), loss, learning_rate, epochs * len(batches), companion, stepper)
            history = _History()
            callbacks: list[Callback] = [history, _Keeper(last, batches, checkpoint_seconds)]
            if progress:
                callbacks.append(_Progress(batches))
            if validation is not None:
                callbacks.append(_Best(best, result, patience))
            trainer = _trainer(device, epochs, callbacks, cuts=stepper is None)
            going_on = resume and last.exists()
            if resume and progress and not going_on:
                tqdm.write(f"There is no checkpoint in {home} yet: the run starts anew.")
            try:
                _run(trainer, module, batches, validation, last if going_on else None)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(_farewell(folder)) from None
            kept = best if validation is not None else last
            if kept.exists():  # unless the run was interrupted right after the next line
                os.replace(kept, result)
            finished.write_text(json.dumps(history.epochs) + "\n")
        state = _load(result)["state_dict"]
        network.load_state_dict(
            {name.removeprefix("network."): value for name, value in state.items() if name.startswith("network.")}
        )
        network.cpu().eval()
        epochs_done: list[dict[str, float]] = json.loads(finished.read_text())
        return epochs_done


def _trainer(device: str, epochs: int, callbacks: list[Callback], *, cuts: bool) -> lightning.Trainer:
    try:
        return lightning.Trainer(
            accelerator=device,
            devices=1,
            max_epochs=epochs,
            callbacks=callbacks,
            gradient_clip_val=_STEEPEST if cuts else None,
            logger=False,
            enable_checkpointing=False,  # Lightning would write checkpoints of its own besides
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
    except (MisconfigurationException, ValueError) as error:
        raise InputError(
            "`device` must be one that is here", got=f'{device!r}: {error} Use "auto" or "cpu"', parameter="device"
        ) from None


def _farewell(folder: Path | None) -> str:
    if folder is None:
        return "Training was stopped; nothing was kept. With `folder=` it could go on from here."
    return f"Training was stopped. Go on with `folder={str(folder)!r}, resume=True`."


def _run(
    trainer: lightning.Trainer, module: _Module, batches: Batches, validation: Batches | None, checkpoint: Path | None
) -> None:
    """Fit, and let Ctrl-C be an ordinary KeyboardInterrupt: Lightning would leave the process."""
    handler = signal.getsignal(signal.SIGINT)
    if checkpoint is not None:
        _load(checkpoint)
    try:
        with torch.random.fork_rng(devices=[]):  # see `_Keeper`
            trainer.fit(module, batches, validation, ckpt_path=checkpoint, weights_only=True)
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        if signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


def _load(path: Path) -> Any:
    """A checkpoint's content, tensors and plain values only."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            "A checkpoint must be as it was written",
            got=f"{path}, which is damaged or not a checkpoint ({reason})",
            cure="delete its folder and start anew",
        ) from None


def _claim(home: Path, identity: Mapping[str, Any], resume: bool) -> None:
    """Refuse to mix two runs in one folder, or to go on with other settings or data."""
    record = home / "identity.json"
    if record.exists() and not resume:
        raise InputError(
            "The folder of a new run must hold no other run",
            got=f"{home}",
            cure=f"go on from it with {Parameter('resume', True)}, or choose another folder",
            parameter="resume",
        )
    if record.exists():
        before, now = json.loads(record.read_text()), json.loads(json.dumps(identity))
        changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if changed:
            name = changed[0]
            got = "other data" if name == "data" else f"another `{name}`: {now.get(name)!r} for {before.get(name)!r}"
            raise InputError(
                "A resumed run must have the settings and data of the interrupted one",
                got=f"{got}",
                cure="restore it, or start anew in another folder",
            )
    record.write_text(json.dumps(identity, indent=1) + "\n")


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="pellucid-") as temporary:
            yield Path(temporary)
    else:
        if folder.is_file():
            raise InputError(
                f"{Parameter('folder')} must be a folder",
                got=f"{folder}, which is a file",
                cure="choose another place",
                parameter="folder",
            )
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Lightning's remarks on hardware, on runs without validation, and on checkpoints of earlier versions."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*callbacks used to create the checkpoint need to be provided.*")
            warnings.filterwarnings("ignore", message=".*but have no `val_dataloader`.*")
            warnings.filterwarnings("ignore", message=".*LeafSpec.*", category=FutureWarning)
            yield
    finally:
        logger.setLevel(level)
