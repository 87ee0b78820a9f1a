"""Pellucid trains predictors that behave, around every point, like a simple function that a person can read."""

from pellucid import equilibrium, metrics
from pellucid.audit import Audit, audit
from pellucid.bank import Bank
from pellucid.builders import from_lists, from_pairs, nearest, sampled, windows, within
from pellucid.deviations import absolute_error, gaussian_kl, squared_error
from pellucid.errors import ConvergenceError, InputError, PellucidError
from pellucid.games import AsymmetricGame, Game, Outcome, SumOfGames, SymmetricGame, UniformGame
from pellucid.mirror_prox import MirrorProx
from pellucid.neighborhoods import Neighborhoods, Windows
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

__all__ = [
    "AsymmetricGame",
    "Audit",
    "Bank",
    "BestOf",
    "ConstantFamily",
    "ConvergenceError",
    "Game",
    "InputError",
    "LinearFamily",
    "MirrorProx",
    "Neighborhoods",
    "Outcome",
    "PellucidError",
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
    "sampled",
    "squared_error",
    "windows",
    "within",
]
