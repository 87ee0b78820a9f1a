"""Training: settings, batches, and a loop with progress, early stopping, checkpoints and exact resume.

A `Fit` says what the loss of a batch is; `loop.train` says who moves when. Only `loop` and what it calls import
Lightning, so that a saved model loads without it.
"""

from pellucid.training.batches import Batches
from pellucid.training.fits import Fit, Stepper
from pellucid.training.hardware import Hardware
from pellucid.training.settings import TrainingSettings

__all__ = ["Batches", "Fit", "Hardware", "Stepper", "TrainingSettings"]
