"""The training loop, with Lightning: devices, early stopping, interruption and exact resume.

Checkpoints are read back as plain tensors and numbers, so nothing loaded from disk can run code.
"""

from __future__ import annotations

import logging
import os
import signal
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, final

import lightning.pytorch as lightning
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from tqdm.auto import tqdm

from pellucid import _processes
from pellucid._interrupts import restore_interrupts
from pellucid.errors import ConvergenceError, InputError, Parameter
from pellucid.training import checkpoints, folders
from pellucid.training.checkpoints import BestEpoch, CheckpointWriter, PlainCheckpointIO
from pellucid.training.distributed import check_divisible, run_on, seen, trainer_options
from pellucid.training.fits import Fit, History, Result
from pellucid.training.hardware import Hardware
from pellucid.training.progress import EpochHistory, ProgressBar
from pellucid.training.settings import TrainingSettings
from pellucid.training.stored_checkpoints import check_checkpoint, network_state

# Longer gradients are cut to this norm.
_MAX_GRADIENT_NORM = 1.0


def train(
    fit: Fit[Result],
    settings: TrainingSettings,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: bool = True,
    device: str = "auto",
    hardware: Hardware | None = None,
    checkpoint_seconds: float = 60.0,
) -> Result:
    """Train the network of a fit in place, and return the fit's result.

    Parameters
    ----------
    fit : Fit
        The network, its data and its loss.
    settings : TrainingSettings
        How long and how fast; a resumed run must share them with the interrupted one.
    folder : str or Path, optional
        Folder of the checkpoints; None keeps them for the duration of the run only.
    resume : bool
        Resume from the checkpoint in `folder`, if there is one. The result is that of a run that was never interrupted.
    progress : bool
        Show a progress bar.
    device : str
        "auto", "cpu", "gpu" or another of Lightning's accelerators.
    hardware : Hardware, optional
        The device, the number of processes and of machines; the result is that of one process, up to rounding. By
        default one process on `device`.
    checkpoint_seconds : float
        A checkpoint is written about this often, and at the end of every epoch.
    """
    restore_interrupts()
    folder = None if folder is None else Path(folder)
    hardware = hardware or Hardware(device=device)
    check_divisible(fit, hardware, folder)
    identity = {**settings.settings(), **fit.identity()}
    with _home(folder, identity, hardware, resume=resume) as home, _quiet():
        earlier = folders.read_history(home) if resume else None
        history = earlier or []
        if earlier is None:
            run = partial(
                _run, fit, settings, home, hardware, resume=resume, progress=progress, seconds=checkpoint_seconds
            )
            try:
                history = run() if hardware.world == 1 else run_on(hardware, run, home)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(_interruption_message(folder)) from None
        kept, result = home / (folders.LAST if fit.validation is None else folders.BEST), home / folders.RESULT
        # Not yet replaced, where it was killed right here.
        if hardware.node == 0 and kept.exists() and (earlier is None or not result.exists()):
            os.replace(kept, result)
        seen(result, hardware)
        with checkpoints.as_checkpoint(result):
            fit.network.load_state_dict(network_state(checkpoints.load(result), fit.network))
    fit.network.cpu().eval()
    return fit.result(history)


def _run(
    fit: Fit[Any],
    settings: TrainingSettings,
    home: Path,
    hardware: Hardware,
    *,
    resume: bool,
    progress: bool,
    seconds: float,
) -> History:
    """Train from the beginning or from the last checkpoint, and leave `history.json`."""
    last, best, result = (home / name for name in folders.CHECKPOINTS)
    first = _processes.current().rank == 0
    history = EpochHistory()
    callbacks: list[Callback] = [history, CheckpointWriter(last, fit.batches, seconds)]
    if progress and first:
        callbacks.append(ProgressBar(fit.batches))
    if fit.validation is not None:
        callbacks.append(BestEpoch(best, result, settings.patience))
    trainer = _trainer(hardware, settings.epochs, callbacks, clip=fit.stepper is None)
    checkpoint = last if _processes.decision_of_first(resume and last.exists()) else None
    if resume and progress and first and checkpoint is None:
        tqdm.write(f"There is no checkpoint in {home} yet: the run starts anew.")
    module = TrainingModule(fit, settings, averages=hardware.world > 1 and hardware.strategy == "auto")
    _fit(trainer, module, fit, checkpoint)
    if first:
        folders.write_history(home, history.epochs)
    return history.epochs


@final
class TrainingModule(lightning.LightningModule):
    """Binds a network, the loss of a batch, and Adam with a one-cycle rate."""

    def __init__(self, fit: Fit[Any], settings: TrainingSettings, *, averages: bool = False) -> None:
        super().__init__()
        self.averages = averages
        self.network, self.companion = fit.network.train(), fit.companion
        self.loss, self.stepper, self.weight_decay = fit.loss, fit.stepper, fit.weight_decay
        self.learning_rate, self.epochs, self.batches = settings.learning_rate, settings.epochs, len(fit.batches)
        self.steps = self.epochs * self.batches
        self.started = False
        self.automatic_optimization = fit.stepper is None
        self.terms: Mapping[str, Tensor] = {}
        self.count = 0

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        configured = self.configure_optimizers()
        optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
        check_checkpoint(checkpoint, self, optimizer, schedule, epochs=self.epochs, batches=self.batches)

    def on_train_start(self) -> None:
        self.started = True
        if self.averages:  # so that torch does not
            self.trainer.model.require_backward_grad_sync = False  # type: ignore[union-attr]

    def on_after_backward(self) -> None:
        if self.averages:
            _processes.average_gradients(self.network.parameters())

    def training_step(self, counted: tuple[Any, int]) -> Tensor | None:
        batch, self.count = counted
        if self.stepper is None:
            return self._loss(batch)
        optimizer, schedule = self.optimizers(), self.lr_schedulers()
        self.stepper(optimizer).step(lambda: self._loss(batch))
        schedule.step()  # type: ignore[union-attr]
        return None

    def _loss(self, batch: Any) -> Tensor:
        with _processes.counting(self.count):
            self.terms = terms = self.loss(batch)
        if not terms["loss"].isfinite():
            raise ConvergenceError(
                f"The loss must stay finite. Got {terms['loss'].item():g} at step {self.global_step + 1}; lower the "
                "learning rate, and leave out outputs that follow exactly from others."
            )
        return terms["loss"]

    def validation_step(self, counted: tuple[Any, int]) -> None:
        batch, count = counted
        with _processes.counting(count):
            terms = self.loss(batch)
        self.log_dict({f"validation_{name}": value for name, value in terms.items()}, batch_size=count)

    def configure_optimizers(self) -> Any:
        parameters = list(self.network.parameters())
        # Without decay this is Adam. All weights in one operation, where there is one: a network has many small ones.
        fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
        optimizer = torch.optim.AdamW(parameters, lr=self.learning_rate, weight_decay=self.weight_decay, fused=fused)
        if self.stepper is not None:  # otherwise Lightning cuts gradients itself

            def clip(*_: Any) -> None:
                nn.utils.clip_grad_norm_(parameters, _MAX_GRADIENT_NORM)

            optimizer.register_step_pre_hook(clip)
        # One step more than there are: the schedule refuses to be asked beyond its end.
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, self.learning_rate, total_steps=self.steps + 1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _trainer(hardware: Hardware, epochs: int, callbacks: list[Callback], *, clip: bool) -> lightning.Trainer:
    try:
        return lightning.Trainer(
            accelerator=hardware.device,
            **trainer_options(hardware),
            max_epochs=epochs,
            callbacks=callbacks,
            gradient_clip_val=_MAX_GRADIENT_NORM if clip else None,
            plugins=[PlainCheckpointIO()],
            default_root_dir=os.path.abspath(os.sep),  # where Lightning looks for checkpoints of clusters
            logger=False,
            enable_checkpointing=False,  # Lightning would write checkpoints of its own besides
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,  # batches are divided by `Batches.take`
        )
    except (MisconfigurationException, ValueError) as error:
        raise InputError(
            f"{Parameter('device')} must be available on this machine",
            got=f'{hardware.device!r}: {error} Use "auto" or "cpu"',
            parameter="device",
        ) from None


def _fit(trainer: lightning.Trainer, module: TrainingModule, fit: Fit[Any], checkpoint: Path | None) -> None:
    """Fit, and let Ctrl-C be an ordinary KeyboardInterrupt: Lightning would leave the process."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        # For the generators see `CheckpointWriter.on_train_batch_start`.
        with torch.random.fork_rng(devices=[]), _deterministic():
            trainer.fit(module, fit.batches, fit.validation, ckpt_path=checkpoint, weights_only=True)
    except SystemExit:
        raise KeyboardInterrupt from None
    except Exception:
        if checkpoint is None or module.started:
            raise
        with checkpoints.as_checkpoint(checkpoint):  # whatever Lightning could not restore
            raise
    finally:
        if signal.getsignal(signal.SIGINT) is not handler:
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _deterministic() -> Iterator[None]:
    """Sums in a fixed order: with several threads the gradient of `x[index]` would differ in the last digit each time.

    What has no such form on a device, of a network of the user's own, warns and runs as it is.
    """
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic
    fill = memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    memory.fill_uninitialized_memory = False  # it would only find mistakes
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        memory.fill_uninitialized_memory = fill


def _interruption_message(folder: Path | None) -> str:
    if folder is None:
        return "Training was stopped; nothing was kept. With `folder=` it could be resumed."
    return f"Training was stopped. Resume with `folder={str(folder)!r}, resume=True`."


@contextmanager
def _home(folder: Path | None, identity: Mapping[str, Any], hardware: Hardware, *, resume: bool) -> Iterator[Path]:
    """The folder of a run; that of the first machine is locked, and the others only read in it."""
    if hardware.node and folder is not None:
        yield folder
        return
    with folders.opened(folder, identity, resume=resume) as home:
        yield home


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
            # Terms are means over all processes already.
            warnings.filterwarnings("ignore", message=".*sync_dist=True.*")
            yield
    finally:
        logger.setLevel(level)
