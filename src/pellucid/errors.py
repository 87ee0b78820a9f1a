"""The exceptions of Pellucid: one root, so that `except PellucidError` catches them all."""


class PellucidError(Exception):
    """Root of every error that Pellucid raises on purpose."""


class InputError(PellucidError, ValueError):
    """An argument is not what it must be; the message says what must hold, what came and the cure."""


class ConvergenceError(PellucidError, RuntimeError):
    """An iterative solver stopped before it reached its stated accuracy."""
