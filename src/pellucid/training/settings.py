"""The settings of every training, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

from pellucid import _checks
from pellucid.errors import InputError, Parameter

# Of a layer.
_LARGEST_SIZE = 2**14
_LARGEST_WHOLE = 2**31 - 1
# Of all other numbers: networks compute in float32.
_LARGEST_NUMBER = 1e30


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingSettings:
    """Adam with a one-cycle learning rate, stopped early by the loss on validation data.

    Settings are checked when they are made, and never change: `dataclasses.replace` makes others. Models inherit
    these fields and add their own.

    Parameters
    ----------
    epochs : int
        Largest number of passes over the training data.
    batch_size : int
        Training items per step.
    learning_rate : float
        The peak of the one-cycle learning rate.
    patience : int
        Stop after this many epochs without a better loss on the validation data.
    seed : int
        Seed of the initial weights, the order of batches, and every other random choice.
    """

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-3
    patience: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        self._require_whole(1, "epochs", "batch_size", "patience")
        self._require_number(1e-9, "learning_rate")
        self._check(lambda value, _: _checks.seed(value), "seed")

    def settings(self) -> dict[str, Any]:
        """All settings by name, ready for JSON."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self) if each.init}

    # -- checks: numbers of any kind (NumPy's too) become Python's -------------------------------------------------

    def _check(self, check: Callable[[Any, str], Any], *names: str) -> None:
        """Replace each of these settings by what the check makes of it, or refuse it."""
        for name in names:
            object.__setattr__(self, name, check(getattr(self, name), name))

    def _require_whole(self, least: int, *names: str, most: int | None = None, optional: bool = False) -> None:
        def whole(value: Any, name: str) -> int | None:
            if optional and value is None:
                return None
            return _checks.whole(_checks.whole(value, least, name, most), least, name, most or _LARGEST_WHOLE)

        self._check(whole, *names)

    def _require_size(self, *names: str) -> None:
        """Sizes of a network: the square of a larger one would not fit into memory."""
        self._check(lambda v, name: _checks.whole(v, 1, name, _LARGEST_SIZE), *names)

    def _require_number(self, least: float, *names: str, optional: bool = False) -> None:
        """Numbers that networks can compute with."""
        owner = type(self).__name__
        self._check(lambda v, name: None if optional and v is None else _checks.at_least(v, least, name, owner), *names)
        for name in names:
            value = getattr(self, name)
            if value is not None and value > _LARGEST_NUMBER:
                raise InputError(
                    f"{Parameter(name, of=owner)} must be at most {_LARGEST_NUMBER:g}",
                    got=f"{value!r}",
                    cure="choose a smaller one",
                    parameter=name,
                )

    def _require_share(self, *names: str, least: float = 0.0, below_one: bool = False) -> None:
        self._require_number(least, *names)
        for name in names:
            value = getattr(self, name)
            if value > 1 or (below_one and value == 1):
                limit = "below" if below_one else "at most"
                raise InputError(
                    f"{Parameter(name, of=type(self).__name__)} must be a share, {limit} 1",
                    got=f"{value!r}",
                    parameter=name,
                )

    def _require_one_of(self, allowed: Sequence[Any], name: str, *, cure: str | None = None) -> None:
        value = getattr(self, name)
        if value not in allowed:
            words = ["None" if option is None else f'"{option}"' for option in allowed]
            raise InputError(
                f"{Parameter(name, of=type(self).__name__)} must be {', '.join(words[:-1])} or {words[-1]}",
                got=f"{value!r}",
                cure=cure,
                parameter=name,
            )

    def _require_type(self, kind: type, name: str) -> None:
        value = getattr(self, name)
        if not isinstance(value, kind):
            article = "an" if kind.__name__[0] in "AEIOU" else "a"
            raise InputError(
                f"{Parameter(name, of=type(self).__name__)} must be {article} {kind.__name__}",
                got=f"{value!r}",
                parameter=name,
            )


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, tuple) else value
