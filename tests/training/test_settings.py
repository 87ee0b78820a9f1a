"""Settings of a training."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from pellucid import InputError
from pellucid.training import TrainingSettings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "`epochs` must be a whole number >= 1. Got 0"),
        ({"patience": 1.5}, "`patience` must be a whole number >= 1. Got 1.5"),
        ({"learning_rate": -1}, "`learning_rate` of TrainingSettings must be a finite number >= 1e-09. Got -1"),
        ({"learning_rate": 1e300}, "`learning_rate` of TrainingSettings must be at most 1e.30. Got 1e.300"),
        (
            {"batch_size": 2**63},
            "`batch_size` must be a whole number between 1 and 2147483647. Got 9223372036854775808",
        ),
        ({"seed": -1}, "`seed` must be a whole number between 0 and 2147483647. Got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        TrainingSettings(**settings)


def test_settings_are_plain_numbers_and_never_change():
    settings = TrainingSettings(epochs=np.int64(3), learning_rate=np.float32(0.5))
    assert type(settings.epochs) is int
    assert type(settings.learning_rate) is float
    assert settings.settings() == {
        "epochs": 3, "batch_size": 64, "learning_rate": 0.5, "patience": 10, "seed": 0,
    }  # fmt: skip
    with pytest.raises(FrozenInstanceError):
        settings.epochs = 4
