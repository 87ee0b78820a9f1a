"""Arguments of models of molecules, checked before the work begins."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import InputError, Parameter
from pellucid.molecules.graphs import Graphs
from pellucid.molecules.preparing import prepare
from pellucid.molecules.table import Molecules
from pellucid.numbers import counted
from pellucid.schemas import shown
from pellucid.splitting import hold_out
from pellucid.trust import MOST

# No tree on members that fit into memory has more levels.
_MAX_DELTA = 50
LabeledMolecules: TypeAlias = "Molecules | tuple[Sequence[str], Any]"
"""Molecules with measured values: a `Molecules`, or SMILES and y."""


def molecules_of(
    smiles: Iterable[str] | Molecules, y: Any, targets: Sequence[str] | None, on_error: Literal["raise", "skip"]
) -> Molecules:
    """A table of molecules with measured values: one that was read, or one made of SMILES and y."""
    if isinstance(smiles, Molecules):
        if y is not None:
            raise InputError("Molecules that were read bring their values", got="`y` as well", cure="do not pass it")
        molecules = smiles
    else:
        molecules = prepare(smiles, y, targets=targets, on_error=on_error)
    if not molecules.targets:
        raise InputError(
            "Molecules to learn from or to score on must have measured values", got="none", cure="pass `y`"
        )
    return molecules


def require_targets(molecules: Molecules, targets: tuple[str, ...]) -> None:
    """Refuse molecules whose targets are not those of the model."""
    if molecules.targets != targets:
        raise InputError(
            f"The targets must be those learned, {', '.join(targets)}",
            got=f"{', '.join(molecules.targets) or 'none'}",
            cure="read these columns, in this order",
        )


def calibration_sample(smiles: Iterable[str] | Molecules, seed: int, most: int = MOST) -> list[str]:
    """The molecules that a calibration uses: all, or of very many a random sample."""
    texts = list(smiles.smiles if isinstance(smiles, Molecules) else smiles)
    if len(texts) <= most:
        return texts
    return [texts[i] for i in np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])]


def hold_out_molecules(count: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the molecules to learn from, and of those held out: at least one, unless the share is 0.

    Examples
    --------
    >>> learned, held_out = hold_out_molecules(5, 0.4, seed=0)
    >>> len(learned), len(held_out), sorted([*learned.tolist(), *held_out.tolist()])
    (3, 2, [0, 1, 2, 3, 4])
    """
    learned, held_out = hold_out(count, share, seed=seed)
    if not len(learned):
        raise InputError(
            "There must be molecules left to learn from",
            got=f"{counted(count, 'molecule')}, of which {len(held_out)} would be held out",
            cure=f"add more, or pass {Parameter('validation', 0)}",
            parameter="validation",
        )
    return learned, held_out


def require_validation_share(validation: Any, *, otherwise: str = "") -> float:
    """Check the share of the molecules to hold out; `otherwise` says what else is allowed."""
    if isinstance(validation, bool) or not isinstance(validation, int | float) or not 0 <= validation < 1:
        raise InputError(
            f"{Parameter('validation')} must be a share in [0, 1){otherwise}",
            got=f"{validation if isinstance(validation, int | float) else type(validation).__name__}",
            cure="try 0.1",
            parameter="validation",
        )
    return validation


def hold_out_validation(
    molecules: Molecules, validation: float | LabeledMolecules, seed: int, on_error: Literal["raise", "skip"]
) -> tuple[Molecules, Molecules | None]:
    """The molecules to learn from, and those held out: a share of the molecules, or others."""
    if not isinstance(validation, Molecules | tuple):
        share = require_validation_share(validation, otherwise=", a tuple (smiles, y), or Molecules")
        if not share:
            return molecules, None
        learned, held_out = hold_out_molecules(len(molecules), share, seed)
        return molecules.select(learned), molecules.select(held_out)
    others = molecules_of(*validation, molecules.targets, on_error) if isinstance(validation, tuple) else validation
    require_targets(others, molecules.targets)
    if not len(others):
        raise InputError(
            f"{Parameter('validation')} must have molecules",
            got="none",
            cure="0 trains all epochs on everything",
            parameter="validation",
        )
    return molecules, others


def checked_delta(value: Any) -> int:
    """Check by how many levels trees are smaller or larger than the rule."""
    try:
        delta = operator.index(value)
    except TypeError:
        raise InputError(
            "`delta` must be a whole number", got=f"{value!r}", cure="the paper uses 0", parameter="delta"
        ) from None
    if abs(delta) > _MAX_DELTA:
        raise InputError(
            f"`delta` must be at most {_MAX_DELTA}, or minus that",
            got=shown(delta),
            cure="the paper uses 0",
            parameter="delta",
        )
    return delta


def checked_network(network: Any, molecules: Molecules) -> nn.Module:
    """Check a predictor of the user's on two molecules."""
    if not isinstance(network, nn.Module):
        raise InputError(
            "`network` must be a torch module",
            got=f"{network!r}",
            cure="pass an instance, such as `Network()`",
            parameter="network",
        )
    sample = molecules.smiles[:2]
    with torch.no_grad():
        outputs = network(Graphs(sample).batch(list(range(len(sample)))))
    expected = (len(sample), len(molecules.targets))
    if not isinstance(outputs, Tensor) or outputs.shape != expected:
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise InputError(
            f"`network` must return one row for each molecule and one column for each target: {expected} for "
            f"{len(sample)} molecules",
            got=f"{got}",
            cure="check its last layer",
            parameter="network",
        )
    return network
