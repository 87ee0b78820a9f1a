"""What a run shows while it trains, and the numbers that it keeps of every epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import lightning.pytorch as lightning
from lightning.pytorch.callbacks import Callback
from tqdm.auto import tqdm

from pellucid.training.batches import Batches
from pellucid.training.fits import History

if TYPE_CHECKING:
    from pellucid.training.loop import TrainingModule


@final
class ProgressBar(Callback):
    """One bar for the whole run, with the losses beside it."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.bar: Any = None  # until the training starts, which may fail

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        total = len(self.batches) * (trainer.max_epochs or 0)
        self.bar = tqdm(total=total, initial=self._done(), unit="step", dynamic_ncols=True, desc="starting")

    def _done(self) -> int:
        return self.batches.epoch * len(self.batches) + self.batches.position

    def on_train_batch_end(self, trainer: lightning.Trainer, module: TrainingModule, *_: Any) -> None:  # type: ignore[override]
        self._show(trainer, module)
        self.bar.update(self._done() - self.bar.n)

    def _show(self, trainer: lightning.Trainer, module: TrainingModule) -> None:
        losses = {"loss": f"{module.terms['loss'].item():.4g}"} if module.terms else {}
        if (value := trainer.callback_metrics.get("validation_loss")) is not None:
            losses["validation_loss"] = f"{float(value):.4g}"
        epoch = min(trainer.current_epoch + 1, trainer.max_epochs or 0)
        self.bar.set_description(f"epoch {epoch}/{trainer.max_epochs}", refresh=False)
        self.bar.set_postfix(losses, refresh=False)

    def on_train_end(self, trainer: lightning.Trainer, module: TrainingModule) -> None:  # type: ignore[override]
        self._show(trainer, module)
        self.bar.refresh()
        self.bar.close()

    def on_exception(self, trainer: lightning.Trainer, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()


@final
class EpochHistory(Callback):
    """The numbers of every epoch, each a mean over the epoch's items; across interruptions too."""

    # Checkpoints name callbacks by this key; the one of version 0.1 is still read.
    state_key = "_History"

    def __init__(self) -> None:
        self.epochs: History = []
        self.sums: dict[str, float] = {}
        self.items = 0

    def on_train_batch_end(self, trainer: lightning.Trainer, module: TrainingModule, *_: Any) -> None:  # type: ignore[override]
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
