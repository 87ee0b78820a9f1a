"""Pellucid trains predictors that behave, around every point, like a simple function that a person can read."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pellucid import equilibrium, metrics
    from pellucid.auditing import Audit, audit
    from pellucid.bank import Bank
    from pellucid.builders import from_lists, from_pairs, nearest, sampled, windows, within
    from pellucid.deviations import absolute_error, gaussian_kl, squared_error
    from pellucid.errors import ConvergenceError, InputError, PellucidError, PellucidWarning
    from pellucid.games import AsymmetricGame, Game, Outcome, SumOfGames, SymmetricGame, UniformGame
    from pellucid.minibatches import Minibatch, OverlapSampler, overlap_order, sample_minibatch
    from pellucid.mirror_prox import MirrorProx
    from pellucid.neighborhoods import Neighborhoods, Windows
    from pellucid.trust import Calibration, calibrate
    from pellucid.witnesses import (
        BestOf,
        ConstantFamily,
        LinearFamily,
        TreeFamily,
        Witness,
        Witnesses,
        WitnessFamily,
        effective_depth,
        fit_each,
        lag_names,
        lagged,
    )

__version__ = "0.1.0"

# Where the public names come from. They are looked up when first used, so that `pellucid --help` need not wait for
# torch.
_HOMES = {
    "auditing": ("Audit", "audit"),
    "bank": ("Bank",),
    "builders": ("from_lists", "from_pairs", "nearest", "sampled", "windows", "within"),
    "deviations": ("absolute_error", "gaussian_kl", "squared_error"),
    "errors": ("ConvergenceError", "InputError", "PellucidError", "PellucidWarning"),
    "games": ("AsymmetricGame", "Game", "Outcome", "SumOfGames", "SymmetricGame", "UniformGame"),
    "minibatches": ("Minibatch", "OverlapSampler", "overlap_order", "sample_minibatch"),
    "mirror_prox": ("MirrorProx",),
    "neighborhoods": ("Neighborhoods", "Windows"),
    "trust": ("Calibration", "calibrate"),
    "witnesses": (
        "BestOf",
        "ConstantFamily",
        "LinearFamily",
        "TreeFamily",
        "Witness",
        "WitnessFamily",
        "Witnesses",
        "effective_depth",
        "fit_each",
        "lag_names",
        "lagged",
    ),
}
_MODULES = ("equilibrium", "metrics")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"pellucid.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
    value = getattr(import_module(f"pellucid.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


if "torch" in sys.modules:  # it must know the neighborhoods that `torch.load` may read
    import_module("pellucid.neighborhoods")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


__all__ = [
    "AsymmetricGame",
    "Audit",
    "Bank",
    "BestOf",
    "Calibration",
    "ConstantFamily",
    "ConvergenceError",
    "Game",
    "InputError",
    "LinearFamily",
    "Minibatch",
    "MirrorProx",
    "Neighborhoods",
    "Outcome",
    "OverlapSampler",
    "PellucidError",
    "PellucidWarning",
    "SumOfGames",
    "SymmetricGame",
    "TreeFamily",
    "UniformGame",
    "Windows",
    "Witness",
    "WitnessFamily",
    "Witnesses",
    "absolute_error",
    "audit",
    "calibrate",
    "effective_depth",
    "equilibrium",
    "fit_each",
    "from_lists",
    "from_pairs",
    "gaussian_kl",
    "lag_names",
    "lagged",
    "metrics",
    "nearest",
    "overlap_order",
    "sample_minibatch",
    "sampled",
    "squared_error",
    "windows",
    "within",
]
