"""Recordings of a machine that is followed, and faults that are planted in them."""

from scipy import signal

FOLLOWER = {
    "context": 20, "horizon": 10, "radius": 4, "order": 2, "width": 16, "kernel": 5, "stride": 5, "epochs": 8,
    "batch_size": 32, "learning_rate": 0.02,
}  # fmt: skip

# Recordings that are learned from, that calibrate, and at which faults begin.
LEARNED, HEALTHY, BEGIN = 6, 40, 50


def filtered(x, coefficient):
    """Other dynamics, just as loud: with mean and standard deviation of before."""
    y = signal.lfilter([1.0, coefficient], [1.0], x)
    return (y - y.mean()) * (x.std() / y.std()) + x.mean()


def rougher(x):
    return filtered(x, -0.5)


def smoother(x):
    return filtered(x, 0.5)


def louder(x):
    return 1.4 * x
